"""Time what safety costs: protection of calls from each other, and checks for extreme numbers.

    python benchmarks/guards.py [--rows 20000] [--repeats 30]

For threads and signals, ``predict_one`` and ``learn_one`` are compared with methods that check the
row in the same way and call the compiled round, but do not check for other running calls. For the
check of numbers (:mod:`onlinear._engine.number_range`), a replay is compared with one that is
compiled without this check. Each figure is the additional time as a share of the time without the
protection.
"""

from math import nan
from typing import Any

import timing

# isort: split
import numpy as np
from numpy import ascontiguousarray, ndarray

import onlinear as ol
from onlinear._engine.step import Step
from onlinear._learner import base

LIMIT = "≤ 0.05"


def unprotected(kind: Any) -> Any:
    """Return a learner class whose rounds check the row, but not for other running calls."""

    def predict_one(self: Any, x: np.ndarray) -> float:
        state, params, work = self._call or self._prepare()
        row = x if x.__class__ is ndarray and x.dtype is base.FLOAT else self._row(x)
        if row.shape == self._shape:
            row = ascontiguousarray(row)
            value, rule = self._one(state, params, row, nan, work, False, 0)
            if not rule:
                return value  # type: ignore[no-any-return]
        raise ValueError(x)

    def learn_one(self: Any, x: np.ndarray, y: float) -> None:
        state, params, work = self._call or self._prepare()
        row = x if x.__class__ is ndarray and x.dtype is base.FLOAT else self._row(x)
        if row.shape == self._shape:
            if y.__class__ is not float:
                y = float(y)
            row = ascontiguousarray(row)
            if not self._one(state, params, row, y, work, True, 0)[1]:
                return
        raise ValueError(x)

    return type(kind.__name__, (kind,), {"predict_one": predict_one, "learn_one": learn_one})


def rounds(model: Any, X: np.ndarray, y: list[float]) -> timing.Run:
    ol.Learner.learn_one(model, X[0], y[0])  # the first row allocates the state
    predict, learn = model.predict_one, model.learn_one

    def run() -> None:
        for x, label in zip(X, y, strict=True):
            predict(x)
            learn(x, label)

    return run


class Unchecked(Step):
    """A step whose compiled rounds do not check for numbers of extreme size."""

    _guarded = False


def unchecked(kind: Any) -> Any:
    """Return a learner class whose compiled rounds do not check for numbers of extreme size."""
    step = kind.algorithm.step
    other = Unchecked.__new__(Unchecked)
    vars(other).update({k: v for k, v in vars(step).items() if k not in ("one", "chunk")})
    algorithm = kind.algorithm._replace(step=other)
    return type(kind.__name__, (kind,), {"algorithm": algorithm})


def replays(kind: Any, X: np.ndarray, y: np.ndarray) -> timing.Run:
    settings = {"eta": 0.005} if kind.__name__ in ("GD", "OGD") else {}
    return lambda: ol.replay(kind(**settings), X, y, engine="rank-one")


def main() -> None:
    options = timing.parser(__doc__, 30)
    options.add_argument("--rows", type=int, default=20_000)
    given = options.parse_args()
    figures = []
    kind: Any
    for kind in (ol.NLMS, ol.LASER, ol.Auto):
        X, y = timing.stream(given.rows // 10, 20)
        both = {"with": kind(), "without": unprotected(kind)()}
        runs = {name: rounds(model, X, y.tolist()) for name, model in both.items()}
        times = timing.typical(runs, given.repeats)
        share = times["with"] / times["without"] - 1.0
        figures.append(
            (f"threads and signals, {kind.__name__}, one row at a time, d = 20", share, LIMIT)
        )
    for d in (8, 20, 100):
        X, y = timing.stream(given.rows, d)
        for kind in (ol.GD, ol.NLMS, ol.LASER, ol.ARCOR):
            runs = {"with": replays(kind, X, y), "without": replays(unchecked(kind), X, y)}
            times = timing.typical(runs, given.repeats)
            share = times["with"] / times["without"] - 1.0
            figures.append((f"check of numbers, {kind.__name__}, replay, d = {d}", share, ""))
    timing.targets(figures)


if __name__ == "__main__":
    main()
