"""The bound of gradient descent for any loss, with or without a radius: of GD and of OGD."""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import FINE, Tally
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
from onlinear._numerics.linalg import dot, norm, scale, short
from onlinear.losses import SQUARE, Loss

__all__ = ["guarantee"]


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
