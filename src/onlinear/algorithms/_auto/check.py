"""Refuse states of Auto, read from a file, that no sequence of rows can produce."""

from typing import Any

import numpy as np

from onlinear._updates.units import check_units
from onlinear._validation.states import (
    check_counts,
    check_positive,
    check_range,
    check_simplex,
    check_sums,
)
from onlinear.algorithms._auto.combination import LEAST, OWN
from onlinear.algorithms._auto.labels import (
    CUT,
    CUT_ENTRIES,
    DROPPED,
    FIRST,
    HIGH,
    LAST,
    LEADER,
    LEFT_OUT,
    LOSS,
    LOW,
    MEAN,
    NOISE,
    ODD,
    SINCE,
    STREAK,
)
from onlinear.algorithms._auto.outliers import FADES
from onlinear.algorithms._auto.rounds import SHARE

__all__ = ["check_states"]

MOST_ODD = 1.01 / FADES  # largest possible count of outliers: it decays by the share FADES per row
NEARLY = 1.01  # factor by which a state may exceed a limit because of rounding


def check_states(stack: Any, largest: float) -> None:
    """Refuse states that no rows with |x_i| and |y| up to ``largest`` can produce.

    The first axis of every array in ``stack`` numbers the states.
    """
    t = stack.t
    _check_columns(stack, t, NEARLY * largest)
    _check_labels(stack.labels, t[:, 0], stack.mean.shape[1], stack.losses.shape[1], largest)
    check_counts("rounds were learnt by an expert", stack.rounds, 0, t)
    check_positive("Σ of an expert", stack.S)
    check_range("an expert's usual error", stack.calm, 0)
    check_positive("T of a ridge", stack.T)
    check_simplex("the weights of its ridges", stack.trust)
    check_range("a weight of a ridge", stack.trust, SHARE / stack.trust.shape[1] / NEARLY)
    check_range("a loss", stack.sums[:, [OWN, LEAST]], 0)
    check_range("a loss of an expert", stack.losses, 0)
    check_range("a recent loss of an expert", stack.recent, 0)
    check_sums("Σ of the correction", stack.doubt)  # 0 until the correction begins


def _check_columns(stack: Any, t: np.ndarray, largest: float) -> None:
    for name in ("mean", "centre", "seen", "early"):
        check_range(f"an entry of {name}", np.abs(getattr(stack, name)), 0, largest)
    check_units(stack, t > 0)
    low, high = stack.seen[:, 0], stack.seen[:, 1]
    check_range("the end of a column's range", high, np.where(t > 0, low, -largest))
    check_range("a count of outliers in a column", stack.absurd, 0, MOST_ODD)
    check_range("the distance of an outlier", stack.last, 0, 2 * largest)


def _check_labels(labels: np.ndarray, t: np.ndarray, d: int, experts: int, largest: float) -> None:
    """Refuse impossible statistics of the labels; they are of labels minus the first label y₁."""
    value = labels.T
    check_range("a first label", np.abs(value[FIRST]), 0, NEARLY * largest)
    check_range("a lowest label", value[LOW], -4 * largest, 0)
    check_range("a highest label", value[HIGH], 0, 4 * largest)
    slack = 1e-6 * (value[HIGH] - value[LOW])
    check_range("a mean label", value[MEAN], value[LOW] - slack, value[HIGH] + slack)
    for place in (NOISE, LAST, LOSS):
        check_range("a squared error or distance", value[place], 0)
    check_range("a count of outlying labels", value[ODD], 0, MOST_ODD)
    rows = t + 1  # including the one that may have been dropped
    for place, most in (
        (STREAK, rows),
        (CUT, rows),
        (CUT_ENTRIES, d * rows),
        (LEADER, experts - 1),
        (SINCE, rows),
        (DROPPED, 1),
        (LEFT_OUT, rows),
    ):
        check_counts("in its statistics of labels", value[place], 0, most)
