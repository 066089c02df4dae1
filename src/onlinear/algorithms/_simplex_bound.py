"""The bound of EG and EG±, for any loss, and its price of comparators on the simplex."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, Tally
from onlinear._learner.bounds import any_loss
from onlinear._learner.bounds.best_in_class import (
    add_row,
    improve_on_simplex,
    loss_of,
    sum_of_atoms,
)
from onlinear._learner.bounds.guarantee import Path, lose, surprise, surprises, tallied
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import dot, extremes, kernel
from onlinear.losses import Loss
from onlinear.losses._formulas import (
    ABSOLUTE,
    HUBER,
    INSENSITIVE,
    QUANTILE,
    SQUARE,
    rounding,
)

__all__ = [
    "SPARSE",
    "EGAccount",
    "account",
    "off_simplex",
    "on_simplex",
    "path_price",
    "price",
    "spread_of",
    "wasted",
]

SPARSE = ", more if some u_t,i < alpha/n"


class EGAccount(NamedTuple):
    """Parameters of the bound: η, α (0: none), U of EG± (1 for EG), the loss, whether to seek u."""

    eta: float
    alpha: float
    U: float
    loss: float
    shape: float
    search: float


# in the tally: the largest range of a row and Σh·z², where h(b − z)² + k are the parabolas above
# the losses of u (Σy² for the square loss); for other losses, also the two parts of the bound that
# depend on the rows, Σk, Σ|a − y| for the activations a = uᵀx, Σy² and the number of rows
SPREAD, SQUARES, REACH, PLUS, OVER, MISSES, LABELS, COUNT = range(3, 11)
# EG±'s bound is given up if √Σy² is below this share of (number of weights)·(largest range of a
# row): predictions near 0 are then differences w⁺ − w⁻ that have too few correct digits
FAINT = 1e-13
# and, for other losses than the square loss, if the rounding errors of predictions, which add up
# over the rows, may cost more than a share CLOSE of the loss of u and a share SPARE of what the
# bound adds to it (with labels of alternating signs, the learner needs nearly all that it adds)
DIGIT = 2.0**-52  # of one row, relative to the largest range of a row
CLOSE = 1e-9
SPARE = 1e-3


@kernel
def spread_of(x, U, single):
    """Return the range of a row, and its largest activation; ``single`` is true for EG."""
    low, high = extremes(x)
    if single:
        return high - low, high
    largest = max(high, -low)
    return 2.0 * U * largest, U * largest


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to the bound of :mod:`onlinear._learner.bounds.any_loss`, R² = (range of x)²/4.

    The range of a row is max x_i − min x_i. EG± has weights for x and for −x, so the range of its
    rows is 2U max|x_i|. The price of comparators u_t on the simplex of m weights is
    ln m + Σ u ln u + ½ ln(m/α) Σ‖u_{t+1} − u_t‖₁, where u is the last of them. The inequality
    D(w, w') ≤ ½η²g²R² is Hoeffding's lemma. With the square loss and EG's η = 2/(3X²), the bound is
    at most that of Herbster & Warmuth's Theorem 16.
    """
    tally, notes, A, b, p = state
    eta, alpha, U, loss, shape, search = params
    low, _ = extremes(x)
    m = p.size
    single = m == x.size
    spread, top = spread_of(x, U, single)
    tally[SPREAD] = max(tally[SPREAD], spread)
    shift = low if single else 0.0  # Σu = 1: shifting x and b does not change b − uᵀx
    plus = 0.0
    if loss == SQUARE:
        reach = 0.25 * eta * tally[SPREAD] * tally[SPREAD]
        power = tally[SQUARES] + (y - shift) * (y - shift)
    else:
        first, second = any_loss.growth(loss, shape, eta, 0.25 * spread * spread, top, y)
        tally[REACH] = reach = max(tally[REACH], first)
        tally[PLUS] = plus = tally[PLUS] + second
        tally[LABELS] = power = tally[LABELS] + y * y
        tally[COUNT] += 1.0
    real = loss in (SQUARE, ABSOLUTE, INSENSITIVE, HUBER, QUANTILE)
    if not single and real and 0.0 < power < (FAINT * m * tally[SPREAD]) ** 2:
        return lose(tally, notes, DOMAIN + 1, y)
    h, z, L, price = 1.0, y, 0.0, 0.0
    if search and loss != SQUARE:
        sum_of_atoms(p, U, work[0])
        a = dot(work[0], x)
        tally[MISSES] += abs(a - y)
        h, z, k = any_loss.parabola(loss, shape, a, y, top, tally[MISSES] / tally[COUNT])
        tally[OVER] += k + rounding(loss, y)
    tally[SQUARES] += h * (z - shift) * (z - shift)
    if search:
        u, g, row = work[0], work[1], work[2]
        root = math.sqrt(h)
        for i in range(x.size):
            row[i] = root * (x[i] - shift)
        add_row(row, root * (z - shift), A, b)
        improve_on_simplex(p, U, alpha / m, A, b, u, g)
        L = loss_of(u, A, b, tally[SQUARES], g)
        if loss != SQUARE:
            L += tally[OVER]
        price = surprise(p, 1.0 / m) / eta
        if not single and real and loss != SQUARE and power > 0.0:
            slopes = any_loss.limits(loss, shape) * tally[COUNT]
            if loss == HUBER:
                slopes = min(slopes, tally[MISSES])
            most = any_loss.ceiling(loss, reach, plus, L, price)
            if DIGIT * tally[COUNT] * tally[SPREAD] * slopes > SPARE * (most - L) + CLOSE * L:
                return lose(tally, notes, DOMAIN + 1, y)
    return any_loss.enter_ceiling(tally, notes, loss, reach, plus, L, price)


