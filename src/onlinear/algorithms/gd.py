"""GD and C-GD: gradient descent on a loss, free or inside a ball.

    a  = xᵀw,  w₁ = 0                         ŷ is the link of a
    w ← w − η g x                             g the slope of the loss at a, given y
    w ← γ w/‖w‖₂ if ‖w‖₂ > γ                  the projection on the ball, if a radius γ is given

With ``within``, w is projected on this set (:mod:`onlinear.sets`) before it is projected on the
ball, also before the first row.

For the square loss, the prediction is a, and the slope is 2(a − y). Without a radius, a step with
η‖x‖² > 1 overshoots: the prediction is farther from the label after the step than before, and a few
such steps in succession diverge. A row with η‖x‖² > 1 is therefore refused. With a radius, the
weights cannot diverge, and no row is refused for its length. The same holds for the squared hinge
loss and, with η‖x‖²·max(e^a, y), for the Poisson loss. The other losses have a bounded slope or
curvature, and refuse no row.

Herbster & Warmuth, JMLR 2001, Figure 1, Theorem 14 and section 3; their rate is η = 1/(4X²) for
‖x‖ ≤ X. The inequality in the proof of their Theorem 14 gives a bound for every loss
(:mod:`onlinear._learner.bounds.any_loss`) and, for the square loss, for every rate below 1/X².
Section 3 is about any set with a projection (:mod:`onlinear.algorithms._set_bound`).
"""

import math
from typing import NamedTuple

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.constrained import NO_LIMIT, NOT_PROJECTED, Constrained
from onlinear._learner.first_order import (
    rate_for_horizon,
    rate_for_loss,
    rate_for_range,
)
from onlinear._numerics.linalg import axpy, dot, norm, scale, short
from onlinear._updates.gaussian import Weights, weights
from onlinear._updates.projections import EUCLIDEAN
from onlinear._validation.checks import asked, limit, number
from onlinear.algorithms import _set_bound
from onlinear.algorithms._gradient_bound import guarantee
from onlinear.losses import SQUARED, Loss
from onlinear.losses._formulas import (
    POISSON,
    SQUARE,
    SQUARED_HINGE,
    allowed,
    answered,
)
from onlinear.sets import Ball, Box, L1Ball, Simplex

__all__ = ["GD", "NOT_A_LABEL", "TOO_LONG", "descend", "steepness"]

TOO_LONG = (
    "needs eta·‖x‖² ≤ 1, or each step overshoots the label by more than the last "
    "(use a smaller eta, NLMS, or a radius), got eta·‖x‖² = {value:g}"
)
NOT_A_LABEL = "needs {loss.labels} for loss={loss}, got y = {value:g}"


class GDParams(NamedTuple):
    """Parameters of a step: the learning rate η, the radius γ, the loss and its parameter."""

    eta: float
    radius: float
    loss: float
    shape: float


def init(params: GDParams, d: int) -> Weights:
    """Return the initial state: w = 0."""
    return weights(d)


@short
def steepness(loss, m, y):
    """Return s for which a step with η‖x‖²·s > 1 overshoots, given the prediction m.

    0 means that no step of the loss diverges.
    """
    if loss in (SQUARE, SQUARED_HINGE):
        return 1.0
    return max(m, y) if loss == POISSON else 0.0


@short
def descend(state, eta, radius, g, steep, x, m):
    """Take a gradient step with the slope g and project; return m and FINE.

    If the row breaks a rule, change nothing; return the value that breaks it, and the rule.
    """
    t, w = state
    reach = eta * dot(x, x)
    pace = -eta * g
    if not math.isfinite(pace * reach):
        return reach, OVERFLOW
    if math.isinf(radius) and reach * steep > 1.0:
        return reach * steep, DOMAIN
    axpy(pace, x, w)
    length = norm(w)
    if length > radius:
        scale(radius / length, w, w)
    t[0] += 1
    return m, FINE


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w = state
    eta, radius, loss, shape = params
    a = dot(w, x)
    m, g = answered(loss, shape, a, y)
    if math.isnan(y):
        return m, FINE
    if not allowed(loss, y):
        return y, DOMAIN + 1
    return descend(state, eta, radius, g, steepness(loss, m, y), x, m)


