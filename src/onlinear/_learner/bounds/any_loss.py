"""Bounds of gradient descent and exponentiated gradient for any loss, from one inequality.

A learner with the learning rate η and the slope g of the loss at its activation a = wᵀx satisfies

    η·g·(a − b) ≤ D(u, w) − D(u, w') + ½η²g²R²

for the activation b = uᵀx of every u. Here D is the learner's Bregman divergence, w' are its
weights after the round, and R² depends on the row. Summed over all rounds, D(u, w) − D(u, w') is at
most a price P, which depends on the comparators u only. With p = P/η, the losses L of the learner
and L(u) of the comparators satisfy the following bounds.

    square loss        L ≤ (L(u) + hp + √(L(u)² + 2hp·L(u))) / (2h²)     h = 1 − max ηR² > 0
    g² ≤ κ·loss        L ≤ (L(u) + p) / (1 − max ½κηR²)                  max ½κηR² < 1
    |g| ≤ G            L ≤ L(u) + p + ½η Σ G²R²
    mistakes           M ≤ (H(u) + p) / (1 − max ½ηR²)                   H the hinge loss of u

The first bound is the least over k of (L(u) + kp)/(k(2 − k − 2q)), q = 1 − h, which holds for every
k because g(a − b) = 2A(A − B) and 2AB ≤ kA² + B²/k, where A = a − y and B = b − y. Where both of
the next two bounds hold, the smaller is used.

Herbster & Warmuth, JMLR 2001, Lemma 11 and Theorems 14 and 16; Helmbold, Kivinen & Warmuth 1999;
Novikoff 1962 (mistakes).
"""

import math

import numpy as np

from onlinear._learner.bounds.guarantee import broke, enter
from onlinear._numerics.linalg import kernel, short
from onlinear.losses import Hinge, Loss
from onlinear.losses._formulas import (
    ABSOLUTE,
    HINGE,
    HUBER,
    INSENSITIVE,
    LOGISTIC,
    MISTAKES,
    POISSON,
    QUANTILE,
    SQUARE,
    SQUARED_HINGE,
    rounding,
    slope,
    value,
)

__all__ = [
    "bend",
    "bounded",
    "ceiling",
    "ceilings",
    "comparators_loss",
    "curved",
    "enter_ceiling",
    "growth",
    "limits",
    "parabola",
    "without_limit",
    "words",
]

HARD = 0.40727  # max over a of σ(a)²/(−ln(1 − σ(a))) is below it: κ of labels 0 and 1
NEAR = 0.1  # the least |error| that a parabola touches at, in mean absolute errors
NEAREST = 1e-6  # the same, if all errors were 0 so far


@kernel
def curved(loss):
    """Return whether there is a κ with g² ≤ κ·loss."""
    return loss not in (HINGE, ABSOLUTE, INSENSITIVE, QUANTILE)


@kernel
def bounded(loss):
    """Return whether there is a G with |g| ≤ G."""
    return limits(loss, 1.0) < math.inf


@kernel
def bend(loss, top, y):
    """Return κ with g² ≤ κ·loss for activations up to ``top``; infinity if there is none."""
    if loss in (SQUARE, SQUARED_HINGE):
        return 4.0
    if loss == LOGISTIC:
        return HARD if y == 0.0 or y == 1.0 else 0.5
    if loss == HUBER:
        return 2.0
    if loss == MISTAKES:
        return 1.0
    if loss == POISSON:
        return 2.0 * max(math.exp(top) if top < 700.0 else math.inf, y)
    return math.inf


@kernel
def limits(loss, p):
    """Return G with |g| ≤ G, infinity if there is none."""
    if loss in (SQUARE, SQUARED_HINGE, POISSON, MISTAKES):
        return math.inf
    if loss == HUBER:
        return p
    if loss == QUANTILE:
        return max(p, 1.0 - p)
    return 1.0


@kernel
def growth(loss, p, eta, R2, top, y):
    """Return what a row contributes to a bound: ηR² or ½κηR², and ½ηG²R².

    ``top`` is the largest activation of the row that the learner and the comparators can have.
    """
    if R2 == 0.0:
        return 0.0, 0.0
    if loss == SQUARE:
        return eta * R2, 0.0
    first = second = 0.0  # of finite numbers only
    if curved(loss):
        first = 0.5 * bend(loss, top, y) * eta * R2
    if bounded(loss):
        G = limits(loss, p)
        second = 0.5 * eta * G * G * R2
    return first, second


@kernel
def ceiling(loss, reach, plus, L, p):
    """Return the bound on the loss against comparators of loss L and price p = P/η.

    ``reach`` is the largest first number that :func:`growth` has returned, and ``plus`` the sum of
    the second ones. Infinity means that there is no bound.
    """
    if loss == SQUARE:
        h = 1.0 - reach
        if h <= 0.0:
            return math.inf
        return (L + h * p + math.sqrt(L) * math.sqrt(L + 2.0 * h * p)) / (2.0 * h * h)
    least = L + p + plus if bounded(loss) else math.inf
    if curved(loss) and reach < 1.0:
        least = min(least, (L + p) / (1.0 - reach))
    return least


@short
def enter_ceiling(tally, notes, loss, reach, plus, L, price):
    """Enter the bound against a comparator of loss L and price P/η; return 0 and FINE."""
    top = ceiling(loss, reach, plus, L, price)
    comparator = L + price
    if math.isinf(top) and math.isfinite(comparator):
        broke(notes, 0, reach)
        return enter(tally, notes, comparator, math.nan, 0.0)
    if comparator > 0.0:
        return enter(tally, notes, comparator, top / comparator, 0.0)
    return enter(tally, notes, comparator, 1.0, top)


