"""The parameters of Auto's step, and the names of the arrays in its state."""

from typing import NamedTuple

import numpy as np

__all__ = ["AutoParams", "AutoState"]


class AutoParams(NamedTuple):
    """How many past labels and errors are features; c of each expert; drift of each ridge."""

    lags: float
    c: np.ndarray
    drifts: np.ndarray


class AutoState(NamedTuple):
    """Auto's state: rounds, experts, scaling, label statistics, past labels, ridges, first rows."""

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
