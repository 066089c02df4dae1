"""The forward algorithm ("aggregating algorithm for regression"): ridge predictions over 1 + χ.

    ŷ  = xᵀw / (1 + χ)             χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w and Σ as in online ridge regression

AAR predicts what ridge regression would predict after learning the present row with the label 0.
The prediction of AAR is that of Forster's last-step min-max forecaster. ``clip=Y`` clips the
prediction to [−Y, Y], and does not affect the learning.

Vovk, COLT 1998; Forster, FCT 1999; Moroshko, thesis Table 3.1.
"""

import math
from typing import NamedTuple

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import clipped, dot, kernel
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    gaussian,
    learn_later,
    moves,
    settle,
)
from onlinear._updates.rescaling import GAUSSIAN
from onlinear._validation.checks import limit, number
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["AAR"]


class AARParams(NamedTuple):
    """Parameters of a step: the prior's precision b, and the largest |prediction|, ``clip``."""

    b: float
    clip: float


def init(params: AARParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@kernel(inline="always")
def forecast(params, m, chi):
    """Return the prediction m/(1 + χ), clipped, given m = xᵀw and χ = xᵀΣx."""
    _, clip = params
    return clipped(m / (1.0 + chi), clip)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates of Σ and w, and True.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    True means that the row can be part of the block.
    """
    h, k = moves(y - m, chi, 1.0)
    return forecast(params, m, chi), h, k, True


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn), settle)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, _ = state
    covariance_times(state, x, work)
    chi = dot(x, work[0])  # xᵀΣx
    m = dot(w, x)
    prediction = forecast(params, m, chi)
    if math.isnan(y):
        return prediction, FINE
    return prediction, learn_later(state, x, y - m, chi, 1.0, work)


class AAR(SecondOrder):
    """The forward algorithm of Vovk and Forster: minimax optimal for a fixed target.

    For labels |y| ≤ Y, the loss of AAR exceeds that of the best fixed predictor (with the penalty
    b‖u‖²) by at most Y² ln det(Σ⁻¹/b), with Σ after the last round. This bound grows with the
    logarithm of the number of rounds. Costs O(d²) per round.

    Parameters
    ----------
    b : float, default 1.0
        Penalty on ‖w‖², b > 0.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.AAR(b=1.0)
    >>> model.learn_one([2.0], 4.0)
    >>> round(model.predict_one([1.0]), 6)  # ridge says 1.6; Σ = 1/5, so 1.6 / (1 + 1/5)
    1.333333
    """

    b: float = 1.0
    clip: float | None = None

    algorithm = Algorithm(init, step, follows=GAUSSIAN)
    _sums_only = True

    def _params(self) -> AARParams:
        return AARParams(number(self, "b", above=0), limit(self, "clip"))

    def _guarantee(self, search: bool = True) -> Guarantee:
        """Return the bound of AAR, which is that of LASER without drift (c = ∞).

        L ≤ min over u of (b‖u‖² + L(u)) + Σ y²·xᵀA⁻¹x ≤ … + Y² ln det(A_T/b), where L is the loss
        of AAR, L(u) that of u, and the sum is over the rows; A is the inverse covariance after the
        row is learnt, and A_T is A after the last row.
        """
        b, clip = self._params()
        return guarantee("AAR", "Vovk, Forster", LaserParams(b, math.inf, 1.0, clip))
