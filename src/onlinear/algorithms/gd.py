"""GD and C-GD: gradient descent on the square loss, free or inside a ball.

    ŷ  = xᵀw,  w₁ = 0
    w ← w − 2η (xᵀw − y) x
    w ← γ w/‖w‖₂ if ‖w‖₂ > γ                  the projection on the ball, if a radius γ is given

Without a radius, a step with η‖x‖² > 1 overshoots: the prediction is farther from the label after
the step than before, and a few such steps in succession diverge. A row with η‖x‖² > 1 is therefore
refused. With a radius, the weights cannot diverge, and no row is refused for its length.

Herbster & Warmuth, JMLR 2001, Figure 1 and Theorem 14; their rate is η = 1/(4X²) for ‖x‖ ≤ X.
Herbster & Warmuth's Lemma 11 holds, and its proof gives a bound for every rate below 3/(4X²).
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import (
    FACTOR,
    STAYS,
    Guarantee,
    Path,
    broke,
    compete,
    competitor,
    cut_to,
    enter,
    inside_ball,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import axpy, dot, norm, scale, short
from onlinear._updates.gaussian import Weights, weights
from onlinear._validation.checks import asked, limit, number

__all__ = ["GD", "TOO_LONG", "GDParams", "descend", "guarantee"]

TOO_LONG = (
    "needs eta·‖x‖² ≤ 1, or each step overshoots the label by more than the last "
    "(use a smaller eta, NLMS, or a radius), got eta·‖x‖² = {value:g}"
)


class GDParams(NamedTuple):
    """Parameters of a step: the learning rate η and the radius γ."""

    eta: float
    radius: float


def init(params: GDParams, d: int) -> Weights:
    """Return the initial state: w = 0."""
    return weights(d)


@short
def descend(state, eta, radius, x, y, m):
    """Take a gradient step and project; return the prediction m and FINE.

    If the row breaks a rule, change nothing; return the value that breaks it, and the rule.
    """
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


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w = state
    eta, radius = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    return descend(state, eta, radius, x, y, m)


class GDAccount(NamedTuple):
    """Parameters of the bound: the learning rate η, the radius γ, whether to find the best u."""

    eta: float
    radius: float
    search: float


REACH, SQUARES, LEAST = range(3)  # in ``sums``: max η‖x‖², Σy², least penalised loss over all u


@Tally
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss L against comparators u_t of loss L(u).

        L ≤ 4/(3 − 4 max η‖x‖²) · (L(u) + (‖u_T‖²/2 + γ Σ‖u_{t+1} − u_t‖)/(2η))

    γ is the radius, and u_T is the last comparator. Herbster & Warmuth's Lemma 11 extends to any
    rate: η(3/2 − 2η‖x‖²)·ℓ(w) − 2η·ℓ(u) is at most ½‖u − w‖² − ½‖u − w'‖², where ℓ is the squared
    error in a round, and w' are the weights after the step. At η = 1/(4X²) the factor of the bound
    is 2, as in Herbster & Warmuth's Theorem 14.
    """
    tally, notes, t, w, S, sums = state
    eta, radius, search = params
    reach = max(sums[REACH], eta * dot(x, x))
    least = 0.0
    if search:
        gain, _, rule = compete((t, w, S), math.inf, x, y, work)
        if rule != FINE:
            return lose(tally, notes, rule, gain)
        sums[SQUARES] += y * y
        sums[LEAST] += gain
        least = inside_ball(sums[LEAST], sums[SQUARES], w, radius)
    sums[REACH] = reach
    if reach >= 0.75:
        broke(notes, 0, reach)
        return enter(tally, notes, least, math.nan, 0.0)
    return enter(tally, notes, least, 4.0 / (3.0 - 4.0 * reach), 0.0)


def guarantee(owner: str, params: GDParams, search: bool) -> Guarantee:
    """Return the bound of gradient descent, with or without a radius."""
    eta, radius = params
    b = 1 / (4 * eta)

    def init(d: int) -> tuple[np.ndarray, ...]:
        return *competitor(d if search else 0, b), np.zeros(3)

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        drift = path.drift(2, 2 * b * radius)
        outside = np.isinf(drift) | path.ever(path.squares > (radius * (1 + 1e-12)) ** 2)
        return tally[FACTOR] * (path.loss + b * path.squares + drift), outside

    bounded = radius < math.inf
    factor = "· 4/(3 − 4 max η‖x‖²) (Herbster & Warmuth, Theorem 14, any rate)"
    drift = f" + {2 * b * radius:g}·Σ‖u_t+1 − u_t‖" if bounded else ""
    return Guarantee(
        f"loss ≤ comparator {factor}",
        f"{b:g}·‖u‖² + loss of u, {cut_to(radius)}",
        Account(owner, init, bound, (eta, radius, float(search))),
        f"loss ≤ (loss of u + {b:g}·‖u_T‖²{drift}) {factor}",
        price,
        ("η‖x‖² < 3/4",),
        "u_t with ‖u_t‖ ≤ radius" if bounded else STAYS,
    )


class GD(Learner):
    """Gradient descent; with a radius, C-GD, which tracks a shifting target inside a ball.

    Costs O(d) per round for d features; without a radius, a sparse row of k entries costs O(k).

    Parameters
    ----------
    eta : float, default 0.01
        Learning rate, eta > 0. For rows with ‖x‖ ≤ X, Herbster & Warmuth use 1/(4X²).
    radius : float or None, default None
        Keep ‖w‖₂ ≤ radius, radius > 0 (the paper's γ); None means no limit.
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

    algorithm = Algorithm(init, step, (TOO_LONG,))
    _poor_score = True

    def _params(self) -> GDParams:
        return GDParams(number(self, "eta", above=0), limit(self, "radius"))

    def _local(self) -> bool:
        return self.radius is None

    def _guarantee(self, search: bool = True) -> Guarantee:
        return guarantee("GD", self._params(), search)

    @classmethod
    def from_range(cls, X: float, radius: float | None = None) -> "GD":
        """Return gradient descent with Herbster & Warmuth's rate 1/(4X²), for rows with ‖x‖ ≤ X.

        >>> import onlinear as ol
        >>> ol.GD.from_range(X=2.0, radius=1.0)
        GD(eta=0.0625, radius=1.0)
        """
        length = number(asked("GD.from_range", X=X), "X", above=0)
        model = cls(1 / (4 * length * length), radius)
        model._params()
        return model
