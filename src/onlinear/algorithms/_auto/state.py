"""The parameters of Auto's step, and the names of the arrays in Auto's state."""

from typing import NamedTuple

import numpy as np

__all__ = ["AutoParams", "AutoState"]


class AutoParams(NamedTuple):
    """How many past labels and errors are features; c of each expert; drift of each ridge.

    The experts are LASER learners with the parameters c. The ridges are ridge regressions that
    combine the experts' predictions. ``guaranteed`` says whether predictions are corrected.
    """

    lags: float
    c: np.ndarray
    drifts: np.ndarray
    guaranteed: float


class AutoState(NamedTuple):
    """The arrays of Auto's state, for rounds, experts, scaling, labels, ridges and the first rows.

    W and S hold the weights and covariances of the experts, V and T those of the ridges.
    ``correction`` and ``doubt`` are the weights and the covariance of the correction, or empty.
    """

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
    correction: np.ndarray
    doubt: np.ndarray
