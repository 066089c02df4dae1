"""Bulk replays compared with the machine's limits: matrix products, memory, row-by-row loops.

    python benchmarks/limit.py [--repeats 11]

Everything runs in one thread of one process, and times are typical of interleaved repeats. A row is
counted as 3d² floating-point operations; the rate of dgemm is that of NumPy's product of two d × d
matrices. The loops are those of benchmarks/loops.py: LASER is compared with a NumPy loop of LASER's
round, which adds I/c to Σ, and AAR with a NumPy loop of recursive least squares. "Copies of Σ" is
the time of a row divided by the time to copy a d × d matrix; a round that updates Σ must read and
write as much as such a copy.
"""

from functools import partial

import timing

# isort: split
import loops
import numpy as np

import onlinear as ol
from onlinear._evaluation.replay import Engine

WIDTHS = (64, 128, 256, 512, 1024)
NARROW = (16, 24, 32, 40, 48, 56, 64, 80, 96)
LEARNERS: dict[str, type[ol.Learner]] = {"LASER": ol.LASER, "AAR": ol.AAR}
MEMORY = 2**24  # how many numbers to copy: more than a cache holds
ROWS = 100_000  # rows of narrow streams

Contenders = dict[str, tuple[int, timing.Run]]


def replay(kind: type[ol.Learner], X: np.ndarray, y: np.ndarray, engine: Engine) -> None:
    ol.replay(kind(), X, y, engine=engine)


def engines(X: np.ndarray, y: np.ndarray, fewer: int) -> Contenders:
    """Return the replays to time, and their numbers of rows: each learner with each engine.

    The engine "bulk" gets all rows, "rank-one" the first ``fewer`` rows.
    """
    table: Contenders = {}
    for name, kind in LEARNERS.items():
        table[f"{name} bulk"] = len(X), partial(replay, kind, X, y, "bulk")
        one_by_one = partial(replay, kind, X[:fewer], y[:fewer], "rank-one")
        table[f"{name} rank-one"] = fewer, one_by_one
    return table


def copy(size: tuple[int, ...]) -> timing.Run:
    return partial(np.copyto, np.empty(size), np.ones(size))


def at(d: int, repeats: int) -> dict[str, float]:
    """Return, by name, the µs per row, per matrix product and per copy of Σ at the width d."""
    rows, some, few = max(4 * d, 10**9 // d**2), max(200, 4 * 10**8 // d**2), 48 + 10**8 // d**2
    X, y = timing.stream(rows, d)
    A, B = np.random.default_rng(1).normal(size=(2, d, d))
    products, copies = 1 + 10**9 // d**3, 1 + 10**8 // d**2
    product = partial(np.matmul, A, B, out=np.empty((d, d)))
    table = engines(X, y, some)
    table["dgemm"] = products, timing.again(products, product)
    table["copy"] = copies, timing.again(copies, copy((d, d)))
    for loop, size in ((loops.fused, some), (loops.as_written, few), (loops.careful, few)):
        table[loop.__name__] = size, partial(loop, X[:size], y[:size])
    table["AAR as written"] = table.pop("as_written")
    drifting = partial(loops.as_written, X[:few], y[:few], drift=0.01)
    table["LASER as written"] = few, drifting
    return timing.microseconds(table, repeats)


def compare(name: str, d: int, cost: dict[str, float]) -> dict[str, float]:
    """Return the figures of a learner's bulk replay: its time, and ratios to other times."""
    bulk = cost[f"{name} bulk"]
    return {
        "µs/row": bulk,
        "share of dgemm": 3 * d**2 / bulk / (2 * d**3 / cost["dgemm"]),
        "× rank-one": cost[f"{name} rank-one"] / bulk,
        "× fused loop": cost["fused"] / bulk,
        "× NumPy loop": cost[f"{name} as written"] / bulk,
        "× careful NumPy loop": cost["careful"] / bulk,
        "copies of Σ": bulk / cost["copy"],
    }


def crossover(gains: dict[int, float]) -> float:
    """Return the smallest width from which on bulk replays are faster than rank-one replays."""
    won: float = np.inf
    for d in sorted(gains, reverse=True):
        if gains[d] <= 1:
            break
        won = d
    return won


def main() -> None:
    repeats = timing.parser(__doc__, 11).parse_args().repeats
    memory = timing.typical({"copy": copy((MEMORY,))}, repeats)["copy"]
    wide = {d: at(d, repeats) for d in WIDTHS}
    speeds = [
        (f"{d}", f"{2 * d**3 / cost['dgemm'] / 1e3:.1f}", f"{16 * d**2 / cost['copy'] / 1e3:.1f}")
        for d, cost in wide.items()
    ]
    speeds.append(("128 MB", "", f"{16 * MEMORY / memory / 1e9:.1f}"))
    timing.table(("d", "dgemm, GFLOP/s", "copy, GB/s read and written"), speeds)

    found = {(name, d): compare(name, d, wide[d]) for name in LEARNERS for d in WIDTHS}
    timing.table(
        ("in bulk", *found["LASER", 64]),
        [
            (f"{name}, d = {d}", *(f"{figure:.2f}" for figure in figures.values()))
            for (name, d), figures in found.items()
        ],
    )

    near = {d: timing.microseconds(engines(*timing.stream(ROWS, d), ROWS), repeats) for d in NARROW}
    gains = {
        name: {d: cost[f"{name} rank-one"] / cost[f"{name} bulk"] for d, cost in near.items()}
        for name in LEARNERS
    }
    timing.table(
        ("rank-one / bulk", *(f"d = {d}" for d in NARROW)),
        [(name, *(f"{gain:.2f}" for gain in each.values())) for name, each in gains.items()],
    )

    figures = []
    for name in LEARNERS:
        for d, target in ((128, "≥ 0.40"), (512, "≥ 0.45"), (1024, "≥ 0.45")):
            share = found[name, d]["share of dgemm"]
            figures.append((f"{name}: share of dgemm, d = {d}", share, target))
        fused = min(found[name, d]["× fused loop"] for d in (512, 1024))
        figures.append((f"{name}: × fused loop, least of d = 512, 1024", fused, "≥ 2"))
        numpy = min(found[name, d]["× NumPy loop"] for d in WIDTHS)
        figures.append((f"{name}: × NumPy loop, least of d = 64…1024", numpy, "≥ 15"))
        wider = {d: found[name, d]["× rank-one"] for d in WIDTHS}
        figures.append((f"{name}: crossover d", crossover(wider | gains[name]), "≤ 64"))
    timing.targets(figures)


if __name__ == "__main__":
    main()
