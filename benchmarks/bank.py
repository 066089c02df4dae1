"""A bank against its learners apart: replay and row by row, one thread and two.

    python benchmarks/bank.py [--repeats 7]

LASERs of K settings on the same rows. Each figure is the least over interleaved repeats, so that a
busy moment of the machine touches no single contender; two threads need two idle cores.
"""

import argparse
import time
from collections.abc import Callable, Sequence

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


def least(contenders: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the least seconds of each contender, interleaved, after one run that compiles."""
    best = dict.fromkeys(contenders, np.inf)
    for repeat in range(repeats + 1):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            if repeat:
                best[name] = min(best[name], time.perf_counter() - began)
    return best


def compare(count: int, d: int, rows: int, repeats: int) -> None:
    X, y = ol.streams.rotating(rows=rows, d=d, degrees=0.5)
    few, labels = X[:SINGLE_ROWS], y[:SINGLE_ROWS]
    apart = models(count)
    bank, double = ol.Bank(models(count), threads=1), ol.Bank(models(count), threads=2)
    replays = least(
        {
            "apart": lambda: [ol.replay(model, X, y) for model in apart],
            "bank": lambda: ol.replay(bank, X, y),
            "two": lambda: ol.replay(double, X, y),
        },
        repeats,
    )
    single = least(
        {
            "apart": lambda: row_by_row(apart, few, labels),
            "bank": lambda: row_by_row([bank], few, labels),
        },
        repeats,
    )
    print(f"{count} LASERs, d = {d}: µs a row for all of them")
    print(f"  replay, apart                 {replays['apart'] / rows * 1e6:8.2f}")
    for name, words in (("bank", "bank, one thread"), ("two", "bank, two threads")):
        times = replays["apart"] / replays[name]
        print(f"  replay, {words:20}  {replays[name] / rows * 1e6:8.2f}  {times:5.2f} × as fast")
    times = single["apart"] / single["bank"]
    print(f"  row by row, apart             {single['apart'] / SINGLE_ROWS * 1e6:8.2f}")
    print(f"  row by row, bank              {single['bank'] / SINGLE_ROWS * 1e6:8.2f}", end="")
    print(f"  {times:5.2f} × as fast")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    for count, d, rows in SIZES:
        compare(count, d, rows, repeats)
