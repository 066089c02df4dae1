"""Time ARCOR's replay against AROWR's, without and with the projection in every round.

    python benchmarks/arcor.py [--rows 20000] [--repeats 7]

One thread, d = 20, and d = 100 with a tenth of the rows; rows of N(0, I), y = Xu + noise with
‖u‖ ≈ √d. Each figure is the least time of the processor over interleaved repeats. With radius = 0.1
every round ends outside the ball, and is projected. The resets are compared with those that the
eigenvalues of Σ⁻¹ ask for, on the first rows.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402  the number of threads is read when it is loaded

import onlinear as ol  # noqa: E402

LIMITS = {20: (2.5, 27.0), 100: (2.5, 14.0)}  # × AROWR: without, and with radius = 0.1
CHECKED = 500  # rows whose resets are compared


def stream(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(rows, d)), rng.normal(size=d)
    return X, X @ u + 0.1 * rng.normal(size=rows)


def least(contenders: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the least time of each, over interleaved repeats."""
    times = dict.fromkeys(contenders, np.inf)
    for _ in range(repeats):
        for name, run in contenders.items():
            began = time.process_time()
            run()
            times[name] = min(times[name], time.process_time() - began)
    return times


def share_projected(radius: float, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rounds that end on the sphere."""
    model, rounds = ol.ARCOR(radius=radius), 0
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        rounds += bool(np.linalg.norm(model.coef_) > radius * (1 - 1e-12))
    return rounds / len(X)


def resets_agree(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether ARCOR resets in the rounds where λ_max(Σ⁻¹) > i + 1, and no other."""
    model, P, resets = ol.ARCOR(), np.eye(X.shape[1]), 0
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        P += np.outer(x, x)
        if np.linalg.eigvalsh(P)[-1] > (resets + 2) * (1 + 1e-12):
            P, resets = np.eye(X.shape[1]), resets + 1
        if model.resets_ != resets:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    for d, rows in ((20, arguments.rows), (100, arguments.rows // 10)):
        X, y = stream(rows, d)
        radii = {"no radius": np.inf, "radius ‖u‖/2": np.sqrt(d) / 2, "radius 0.1": 0.1}

        def replay(kind: Any, X: np.ndarray = X, y: np.ndarray = y, **params: float) -> Any:
            return lambda: ol.replay(kind(**params), X, y)

        contenders = {"AROWR": replay(ol.AROWR)}
        contenders |= {name: replay(ol.ARCOR, radius=radius) for name, radius in radii.items()}
        least(contenders, 1)  # compiled
        times = least(contenders, arguments.repeats)
        print(f"d = {d}: AROWR {1e6 * times['AROWR'] / rows:.2f} µs a row; ARCOR, × AROWR's replay")
        for name, radius in radii.items():
            share = share_projected(radius, X[:CHECKED], y[:CHECKED])
            ratio = times[name] / times["AROWR"]
            print(f"  {name:14}{ratio:8.2f}   {100 * share:.0f} % of the rounds projected")
        free, busy = (times[name] / times["AROWR"] for name in ("no radius", "radius 0.1"))
        within = free <= LIMITS[d][0] and busy <= LIMITS[d][1]
        print(f"  {'within' if within else 'OVER'} the limits of {LIMITS[d][0]} and {LIMITS[d][1]}")
        agree = resets_agree(X[:CHECKED], y[:CHECKED])
        print(f"  resets as by eigenvalues in {CHECKED} rounds: {'yes' if agree else 'NO'}")


if __name__ == "__main__":
    main()
