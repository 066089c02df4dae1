"""Refuse states that no sequence of rounds can lead to, before saving and after reading them.

A check takes the arrays of several states, stacked along the first axis. So the models of a
``Keyed``, which has one model per key, can be checked some thousands at a time.

A covariance matrix Σ may have lost its positive definiteness to rounding. Σ is accepted if
D^{−½}ΣD^{−½} + εI has a Cholesky factor, where D is the diagonal of Σ. If a round divides Σ_ii by
10⁴, rounding errors of 10⁻¹⁶Σ_ii before the round are 10⁻¹²Σ_ii after it; ε is 10⁻¹⁰ times the
number of columns, enough for the errors of many such rounds. (If a round divides Σ_ii by more than
10⁷, :mod:`onlinear._numerics.covariance` corrects Σ for rounding errors.) The next round needs
|Σ_ij| ≤ (1 + ε)√(Σ_ii Σ_jj): the bounds on rounding errors in the update assume this inequality,
and without it the update might not terminate.
"""

import math
from typing import Any

import numpy as np

from onlinear._validation.parameters import LARGEST

__all__ = [
    "check_counts",
    "check_finite",
    "check_positive",
    "check_range",
    "check_simplex",
    "check_sums",
    "stacked",
]

ROUNDING = 1e-10  # tolerated error of a matrix per column, relative to its diagonal
TINY = 1e-290  # a smaller entry of a diagonal has lost digits to underflow
SUM = 1e-6  # how far from one the sum of weights may be


def stacked(records: np.ndarray, state: Any) -> Any:
    """Return the states stored flat in the rows of ``records``, with their arrays stacked.

    Each array has the name and shape of that in ``state``, and a new first axis for the states.
    """
    parts, first = [], 0
    for array in state:
        part = records[:, first : first + array.size]
        parts.append(part.reshape(len(records), *array.shape))
        first += array.size
    return type(state)(*parts)


def check_finite(states: Any, what: str = "its state") -> None:
    """Refuse states that contain NaN or infinity."""
    if not all(np.isfinite(array).all() for array in states):
        raise ValueError(f"{what} has numbers that are not finite")


def check_range(what: str, values: Any, least: Any = -math.inf, most: Any = math.inf) -> None:
    """Refuse values outside least ≤ value ≤ most; the limits may be arrays."""
    values = np.asarray(values)
    wrong = ~((values >= least) & (values <= most))
    if wrong.any():
        raise ValueError(f"it has {what} = {values[wrong][0]:g}")


def check_counts(what: str, values: Any, least: Any = 0, most: Any = LARGEST) -> None:
    """Refuse values that are not whole numbers from ``least`` to ``most`` (and at most 2⁵³)."""
    values = np.asarray(values)
    wrong = ~((values >= least) & (values <= np.minimum(most, LARGEST)) & (values % 1 == 0))
    if wrong.any():
        raise ValueError(f"it says {values[wrong][0]:g} {what}")


def check_simplex(what: str, weights: np.ndarray) -> None:
    """Refuse weights, along the last axis, that are negative or do not sum to one."""
    check_range(what, weights, 0)
    check_range(f"the sum of {what}", weights.sum(axis=-1), 1 - SUM, 1 + SUM)


def check_positive(what: str, matrices: np.ndarray) -> None:
    """Refuse matrices, in the last two axes, that are not symmetric and positive definite."""
    if not (np.diagonal(matrices, axis1=-2, axis2=-1) > 0).all():
        raise ValueError(f"its {what} is not symmetric and positive definite")
    check_sums(what, matrices)


def check_sums(what: str, matrices: np.ndarray) -> None:
    """Refuse matrices that, unlike sums of xxᵀ, are not symmetric and positive semi-definite."""
    d = matrices.shape[-1]
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    fine = (diagonal >= 0).all() and np.array_equal(matrices, np.swapaxes(matrices, -1, -2))
    if fine:
        root = np.sqrt(np.where(diagonal > TINY, diagonal, 1.0))
        with np.errstate(over="ignore"):
            scaled = matrices / root[..., :, None] / root[..., None, :]
        fine = bool((np.abs(scaled) <= 1 + 2 * d * ROUNDING).all())  # LAPACK ignores infinity
        scaled[..., range(d), range(d)] += d * ROUNDING
        try:
            np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            fine = False
    if not fine:
        raise ValueError(f"its {what} is not symmetric and positive definite")
