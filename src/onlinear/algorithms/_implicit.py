"""Implicit updates of EG and EGU: weights that are best for the row itself, and their bound.

With ``implicit=True``, a round ends with

    w' = argmin over v of D(v, w) + η·(vᵀx − y)²

where D is the learner's divergence. (The usual update has a linear approximation of the loss in the
place of the loss.) Herbster & Warmuth call this update "more difficult to compute", after their
equation (4). It has the form of the usual update, with another slope:

    w'_i ∝ w_i e^(−s·x_i) (EGU: =),  where s is the root of s = 2η(a(s) − y)

and a(s) is the activation of the weights for s. a(s) falls in s, so the root is unique; it lies
between 0 and the 2η(a(0) − y) of the usual update.

**Theorem.** For every rate η > 0, every stream and all comparators u_t of the learner's class,

    L ≤ (1 + 2·max q)·(L(u) + P/η)      EG: q = η·range²/4;  EGU: q = η·max x_i·Y

where P is the price of the comparators in the bound of the usual update, and L the loss of the
predictions (for EGU, cut to Y).

*Proof.* With h = s and a' = a(s), D(u, w) − D(u, w') = h(a' − b) + D(w', w) for b = uᵀx. Let
A = a − y, A' = a' − y, B = b − y; h(a' − b) = 2ηA'(A' − B) ≥ η(A'² − B²). Let δ = |a − a'|; A and
A' have the same sign, so |A| = |A'| + δ. It remains to show that D(w', w) ≥ ηδ²/(2q), because
A'² + δ²/(2q) ≥ A²/(1 + 2q). As s goes from 0 to h, a(s) changes at the rate v(s) = −da/ds, and
D(w', w) = ∫ s·v(s) ds, δ = ∫ v(s) ds. For EG, v is a variance of x, at most range²/4 = R², so the
first integral is at least δ²/(2R²). For EGU, v(s) = Σ x_i²w_i e^(−s·x_i) ≤ X·a(s), which gives
D(w', w) ≥ (a' ln(a'/a) − a' + a)/X ≥ δ²/(2X·max(a, a')). If a ≤ Y, then a' ≤ Y. If a > Y, the cut
prediction Y has the loss (Y − y)², which is at most A'² if a' ≥ Y, and otherwise the inequality
holds with Y in the place of a. Projections and changes of u cost as before.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import Tally
from onlinear._learner.bounds.best_in_class import (
    add_row,
    improve_in_box,
    improve_on_simplex,
    loss_of,
)
from onlinear._learner.bounds.guarantee import (
    Guarantee,
    Path,
    enter,
    surprise,
    tallied,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import extremes, kernel, scale
from onlinear._validation.checks import choice
from onlinear.algorithms._positive_bound import moves, with_limits
from onlinear.algorithms._simplex_bound import SPARSE, path_price
from onlinear.algorithms._simplex_bound import on_simplex as scaled_to_simplex
from onlinear.losses import SQUARED

__all__ = ["chosen", "implicit_pace", "in_box", "on_simplex"]

STEPS = 200  # of the search for s; Newton's method needs less than ten of them
LAST = 2.0**-52  # the search ends when s changes by less than this share


def chosen(owner: Any) -> float:
    """Return whether a learner makes implicit updates, which need the square loss."""
    implicit = choice(owner, "implicit", (False, True))
    if implicit and owner._loss != SQUARED:
        raise ValueError(
            f"{type(owner).__name__} needs loss=Square() for implicit=True, got loss={owner.loss!r}"
        )
    if implicit and owner.within is not None:
        raise ValueError(
            f"{type(owner).__name__} needs within=None for implicit=True, got "
            f"within={owner.within!r}"
        )
    return float(implicit)


@kernel
def _activation(log_w, x, s, normalised):
    """Return a(s) and v(s) = −da/ds for the weights w_i e^(−s·x_i)."""
    top = -math.inf if normalised else 0.0
    if normalised:
        for i in range(x.size):
            top = max(top, log_w[i] - s * x[i])
    total = first = second = 0.0
    for i in range(x.size):
        share = math.exp(min(log_w[i] - s * x[i] - top, 700.0))
        total += share
        first += share * x[i]
        second += share * x[i] * x[i]
    if not normalised:
        return first, second
    mean = first / total
    return mean, max(second / total - mean * mean, 0.0)


@kernel
def implicit_pace(log_w, x, y, eta, pace, normalised):
    """Return the root of s = 2η(a(s) − y), given ``pace``, 2η(a(0) − y).

    Newton's method, with bisection wherever a step would leave the interval that has the root.
    """
    low, high = min(pace, 0.0), max(pace, 0.0)
    s = 0.0
    for _ in range(STEPS):
        a, fall = _activation(log_w, x, s, normalised)
        gap = s - 2.0 * eta * (a - y)
        if gap > 0.0:
            high = s
        else:
            low = s
        new = s - gap / (1.0 + 2.0 * eta * fall)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - s) <= LAST * abs(new):
            return new
        s = new
    return s


class ImplicitAccount(NamedTuple):
    """Parameters of the bound: η, α (0 for none), Y of EGU (0 for EG), whether to look for u."""

    eta: float
    alpha: float
    Y: float
    search: float


WIDEST, SQUARES = 3, 4  # in the tally: the largest range or x_i, and Σ(y − shift)²


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to L ≤ (1 + 2 max q)·(L(u) + P/η), for a good u on the simplex or u ≥ 0."""
    tally, notes, A, b, u = state
    eta, alpha, Y, search = params
    n = x.size
    low, high = extremes(x)
    simplex = Y == 0.0
    wide = high - low if simplex else high
    tally[WIDEST] = wide = max(tally[WIDEST], wide)
    factor = 1.0 + (0.5 * eta * wide * wide if simplex else 2.0 * eta * wide * Y)
    comparator = 0.0
    if search:
        shift = low if simplex else 0.0  # Σu = 1: shifting x and y does not change y − uᵀx
        z = y - shift
        tally[SQUARES] += z * z
        sums, g, row = work[0], work[1], work[2]
        for i in range(n):
            row[i] = x[i] - shift
        add_row(row, z, A, b)
        if simplex:
            improve_on_simplex(u, 1.0, alpha / n, A, b, sums, g)
        else:
            least, most = (alpha / n, n / alpha) if alpha > 0.0 else (0.0, math.inf)
            improve_in_box(u, least, most, math.log(n) / eta, A, b, g)
            scale(1.0, u, sums)
        price = surprise(u, 1.0 / n) / eta
        comparator = loss_of(sums, A, b, tally[SQUARES], g) + price
    return enter(tally, notes, comparator, factor, 0.0)