@kernel
def _fill(loss, p, eta, R2, tops, y, losses, prices, out):
    """Write the bound after each round to ``out``."""
    reach = plus = rounded = 0.0
    for i in range(y.size):
        first, second = growth(loss, p, eta, R2[i], tops[i], y[i])
        reach = max(reach, first)
        plus += second
        rounded += rounding(loss, y[i])
        out[i] = ceiling(loss, reach, plus, losses[i] + rounded, prices[i])


def ceilings(
    loss: Loss,
    eta: float,
    R2: np.ndarray,
    tops: np.ndarray,
    y: np.ndarray,
    losses: np.ndarray,
    prices: np.ndarray,
) -> np.ndarray:
    """Return the bound after each round, against comparators given by the user.

    ``losses`` are the comparators' losses up to each round, ``prices`` their prices P/η. ``R2`` and
    ``tops`` have R² and the largest activation of each row.
    """
    out = np.empty(y.size)
    rows = [np.ascontiguousarray(np.broadcast_to(each, y.shape)) for each in (R2, tops, prices)]
    _fill(*loss.numbers(), eta, rows[0], rows[1], y, losses, rows[2], out)
    return out


def comparators_loss(loss: Loss) -> Loss:
    """Return the loss of the comparators in a learner's bound: the hinge loss for mistakes."""
    return Hinge() if loss.kind == MISTAKES else loss


# --- a comparator found row by row: upper bounds of its loss by parabolas -----------------------


@kernel
def parabola(loss, p, a, y, top, miss):
    """Return h, z and k with loss(b) ≤ h·(b − z)² + k for every b (for Poisson, b ≤ ``top``).

    The two sides touch at the activation a, or near to it: where a parabola that touches at a would
    be too steep, it touches where the error is NEAR·``miss`` (the mean absolute error so far).
    For mistakes, the loss is the hinge loss.
    """
    if loss == SQUARE:
        return 1.0, y, 0.0
    g = slope(loss, p, a, y)
    if loss == LOGISTIC:  # the second derivative is at most 1/4
        return 0.125, a - 4.0 * g, value(loss, p, a, y) - 2.0 * g * g
    if loss == POISSON:  # the second derivative is at most e^top
        h = 0.5 * math.exp(min(max(top, a), 300.0))
        return h, a - 0.5 * g / h, value(loss, p, a, y) - 0.25 * g * g / h
    e = a - y
    if loss == HUBER:
        far = max(abs(e), p)
        return 0.5 * p / far, y, 0.5 * p * far - 0.5 * p * p
    m = y * a
    if loss == SQUARED_HINGE:
        return (1.0, a, 0.0) if m >= 1.0 else (1.0, y, 0.0)
    floor = NEAR * miss if miss > 0.0 else NEAREST
    if loss in (HINGE, MISTAKES):
        far = max(abs(1.0 - m), floor)
        return 0.25 / far, y * (1.0 + far), 0.0
    far = max(abs(e), floor)
    if loss == QUANTILE:  # ½|e| + (½ − τ)e
        h, tilt = 0.25 / far, 0.5 - p
        return h, y - 0.5 * tilt / h, 0.25 * far - 0.25 * tilt * tilt / h
    if loss == INSENSITIVE and p > 0.0:
        near = max(abs(abs(e) - p), floor)
        if near < p:
            return 0.25 / near, y + math.copysign(p - near, e), 0.0
        return 0.5 / far, y, max(0.5 * far - p, 0.0)
    return 0.5 / far, y, 0.5 * far


def without_limit(owner: str, loss: Loss, limited: bool) -> str | None:
    """Return why there is no bound, if the loss needs weights with a limit and has none."""
    if loss.kind != POISSON or limited:
        return None
    return (
        f"no bound is known for {owner} with {loss!r} and weights without a limit: {loss!r} has a "
        "bound only with a radius, or in a bounded set (of several, the last one), since its "
        "κ = 2·max(e^a, y) needs a largest activation a"
    )


def words(loss: Loss, R2: str) -> tuple[str, tuple[str, ...]]:
    """Return the bound for a loss in words, and its hypothesis; ``R2`` is R² of a row in words."""
    kind, p = loss.numbers()
    if kind == SQUARE:
        bound = f"(L + hp + √(L² + 2hpL))/(2h²), h = 1 − max η·{R2}"
        return bound, (f"η·{R2} < 1",)
    if kind == MISTAKES:
        return f"(L + p)/(1 − ½·max η·{R2}), L the hinge loss of u", (f"η·{R2} < 2",)
    factor = f"(L + p)/(1 − ½·max κη·{R2})"
    G = limits.py_func(kind, p)  # not worth compiling
    if math.isinf(G):
        name = "2·max(e^a, y)" if kind == POISSON else "4"
        which = " with κ = 2·max(e^a, y), a the row's largest activation" if kind == POISSON else ""
        return f"{factor}, κ = {name}", (f"½κη·{R2} < 1{which}",)
    flat = f"L + p + {0.5 * G * G:g}·η·Σ {R2}"
    if not curved.py_func(kind):
        return flat, ()
    name = "2" if kind == HUBER else "½ (.40727 if y is 0 or 1)"
    return f"the lesser of {flat} and {factor}, κ = {name}", ()
