"""AROWR: adaptive regularisation of weights, for regression.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw) / (r + χ)
    Σ ← Σ − Σx xᵀΣ / (r + χ)

Σ⁻¹ is bI plus 1/r times the sum of xxᵀ over all rows, so the weights and predictions are exactly
those of ridge regression with penalty r·b, and Σ is r times the Σ of ridge regression. AROWR is
included because ARCOR builds on it.

Vaits & Crammer, ALT 2011; Crammer, Kulesza & Dredze, NIPS 2009.
"""

import math
from typing import NamedTuple

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import dot
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    gaussian,
    learn_later,
    moves,
    settle,
)
from onlinear._updates.rescaling import GAUSSIAN
from onlinear._validation.checks import number
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["AROWR"]


class AROWRParams(NamedTuple):
    """Parameters of a step: the noise variance r and the prior's precision b."""

    r: float
    b: float


def init(params: AROWRParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and True: the block goes on.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    r, _ = params
    h, k = moves(y - m, chi, r)
    return m, h, k, True


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn), settle)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, _ = state
    r, _ = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    covariance_times(state, x, work)
    chi = dot(x, work[0])  # xᵀΣx
    return m, learn_later(state, x, y - m, chi, r, work)


class AROWR(SecondOrder):
    """Adaptive regularisation of weights for regression; same predictions as ``Ridge(b=r*b)``.

    Costs O(d²) per round.

    Parameters
    ----------
    r : float, default 1.0
        Variance that the learner assumes for the labels' noise, r > 0: a larger r gives each row
        less weight.
    b : float, default 1.0
        Precision of the prior, b > 0 (b = 1 in Vaits & Crammer).
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.AROWR(r=0.5, b=2.0)
    >>> model.learn_one([2.0, 0.0], 4.0)
    >>> round(model.predict_one([1.0, 0.0]), 6)  # as Ridge(b=1.0)
    1.6
    """

    r: float = 1.0
    b: float = 1.0

    algorithm = Algorithm(init, step, follows=GAUSSIAN)
    _sums_only = True

    def _params(self) -> AROWRParams:
        return AROWRParams(number(self, "r", above=0), number(self, "b", above=0))

    def _guarantee(self, search: bool = True) -> Guarantee:
        """Return the bound of ridge regression with penalty rb.

        Σ ℓ_t·r/(r+χ_t) = min over u of (rb‖u‖² + L(u)), where ℓ_t is the squared error in round t,
        and L(u) is the loss of u.
        """
        r, b = self._params()
        source = "Σ loss·r/(r+χ) is the least penalised loss"
        return guarantee("AROWR", source, LaserParams(r * b, math.inf, 0.0, math.inf), "χ/r")
