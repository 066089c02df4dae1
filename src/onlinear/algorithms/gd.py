"""GD and C-GD: gradient descent on a loss, free or inside a ball.

    a  = xᵀw,  w₁ = 0                         predict the link of a
    w ← w − η g x                             g the slope of the loss at a, given y
    w ← γ w/‖w‖₂ if ‖w‖₂ > γ                  the projection on the ball, if a radius γ is given

For the square loss, the prediction is a, and the slope is 2(a − y). Without a radius, a step with
η‖x‖² > 1 overshoots: the prediction is farther from the label after the step than before, and a few
such steps in succession diverge. A row with η‖x‖² > 1 is therefore refused. With a radius, the
weights cannot diverge, and no row is refused for its length. The same holds for the squared hinge
loss and, with η‖x‖²·max(e^a, y), for the Poisson loss. The other losses have a bounded slope or
curvature, and refuse no row.

Herbster & Warmuth, JMLR 2001, Figure 1, Theorem 14 and section 3; their rate is η = 1/(4X²) for
‖x‖ ≤ X. The inequality in the proof of their Theorem 14 gives a bound for every loss
(:mod:`onlinear._learner.bounds.any_loss`) and, for the square loss, for every rate below 1/X².
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds import any_loss
from onlinear._learner.bounds.guarantee import (
    STAYS,
    Guarantee,
    Path,
    compete,
    competitor,
    cut_to,
    inside_ball,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.first_order import (
    FirstOrder,
    rate_for_horizon,
    rate_for_loss,
    rate_for_range,
)
from onlinear._numerics.linalg import axpy, dot, norm, scale, short
from onlinear._updates.gaussian import Weights, weights
from onlinear._validation.checks import asked, limit, number
from onlinear.losses import (
    POISSON,
    SQUARE,
    SQUARED,
    SQUARED_HINGE,
    Loss,
    allowed,
    linked,
    slope,
)

__all__ = ["GD", "NOT_A_LABEL", "TOO_LONG", "descend", "guarantee", "steepness"]

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
def steepness(loss, a, y):
    """Return s for which a step with η‖x‖²·s > 1 overshoots; 0 if no step of the loss diverges."""
    if loss in (SQUARE, SQUARED_HINGE):
        return 1.0
    return max(linked(loss, a), y) if loss == POISSON else 0.0


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


def steady(params):
    """Return whether the loss lets no number of the state grow beyond 1e300 unnoticed."""
    return params[2] != POISSON


@Step.checked_per_block(steady)
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w = state
    eta, radius, loss, shape = params
    a = dot(w, x)
    m = linked(loss, a)
    if math.isnan(y):
        return m, FINE
    if not allowed(loss, y):
        return y, DOMAIN + 1
    g = slope(loss, shape, a, y)
    return descend(state, eta, radius, g, steepness(loss, a, y), x, m)


class GDAccount(NamedTuple):
    """Parameters of the bound: η, the radius γ, the loss, its parameter, whether to find a u."""

    eta: float
    radius: float
    loss: float
    shape: float
    search: float


# in ``sums``: the two parts of the bound that depend on the rows, the sums of h·z² and k of the
# parabolas h(b − z)² + k above the losses of u, the least sum of h(b − z)² with u's penalty, and
# the sum of |a − y| for the activations a = uᵀx
REACH, SQUARES, LEAST, PLUS, OVER, MISSES = range(6)


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to the bound of :mod:`onlinear._learner.bounds.any_loss`, with R² = ‖x‖².

    Against comparators u_t with ‖u_t‖ ≤ γ, the price is ½‖u_T‖² + γ Σ‖u_{t+1} − u_t‖. The
    comparator found here is a fixed u: the minimiser of its penalty and of parabolas that are
    nowhere below its losses, cut to the ball.
    """
    tally, notes, t, w, S, sums = state
    eta, radius, loss, shape, search = params
    R2 = dot(x, x)
    top = radius * math.sqrt(R2) if R2 > 0.0 else 0.0
    reach, plus = any_loss.growth(loss, shape, eta, R2, top, y)
    sums[REACH] = max(sums[REACH], reach)
    if loss != SQUARE:
        sums[PLUS] += plus
    if search:
        if loss == SQUARE:
            gain, _, rule = compete((t, w, S), math.inf, x, y, work)
            sums[SQUARES] += y * y
        else:
            gain, rule = _follow((t, w, S), loss, shape, x, y, top, sums, work)
        if rule != FINE:
            return lose(tally, notes, rule, gain)
        sums[LEAST] += gain
    share = 0.5 if loss == SQUARE else 1.0
    length = min(norm(w), radius) if search else 0.0
    price = length * length / (2.0 * eta)
    least = inside_ball(sums[LEAST], sums[SQUARES], w, radius) if search else 0.0
    L = max(0.0, least - share * price)
    added = 0.0
    if loss != SQUARE:
        L += sums[OVER]
        added = sums[PLUS]
    return any_loss.enter_ceiling(tally, notes, loss, sums[REACH], added, L, price)


