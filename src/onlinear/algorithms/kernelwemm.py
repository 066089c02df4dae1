"""Kernel WEMM: weighted last-step min-max regression with a kernel.

    ŷ  = m,  m = Σ α_i K(z_i, x) and χ = K(x, x)/b − qᵀq in place of xᵀw and xᵀΣx
    C ← C with the row of x,  C_ij = K(z_i, z_j)/b + [i = j](1 − χ_i)

A row has the weight 1/(1 − χ), that is, the noise variance 1 − χ, so its pivot in the Cholesky
factorisation of C is χ + (1 − χ) = 1. :mod:`onlinear._updates.dual` implements the factorisation,
and defines q and the z_i. Figure 3.3 of Moroshko's thesis computes the same predictions by sums
which, as printed, cost O(t⁴) in round t; here round t costs O(t²).

The algorithm needs χ < 1 in every round; b > max K(x, x) suffices. A row with χ ≥ 1 is refused.

Moroshko & Crammer, ALT 2012; Moroshko, thesis section 3.3, Figure 3.3.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, FULL, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee, lose
from onlinear._learner.kernel_base import DualLearner
from onlinear._updates.dual import RULES, SCRATCH, Dual, believe, dual, remember, vital
from onlinear._validation.checks import number
from onlinear.algorithms._kernel_bound import begin_dual, of_dual
from onlinear.algorithms.wemm import WEMMParams, count_weighted, guarantee

__all__ = ["KernelWEMM"]

TOO_LARGE = DOMAIN + len(RULES)


class KernelWEMMParams(NamedTuple):
    """Parameters of a step: the prior's precision b, and how many examples to keep."""

    b: float
    budget: float


def init(params: KernelWEMMParams, d: int, room: int, form: tuple[float, ...]) -> Dual:
    """Return the initial state: no examples, and prior variance ρ = 1/b."""
    return dual(d, room, form, params.b)


@Step.with_scratch(SCRATCH, vital=vital)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, budget = params
    m, chi, rule, value = believe(state, 0.0, x, work)
    if rule != FINE:
        return value, rule
    if math.isnan(y):
        return m, FINE
    if chi >= 1.0:
        return chi, TOO_LARGE
    return m, remember(state, 0.0, 1.0, budget, x, y - m, 1.0, work)


@Tally.with_scratch(SCRATCH)
def bound(state, params, x, y, work):
    """Add a row to the loss L, computed by weighted least squares (Moroshko's Theorem 4).

    L = min over f of (b‖f‖² + Σ a_t(y_t − f(x_t))²) = Σz²,  z = L⁻¹y,  where C = LLᵀ
    """
    own = state[2:]
    m, chi, rule, _ = believe(own, 0.0, x, work)
    if rule == FINE and not chi < 1.0:
        rule = DOMAIN
    if rule == FINE:
        rule = remember(own, 0.0, 1.0, math.inf, x, y - m, 1.0, work)
    if rule == FULL:
        return 0.0, FULL
    if rule != FINE:
        return lose(state[0], state[1], rule, chi)
    return count_weighted(state[0], state[1], 1.0, y - m, chi)


class KernelWEMM(DualLearner):
    """Weighted last-step min-max regression with a kernel: nonlinear regression without drift.

    Costs O(n² + nd) per round with n examples kept, and n²/2 numbers of memory. A row with χ ≥ 1 is
    refused; b > max K(x, x) admits every row, so b > 1 with an RBF kernel.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    b : float, default 2.0
        Precision of the prior, b > 0; choose it above the largest K(x, x).
    budget : int or None, default None
        The largest number of examples to keep, budget ≥ 1; None keeps all examples. Beyond the
        budget, the oldest example is dropped, and the others keep their weights 1/(1 − χ).
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.KernelWEMM(ol.kernels.RBF(gamma=1.0), b=2.0)
    >>> model.learn_one([1.0, 0.0], 1.0)
    >>> model.predict_one([1.0, 0.0])
    0.5
    """

    b: float = 2.0

    algorithm = Algorithm(
        init,
        step,
        (*RULES, "needs χ = K(x, x)/b − qᵀq < 1 (b > max K(x, x) suffices), got χ = {value:g}"),
    )
    _poor_score = True  # b > max K(x, x) is a strong prior

    def _params(self) -> KernelWEMMParams:
        return KernelWEMMParams(number(self, "b", above=0), self._budget())

    def _theorem(self, search: bool) -> Guarantee:
        b, _ = self._params()
        linear = guarantee("KernelWEMM", WEMMParams(b, math.inf, 1.0))

        def begin(d: int, room: int, form: tuple[float, ...]) -> tuple[np.ndarray, ...]:
            return begin_dual(d, room, form, b, extra=1)

        return self._in_space(linear, begin, bound, (b,), of_dual(extra=1))