class GD(Constrained):
    """Gradient descent; with a radius, C-GD, which tracks a shifting target inside a ball.

    Costs O(d) per round for d features; without a radius or a set, a sparse row of k entries costs
    O(k).

    Parameters
    ----------
    eta : float, default 0.01
        Learning rate, eta > 0. For rows with ‖x‖ ≤ X, Herbster & Warmuth use 1/(4X²).
    radius : float or None, default None
        Keep ‖w‖₂ ≤ radius, radius > 0 (the paper's γ); None means no limit.
    loss : onlinear.losses.Loss, default Square()
        The loss whose gradient the learner follows, such as ``onlinear.losses.Logistic()``; the
        prediction is the link of xᵀw, a probability for ``Logistic``.
    within : onlinear.sets.Set or None, default None
        Keep the weights in this set, such as ``onlinear.sets.Box(low=0.0)``, which may be any but
        ``Capped``. With a radius, the weights are projected on the ball last.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

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

    algorithm = Algorithm(init, step, (TOO_LONG, NOT_A_LABEL, NOT_PROJECTED))
    _poor_score = True
    _geometry = EUCLIDEAN
    _sets = (Ball, L1Ball, Box, Simplex)

    def _params(self) -> GDParams:
        eta, radius = number(self, "eta", above=0), limit(self, "radius")
        return GDParams(eta, radius, *self._loss.numbers())

    def _last(self) -> list[list[float]]:
        return [] if self.radius is None else [Ball(self.radius).record()]

    def _free(self, params: GDParams) -> GDParams:
        return params._replace(radius=NO_LIMIT if self._bounded() else math.inf)

    def _local(self) -> bool:
        return self.radius is None and self.within is None

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()
        if self.within is not None:
            return _set_bound.guarantee(self, search, "‖x‖²")
        return guarantee("GD", params.eta, params.radius, self._loss, search)

    @classmethod
    def from_range(
        cls,
        X: float,
        radius: float | None = None,
        *,
        loss: Loss = SQUARED,
        Y: float = 0.0,
    ) -> "GD":
        """Return gradient descent with the rate 1/(κX²) for rows with ‖x‖ ≤ X.

        The slope g of the loss satisfies g² ≤ κ·loss; for the square loss, 1/(4X²) is Herbster &
        Warmuth's rate. The loss is then at most twice that of any u, plus a price that depends on
        u. ``Y`` is the largest label, which only the Poisson loss needs.

        >>> import onlinear as ol
        >>> ol.GD.from_range(X=2.0, radius=1.0)
        GD(eta=0.0625, radius=1.0)
        """
        length = number(asked("GD.from_range", X=X), "X", above=0)
        top = math.inf if radius is None else radius * length
        return cls._checked(
            rate_for_range("GD.from_range", loss, length * length, top, Y), radius, loss
        )

    @classmethod
    def from_loss(
        cls,
        X: float,
        radius: float,
        K: float,
        *,
        loss: Loss = SQUARED,
    ) -> "GD":
        """Return gradient descent with the best rate against a fixed u of loss at most K.

        For rows with ‖x‖ ≤ X and ‖u‖ ≤ radius, the square loss of the learner is at most
        K + 2√(αK) + α, with α = X²·radius².

        >>> import onlinear as ol
        >>> ol.GD.from_loss(X=1.0, radius=1.0, K=1.0)
        GD(eta=0.25, radius=1.0)
        """
        known = asked("GD.from_loss", X=X, radius=radius)
        length, size = number(known, "X", above=0), number(known, "radius", above=0)
        eta = rate_for_loss("GD.from_loss", loss, length * length, 0.5 * size * size, K)
        return cls._checked(eta, radius, loss)

    @classmethod
    def from_horizon(cls, T: int, X: float, radius: float, *, loss: Loss) -> "GD":
        """Return gradient descent with the best rate for T rounds of a loss with bounded slope.

        For rows with ‖x‖ ≤ X and ‖u‖ ≤ radius, the regret is at most G·X·radius·√T, if no slope of
        the loss exceeds G.

        >>> import onlinear as ol
        >>> ol.GD.from_horizon(T=100, X=1.0, radius=1.0, loss=ol.losses.Absolute())
        GD(eta=0.1, radius=1.0, loss=Absolute())
        """
        known = asked("GD.from_horizon", X=X, radius=radius)
        length, size = number(known, "X", above=0), number(known, "radius", above=0)
        eta = rate_for_horizon("GD.from_horizon", loss, length * length, 0.5 * size * size, T)
        return cls._checked(eta, radius, loss)

    @classmethod
    def _checked(cls, eta: float, radius: float | None, loss: Loss) -> "GD":
        """Return the learner with these parameters, after a check."""
        model = cls(eta, radius, loss=loss)
        model._params()
        return model
