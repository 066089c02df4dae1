"""OGD: online gradient descent, with a constant or a decreasing rate.

    ŷ  = xᵀw,  w₁ = 0
    w ← w − 2η_t (xᵀw − y) x        η_t = η, or η/√t

With a constant rate, OGD is GD without a radius; OGD is the name that Jamil & Bouchachia, the
authors of CIRR, use for this algorithm.

Zinkevich, ICML 2003; Jamil & Bouchachia, section 5.
"""

import math
from typing import Literal, NamedTuple

from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._numerics.linalg import dot
from onlinear._updates.gaussian import Weights, weights
from onlinear._validation.checks import choice, number
from onlinear.algorithms._gradient_bound import guarantee
from onlinear.algorithms.gd import TOO_LONG, descend
from onlinear.losses import SQUARED

__all__ = ["OGD"]


class OGDParams(NamedTuple):
    """Parameters of a step: the learning rate η, and whether it falls as η/√t."""

    eta: float
    falls: float


def init(params: OGDParams, d: int) -> Weights:
    """Return the initial state: w = 0."""
    return weights(d)


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w = state
    eta, falls = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    if falls:
        eta /= math.sqrt(t[0] + 1.0)
    return descend(state, eta, math.inf, 2.0 * (m - y), 1.0, x, m)


class OGD(Learner):
    """Online gradient descent with the rate eta, or eta/√t in round t.

    Costs O(d) per round, O(k) for a sparse row of k entries.

    Parameters
    ----------
    eta : float, default 0.01
        Learning rate, eta > 0; a row with rate·‖x‖² > 1 is refused, where the rate is eta or
        eta/√t.
    schedule : {"constant", "sqrt"}, default "constant"
        "constant" uses the rate eta in every round, so that the weights follow drift; "sqrt" uses
        eta/√t in round t, so that the weights converge if the target is fixed.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.OGD(eta=0.25, schedule="sqrt")
    >>> model.learn_one([1.0, 1.0], 2.0)
    >>> model.coef_
    array([1., 1.])
    """

    eta: float = 0.01
    schedule: Literal["constant", "sqrt"] = "constant"

    algorithm = Algorithm(init, step, (TOO_LONG,))
    _poor_score = True

    def _params(self) -> OGDParams:
        schedule = choice(self, "schedule", ("constant", "sqrt"))
        return OGDParams(number(self, "eta", above=0), float(schedule == "sqrt"))

    def _local(self) -> bool:
        return True

    def _guarantee(self, search: bool = True) -> Guarantee:
        eta, falls = self._params()
        if falls:
            return unknown("OGD", "OGD with a falling rate and no radius")
        return guarantee("OGD", eta, math.inf, SQUARED, search)