def account(owner: str, params: EGAccount, copies: int) -> Account:
    """Return how to compute the bound; ``copies`` is 1, or 2 for EG± (weights for x and −x)."""
    extra = 2 if params.loss == SQUARE else 8

    def begin(d: int) -> tuple[np.ndarray, ...]:
        p = np.full(copies * d, 1.0 / (copies * d))
        size = d if params.search else 0
        return tallied(np.zeros((size, size)), np.zeros(size), p, extra=extra)

    return Account(owner, begin, bound, tuple(params))


def price(
    params: EGAccount, loss: Loss, L: np.ndarray, path: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound against comparators u_t on the simplex, and where it does not hold.

    The second array says for each round whether the theorem does not apply to the u_t so far. ``L``
    is the cumulative loss of the u_t after each round. Without α, the u_t must be the same in all
    rounds. With α and m weights, a sequence in which some u_{t,i} is below α/m costs
    ln(1/(1 − α(1 − 1/m))) more for each round but the first.
    """
    eta, alpha, U = params.eta, params.alpha, params.U
    nats, outside = path_price(alpha, path)
    if path.u.shape[1] == path.X.shape[1]:
        half, tops = np.ptp(path.X, axis=1) / 2, path.X.max(axis=1)
    else:
        half = tops = U * np.abs(path.X).max(axis=1)
    ceilings = any_loss.ceilings(loss, eta, half * half, tops, path.y, L, nats / eta)
    return np.where(np.isinf(ceilings), math.nan, ceilings), outside


def path_price(alpha: float, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the price P of comparators up to each round, and where the theorem does not apply."""
    m = path.u.shape[1]
    drift = path.drift(1, 0.5 * math.log(m / alpha) if alpha > 0 else math.inf)
    nats = np.empty(path.u.shape[0])
    surprises(np.ascontiguousarray(path.u), 1.0 / m, nats)
    outside = off_simplex(path.u, path) | np.isinf(drift)
    return nats + drift + wasted(alpha, path.u, path), outside


def wasted(alpha: float, u: np.ndarray, path: Path) -> np.ndarray:
    """Return what comparators with a weight below α/m cost more, up to each round."""
    m = u.shape[1]
    below = path.ever(np.any(u < alpha / m - 1e-12, axis=1))
    return np.asarray(-math.log1p(-alpha * (1 - 1 / m)) * np.arange(path.y.size) * below)


def off_simplex(u: np.ndarray, path: Path) -> np.ndarray:
    """Return for each round whether a comparator so far was not on the simplex."""
    return path.ever((np.abs(u.sum(axis=1) - 1) > 1e-9) | np.any(u < -1e-12, axis=1))


def on_simplex(path: Path) -> Path:
    """Rescale comparators whose entries sum to one up to rounding, so that the sum is one."""
    sums = path.u.sum(axis=1, keepdims=True)
    return replace(path, u=path.u / np.where(np.abs(sums - 1) <= 1e-9, sums, 1.0))
