"""Time a bank against its learners run one after the other: in replays, row by row, by threads.

    python benchmarks/bank.py [--repeats 7]

The learners are LASERs with K different settings, on the same rows. Each figure is a typical value
over interleaved repeats, so that a busy moment of the machine affects all contenders alike. Two
threads need two idle cores.
"""

from collections.abc import Sequence

from timing import parser, table, typical

# isort: split

import numpy as np

import onlinear as ol

SIZES = [(10, 20, 20_000), (16, 100, 2_000)]  # learners, inputs, rows
SINGLE_ROWS = 500


def models(count: int) -> list[ol.Learner]:
    return [ol.LASER(c=c, shrink=False) for c in np.geomspace(1.0, 1e4, count).tolist()]


def row_by_row(
    models: Sequence[ol.Learner] | Sequence[ol.Bank], X: np.ndarray, y: np.ndarray
) -> None:
    for model in models:
        predict, learn = model.predict_one, model.learn_one
        for x, label in zip(X, y.tolist(), strict=True):
            predict(x)
            learn(x, label)


def compare(count: int, d: int, rows: int, repeats: int) -> list[tuple[str, ...]]:
    X, y = ol.streams.rotating(rows=rows, d=d, degrees=0.5)
    few, labels = X[:SINGLE_ROWS], y[:SINGLE_ROWS]
    apart = models(count)
    bank, double = ol.Bank(models(count), threads=1), ol.Bank(models(count), threads=2)
    replays = typical(
        {
            "apart": lambda: [ol.replay(model, X, y, engine="rank-one") for model in apart],
            "bank, one thread": lambda: ol.replay(bank, X, y, engine="rank-one"),
            "bank, two threads": lambda: ol.replay(double, X, y, engine="rank-one"),
            "bank, default engine": lambda: ol.replay(bank, X, y),
        },
        repeats,
    )
    single = typical(
        {
            "apart": lambda: row_by_row(apart, few, labels),
            "bank": lambda: row_by_row([bank], few, labels),
        },
        repeats,
    )
    return [
        (
            f"{count} LASERs, d = {d}, {way}: {name}",
            f"{seconds / size * 1e6:.2f}",
            f"{times['apart'] / seconds:.2f}",
        )
        for way, times, size in (("replay", replays, rows), ("row by row", single, SINGLE_ROWS))
        for name, seconds in times.items()
    ]


if __name__ == "__main__":
    repeats = parser(__doc__, repeats=7).parse_args().repeats
    lines = [line for size in SIZES for line in compare(*size, repeats)]
    table(("", "µs a row, all of them", "× as fast as apart"), lines)
