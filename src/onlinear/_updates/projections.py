"""Projections on constraint sets, in the geometries of the first-order learners.

A learner's divergence D belongs to a convex function F. Weights w are represented by θ = ∇F(w):

    EUCLIDEAN   ½‖w‖²                            θ = w                       GD
    P_NORM      ½‖w‖_q², 1/p + 1/q = 1           w = ∇(½‖θ‖_p²)              PNorm
    SHARES      Σ w ln w on the simplex          w_i = e^θ_i / Σ e^θ_j       EG, EGPM
    POSITIVE    Σ w ln w − w, w > 0              w_i = e^θ_i                 EGU

The projection of w on a set is the point v of the set with the least D(v, w). On the half-space
aᵀv ≤ c, it has θ − λa with λ ≥ 0 such that aᵀv = c, if aᵀw > c. Herbster & Warmuth, JMLR 2001,
section 3; Michelot 1986 for the simplex.
"""

import math

from onlinear._numerics.linalg import axpy, dot, extremes, kernel, norm, scale
from onlinear._updates.p_norms import exponent, p_norm, weights_of
from onlinear.bregman import lift_simplex
from onlinear.sets._values import (
    BALL,
    BOX,
    FLOOR,
    GIVEN,
    HALF_SPACE,
    HYPER_PLANE,
    KIND,
    L1_BALL,
    LENGTH,
    NUMBER,
    SIMPLEX,
    VECTOR,
)

__all__ = [
    "EUCLIDEAN",
    "POSITIVE",
    "P_NORM",
    "SHARES",
    "duals_of",
    "given",
    "project",
    "weights_from",
]

EUCLIDEAN, P_NORM, SHARES, POSITIVE = range(4)
LARGEST_EXPONENT = 709.0  # e^709 fits in a float
CLOSE = 4e-16  # relative change of λ at which the search for it ends
MOST_STEPS = 400  # of the search; some 80 were the most seen
LEAST = 1e-300  # the search for λ takes a smaller one for this on a logarithmic scale


def given(w):
    """Placeholder for the projection of a custom set."""


given = kernel(given)


@kernel
def _exp(a):
    """Return e^a, infinity if it is too large for a float."""
    return math.exp(a) if a < LARGEST_EXPONENT else math.inf


@kernel
def _log(a):
    """Return ln a, −infinity if a is not positive."""
    return math.log(a) if a > 0.0 else -math.inf


@kernel
def weights_from(geometry, p, theta, w):
    """Write the weights that belong to θ to w."""
    if geometry == EUCLIDEAN:
        scale(1.0, theta, w)
    elif geometry == P_NORM:
        weights_of(theta, exponent(p, theta.size), w)
    elif geometry == POSITIVE:
        for i in range(w.size):
            w[i] = _exp(theta[i])
    else:
        _, top = extremes(theta)
        total = 0.0
        for i in range(w.size):
            w[i] = math.exp(theta[i] - top)
            total += w[i]
        for i in range(w.size):
            w[i] /= total


@kernel
def duals_of(geometry, p, w, theta):
    """Write the θ that belongs to the weights w to ``theta``."""
    if geometry == EUCLIDEAN:
        scale(1.0, w, theta)
    elif geometry == P_NORM:
        power = exponent(p, w.size)
        weights_of(w, power / (power - 1.0), theta)
    else:
        for i in range(w.size):
            theta[i] = _log(w[i])


@kernel
def project(geometry, p, form, start, theta, w):
    """Project θ, in place, on the set whose record begins at form[start]; w is scratch."""
    kind, number = form[start + KIND], form[start + NUMBER]
    if kind in (HALF_SPACE, HYPER_PLANE):
        a = form[start + VECTOR : start + int(form[start + LENGTH])]
        _on_half_space(geometry, p, a, number, kind == HYPER_PLANE, theta)
    elif kind == GIVEN:
        _on_given(geometry, p, theta, w)
    elif geometry == SHARES:
        _in_shares(kind, number, theta, w)
    elif geometry == POSITIVE:
        _in_positive(kind, form, start, theta)
    elif kind == BALL:
        length = p_norm(theta, exponent(p, theta.size)) if geometry == P_NORM else norm(theta)
        if length > number:
            scale(number / length, theta, theta)
    elif kind == BOX:
        _clip(form, start, theta)
    else:
        _on_simplex(kind == L1_BALL, number, theta)


