"""OGD: online gradient descent, with a constant or a decreasing rate, free or inside a ball.

    ŷ  = xᵀw,  w₁ = 0
    w ← w − 2η_t (xᵀw − y) x        η_t = η, or η/√t
    w ← γ w/‖w‖₂ if ‖w‖₂ > γ        if a radius γ is given

With a constant rate, OGD is GD; OGD is the name that Jamil & Bouchachia, the authors of CIRR, use
for this algorithm. As in GD, a row with η_t‖x‖² > 1 is refused if there is no radius.

With a radius, the falling rate has a bound that needs neither the number of rounds nor a limit on
the rows in advance. With the slope g = 2(xᵀw − y), which is at most 2(γ‖x‖ + |y|) in size, and
weights u_t with ‖u_t‖ ≤ γ, each round has

    ℓ(w_t) − ℓ(u_t) ≤ gxᵀ(w_t − u_t) ≤ (‖w_t − u_t‖² − ‖w_{t+1} − u_t‖²)/(2η_t) + ½η_t g²‖x‖²

The sum over the rounds gives, because ‖w_t‖ ≤ γ,

    L ≤ L(u) + ‖u_1‖²/(2η_1) + ½ Σ_{t≥2} (‖u_t‖ + γ)²(1/η_t − 1/η_{t−1})
           + Σ_{t≥2} ‖u_t − u_{t−1}‖(γ + ½‖u_t‖ + ½‖u_{t−1}‖)/η_{t−1}
           + 2 Σ η_t‖x_t‖²(γ‖x_t‖ + |y_t|)²

For ‖x‖ ≤ X, |y| ≤ Y and η = γ/(√2·X(γX + Y)), the regret against one u is at most
4√2·γX(γX + Y)√T.

Zinkevich, ICML 2003; Jamil & Bouchachia, section 5.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import (
    EXTRA,
    Guarantee,
    Path,
    compete,
    competitor,
    cut_to,
    enter,
    lose,
    scaled_down,
    unknown,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import dot, norm
from onlinear._updates.gaussian import Weights, weights
from onlinear._validation.checks import choice, limit, number
from onlinear.algorithms._gradient_bound import guarantee
from onlinear.algorithms.gd import TOO_LONG, descend
from onlinear.losses import SQUARED

__all__ = ["OGD"]


class OGDParams(NamedTuple):
    """Parameters of a step: the learning rate η, whether it falls as η/√t, and the radius γ."""

    eta: float
    falls: float
    radius: float


def init(params: OGDParams, d: int) -> Weights:
    """Return the initial state: w = 0."""
    return weights(d)


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w = state
    eta, falls, radius = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    if falls:
        eta /= math.sqrt(t[0] + 1.0)
    return descend(state, eta, radius, 2.0 * (m - y), 1.0, x, m)


class FallingAccount(NamedTuple):
    """Parameters of the bound with a falling rate: η, the radius γ, whether to find a u."""

    eta: float
    radius: float
    search: float


STEPS, SQUARES, LEAST, ROUNDS = 3, 4, 5, 6  # in the tally: the last sum of the bound, Σy², min, T


@Tally
def falling(state, params, x, y, work):
    """Add a row to the bound of OGD with the rates η/√t and a radius.

    The comparator found here is the fixed u that minimises L(u) + ‖u‖²/(2η), scaled down to the
    ball.
    """
    tally, notes, t, w, S = state
    eta, radius, search = params
    tally[ROUNDS] += 1.0
    root = math.sqrt(tally[ROUNDS])
    length = norm(x)
    steepest = length * (radius * length + abs(y))
    tally[STEPS] += 2.0 * eta / root * steepest * steepest
    if search == 0.0:
        return enter(tally, notes, 0.0, 1.0, tally[STEPS])
    gain, _, rule = compete((t, w, S), math.inf, x, y, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    tally[SQUARES] += y * y
    tally[LEAST] += gain
    size = norm(w)
    s = radius / size if size > radius else 1.0
    far = s * size + radius
    price = 0.5 * far * far * (root - 1.0) / eta
    least = scaled_down(tally[LEAST], tally[SQUARES], s)
    return enter(tally, notes, least + price, 1.0, tally[STEPS])


def guarantee_of_falling(eta: float, radius: float, search: bool) -> Guarantee:
    """Return the bound of OGD with the rates η/√t and a radius."""

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rounds = path.y.size
        sizes = np.broadcast_to(np.sqrt(path.squares), rounds)
        roots = np.sqrt(np.arange(1.0, rounds + 1))
        slower = np.diff(roots, prepend=1.0) / eta  # 1/η_t − 1/η_{t−1}, 0 in the first round
        later = np.append(sizes[1:], 0.0)
        drift = path.drift(2, (radius + 0.5 * sizes + 0.5 * later) * roots / eta)
        costs = sizes[0] ** 2 / (2 * eta) + 0.5 * np.cumsum((sizes + radius) ** 2 * slower)
        return path.loss + costs + drift + tally[EXTRA], path.ever(sizes > radius * (1 + 1e-12))

    b = 0.5 / eta
    steps = f"2 Σ η_t‖x_t‖²({radius:g}·‖x_t‖ + |y_t|)², η_t = {eta:g}/√t"
    return Guarantee(
        f"loss ≤ comparator + {steps}",
        f"loss of u + {b:g}·(‖u‖² + (‖u‖ + {radius:g})²(√T − 1)), {cut_to(radius)}",
        Account(
            "OGD",
            lambda d: competitor(d if search else 0, b, extra=4),
            falling,
            FallingAccount(eta, radius, float(search)),
        ),
        f"loss ≤ loss of u + {b:g}·(‖u_1‖² + Σ (‖u_t‖ + {radius:g})²(√t − √(t−1))) + {2 * b:g}·Σ "
        f"‖u_t − u_t−1‖({radius:g} + ½‖u_t‖ + ½‖u_t−1‖)√(t−1) + {steps}",
        price,
        paths="u_t with ‖u_t‖ ≤ radius",
    )


class OGD(Learner):
    """Online gradient descent with the rate eta, or eta/√t in round t.

    Costs O(d) per round; without a radius, a sparse row of k entries costs O(k).

    Parameters
    ----------
    eta : float, default 0.01
        Learning rate, eta > 0. Without a radius, a row with rate·‖x‖² > 1 is refused, where the
        rate is eta or eta/√t.
    schedule : {"constant", "sqrt"}, default "constant"
        "constant" uses the rate eta in every round, so that the weights follow drift; "sqrt" uses
        eta/√t in round t, so that the weights converge if the target is fixed.
    radius : float or None, default None
        Keep ‖w‖₂ ≤ radius, radius > 0; None means no limit. With schedule="sqrt", the regret bound
        needs a radius.
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
    radius: float | None = None

    algorithm = Algorithm(init, step, (TOO_LONG,))
    _poor_score = True

    def _params(self) -> OGDParams:
        schedule = choice(self, "schedule", ("constant", "sqrt"))
        eta, radius = number(self, "eta", above=0), limit(self, "radius")
        return OGDParams(eta, float(schedule == "sqrt"), radius)

    def _local(self) -> bool:
        return self.radius is None

    def _guarantee(self, search: bool = True) -> Guarantee:
        eta, falls, radius = self._params()
        if not falls:
            return guarantee("OGD", eta, radius, SQUARED, search)
        if math.isinf(radius):
            return unknown("OGD", "OGD with a falling rate and no radius")
        return guarantee_of_falling(eta, radius, search)
