"""AAR and ORR with the programming errors behind the results that Jamil & Bouchachia printed.

    ŷ = wᵀx, or wᵀx / (1 + xᵀAx) for AAR          A₀ = aI,  b₀ = 0
    A ← (A + xxᵀ)⁻¹       "turned": A is inverted in every round, but updated as if it were not
    A ← A + xxᵀ           "sums": A is never inverted
    b ← b + yx
    w ← Ab

With A ← (A⁻¹ + xxᵀ)⁻¹ and A₀ = I/a, the learners of this module would be online ridge regression
(ORR) and AAR. The wrong learners are not for use, but show where Jamil & Bouchachia's printed
numbers come from. The wrong formulas are written as learners so that :func:`onlinear.replay` can
run them.

In the turned form, B = A⁻¹ is stored as well, so that a round costs O(d²). A and B swap their roles
in every round: A ← B − Bxxᵀ B / (1 + xᵀBx), B ← A + xxᵀ, both computed from the old A and B.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm, Learner
from onlinear._numerics.linalg import axpy, dot, symv
from onlinear._validation.checks import choice, number

__all__ = ["MisusedInverse"]


class MisusedParams(NamedTuple):
    """Parameters: the ``a`` of A₀ = aI, and 1 or 0 for whether ``turned`` and ``shrink`` apply."""

    a: float
    turned: float
    shrink: float


class MisusedState(NamedTuple):
    """The number of rounds learnt, the weights w, A, B (A⁻¹ in the turned form), and b = Σyx."""

    t: np.ndarray
    w: np.ndarray
    A: np.ndarray
    B: np.ndarray
    b: np.ndarray


def init(params: MisusedParams, d: int) -> MisusedState:
    """Return the initial state, A = aI."""
    return MisusedState(
        np.zeros(1), np.zeros(d), params.a * np.eye(d), np.eye(d) / params.a, np.zeros(d)
    )


@Step
def step(state: Any, params: Any, x: Any, y: Any, work: Any) -> Any:
    """Predict the label of x, then learn y unless y is NaN."""
    t, w, A, B, b = state
    _, turned, shrink = params
    v = work[0]
    symv(A, x, v)
    m = dot(w, x)
    prediction = m / (1.0 + dot(x, v)) if shrink else m
    if math.isnan(y):
        return prediction, FINE
    symv(B, x, v)
    chi = dot(x, v)  # xᵀBx
    if not (math.isfinite(chi) and math.isfinite(dot(w, w) + y * y * dot(x, x))):
        return chi, OVERFLOW
    for i in range(x.size):
        for j in range(x.size):
            before = A[i, j]
            A[i, j] = B[i, j] - v[i] * v[j] / (1.0 + chi) if turned else before + x[i] * x[j]
            if turned:
                B[i, j] = before + x[i] * x[j]
    axpy(y, x, b)
    symv(A, b, w)
    t[0] += 1
    return prediction, FINE


class MisusedInverse(Learner):
    """Ridge regression that confuses a matrix with its inverse.

    Parameters
    ----------
    a : float, default 1.0
        The initial matrix is a·I, a > 0.
    form : {"turned", "sums"}, default "turned"
        Whether the matrix A is inverted in every round ("turned"), or in none ("sums").
    shrink : bool, default False
        Whether predictions are divided by 1 + xᵀAx, as AAR's are.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a bad row raises an error, or is skipped and counted in ``n_skipped_``.
    """

    a: float = 1.0
    form: Literal["turned", "sums"] = "turned"
    shrink: bool = False

    algorithm = Algorithm(init, step)
    _square = 2

    def _params(self) -> MisusedParams:
        turned = choice(self, "form", ("turned", "sums")) == "turned"
        return MisusedParams(number(self, "a", above=0), float(turned), float(self.shrink))
