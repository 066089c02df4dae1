"""Weights in comparable units, and the best drifting predictor in hindsight.

The effect of column j is w_j·sd_j, its weight times its standard deviation: how much the
prediction changes if the column rises by one standard deviation. The best drifting predictor is a
path, that is, a sequence of weights; :func:`onlinear.hindsight.drifting_path` computes it from
every k-th row of the stream (the rows that the recorder kept). For this path, the columns are
divided by their standard deviations, and there is an intercept if the learner has one. The penalty
c on drift is chosen so that the path up to each kept row best predicts the next kept row. If the
kept rows are too few to follow fast drift, the path's error exceeds the error of the learner, which
sees all rows. A path whose error is clearly larger than the learner's is meaningless and is left
out.
"""

from dataclasses import dataclass

import numpy as np

from onlinear._evaluation.replay import replay
from onlinear._evaluation.report.recorder import Recorder, has_intercept
from onlinear.algorithms import LASER, Auto
from onlinear.hindsight import drifting_path
from onlinear.losses import SQUARED

__all__ = ["BestPath", "Effects", "effects", "speeds"]

PRICES = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e6)  # penalties c on drift that are tried
START = 0.01  # penalty on the first weights of a path
WORSE = 1.1  # a path whose error exceeds the learner's by this factor is left out
FEWEST = 3  # rows that a path needs
MOST_STEPS = 120  # points of the curve of drift speed


@dataclass(frozen=True, eq=False)
class BestPath:
    """The best drifting predictor: its rows, effects there, mean squared error and penalty c."""

    rows: np.ndarray
    effects: np.ndarray
    error: float
    price: float


@dataclass(frozen=True, eq=False)
class Effects:
    """The learner's effects at the recorded rows; the best drifting path, or why it is missing.

    ``order`` has the indices of the columns with an effect, the most important column first.
    """

    rows: np.ndarray
    effects: np.ndarray
    path: BestPath | None
    why: str
    order: np.ndarray


def effects(story: Recorder) -> Effects:
    """Return the effects of the columns, for the learner and for the best path in hindsight."""
    d, sample = len(story.names), story.sample
    X, y = sample.table[:, :d], sample.table[:, d]
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = X.std(axis=0) if len(X) else np.zeros(d)
        deviations[~np.isfinite(deviations) | (deviations <= 1e-12 * np.abs(X).max(initial=0))] = 0
        own = story.records.table[:, :d] * deviations
        path, why = None, "it is known for the square loss only"
        if story.model._loss == SQUARED:
            path, why = _path(X, y, sample.rows, deviations, intercept=has_intercept(story.model))
        if path is not None and path.error > WORSE * _error(story):
            path, why = None, "its error exceeds the learner's"
        told = own if path is None else path.effects
        weight = np.sqrt(np.sum(np.nan_to_num(told) ** 2, axis=0))
    order = np.argsort(-weight, kind="stable")
    return Effects(story.records.rows, own, path, why, order[weight[order] > 0])


def _path(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, deviations: np.ndarray, *, intercept: bool
) -> tuple[BestPath | None, str]:
    """Return the best drifting path on the given rows, or None and the reason."""
    moving = deviations > 0
    if len(X) < FEWEST or not moving.any():
        return None, "there are too few rows"
    middle = y.mean() if intercept else 0.0
    unit = np.sqrt(np.mean((y - middle) ** 2))
    if not (np.isfinite(unit) and unit > 0):
        return None, "the labels never change"
    Z = X[:, moving]
    if intercept:
        Z = np.column_stack([(Z - Z.mean(axis=0)) / deviations[moving], np.ones(len(Z))])
    else:
        Z = Z / deviations[moving]
    labels = (y - middle) / unit
    try:
        c = min(PRICES, key=lambda c: _surprise(Z, labels, c))
        u = drifting_path(Z, labels, b=START, c=c)
    except ValueError:
        return None, "the columns are collinear in double precision"
    told = np.zeros(X.shape)
    told[:, moving] = u[:, : int(moving.sum())] * unit
    error = float(np.mean((labels - np.einsum("ij,ij->i", Z, u)) ** 2)) * float(unit) ** 2
    return BestPath(rows, told, error, c), ""


def _error(story: Recorder) -> float:
    """Return the mean squared error of the learner; for Auto, that of its best expert.

    The path, with which this error is compared, does not use earlier labels as features; Auto does,
    but its experts do not.
    """
    model, (learnt, lost, *_) = story.model, story.sums
    if isinstance(model, Auto) and model._state is not None:
        lost = min(model.regret_.experts.values())
    return lost / max(learnt, 1.0)


def _surprise(Z: np.ndarray, y: np.ndarray, c: float) -> float:
    """Return the total loss of predicting each row by the best path for the rows before it."""
    return float(replay(LASER(b=START, c=c, shrink=False), Z, y, engine="rank-one").losses.sum())


def speeds(told: Effects) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return rows, and the speed of drift of the learner and of the best path at these rows.

    The speed of drift is the norm of the change of all effects since the previous returned row,
    divided by the number of rows in between. The speeds of the learner and of the best path are
    taken over the same intervals, since the shorter the intervals, the more noise adds to the
    speed.
    """
    known = np.isfinite(told.effects).all(axis=1)
    rows, own = told.rows[known], told.effects[known]
    every = max(1, -(-rows.size // MOST_STEPS))
    rows, own = rows[::-1][::every][::-1], own[::-1][::every][::-1]
    gaps = np.diff(rows)
    moved = np.linalg.norm(np.diff(own, axis=0), axis=1) / gaps
    if told.path is None:
        return rows[1:], moved, None
    at = np.clip(np.searchsorted(told.path.rows, rows, side="right") - 1, 0, None)
    drift = np.linalg.norm(np.diff(told.path.effects[at], axis=0), axis=1) / gaps
    return rows[1:], moved, drift
