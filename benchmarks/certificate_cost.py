"""Time a certificate against the replay alone, in one run on this machine.

    python benchmarks/certificate_cost.py [--rows 20000] [--repeats 20] [LEARNER ...]

Streams have d = 20 columns, and d = 100 with a quarter of the rows. Learners that cost O(d²) per
round run on all rows of a stream, learners that cost O(d³) on a quarter as many, and learners that
cost O(d) on five times as many. Each figure is the median, over consecutive runs, of the ratio of a
certificate's time to a replay's. The time of a certificate includes the time of its replay. With a
second core, the bound is computed in another thread; "one core" is measured without the second
core. Learners of O(d) per round are also timed with a given comparator, since finding the best one
in hindsight costs O(d²) per round for any learner.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import timing

# isort: split
import numpy as np

import onlinear as ol

LIMIT = 2.5
CUBIC = ("CIRR", "OSLOG")
LINEAR = ("EG", "EGPM", "EGU", "GD", "NLMS", "OGD")


def stream(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels that every learner accepts: 0 ≤ x, ‖x‖ ≤ 1, 0 ≤ y ≤ 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X @ np.where(np.arange(d) < 3, 0.5, 0.0) + 0.1 * rng.uniform(size=rows)
    return X, np.clip(y, 0.0, 1.0)


def settings(name: str) -> dict[str, Any]:
    if name in ("GD", "OGD"):
        return {"eta": 0.25}
    if name == "ARCOR":
        return {"radius": 3.0}
    if name == "ONS":
        return {"radius": 1.0, "gamma": 0.1}
    return {"WEMM": {"b": 1.1}, "EGPM": {"U": 2.0}}.get(name, {})


@contextmanager
def one_core() -> Iterator[None]:
    """Restrict this process to one core, where the system supports it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def ratios(name: str, rows: int, d: int, repeats: int) -> dict[str, float]:
    """Return a certificate's time / a replay's, for the best and for a given comparator."""
    rows = rows // 4 if name in CUBIC else 5 * rows if name in LINEAR else rows
    X, y = stream(rows, d)
    if name in ("AROW", "LogisticLASER"):
        y = (y > np.median(y)).astype(float)
    kind: Any = ol.LEARNERS[name]
    params, u = settings(name), np.full(d, 1.0 / d)
    contenders: dict[str, timing.Run] = {
        "replay": lambda: ol.replay(kind(**params), X, y),
        "best": lambda: ol.certificate(kind(**params), X, y),
    }
    if name in LINEAR:
        contenders["given"] = lambda: ol.certificate(kind(**params), X, y, comparator=u)
    times = timing.each(contenders, repeats)
    alone = times.pop("replay")
    return {way: float(np.median(spent / alone)) for way, spent in times.items()}


def main() -> None:
    parser = timing.parser(__doc__, 20)
    # kernel learners have no bound
    linear = [name for name in ol.LEARNERS if not name.startswith("Kernel")]
    parser.add_argument("learners", nargs="*", default=linear)
    parser.add_argument("--rows", type=int, default=20_000)
    arguments = parser.parse_args()
    lines, worst = [], {"": 0.0, "one core: ": 0.0}
    for name in arguments.learners:
        found = []
        for d, rows in ((20, arguments.rows), (100, arguments.rows // 4)):
            found.append(ratios(name, rows, d, arguments.repeats))
            with one_core():
                found.append(ratios(name, rows, d, arguments.repeats))
        counted = "given" if name in LINEAR else "best"
        for way in found[0]:
            words = {"given": ", given u", "best": ", best u: O(d²)"}[way] if name in LINEAR else ""
            lines.append((name + words, *(f"{at[way]:.2f}" for at in found)))
        for k, cores in enumerate(worst):
            worst[cores] = max(worst[cores], *(at[counted] for at in found[k::2]))
    heads = [f"d = {d}{of}" for d in (20, 100) for of in ("", ", one core")]
    timing.table(("certificate / replay", *heads), lines)
    timing.targets(
        [
            (f"{cores}largest, except those marked O(d²)", figure, f"≤ {LIMIT}")
            for cores, figure in worst.items()
        ]
    )


if __name__ == "__main__":
    main()
