"""The regret bound of LASER in a kernel's space, computed row by row: of KernelLASER and KernelAAR.

    C_ij = ρ_min(i,j) K(x_i, x_j) + [i = j],  ρ_t = 1/b + (t − 1)/c,  C = LLᵀ,  z = L⁻¹y

    Σ_{s≤t} z_s² = Σ (y_s − m_s)²/(1 + χ_s)
                 = min over f_1..f_t of b‖f_1‖² + c Σ‖f_{s+1} − f_s‖² + Σ (y_s − f_s(x_s))²

The minimum is over functions of the kernel's space, and m and χ are the mean and the variance of
:mod:`onlinear._updates.dual`: with an orthonormal basis of the span of the K(x_i, ·), this is the
identity of :func:`onlinear.algorithms.laser.bound`, whose other terms are the same, too. For c = ∞,
the minimum is over a single f, and the bound is that of AAR or, without shrinking, of ridge
regression (Vovk 1998; Gammerman, Kalnishkan & Vovk 2004; Moroshko's thesis, Theorem 12).
"""

import math
from typing import Any

import numpy as np

from onlinear._engine.status import FINE, FULL
from onlinear._engine.step import Tally
from onlinear._learner.bounds.guarantee import EXTRA, LOST, lose, tallied
from onlinear._learner.growing import Growing
from onlinear._numerics.linalg import kernel
from onlinear._updates.dual import SCRATCH, believe, dual, dual_size, remember
from onlinear.algorithms.laser import LaserParams, count_row

__all__ = ["HEAD", "begin_dual", "bound", "laser_bound", "learn_all", "of_dual"]

HEAD = (EXTRA + 1, LOST + 1)  # the sizes of a tally and its notes


def of_dual(extra: int = 0, sums: tuple[int, ...] = ()) -> Growing:
    """Return how the state of a bound grows that ends with a ``Dual``.

    The tally has ``extra`` entries after the usual three; ``sums`` are the sizes of the arrays
    between the notes and the ``Dual``.
    """
    return Growing(dual_size, (HEAD[0] + extra, HEAD[1], *sums))


def begin_dual(
    d: int, room: int, form: tuple[float, ...], b: float, *sums: np.ndarray, extra: int = 0
) -> tuple[np.ndarray, ...]:
    """Return the initial state of such a bound, with the prior variance 1/b."""
    return tallied(*sums, *dual(d, room, form, b), extra=extra)


@kernel
def learn_all(state, drift, x, y, work):
    """Add a row to a ``Dual`` of all rows; return its e = y − m and χ, and a status.

    The status is FINE, FULL (nothing is changed), or the rule that the row breaks.
    """
    m, chi, rule, _ = believe(state, drift, x, work)
    if rule == FINE:
        rule = remember(state, drift, 1.0, math.inf, x, y - m, 1.0 + chi, work)
    return y - m, chi, rule


@Tally.with_scratch(SCRATCH)
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss of LASER in the kernel's space."""
    own = state[2:]
    c = params[1]
    e, chi, rule = learn_all(own, 1.0 / c if own[0][0] > 0.0 else 0.0, x, y, work)
    if rule == FULL:
        return 0.0, FULL
    if rule != FINE:
        return lose(state[0], state[1], rule, chi)
    return count_row(state[0], state[1], params, y, y, e * e / (1.0 + chi), chi)


def laser_bound(params: LaserParams) -> tuple[Any, ...]:
    """Return what ``KernelLearner._in_space`` needs for the bound of LASER."""

    def begin(d: int, room: int, form: tuple[float, ...]) -> tuple[np.ndarray, ...]:
        return begin_dual(d, room, form, params.b)

    return begin, bound, tuple(params), of_dual()
