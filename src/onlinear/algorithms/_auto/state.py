"""The parameters of Auto's step, and its state."""

from typing import NamedTuple

import numpy as np

from onlinear.algorithms._auto.combination import SUMS
from onlinear.algorithms._auto.labels import SIZE
from onlinear.algorithms._auto.outliers import EARLY
from onlinear.algorithms._auto.rounds import begin

__all__ = ["AutoParams", "AutoState", "init"]


class AutoParams(NamedTuple):
    """The number of past labels and errors used as features; the experts' c; the ridges' drifts."""

    lags: float
    c: np.ndarray
    drifts: np.ndarray


class AutoState(NamedTuple):
    """The state: rounds, experts, scaling, label statistics, past labels, ridges, first rows."""

    t: np.ndarray
    rounds: np.ndarray
    W: np.ndarray
    S: np.ndarray
    calm: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    prior: np.ndarray
    absurd: np.ndarray
    last: np.ndarray
    seen: np.ndarray
    labels: np.ndarray
    past: np.ndarray
    V: np.ndarray
    T: np.ndarray
    trust: np.ndarray
    sums: np.ndarray
    losses: np.ndarray
    recent: np.ndarray
    early: np.ndarray


def init(params: AutoParams, d: int) -> AutoState:
    """Return the state before the first row."""
    experts, ridges, past = params.c.size, params.drifts.size, 2 * int(params.lags)
    features = experts + 1 + past
    arrays = (
        np.zeros(1),
        np.zeros(experts),
        np.zeros((experts, d + 1)),
        np.zeros((experts, d + 1, d + 1)),
        np.zeros(2),
        *np.zeros((7, d)),
        np.zeros((2, d)),
        np.zeros(SIZE),
        np.zeros(past),
        np.zeros((ridges, features)),
        np.zeros((ridges, features, features)),
        np.zeros(ridges),
        np.zeros(SUMS),
        *np.zeros((2, experts + 1)),
        np.zeros((EARLY, d + 1)),
    )
    begin.py_func(arrays)
    return AutoState(*arrays)
