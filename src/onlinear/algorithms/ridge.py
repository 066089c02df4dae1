"""Online ridge regression: the regularised least-squares solution after every round.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
                                   clipped to [−clip, clip], if a clip is given
    w ← w + Σx (y − xᵀw) / (1 + χ)
    Σ ← Σ − Σx xᵀΣ / (1 + χ)

After t rounds, w minimises b‖u‖² + Σ (y_s − uᵀx_s)² over u, and Σ⁻¹ = bI + Σ x_s x_sᵀ. The bound
with a logarithm, equation (27) of Jamil & Bouchachia, needs predictions clipped to the range of the
labels.

The algorithm is in Table 3.1 of Moroshko's thesis; Jamil & Bouchachia call it "ORR".
"""

import math
from typing import NamedTuple

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import clipped, dot
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

__all__ = ["Ridge"]


class RidgeParams(NamedTuple):
    """Parameters of a step: the prior's precision b and the largest |prediction|."""

    b: float
    clip: float


def init(params: RidgeParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates of Σ and w, and True (go on).

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    _, clip = params
    h, k = moves(y - m, chi, 1.0)
    return clipped(m, clip), h, k, True


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn), settle)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, _ = state
    _, clip = params
    m = dot(w, x)
    prediction = clipped(m, clip)
    if math.isnan(y):  # no label: predict, change nothing
        return prediction, FINE
    covariance_times(state, x, work)
    chi = dot(x, work[0])  # xᵀΣx
    return prediction, learn_later(state, x, y - m, chi, 1.0, work)


class Ridge(SecondOrder):
    """Online ridge regression (least squares with a penalty), for a fixed target.

    Costs O(d²) time per round, and O(d²) memory, for d features.

    Parameters
    ----------
    b : float, default 1.0
        Penalty on ‖w‖² (precision of the prior), b > 0.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.Ridge(b=1.0)
    >>> model.learn_one([2.0, 0.0], 4.0)
    >>> round(model.predict_one([1.0, 0.0]), 6)  # 2·4 / (1 + 2·2)
    1.6
    """

    b: float = 1.0
    clip: float | None = None

    algorithm = Algorithm(init, step, follows=GAUSSIAN)
    _sums_only = True

    def _params(self) -> RidgeParams:
        return RidgeParams(number(self, "b", above=0), limit(self, "clip"))

    def _guarantee(self, search: bool = True) -> Guarantee:
        """Return the bound of ridge regression: that of LASER with shrink=False and c = ∞.

        Σ ℓ_t/(1+χ_t) = min over u of (b‖u‖² + L(u)), where ℓ_t is the squared error in round t,
        and L(u) is the loss of u.
        """
        b, clip = self._params()
        equality = "Σ loss/(1+χ) is the least penalised loss"
        source = "Jamil & Bouchachia (27)" if clip < math.inf else equality
        return guarantee("Ridge", source, LaserParams(b, math.inf, 0.0, clip))
