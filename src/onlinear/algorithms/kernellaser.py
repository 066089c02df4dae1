"""Kernel LASER: last-step min-max regression against a drifting target, in the space of a kernel.

    ŷ  = m/(1 + χ), or m,  m = Σ α_i K(z_i, x) and χ = ρ_t K(x, x) − qᵀq for xᵀw and xᵀΣx
    C_ij = ρ_i K(z_i, z_j) for i ≤ j, and 1 more on the diagonal;  ρ_t = 1/b + (t − 1)/c

LASER's state is a Kalman filter of weights that walk at random by I/c a round. In the space of a
kernel, labels i and j therefore covary by ρ_min(i,j)·K(z_i, z_j), which
:mod:`onlinear._updates.dual` factors row by row.

Moroshko, thesis Table 5.1 and section 5.3 ("all three algorithms can be combined with Mercer
kernels").
"""

import math
from typing import NamedTuple

from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.kernel_base import DualLearner
from onlinear._numerics.linalg import clipped
from onlinear._updates.dual import RULES, SCRATCH, Dual, believe, dual, remember
from onlinear._validation.checks import choice, limit, number

__all__ = ["KernelLASER"]


class KernelLaserParams(NamedTuple):
    """The prior's precision, the price of a step of the target, whether to shrink, clip, budget."""

    b: float
    c: float
    shrink: float
    clip: float
    budget: float


def init(params: KernelLaserParams, d: int, room: int, form: tuple[float, ...]) -> Dual:
    """Begin with no example and ρ = 1/b."""
    return dual(d, room, form, params.b)


@Step.with_scratch(SCRATCH)
def step(state, params, x, y, work):
    """One round."""
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
    """Last-step min-max regression against a drifting target, in the space of a kernel.

    Costs O(n² + nd) a round with n examples kept, and n²/2 numbers of memory; with a ``budget`` of
    n, now and then O(n³), on the whole O(n²). ``benchmarks/budget.py`` shows what a budget costs.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x).
    b : float, default 1.0
        Precision of the prior, b > 0.
    c : float, default 100.0
        Price of a squared step of the target, c > 0: smaller follows faster, infinity never moves.
    shrink : bool, default True
        Predict m/(1 + χ), the min-max prediction; otherwise m, which is better on benign streams.
    clip : float or None, default None
        Cut predictions to [−clip, clip], clip > 0.
    budget : int or None, default None
        Keep at most so many examples, budget ≥ 1: beyond, the oldest goes, and time counts from an
        example at most budget/2 older than those kept. None keeps all.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

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
