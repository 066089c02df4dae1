"""Run ten million rounds and check that the learners stay numerically stable.

    python benchmarks/stress.py [--rounds 10000000] [--learner LASER ...]

Every second-order learner is run with d = 8 columns on a stationary stream and on a degenerate one.
The degenerate stream has a constant column, a zero column, two equal columns, scales of 1e8 and
1e-8, runs of zero rows, and a column that is zero for long. After each block the predictions must
be finite, and Σ must be exactly symmetric and positive definite (by its eigenvalues, scaled to a
unit diagonal). The memory of the process is read after the first and the last block.
"""

import argparse
import copy
import resource
import time

import numpy as np

import onlinear as ol

D = 8
BLOCK = 100_000
LEARNERS = {
    "Ridge": ol.Ridge(),
    "AAR": ol.AAR(),
    "RLS": ol.RLS(forgetting=0.98),
    "CRRLS": ol.CRRLS(forgetting=0.98, reset_every=500),
    "AROWR": ol.AROWR(r=0.5),
    "WEMM": ol.WEMM(b=100.0),
    "LASER": ol.LASER(c=1e3),
    "ARCOR": ol.ARCOR(radius=10.0),
    "ONS": ol.ONS(radius=10.0),
    "CIRR": ol.CIRR(),
    "OSLOG": ol.OSLOG(),
}


def stationary(rng: np.random.Generator, rows: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(rows, D))
    return X, X @ np.linspace(-1, 1, D) + rng.normal(size=rows)


def degenerate(rng: np.random.Generator, rows: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(rows, D))
    X[:, 0] = 1.0  # constant
    X[:, 1] = 0.0  # zero
    X[:, 3] = X[:, 2]  # collinear
    X[:, 4] *= 1e8
    X[:, 5] *= 1e-8
    if block % 5:
        X[:, 6] = 0.0  # not zero only in every fifth block
    X[: rows // 10] = 0.0  # rows of zeros
    y = X @ np.array([1.0, 1.0, 1.0, 1.0, 1e-8, 1e8, 1.0, 1.0]) + rng.normal(size=rows)
    return X, y


def worst_eigenvalue(model: ol.Learner) -> float:
    """Return the least eigenvalue of Σ scaled to a unit diagonal, or -1 if Σ is not symmetric."""
    S = getattr(model, "covariance_", None)
    if S is None:  # the shrinkage learners keep no Σ
        return float("nan")
    if not np.array_equal(S, S.T) or not np.isfinite(S).all() or not np.all(np.diag(S) > 0):
        return -1.0
    root = np.sqrt(np.diag(S))
    return float(np.linalg.eigvalsh(S / root[:, None] / root[None, :])[0])


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name: str, stream: str, rounds: int) -> bool:
    model = copy.deepcopy(LEARNERS[name])
    if name == "WEMM" and stream == "degenerate":
        model.set_params(b=1e18)  # it needs b > max‖x‖²
    rng = np.random.default_rng(0)
    least, good, first = np.nan, True, 0.0
    began = time.perf_counter()
    for block in range(max(1, rounds // BLOCK)):
        X, y = {"stationary": stationary, "degenerate": degenerate}[stream](rng, BLOCK, block)
        predictions = ol.replay(model, X, y).predictions
        eigenvalue = worst_eigenvalue(model)
        least = np.fmin(least, eigenvalue)
        good &= bool(np.isfinite(predictions).all() and np.isfinite(model.coef_).all())
        good &= not eigenvalue <= 0
        first = first or memory()
    tail = float(np.mean((y - predictions)[-1000:] ** 2))
    seconds = time.perf_counter() - began
    print(
        f"{name:6} {stream:11} {'good' if good else 'BAD':4} "
        f"least eigenvalue {'none kept' if np.isnan(least) else f'{least:9.2e}'}  "
        f"mean squared error at the end {tail:10.4g}  "
        f"memory {first:.0f} → {memory():.0f} MB  {seconds:.0f} s",
        flush=True,
    )
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10_000_000)
    parser.add_argument("--learner", nargs="*", default=list(LEARNERS), choices=list(LEARNERS))
    args = parser.parse_args()
    outcomes = [
        run(name, stream, args.rounds)
        for name in args.learner
        for stream in ("stationary", "degenerate")
    ]
    raise SystemExit(not all(outcomes))
