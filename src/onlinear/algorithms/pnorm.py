"""PNorm: the p-norm algorithm, between gradient descent (p = 2) and EG± (large p).

    a  = xᵀw,  θ₁ = 0                         ŷ is the link of a
    θ ← θ − η g x                             g the slope of the loss at a, given y
    θ ← γ θ/‖θ‖_p if ‖θ‖_p > γ                if a radius γ is given
    w_i = sign(θ_i)·|θ_i|^(p−1)·‖θ‖_p^(2−p)   so that ‖w‖_q = ‖θ‖_p, 1/p + 1/q = 1

With ``within``, θ is projected on this set (:mod:`onlinear._updates.projections`) before it is
projected on the ball, also before the first row.

With p = 2, w is θ, and the algorithm is gradient descent. With p = 2 ln n for n inputs, the bound
depends on n by ln n only, as that of EG± does, but no limit on ‖u‖₁ need be known. A row with
η(p − 1)‖x‖_p² > 1 is refused as :class:`onlinear.GD` refuses rows with η‖x‖² > 1.

Grove, Littlestone & Schuurmans, Machine Learning 2001; Gentile, Machine Learning 2003; Herbster &
Warmuth, JMLR 2001, section 6, which suggests to let it track a shifting target.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.constrained import NO_LIMIT, NOT_PROJECTED, Constrained
from onlinear._learner.first_order import (
    rate_for_horizon,
    rate_for_loss,
    rate_for_range,
)
from onlinear._numerics.linalg import axpy, dot, scale
from onlinear._updates.p_norms import exponent, p_norm, weights_of
from onlinear._updates.projections import P_NORM
from onlinear._validation.checks import asked, limit, number
from onlinear._validation.states import check_range
from onlinear.algorithms import _set_bound
from onlinear.algorithms._gradient_bound import guarantee
from onlinear.algorithms.gd import NOT_A_LABEL, steepness
from onlinear.losses import SQUARED, Loss
from onlinear.losses._formulas import allowed, answered
from onlinear.sets import Ball

__all__ = ["PNorm"]

TOO_LONG = (
    "needs eta·(p − 1)·‖x‖_p² ≤ 1, or each step overshoots the label by more than the last "
    "(use a smaller eta, or a radius), got {value:g}"
)


class PNormParams(NamedTuple):
    """Parameters of a step: η, the radius γ, the loss and its parameter, p (0: max(2, 2 ln n))."""

    eta: float
    radius: float
    loss: float
    shape: float
    p: float


class PNormState(NamedTuple):
    """The state: the number of rounds, the dual vector θ, and the weights w."""

    t: np.ndarray
    theta: np.ndarray
    w: np.ndarray


def init(params: PNormParams, d: int) -> PNormState:
    """Return the initial state: w = θ = 0."""
    return PNormState(np.zeros(1), np.zeros(d), np.zeros(d))


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, theta, w = state
    eta, radius, loss, shape, p = params
    a = dot(w, x)
    m, g = answered(loss, shape, a, y)
    if math.isnan(y):
        return m, FINE
    if not allowed(loss, y):
        return y, DOMAIN + 1
    p = exponent(p, x.size)
    size = p_norm(x, p)
    reach = eta * (p - 1.0) * size * size * steepness(loss, m, y)
    pace = -eta * g
    if not math.isfinite(pace * reach) or not math.isfinite(pace * size):
        return reach, OVERFLOW
    if math.isinf(radius) and reach > 1.0:
        return reach, DOMAIN
    axpy(pace, x, theta)
    length = p_norm(theta, p)
    if length > radius:
        scale(radius / length, theta, theta)
    weights_of(theta, p, w)
    t[0] += 1
    return m, FINE


class PNorm(Constrained):
    """The p-norm algorithm; with a radius, it tracks a shifting target.

    For many inputs few of which matter, like EG±, but without a limit on the weights to declare.
    Costs O(n) per round for n inputs.

    Parameters
    ----------
    p : float or None, default None
        The norm, p ≥ 2; None means max(2, 2 ln n) for n inputs. p = 2 is gradient descent.
    eta : float, default 0.01
        Learning rate, eta > 0. For rows with ‖x‖_p ≤ X, 1/(4(p − 1)X²) makes the square loss at
        most twice that of any u, plus a price that depends on u.
    radius : float or None, default None
        Keep ‖w‖_q ≤ radius, radius > 0, where 1/p + 1/q = 1; None means no limit.
    loss : onlinear.losses.Loss, default Square()
        The loss whose gradient the learner follows, such as ``onlinear.losses.Logistic()``; the
        prediction is the link of xᵀw, a probability for ``Logistic``.
    within : onlinear.sets.Set or None, default None
        Keep the weights in this set: ``Ball``, ``HalfSpace``, ``HyperPlane``, ``Custom``, or an
        ``Intersection`` of them (:mod:`onlinear.sets`). With a radius, the weights are projected on
        the ball last.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.PNorm(p=3.0, eta=0.1)
    >>> model.learn_one([1.0, 1.0], 2.0)
    >>> model.coef_.round(3)
    array([0.317, 0.317])
    """

    p: float | None = None
    eta: float = 0.01
    radius: float | None = None

    algorithm = Algorithm(init, step, (TOO_LONG, NOT_A_LABEL, NOT_PROJECTED))
    _poor_score = True
    _geometry = P_NORM
    _sets = (Ball,)

    def _params(self) -> PNormParams:
        p = 0.0 if self.p is None else number(self, "p", least=2, most=1000)
        eta, radius = number(self, "eta", above=0), limit(self, "radius")
        return PNormParams(eta, radius, *self._loss.numbers(), p)

    def _power(self) -> float:
        return self._params().p

    def _last(self) -> list[list[float]]:
        return [] if self.radius is None else [Ball(self.radius).record()]

    def _free(self, params: PNormParams) -> PNormParams:
        return params._replace(radius=NO_LIMIT if self._bounded() else math.inf)

    def _settle(self) -> None:
        theta, w = self._state.theta, self._state.w
        weights_of(theta, exponent(self._params().p, theta.size), w)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        p = exponent(self._params().p, stack.theta.shape[-1])
        same = np.empty_like(stack.theta)
        for theta, w in zip(stack.theta, same, strict=True):
            weights_of(theta, p, w)
        slack = 1e-6 * np.abs(same).max(axis=-1, keepdims=True)
        check_range("a weight", stack.w, same - slack, same + slack)

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()
        if self.within is not None:
            return _set_bound.guarantee(self, search, "(p − 1)‖x‖_p²")
        return guarantee("PNorm", params.eta, params.radius, self._loss, search, params.p)

    @classmethod
    def from_range(
        cls,
        X: float,
        p: float,
        radius: float | None = None,
        *,
        loss: Loss = SQUARED,
        Y: float = 0.0,
    ) -> "PNorm":
        """Return the learner with the rate 1/(κ(p − 1)X²) for rows with ‖x‖_p ≤ X.

        The slope g of the loss satisfies g² ≤ κ·loss (κ = 4 for the square loss). The loss is then
        at most twice that of any u, plus a price that depends on u. ``Y`` is the largest label,
        which only the Poisson loss needs.

        >>> import onlinear as ol
        >>> ol.PNorm.from_range(X=1.0, p=3.0, radius=2.0)
        PNorm(p=3.0, eta=0.125, radius=2.0)
        """
        X, R2 = cls._sizes("PNorm.from_range", X, p)
        top = math.inf if radius is None else radius * X
        return cls._checked(p, rate_for_range("PNorm.from_range", loss, R2, top, Y), radius, loss)

    @classmethod
    def from_loss(
        cls, X: float, p: float, radius: float, K: float, *, loss: Loss = SQUARED
    ) -> "PNorm":
        """Return the learner with the best rate against a fixed u of loss at most K.

        For rows with ‖x‖_p ≤ X and ‖u‖_q ≤ radius, the square loss of the learner is at most
        K + 2√(αK) + α, with α = (p − 1)X²·radius².

        >>> import onlinear as ol
        >>> ol.PNorm.from_loss(X=1.0, p=3.0, radius=1.0, K=0.0)
        PNorm(p=3.0, eta=0.25, radius=1.0)
        """
        _, R2 = cls._sizes("PNorm.from_loss", X, p)
        size = number(asked("PNorm.from_loss", radius=radius), "radius", above=0)
        eta = rate_for_loss("PNorm.from_loss", loss, R2, 0.5 * size * size, K)
        return cls._checked(p, eta, radius, loss)

    @classmethod
    def from_horizon(cls, T: int, X: float, p: float, radius: float, *, loss: Loss) -> "PNorm":
        """Return the learner with the best rate for T rounds of a loss with a bounded slope.

        For rows with ‖x‖_p ≤ X and ‖u‖_q ≤ radius, the regret is at most
        G·X·radius·√((p − 1)T), if no slope of the loss exceeds G.

        >>> import onlinear as ol
        >>> ol.PNorm.from_horizon(T=8, X=1.0, p=3.0, radius=1.0, loss=ol.losses.Absolute())
        PNorm(p=3.0, eta=0.25, radius=1.0, loss=Absolute())
        """
        _, R2 = cls._sizes("PNorm.from_horizon", X, p)
        size = number(asked("PNorm.from_horizon", radius=radius), "radius", above=0)
        eta = rate_for_horizon("PNorm.from_horizon", loss, R2, 0.5 * size * size, T)
        return cls._checked(p, eta, radius, loss)

    @staticmethod
    def _sizes(owner: str, X: float, p: float) -> tuple[float, float]:
        """Return X and the largest R² = (p − 1)X², after a check."""
        known = asked(owner, X=X, p=p)
        X, p = number(known, "X", above=0), number(known, "p", least=2, most=1000)
        return X, (p - 1) * X * X

    @classmethod
    def _checked(cls, p: float, eta: float, radius: float | None, loss: Loss) -> "PNorm":
        """Return the learner with these parameters, after a check."""
        model = cls(p, eta, radius, loss=loss)
        model._params()
        return model
