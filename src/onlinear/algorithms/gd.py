"""GD and C-GD: gradient descent on the square loss, free or inside a ball.

    ŷ  = xᵀw,  w₁ = 0
    w ← w − 2η (xᵀw − y) x
    w ← γ w/‖w‖₂ if ‖w‖₂ > γ                  the projection on the ball, if a radius γ is given

Without a radius a step with η‖x‖² > 1 lands farther from the label than it started, and a few such
steps in a row diverge; such a row is refused. With one the weights cannot run away.

Herbster & Warmuth, JMLR 2001, Figure 1; their rate is η = 1/(4X²) for ‖x‖ ≤ X.
"""

import math
from typing import NamedTuple

from onlinear._checks import limit, number
from onlinear._engine import DOMAIN, FINE, OVERFLOW, Step
from onlinear._kernels import axpy, dot, kernel, norm, scale
from onlinear._model import Algorithm, Learner
from onlinear.algorithms._recursion import Weights, weights

__all__ = ["GD", "TOO_LONG", "descend"]

TOO_LONG = (
    "needs eta·‖x‖² ≤ 1, or each step overshoots the label farther than the last "
    "(a smaller eta, NLMS, or a radius cures it), got eta·‖x‖² = {value:g}"
)


class GDParams(NamedTuple):
    """The learning rate, and γ."""

    eta: float
    radius: float


def init(params: GDParams, d: int) -> Weights:
    """Begin with w = 0."""
    return weights(d)


@kernel
def descend(state, eta, radius, x, y, m):
    """Take one gradient step and project; return (value, rule) if the row breaks one."""
    t, w = state
    reach = eta * dot(x, x)
    pace = -2.0 * eta * (m - y)
    if not math.isfinite(pace * reach):
        return reach, OVERFLOW
    if math.isinf(radius) and reach > 1.0:
        return reach, DOMAIN
    axpy(pace, x, w)
    length = norm(w)
    if length > radius:
        scale(radius / length, w, w)
    t[0] += 1
    return m, FINE


@Step
def step(state, params, x, y, work):
    """One round."""
    _, w = state
    eta, radius = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    return descend(state, eta, radius, x, y, m)


class GD(Learner):
    """Gradient descent; with a radius, C-GD, which tracks a target that shifts inside the ball.

    Costs O(d) a round.

    Parameters
    ----------
    eta : float, default 0.01
        Learning rate, eta > 0. For rows with ‖x‖ ≤ X the theorem's is 1/(4X²).
    radius : float or None, default None
        γ: keep ‖w‖₂ ≤ radius, radius > 0.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.GD(eta=0.25)
    >>> model.learn_one([1.0, 1.0], 2.0)
    >>> model.coef_
    array([1., 1.])
    """

    eta: float = 0.01
    radius: float | None = None

    algorithm = Algorithm(init, step, (TOO_LONG,))
    _poor_score = True

    def _params(self) -> GDParams:
        return GDParams(number(self, "eta", above=0), limit(self, "radius"))
