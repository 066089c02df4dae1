"""Benchmark Auto: the streams of the papers, one corrupted number, and speed.

    python benchmarks/auto.py [--repeats 5] [--data FOLDER]

On the papers' streams, the loss of Auto after row 100 is the mean over three streams of 2,000 rows.
The loss of Auto is compared with the losses of the best learner on raw rows and of the best LASER
on standardized rows, both chosen in hindsight. For the corrupted number, the first 6,000 rows of
each data set of benchmarks/accuracy.py are used, with one label, or one entry of the first or a
middle column, multiplied by 10⁶ at one of seven rows. The figure for a corrupted number is the
largest loss on the other rows, from row 100 on, divided by the loss without corruption. The part on
corrupted numbers is skipped if the folder of the data sets does not exist.
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import timing

# isort: split
import numpy as np
from accuracy import DATA, SETS, find, read

import onlinear as ol

STREAMS: dict[str, dict[str, Any]] = {
    "turning .1° per row": {"rate": 0.1},
    "turning 1° per row": {"rate": 1.0},
    "turning 5° per row": {"rate": 5.0},
    "turning 1° per row, another pair every 50 rows": {"rate": 1.0, "switch_every": 50},
    "turning 1/t, another pair every 50 rows": {"rate": 57.3, "decay": 1.0, "switch_every": 50},
    "not turning": {"rate": 0.0},
}
SEEDS = 3
PLACES = (0, 1, 3, 9, 10, 500, 2000)  # rows at which a number is corrupted
ROWS = 6000
SPEEDS = tuple(10.0 ** np.arange(-2, 9, 0.5))  # penalties c of LASER

Make = Callable[[], ol.Learner]


def rivals() -> dict[str, Make]:
    """Return the learners, by name, from which the best on raw rows is chosen in hindsight."""
    made: dict[str, Make] = {}
    for c in SPEEDS:
        made[f"LASER, c = {c:.3g}"] = partial(ol.LASER, c=c, shrink=False)
    for c in 10.0 ** np.arange(-1, 5):
        for b in (0.01, 0.1, 10.0):
            made[f"LASER, b = {b:g}, c = {c:g}"] = partial(ol.LASER, b, c, shrink=False)
    for eta in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2):
        made[f"NLMS, eta = {eta:g}"] = partial(ol.NLMS, eta=eta)
    for worth in (0.9, 0.95, 0.99, 1.0):
        for n in (10, 20, 30, 50):
            made[f"CRRLS, {worth:g}, {n}"] = partial(ol.CRRLS, worth, n)
    for worth in (0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0):
        made[f"RLS, {worth:g}"] = partial(ol.RLS, worth)
    for r in (0.1, 1.0, 10.0, 100.0):
        for q in (1.0, 1.5, 2.0):
            made[f"ARCOR, r = {r:g}, q = {q:g}"] = partial(ol.ARCOR, r=r, q=q)
    return made


def papers() -> list[tuple[str, float, str]]:
    """Compare learners on the streams of the papers; return the figures."""
    lines, figures = [], []
    tuned = rivals()
    standard: dict[str, Make] = {
        f"c = {c:.3g}": partial(ol.Standardized, ol.LASER(c=c, shrink=False)) for c in SPEEDS
    }
    for words, kind in STREAMS.items():
        streams = [ol.streams.paired(seed=seed, **kind) for seed in range(SEEDS)]

        def loss(make: Make, streams: list[Any] = streams) -> float:
            runs = [ol.replay(make(), *stream).losses for stream in streams]
            return float(np.mean([losses[100:].sum() for losses in runs]))

        def best(makes: dict[str, Make]) -> tuple[float, str]:
            return min((loss(make), name) for name, make in makes.items())

        given, free = loss(partial(ol.Auto, units="given")), loss(ol.Auto)
        (raw, who), (standardised, speed) = best(tuned), best(standard)
        lines.append(
            (
                words,
                f"{raw:,.0f} ({who})",
                f"{given:,.0f}",
                f"{standardised:,.0f} ({speed})",
                f"{free:,.0f}",
            )
        )
        figures.append((f"{words}: given units / best on raw rows", given / raw, "≤ 1.25"))
        figures.append((f"{words}: free units / LASER standardized", free / standardised, "≤ 1"))
    columns = f"best of {len(tuned)} on raw rows", "Auto, given units"
    timing.table(("loss", *columns, "LASER on standardized rows", "Auto"), lines)
    return figures


def losses(X: np.ndarray, y: np.ndarray, labels: np.ndarray, lags: int) -> np.ndarray:
    """Return the losses on the labels y of an Auto that learns the given ``labels`` instead."""
    return np.asarray((ol.replay(ol.Auto(lags=lags), X, labels).predictions - y) ** 2)


def absurd(folder: Path) -> list[tuple[str, float, str]]:
    """Return how much one corrupted number raises the loss on other rows, for each data set."""
    found = []
    for name, path in find(folder, list(SETS)).items():
        X, y = read(path, ROWS)
        for lags in (2, 0):
            usual, worst = losses(X, y, y, lags), 0.0
            for at in PLACES:
                others = np.arange(len(y)) != at
                others[:100] = False
                for column in (None, 0, X.shape[1] // 2):
                    Z, labels = X.copy(), y.copy()
                    (labels if column is None else Z[:, column])[at] *= 1e6
                    cost = losses(Z, y, labels, lags)
                    worst = max(worst, cost[others].sum() / usual[others].sum())
            words = f"{name}, lags = {lags}: loss on other rows, one number × 10⁶"
            found.append((words, worst, "≤ 1.03"))
    return found


def speed(repeats: int) -> list[tuple[str, float, str]]:
    """Return the rows per second of a replay, and the time of a single round."""
    X, y = timing.stream(20_000, 20)

    def round_by_round() -> None:
        model = ol.Auto()
        for x, label in zip(X[:2000], y[:2000].tolist(), strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    cost = timing.microseconds(
        {
            "replay": (len(X), lambda: ol.replay(ol.Auto(), X, y)),
            "given units": (len(X), lambda: ol.replay(ol.Auto(units="given"), X, y)),
            "LASER": (len(X), lambda: ol.replay(ol.LASER(), X, y)),
            "round": (2000, round_by_round),
        },
        repeats,
    )
    return [
        ("thousand rows a second in a replay, d = 20", 1e3 / cost["replay"], "≥ 200"),
        ("thousand rows a second in a replay, given units", 1e3 / cost["given units"], ""),
        ("time of a replay / that of LASER", cost["replay"] / cost["LASER"], ""),
        ("µs of predict_one and learn_one", cost["round"], "≤ 40"),
    ]


def main() -> None:
    options = timing.parser(__doc__, repeats=5)
    options.add_argument("--data", type=Path, default=DATA)
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    figures = speed(arguments.repeats) + papers()
    if arguments.data.is_dir():
        figures += absurd(arguments.data)
    timing.targets(figures)


if __name__ == "__main__":
    main()
