"""The bound of EGU, which is also that of C-EGU, with or without a constraint set.

The bound for the quantile loss of level τ follows from
D(u, w) − D(u, w') ≥ a(1 − e^(−hX))/X − hb, with the slope g, h = ηg, activations a = wᵀx and
b = uᵀx, and weights w' after the round, because e^(−hx) ≤ 1 − (1 − e^(−hX))x/X for 0 ≤ x ≤ X.

Herbster & Warmuth, JMLR 2001, Theorems 15 and 18, corrected as :mod:`onlinear.algorithms.egu` says.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import Tally
from onlinear._learner.bounds.any_loss import parabola
from onlinear._learner.bounds.best_in_class import add_row, improve_in_box, loss_of
from onlinear._learner.bounds.best_in_set import IN_SET
from onlinear._learner.bounds.guarantee import (
    Guarantee,
    Path,
    broke,
    enter,
    surprise,
    surprises,
    tallied,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.constrained import Constrained
from onlinear._numerics.linalg import dot, extremes, kernel, scale, short
from onlinear.algorithms._set_bound import PLUS, REACH, REACHABLE, account, described, follow
from onlinear.algorithms._set_prices import Prices
from onlinear.losses._formulas import SQUARE

__all__ = ["guarantee", "moves", "with_limits"]

LAMBDAS = (
    "λ₊ = (1 − e^(−s))/s for s = η(1 − τ)·max x_i, λ₋ = (e^s − 1)/s for s = ητ·max x_i, τ the level"
)


class EGUAccount(NamedTuple):
    """Parameters of the bound: η, α (0 for none), Y, the loss, whether to look for a good u."""

    eta: float
    alpha: float
    Y: float
    loss: float
    tau: float
    search: float


# in the tally: Σh·z², where h(b − z)² + k are the parabolas above the losses of u (Σy² for the
# square loss); for the quantile loss, also Σk, Σ|a − y| for the activations a = uᵀx, Σy, the
# number of rows and the largest x_i
SQUARES, OVER, MISSES, LABELS, COUNT, WIDEST = range(3, 9)


@kernel
def quantile_factors(eta, tau, X):
    """Return the factors of L(u) + P/η and of Σy in the bound on the quantile loss, for x_i ≤ X."""
    up, down = eta * (1.0 - tau) * X, eta * tau * X
    less = -math.expm1(-up) / up if up > 0.0 else 1.0  # λ₊
    more = math.expm1(down) / down if down > 0.0 else 1.0  # λ₋
    return 1.0 / less, max((1.0 - less) * (1.0 - tau), (more - 1.0) * tau) / less


@short
def terms(notes, eta, Y, loss, tau, widest, labels):
    """Return the factor of L(u) + P/η, or of L(u) + P/(3η), in the bound, and what is added.

    Note if the hypothesis of the bound on the square loss fails, where ``widest`` is max x_i.
    """
    if loss == SQUARE:
        if 3.0 * eta * widest * Y > 1.0 + 1e-12:
            broke(notes, 0, 3.0 * eta * widest * Y)
        return 3.0, 0.0
    factor, times = quantile_factors(eta, tau, widest)
    return factor, times * labels


@Tally
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss L against comparators u_t of loss L(u).

      L ≤ 3 L(u) + (‖u_1‖₁ ln n + 1 − ‖u_T‖₁ − H(u_T) + ln(n/α) Σ‖u_{t+1} − u_t‖₁ + α(T−1)) / η

    The bound holds for 0 ≤ u_t ≤ n/α, if 3η·x_i·Y ≤ 1. The term α(T−1) is needed only if some
    u_{t,i} < α/n (Theorem 18); otherwise it is left out (Theorem 15). H is the entropy. For the
    quantile loss of level τ, with P the bracket above, X = max x_i, λ₊ = (1 − e^(−s))/s for
    s = η(1−τ)X, and λ₋ = (e^s − 1)/s for s = ητX,

      L ≤ (L(u) + P/η + max((1 − λ₊)(1 − τ), (λ₋ − 1)τ)·Σy) / λ₊
    """
    tally, notes, A, b, u = state
    eta, alpha, Y, loss, tau, search = params
    n = x.size
    _, highest = extremes(x)
    share = 1.0 / 3.0 if loss == SQUARE else 1.0  # of P/η in the comparator
    labels, widest = y, highest
    if loss != SQUARE:
        tally[LABELS] += y
        tally[COUNT] += 1.0
        tally[WIDEST] = max(tally[WIDEST], highest)
        labels, widest = tally[LABELS], tally[WIDEST]
    factor, extra = terms(notes, eta, Y, loss, tau, widest, labels)
    comparator = 0.0
    if search:
        low, high = (alpha / n, n / alpha) if alpha > 0.0 else (0.0, math.inf)
        h, z = 1.0, y
        g, row = work[0], work[1]
        if loss != SQUARE:
            a = dot(u, x)
            tally[MISSES] += abs(a - y)
            h, z, k = parabola(loss, tau, a, y, math.inf, tally[MISSES] / tally[COUNT])
            tally[OVER] += k
        tally[SQUARES] += h * z * z
        root = math.sqrt(h)
        scale(root, x, row)
        add_row(row, root * z, A, b)
        improve_in_box(u, low, high, math.log(n) * share / eta, A, b, g)
        comparator = loss_of(u, A, b, tally[SQUARES], g) + surprise(u, 1.0 / n) * share / eta
        if loss != SQUARE:
            comparator += tally[OVER]
    return enter(tally, notes, comparator, factor, extra)


