"""Kernel LASER: last-step min-max regression against a drifting target, with a kernel.

    ŷ  = m/(1 + χ), or m,  m = Σ α_i K(z_i, x) and χ = ρ_t K(x, x) − qᵀq for xᵀw and xᵀΣx
    C_ij = ρ_i K(z_i, z_j) for i ≤ j, and 1 more on the diagonal;  ρ_t = 1/b + (t − 1)/c

LASER is a Kalman filter for weights that follow a random walk with covariance I/c per round. With a
kernel, labels i and j therefore have the covariance ρ_min(i,j)·K(z_i, z_j), plus the noise variance
1 if i = j. :mod:`onlinear._updates.dual` factorises the matrix C of these covariances row by row,
and defines q. The z_i are the examples that are kept, and the α_i their coefficients; m and χ take
the place of xᵀw and xᵀΣx in LASER.

Moroshko, thesis Table 5.1 and section 5.3 ("all three algorithms can be combined with Mercer
kernels").
"""

import math
from typing import NamedTuple

from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.kernel_base import DualLearner
from onlinear._numerics.linalg import clipped
from onlinear._updates.dual import RULES, SCRATCH, Dual, believe, dual, remember, vital
from onlinear._validation.checks import choice, limit, number
from onlinear.algorithms._kernel_bound import laser_bound
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["KernelLASER"]


class KernelLaserParams(NamedTuple):
    """Parameters of a step: prior precision, drift penalty, whether to shrink, max |ŷ|, budget."""

    b: float
    c: float
    shrink: float
    clip: float
    budget: float


def init(params: KernelLaserParams, d: int, room: int, form: tuple[float, ...]) -> Dual:
    """Return the initial state: no examples, and prior variance ρ = 1/b."""
    return dual(d, room, form, params.b)


@Step.with_scratch(SCRATCH, vital=vital)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    b, c, shrink, clip, budget = params
    drift = 1.0 / c if state[0][0] > 0.0 else 0.0
    m, chi, rule, value = believe(state, drift, x, work)
    if rule != FINE:
        return value, rule
    prediction = clipped(m / (1.0 + chi) if shrink else m, clip)
    if math.isnan(y):
        return prediction, FINE
    return prediction, remember(state, drift, b, budget, x, y - m, 1.0 + chi, work)


class KernelLASER(DualLearner):
    """Last-step min-max regression with a kernel: nonlinear regression under drift.

    Costs O(n² + nd) per round with n examples kept, and n²/2 numbers of memory. With a ``budget``
    of n, a few rounds cost O(n³), and the average round costs O(n²); ``benchmarks/budget.py`` shows
    how a budget changes the loss.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    b : float, default 1.0
        Precision of the prior, b > 0.
    c : float, default 100.0
        Penalty on squared drift, c > 0: a smaller c adapts faster, infinity means no drift.
    shrink : bool, default True
        Given the mean m and the variance χ of the prediction, True predicts m/(1 + χ), the min-max
        prediction; False predicts m, whose loss is often smaller.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
    budget : int or None, default None
        The largest number of examples to keep, budget ≥ 1; None keeps all examples. Beyond the
        budget, the oldest example is dropped, and the prior variance is limited as if the stream
        had begun at most budget/2 rounds before the oldest example kept.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> x = np.random.default_rng(0).uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * x[:, 0] + np.arange(500) / 50)  # a wave that moves
    >>> kernel = ol.kernels.RBF(gamma=1.0)
    >>> moving = ol.KernelLASER(kernel, b=0.1, c=3.0, shrink=False, budget=100)
    >>> fixed = ol.KernelAAR(kernel, b=0.1)
    >>> both = [ol.replay(model, x, y).cumulative_loss[-1] for model in (moving, fixed)]
    >>> bool(both[0] < 0.1 * both[1])
    True
    """

    b: float = 1.0
    c: float = 100.0
    shrink: bool = True
    clip: float | None = None

    algorithm = Algorithm(init, step, RULES)
    _poor_score = True  # the prediction is shrunk

    def _params(self) -> KernelLaserParams:
        return KernelLaserParams(
            number(self, "b", above=0),
            number(self, "c", above=0, most=math.inf),
            float(choice(self, "shrink", (True, False))),
            limit(self, "clip"),
            self._budget(),
        )

    def _theorem(self, search: bool) -> Guarantee:
        laser = LaserParams(*self._params()[:4])
        equality = "Σ loss/(1+χ) is the least penalised loss"
        source = "thesis, Theorem 12" if self.shrink else equality
        return self._in_space(guarantee("KernelLASER", source, laser), *laser_bound(laser))