@short
def _follow(state, loss, shape, x, y, top, sums, work):
    """Add the row's parabola to the least-squares problem of u; return the gain and the rule."""
    _, w, _ = state
    a = dot(w, x)
    sums[MISSES] += abs(a - y)
    h, z, k = any_loss.parabola(loss, shape, a, y, top, sums[MISSES] / (state[0][0] + 1.0))
    root = math.sqrt(h)
    row = work[2]
    scale(root, x, row)
    gain, _, rule = compete(state, math.inf, row, root * z, work)
    sums[SQUARES] += h * z * z
    sums[OVER] += k
    return gain, rule


def guarantee(
    owner: str, eta: float, radius: float, loss: Loss, search: bool, R2: str = "‖x‖²"
) -> Guarantee:
    """Return the bound of gradient descent, with or without a radius."""
    square = loss.numbers()[0] == SQUARE
    sums = 3 if square else 6

    def init(d: int) -> tuple[np.ndarray, ...]:
        b = (0.25 if square else 0.5) / eta
        return *competitor(d if search else 0, b), np.zeros(sums)

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        drift = path.drift(2, radius / eta)
        outside = np.isinf(drift) | path.ever(path.squares > (radius * (1 + 1e-12)) ** 2)
        lengths = np.einsum("ij,ij->i", path.X, path.X)
        tops = radius * np.sqrt(lengths) if radius < math.inf else np.full(lengths.shape, math.inf)
        prices = path.squares / (2 * eta) + drift
        ceilings = any_loss.ceilings(loss, eta, lengths, tops, path.y, path.loss, prices)
        return np.where(np.isinf(ceilings), math.nan, ceilings), outside

    bounded = radius < math.inf
    bound_words, hypotheses = any_loss.words(loss, R2)
    p = f"p = {1 / (2 * eta):g}·‖u‖²"
    drift = f" + {radius / eta:g}·Σ‖u_t+1 − u_t‖" if bounded else ""
    return Guarantee(
        f"loss ≤ {bound_words} (Herbster & Warmuth, Theorem 14, any rate and loss)",
        f"L + p, L = loss of u, {p}, {cut_to(radius)}",
        Account(owner, init, bound, GDAccount(eta, radius, *loss.numbers(), float(search))),
        f"loss ≤ {bound_words}, L = loss of u, {p.replace('‖u‖²', '‖u_T‖²')}{drift}",
        price,
        hypotheses,
        "u_t with ‖u_t‖ ≤ radius" if bounded else STAYS,
        loss=loss,
        measure=any_loss.comparators_loss(loss),
    )


class GD(FirstOrder):
    """Gradient descent; with a radius, C-GD, which tracks a shifting target inside a ball.

    Costs O(d) per round for d features; without a radius, a sparse row of k entries costs O(k).

    Parameters
    ----------
    eta : float, default 0.01
        Learning rate, eta > 0. For rows with ‖x‖ ≤ X, Herbster & Warmuth use 1/(4X²).
    radius : float or None, default None
        Keep ‖w‖₂ ≤ radius, radius > 0 (the paper's γ); None means no limit.
    loss : onlinear.losses.Loss, default Square()
        The loss whose gradient the learner follows, such as ``onlinear.losses.Logistic()``; the
        prediction is the link of xᵀw, a probability for ``Logistic``.
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

    algorithm = Algorithm(init, step, (TOO_LONG, NOT_A_LABEL))
    _poor_score = True

    def _params(self) -> GDParams:
        eta, radius = number(self, "eta", above=0), limit(self, "radius")
        return GDParams(eta, radius, *self._loss.numbers())

    def _local(self) -> bool:
        return self.radius is None

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()
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