class EGUSetAccount(NamedTuple):
    """Parameters of the bound with a set: like ``EGUAccount``, and the sets."""

    eta: float
    Y: float
    loss: float
    tau: float
    search: float
    form: np.ndarray


def bound_in_set(state, params, x, y, work):
    """Add a row to the bound of EGU with a set, whose u is improved at every row.

    P is the price of :mod:`onlinear.algorithms._set_bound`.
    """
    tally, notes, A, b, u, theta, first, w1, missed = state
    eta, Y, loss, tau, search, form = params
    _, highest = extremes(x)
    tally[REACH] = max(tally[REACH], highest)
    tally[PLUS] += y
    factor, extra = terms(notes, eta, Y, loss, tau, tally[REACH], tally[PLUS])
    comparator = 0.0
    if search > 0.0:
        if not missed[0] <= IN_SET:
            broke(notes, 1.0 if loss == SQUARE else 0.0, missed[0])
            return enter(tally, notes, 0.0, math.nan, 0.0)
        rest = (A, b, u, theta, first, w1, missed)
        L, price = follow(tally, form, loss, tau, eta, 1.0, x, y, math.inf, rest, work)
        comparator = L + (price / 3.0 if loss == SQUARE else price)
    return enter(tally, notes, comparator, factor, extra)


def moves(path: Path, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the price P of comparators without a set, up to each round, and where it is infinite.

    What :func:`with_limits` adds is left out.
    """
    n = path.u.shape[1]
    drift = path.drift(1, math.log(n / alpha) if alpha > 0 else math.inf)
    sizes, nats = path.u.sum(axis=1), np.empty(path.u.shape[0])
    surprises(np.ascontiguousarray(path.u), 1.0 / n, nats)
    return nats + (sizes[0] - sizes) * math.log(n) + drift, np.isinf(drift)


def with_limits(
    path: Path, alpha: float, nats: np.ndarray, outside: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add to a price what weights below α/n cost; say where a weight is not in [0, n/α]."""
    n = path.u.shape[1]
    low, high = (alpha / n, n / alpha) if alpha > 0 else (0.0, math.inf)
    sparse = path.ever(np.any(path.u < low - 1e-12, axis=1))
    off = np.any((path.u < 0) | (path.u > high * (1 + 1e-12)), axis=1)
    return nats + alpha * np.arange(path.y.size) * sparse, path.ever(off) | outside


def guarantee(model: Constrained, search: bool) -> Guarantee:
    """Return the bound of EGU, with or without a set."""
    eta, alpha, Y, *_ = model._params()
    loss = model._loss
    square = loss.kind == SQUARE
    part = 1 / 3 if square else 1.0  # of the price in the comparator

    def begin(d: int) -> tuple[np.ndarray, ...]:
        size = d if search else 0
        sums = np.zeros((size, size)), np.zeros(size), np.full(size, 1 / d)
        return tallied(*sums, extra=1 if square else 6)

    prices = None if model.within is None else Prices(model)

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = moves(path, alpha) if prices is None else prices.of(path, path.u)
        nats, outside = with_limits(path, alpha, *own)
        if square:
            return 3 * path.loss + nats / eta, outside
        widest = np.maximum.accumulate(path.X.max(axis=1))
        factors = [quantile_factors(eta, params.tau, each) for each in widest]
        factor, times = np.array(factors).T
        return factor * (path.loss + nats / eta) + times * np.cumsum(path.y), outside

    params = EGUAccount(eta, alpha, Y, *loss.numbers(), float(search))
    factor, rest = "3", " (Herbster & Warmuth, Theorems 15 and 18, corrected)"
    if not square:
        factor, rest = "1/λ₊", f" + max((1 − λ₊)(1 − τ), (λ₋ − 1)τ)/λ₊·Σy, {LAMBDAS}"
    ends = f", {alpha:g}/n ≤ u ≤ n/{alpha:g}" if alpha else ""
    hypotheses = ("3η·x_i·Y ≤ 1",) if square else ()
    if prices is not None:
        allowed, paths = described(model)
        p = "D(u_T, w_1) + ∇F(w_1)ᵀ(u_T − u_1) + Σ h(u_t − u_t+1)"
        p += f" + {alpha:g}·(T − 1)" if alpha else ""
        return Guarantee(
            f"loss ≤ comparator · {factor}{rest}",
            f"loss of u + {part / eta:g}·D(u, w_1), a good u {allowed}{ends}",
            account(
                prices,
                search,
                bound_in_set,
                lambda form: tuple(EGUSetAccount(eta, Y, *loss.numbers(), float(search), form)),
            ),
            f"loss ≤ {factor}·(loss of u + {part / eta:g}·({p})){rest}",
            price,
            (*hypotheses, REACHABLE),
            paths,
            loss=loss,
            measure=loss,
            still=prices.still(),
        )
    drift = f" + ln(n/{alpha:g})·Σ‖u_t+1 − u_t‖₁ + {alpha:g}·(T − 1)" if alpha else ""
    tail = "‖u_1‖₁ ln n + 1 − ‖u_T‖₁ − H(u_T)"
    return Guarantee(
        f"loss ≤ comparator · {factor}{rest}",
        f"loss of u + {part / eta:g}·(‖u‖₁ ln n + 1 − ‖u‖₁ − H(u)), u ≥ 0 a good point{ends}",
        Account("EGU", begin, bound, tuple(params)),
        f"loss ≤ {factor}·(loss of u + {part / eta:g}·({tail}{drift})){rest}",
        price,
        hypotheses,
        f"u_t with 0 ≤ u_t ≤ n/{alpha:g}" if alpha else "one u ≥ 0 for all rounds",
        loss=loss,
        measure=loss,
    )