@kernel
def _clip(form, start, w):
    k = int(form[start + NUMBER])
    for i in range(w.size):
        j = start + VECTOR + (i if k > 1 else 0)
        w[i] = min(max(w[i], form[j]), form[j + k])


@kernel
def _on_simplex(signed, total, w):
    """Project w on the simplex or, if ``signed``, on the ball ‖w‖₁ ≤ total, in squared distance.

    The projection on the simplex is max(w_i − τ, 0). With τ for which all entries would be positive
    the sum is right; entries up to τ are left out, τ is computed again for the others, and so on.
    """
    n = w.size
    low, high = extremes(w)
    top = max(high, -low) if signed else high
    if signed:
        size = 0.0
        for i in range(n):
            size += abs(w[i])
        if size <= total:
            return
    tau, count = -math.inf, n + 1  # τ − top: relative to the largest entry, to keep digits
    while True:
        more, rest = 0, 0.0
        for i in range(n):
            s = (abs(w[i]) if signed else w[i]) - top
            if s > tau:
                more += 1
                rest += s
        if more >= count:
            break
        count = more
        tau = (rest - total) / count
    for i in range(n):
        s = (abs(w[i]) if signed else w[i]) - top
        w[i] = math.copysign(max(s - tau, 0.0), w[i] if signed else 1.0)


@kernel
def _level(theta):
    """Shift θ so that its largest entry is 0, which leaves shares as they are."""
    _, top = extremes(theta)
    for i in range(theta.size):
        theta[i] -= top


@kernel
def _in_shares(kind, number, theta, w):
    """Project shares on the sets w_i ≤ cap or, for FLOOR, w_i ≥ α/n."""
    n = theta.size
    if kind == FLOOR:
        weights_from(SHARES, 0.0, theta, w)
        if lift_simplex(w, number):
            for i in range(n):
                theta[i] = math.log(w[i])
            _level(theta)
        return
    most, shift, count = math.log(number), -_log_sum(theta, math.inf), 0
    while True:  # θ + shift are the logarithms of the shares, of which ``count`` are cut
        more = 0
        for i in range(n):
            more += theta[i] + shift > most
        if more <= count or more * number >= 1.0:
            break
        count = more
        shift = math.log(1.0 - count * number) - _log_sum(theta, most - shift)
    if more == n:  # all shares are 1/n
        for i in range(n):
            theta[i] = 0.0
    elif count > 0:
        for i in range(n):
            theta[i] = min(theta[i] + shift, most)
        _level(theta)


@kernel
def _log_sum(theta, edge):
    """Return the logarithm of the sum of e^θ_i over the θ_i ≤ ``edge``."""
    top = -math.inf
    for i in range(theta.size):
        if theta[i] <= edge:
            top = max(top, theta[i])
    total = 0.0
    for i in range(theta.size):
        if theta[i] <= edge:
            total += math.exp(theta[i] - top)
    return top + math.log(total)


@kernel
def _in_positive(kind, form, start, theta):
    """Project positive weights on a box, on Σw = total or, for FLOOR, on [α/n, n/α]ⁿ."""
    number, n = form[start + NUMBER], theta.size
    if kind == FLOOR:
        bound = math.log(n / number)
        for i in range(n):
            theta[i] = min(max(theta[i], -bound), bound)
    elif kind == BOX:
        k = int(number)
        for i in range(n):
            j = start + VECTOR + (i if k > 1 else 0)
            theta[i] = min(max(theta[i], _log(form[j])), _log(form[j + k]))
    elif kind == SIMPLEX:
        shift = math.log(number) - _log_sum(theta, math.inf)
        for i in range(n):
            theta[i] += shift