def _account(owner: str, params: ImplicitAccount) -> Account:
    def begin(d: int) -> tuple[np.ndarray, ...]:
        size = d if params.search else 0
        return tallied(np.zeros((size, size)), np.zeros(size), np.full(size, 1 / d), extra=2)

    return Account(owner, begin, bound, tuple(params))


def on_simplex(eta: float, alpha: float, search: bool) -> Guarantee:
    """Return the bound of EG with implicit updates."""
    params = ImplicitAccount(eta, alpha, 0.0, float(search))

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        path = scaled_to_simplex(path)
        nats, outside = path_price(alpha, path)
        ranges = np.maximum.accumulate(np.ptp(path.X, axis=1))
        return (1 + 0.5 * eta * ranges**2) * (path.loss + nats / eta), outside

    drift = f" + ½ln(n/{alpha:g})·Σ‖u_t+1 − u_t‖₁" if alpha else ""
    floor = f", u ≥ {alpha:g}/n" if alpha else ""
    factor = f"(1 + {eta / 2:g}·max range²)"
    return Guarantee(
        f"loss ≤ {factor} · comparator (implicit updates, any rate)",
        f"loss of u + {1 / eta:g}·(ln n + Σ u ln u), u a good point of the simplex{floor}",
        _account("EG", params),
        f"loss ≤ {factor}·(loss of u + {1 / eta:g}·(ln n + Σ u ln u{drift}))"
        f"{SPARSE if alpha else ''}",
        price,
        paths="u_t on the simplex" if alpha else "one u of the simplex for all rounds",
    )


def in_box(eta: float, alpha: float, Y: float, search: bool) -> Guarantee:
    """Return the bound of EGU with implicit updates, for labels up to Y."""
    params = ImplicitAccount(eta, alpha, Y, float(search))

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nats, outside = with_limits(path, alpha, *moves(path, alpha))
        factor = 1 + 2 * eta * Y * np.maximum.accumulate(path.X.max(axis=1))
        return factor * (path.loss + nats / eta), outside

    drift = f" + ln(n/{alpha:g})·Σ‖u_t+1 − u_t‖₁ + {alpha:g}·(T − 1)" if alpha else ""
    within = f", {alpha:g}/n ≤ u ≤ n/{alpha:g}" if alpha else ""
    factor = f"(1 + {2 * eta * Y:g}·max x_i)"
    return Guarantee(
        f"loss ≤ {factor} · comparator (implicit updates, any rate)",
        f"loss of u + {1 / eta:g}·(‖u‖₁ ln n + 1 − ‖u‖₁ − H(u)), u ≥ 0 a good point{within}",
        _account("EGU", params),
        f"loss ≤ {factor}·(loss of u + {1 / eta:g}·(‖u_1‖₁ ln n + 1 − ‖u_T‖₁ − H(u_T){drift}))",
        price,
        paths=f"u_t with 0 ≤ u_t ≤ n/{alpha:g}" if alpha else "one u ≥ 0 for all rounds",
    )
