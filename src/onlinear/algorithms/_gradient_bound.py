"""The bound of gradient descent for any loss, with or without a radius: of GD, OGD and PNorm."""

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
    lose,
    scaled_down,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import dot, scale, short
from onlinear._updates.p_norms import exponent, p_norm
from onlinear.losses import Loss
from onlinear.losses._formulas import SQUARE, rounding

__all__ = ["guarantee", "size_of_row"]


class GDAccount(NamedTuple):
    """Parameters of the bound: η, the radius γ, p (2 for GD), the loss, whether to find a u."""

    eta: float
    radius: float
    p: float
    loss: float
    shape: float
    search: float


# in ``sums``: the two parts of the bound that depend on the rows, the sums of h·z² and k of the
# parabolas h(b − z)² + k above the losses of u, the least sum of h(b − z)² with u's penalty, and
# the sum of |a − y| for the activations a = uᵀx
REACH, SQUARES, LEAST, PLUS, OVER, MISSES = range(6)


@short
def size_of_row(x, p, size):
    """Return R² of a row with ‖x‖_p = ``size``."""
    return dot(x, x) if p == 2.0 else (p - 1.0) * size * size


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to the bound of :mod:`onlinear._learner.bounds.any_loss`, R² = (p − 1)‖x‖_p².

    Against comparators u_t with ‖u_t‖_q ≤ γ, where 1/p + 1/q = 1, the price is
    ½‖u_T‖_q² + γ Σ‖u_{t+1} − u_t‖_q. For GD, p = q = 2. The comparator found here is a fixed u: the
    minimiser of a multiple of ‖u‖₂² and of parabolas that are nowhere below its losses, scaled down
    to the ball.
    """
    tally, notes, t, w, S, sums = state
    eta, radius, p, loss, shape, search = params
    p = exponent(p, x.size)
    size = p_norm(x, p)
    R2 = size_of_row(x, p, size)
    top = radius * size if R2 > 0.0 else 0.0
    reach, plus = any_loss.growth(loss, shape, eta, R2, top, y)
    sums[REACH] = max(sums[REACH], reach)
    added = 0.0
    if loss != SQUARE:
        sums[PLUS] += plus
        added = sums[PLUS]
    if search == 0.0:
        return any_loss.enter_ceiling(tally, notes, loss, sums[REACH], added, 0.0, 0.0)
    if loss == SQUARE:
        gain, _, rule = compete((t, w, S), math.inf, x, y, work)
        sums[SQUARES] += y * y
    else:
        gain, rule = _follow((t, w, S), loss, shape, x, y, top, sums, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    sums[LEAST] += gain
    length = p_norm(w, p / (p - 1.0))
    s = radius / length if length > radius else 1.0
    share = 0.5 if loss == SQUARE else 1.0
    counted = share * s * s * dot(w, w) / (2.0 * eta)  # the penalty that the search counts
    L = max(0.0, scaled_down(sums[LEAST], sums[SQUARES], s) - counted)
    if loss != SQUARE:
        L += sums[OVER]
    price = s * s * length * length / (2.0 * eta)
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
    sums[OVER] += k + rounding(loss, y)
    return gain, rule


def guarantee(
    owner: str,
    eta: float,
    radius: float,
    loss: Loss,
    search: bool,
    p: float = 2.0,
    size: str | None = None,
) -> Guarantee:
    """Return the bound of gradient descent, with or without a radius; p is that of ``PNorm``.

    ``size`` is R² in words, by default that of rows in a space with the p-norm.
    """
    square = loss.numbers()[0] == SQUARE
    sums = 3 if square else 6

    def init(d: int) -> tuple[np.ndarray, ...]:
        b = (0.25 if square else 0.5) / eta
        return *competitor(d if search else 0, b), np.zeros(sums)

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        power = exponent(p, path.X.shape[1])
        q = power / (power - 1)
        sizes = np.linalg.norm(path.u, ord=q, axis=1)
        drift = path.drift(q, radius / eta)
        outside = np.isinf(drift) | path.ever(sizes > radius * (1 + 1e-12))
        lengths = np.linalg.norm(path.X, ord=power, axis=1)
        tops = np.where(lengths > 0, lengths, 1.0) * radius
        R2 = (power - 1) * lengths * lengths
        prices = sizes * sizes / (2 * eta) + drift
        ceilings = any_loss.ceilings(loss, eta, R2, tops, path.y, path.loss, prices)
        return np.where(np.isinf(ceilings), math.nan, ceilings), outside

    bounded = radius < math.inf
    plain = p == 2.0
    size = size or ("‖x‖²" if plain else "(p − 1)‖x‖_p²")
    words, hypotheses = any_loss.words(loss, size)
    u = "‖u‖" if plain else "‖u‖_q"
    price_words = f"p = {1 / (2 * eta):g}·{u}²"
    drift = f" + {radius / eta:g}·Σ‖u_t+1 − u_t‖{u[3:]}" if bounded else ""
    missing = any_loss.without_limit(owner, loss, bounded)
    source = "Herbster & Warmuth, Theorem 14, any rate and loss" if plain else "Gentile, any loss"
    return Guarantee(
        missing or f"loss ≤ {words} ({source})",
        f"L + p, L = loss of u, {price_words}, {cut_to(radius)}",
        Account(owner, init, bound, GDAccount(eta, radius, p, *loss.numbers(), float(search))),
        missing or f"loss ≤ {words}, L = loss of u, {price_words.replace('‖u‖', '‖u_T‖')}{drift}",
        price,
        hypotheses,
        f"u_t with {u.replace('u', 'u_t')} ≤ radius" if bounded else STAYS,
        known=missing is None,
        loss=loss,
        measure=any_loss.comparators_loss(loss),
    )
