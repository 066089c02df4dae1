"""Kernel AAR: the forward algorithm in the feature space of a kernel.

    ŷ  = m/(1 + χ),  m = Σ α_i K(z_i, x) and χ = ρK(x, x) − qᵀq in place of xᵀw and xᵀΣx
    C ← C with the row of x,  C_ij = K(z_i, z_j)/b + [i = j]

K is the kernel, the z_i are the stored examples, and the α_i their coefficients. The module
:mod:`onlinear._updates.dual` defines q and ρ, and implements the recursion: it keeps a Cholesky
factor of C, which grows by one row per round.

Vovk, 1998; Gammerman, Kalnishkan & Vovk, UAI 2004 (the kernel form).
"""

import math
from typing import NamedTuple

from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.kernel_base import DualLearner
from onlinear._numerics.linalg import clipped
from onlinear._updates.dual import RULES, SCRATCH, Dual, believe, dual, remember, vital
from onlinear._validation.checks import limit, number
from onlinear.algorithms._kernel_bound import laser_bound
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["KernelAAR"]


class KernelAARParams(NamedTuple):
    """Parameters of a step: the prior's precision b, the largest |prediction|, the budget."""

    b: float
    clip: float
    budget: float


def init(params: KernelAARParams, d: int, room: int, form: tuple[float, ...]) -> Dual:
    """Return the initial state: no examples, and prior variance ρ = 1/b."""
    return dual(d, room, form, params.b)


@Step.with_scratch(SCRATCH, vital=vital)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, clip, budget = params
    m, chi, rule, value = believe(state, 0.0, x, work)
    if rule != FINE:
        return value, rule
    prediction = clipped(m / (1.0 + chi), clip)
    if math.isnan(y):
        return prediction, FINE
    return prediction, remember(state, 0.0, 1.0, budget, x, y - m, 1.0 + chi, work)


class KernelAAR(DualLearner):
    """The forward algorithm (AAR) with a kernel: nonlinear regression without drift.

    Costs O(n² + nd) per round with n stored examples of d features, and n²/2 numbers of memory. For
    many examples set a ``budget``, or use :class:`onlinear.AAR` on features from
    :mod:`onlinear.features`.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    b : float, default 1.0
        Precision of the prior, b > 0: a larger b gives smoother predictions.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
    budget : int or None, default None
        The most examples to keep, budget ≥ 1. Beyond the budget, the oldest example is dropped, as
        if it had never been seen. None keeps all examples.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> x = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(3 * x[:, 0])
    >>> order = np.random.default_rng(0).permutation(200)
    >>> curved = ol.replay(ol.KernelAAR(ol.kernels.RBF(gamma=2.0), b=0.1), x[order], y[order])
    >>> straight = ol.replay(ol.AAR(), x[order], y[order])
    >>> bool(curved.cumulative_loss[-1] < 0.2 * straight.cumulative_loss[-1])
    True
    """

    b: float = 1.0
    clip: float | None = None

    algorithm = Algorithm(init, step, RULES)
    _poor_score = True  # the prediction is shrunk

    def _params(self) -> KernelAARParams:
        return KernelAARParams(number(self, "b", above=0), limit(self, "clip"), self._budget())

    def _theorem(self, search: bool) -> Guarantee:
        b, clip, _ = self._params()
        laser = LaserParams(b, math.inf, 1.0, clip)
        return self._in_space(guarantee("KernelAAR", "Vovk 1998", laser), *laser_bound(laser))