@kernel
def _on_given(geometry, p, theta, w):
    """Project by a custom set's function; weights that it leaves as they are keep their θ."""
    if geometry == EUCLIDEAN:
        given(theta)
        return
    weights_from(geometry, p, theta, w)
    given(w)
    if geometry == P_NORM:
        duals_of(geometry, p, w, theta)
        return
    top, total = 0.0, 1.0
    if geometry == SHARES:
        _, top = extremes(theta)
        total = 0.0
        for i in range(theta.size):
            total += math.exp(theta[i] - top)
    for i in range(theta.size):
        if w[i] == _exp(theta[i] - top) / total:
            theta[i] -= top + math.log(total)
        else:
            theta[i] = _log(w[i])
    if geometry == SHARES:
        _level(theta)


# --- linear constraints ------------------------------------------------------------------------


@kernel
def _on_half_space(geometry, p, a, c, equal, theta):
    """Project on aᵀw ≤ c or, if ``equal``, on aᵀw = c; ‖a‖ is 1, but for EGPM."""
    if geometry == EUCLIDEAN:
        excess = dot(a, theta) - c
        if excess > 0.0 or equal:
            axpy(-excess / dot(a, a), a, theta)
        return
    value, _ = _tilted(geometry, p, theta, a, 0.0)
    sign = 1.0
    if equal and value < c:  # −aᵀw ≤ −c
        sign = -1.0
    elif not value > c:
        return
    lam = _multiplier(geometry, p, theta, a, c, sign)
    axpy(-sign * lam, a, theta)
    if geometry == SHARES:
        _level(theta)


@kernel
def _multiplier(geometry, p, theta, a, c, sign):
    """Return λ ≥ 0 with sign·aᵀw = sign·c for the weights w of θ − sign·λ·a.

    sign·aᵀw falls with λ. Newton's method finds λ, if its step stays inside the interval in which λ
    is, and is at most half as long as the step before the last; otherwise the interval is halved,
    on a logarithmic scale where it is long, or doubled while it is unbounded.
    """
    low, high, lam = 0.0, math.inf, 0.0
    last = before = math.inf
    for _ in range(MOST_STEPS):
        value, slope = _tilted(geometry, p, theta, a, sign * lam)
        excess = sign * (value - c)
        if excess == 0.0:
            break
        if excess < 0.0:
            high = lam
        else:
            low = lam
        following = lam + excess / slope if slope > 0.0 else math.nan
        if not (low < following < high and abs(following - lam) <= 0.5 * before):
            if high == math.inf:
                following = max(2.0 * lam, 1.0)
            elif high > 4.0 * low:
                following = math.sqrt(max(low, LEAST)) * math.sqrt(high)
            else:
                following = low + 0.5 * (high - low)
        before, last = last, abs(following - lam)
        if last <= CLOSE * following:
            break
        lam = following
    return lam


@kernel
def _tilted(geometry, p, theta, a, lam):
    """Return aᵀw for the weights w of θ − λa, and how fast it falls with λ."""
    n = theta.size
    first = second = 0.0
    if geometry == P_NORM:
        p = exponent(p, n)
        top = 0.0
        for i in range(n):
            top = max(top, abs(theta[i] - lam * a[i]))
        if top == 0.0:
            return 0.0, 0.0
        total = 0.0
        for i in range(n):
            total += (abs(theta[i] - lam * a[i]) / top) ** p
        length = top * total ** (1.0 / p)
        for i in range(n):
            s = theta[i] - lam * a[i]
            share = abs(s) / length
            first += math.copysign(share ** (p - 1.0), s) * a[i]
            second += share ** (p - 2.0) * a[i] * a[i]
        return length * first, (p - 1.0) * second + (2.0 - p) * first * first
    top, total = 0.0, 1.0
    if geometry == SHARES:
        top, total = -math.inf, 0.0
        for i in range(n):
            top = max(top, theta[i] - lam * a[i])
        for i in range(n):
            total += math.exp(theta[i] - lam * a[i] - top)
    for i in range(n):
        w = _exp(theta[i] - lam * a[i] - top) / total
        first += w * a[i]
        second += w * a[i] * a[i]
    if geometry == SHARES:
        return first, second - first * first
    return first, second
