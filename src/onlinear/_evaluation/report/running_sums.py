"""Cumulative losses: the learner's, the running mean's, and the best fixed predictor's.

The running mean is the predictor that predicts the mean of the labels so far; for margins, it
predicts the sign of the mean, the most frequent label so far. The sums are the same to the bit
however the rows of a stream are split into calls. The public functions of this module change no
argument in place.
"""

from typing import NamedTuple

import numpy as np

from onlinear._learner.bounds.ledger import Ledger
from onlinear._learner.class_measures import classes_of, has_probabilities
from onlinear._learner.replay_result import Replay
from onlinear.losses import SQUARED, Loss
from onlinear.losses._formulas import POISSON

__all__ = ["Sums", "best_fixed", "running", "running_right", "running_totals"]


class Sums(NamedTuple):
    """Sums over the learnt rows: their number, the losses on them, and their labels.

    ``lost`` is the learner's total loss, and ``mean_lost`` that of the running mean. ``origin`` is
    the first label, y₁, and ``total`` is Σ (y − y₁).
    """

    learnt: float = 0.0
    lost: float = 0.0
    mean_lost: float = 0.0
    origin: float = 0.0
    total: float = 0.0

    def with_rows(self, run: Replay, learnt: np.ndarray) -> tuple["Sums", np.ndarray, np.ndarray]:
        """Return the sums after the rows of ``run``, and two cumulative losses after each row.

        The losses are the learner's and the running mean's; ``learnt`` marks the rows learnt.
        """
        loss = running(self.lost, np.where(learnt, run.losses, 0.0))
        y = run.labels[learnt]
        if y.size == 0:
            return self, loss, np.full(learnt.size, self.mean_lost)
        origin = self.origin if self.learnt else float(y[0])
        off = y - origin
        totals = running(self.total, off)
        before = np.concatenate([[self.total], totals[:-1]])
        counts = self.learnt + np.arange(y.size)
        if run.loss == SQUARED:
            misses = (off - before / np.maximum(1.0, counts)) ** 2
            if self.learnt == 0:
                misses[0] = y[0] ** 2  # the first prediction is 0, like a learner's
        else:
            misses = run.loss.of_predictions(_means(run.loss, before + counts * origin, counts), y)
        lost = running(self.mean_lost, misses)
        sums = Sums(
            self.learnt + y.size, float(loss[-1]), float(lost[-1]), origin, float(totals[-1])
        )
        return sums, loss, _held(self.mean_lost, lost, learnt)

    def check(self, seen: int) -> None:
        """Raise an error if no stream of ``seen`` rows can lead to these sums."""
        if not (0 <= self.learnt <= seen and self.learnt % 1 == 0):
            raise ValueError(f"it says {self.learnt} of {seen} rows were learnt")
        if not (self.lost >= 0 and self.mean_lost >= 0):
            raise ValueError(f"it says the losses were {self.lost} and {self.mean_lost}")


def _means(loss: Loss, totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the running mean's prediction before each label, for a loss other than the square.

    A probability or an expected count is the mean of the labels so far and of one more label,
    which is the prediction for an activation of 0: so it is neither 0 nor, for a probability, 1.
    """
    if has_probabilities(loss) or loss.kind == POISSON:
        return np.asarray((totals + float(loss.link(0.0))) / (counts + 1.0))
    means = totals / np.maximum(1.0, counts)
    return np.asarray(means if classes_of(loss) is None else np.sign(means))


def running_right(before: float, run: Replay, learnt: np.ndarray) -> np.ndarray:
    """Return the number of rows, up to each row, whose class was predicted right.

    ``before`` is this number before the first of the rows. For a loss that is not of classes, and
    from the first label on that is no class, the number is NaN.
    """
    classes = classes_of(run.loss)
    if classes is None:
        return np.full(learnt.size, np.nan)
    right = (run.predictions > classes.boundary) == (run.labels > classes.boundary)
    values = np.where(learnt, np.where(classes.known(run.labels), right, np.nan), 0.0)
    return running(before, values)


def running_totals(
    before: np.ndarray, run: Replay, learnt: np.ndarray, origin: float
) -> np.ndarray:
    """Return the number of learnt rows, Σ (y − origin) and Σ (ŷ − origin) after each row.

    ``before`` holds these three totals before the first of the rows.
    """
    values = np.column_stack([np.ones(learnt.size), run.labels - origin, run.predictions - origin])
    values[~learnt] = 0.0
    values[:1] += before
    return np.cumsum(values, axis=0)


def best_fixed(
    accounts: Ledger | None, X: np.ndarray, y: np.ndarray, learnt: np.ndarray, *, intercept: bool
) -> tuple[Ledger | None, np.ndarray]:
    """Add rows to a copy of ``accounts``; return the copy and the best fixed predictor's losses.

    ``accounts`` computes the least total loss that any fixed weights have up to and including a
    row; this is the loss returned for the row. If numbers overflow in a row, the returned copy is
    None, and the losses are NaN from that row on. A row that was not learnt adds nothing to the
    loss.
    """
    if accounts is None:
        return None, np.full(learnt.size, np.nan)
    accounts = accounts.twin()
    before = 0.0 if accounts.tally is None else float(accounts.tally[0])
    if not learnt.all():
        X, y = X[learnt], y[learnt]
    if intercept:
        X = np.column_stack([X, np.ones(len(X))])
    known = _entered(accounts, np.ascontiguousarray(X), y)
    values = np.full(y.size, np.nan)
    values[: known.size] = known
    return accounts if known.size == y.size else None, _held(before, values, learnt)


def running(before: float, values: np.ndarray) -> np.ndarray:
    """Return running sums of ``values``, starting from ``before``.

    The sums are the same to the bit however the values are split into calls.
    """
    values = np.array(values)
    if values.size:
        values[0] += before
    return np.cumsum(values)


def _held(before: float, values: np.ndarray, learnt: np.ndarray) -> np.ndarray:
    """Expand values of learnt rows to all rows; a skipped row repeats the value before it."""
    if learnt.all():
        return values
    return np.asarray(np.concatenate([[before], values])[np.cumsum(learnt)])


def _entered(accounts: Ledger, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Add rows until one is refused; return the loss of the best fixed predictor after each row."""
    if y.size == 0:
        return np.zeros(0)
    try:
        return np.asarray(accounts.add(X, y)[0])
    except ValueError:
        if y.size == 1:
            return np.zeros(0)
    half = y.size // 2
    known = _entered(accounts, X[:half], y[:half])
    if known.size < half:
        return known
    return np.concatenate([known, _entered(accounts, X[half:], y[half:])])
