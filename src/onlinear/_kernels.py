"""The vocabulary of the papers: small dense operations a step is written with.

Every kernel sums in one fixed order and uses no fast-math, so that a step gives the same bits
whichever way it is run. Matrices are symmetric and stored in full; loops run along rows and in
"axpy form", which the compiler vectorises without changing the order of any sum.
"""

import math
from functools import partial
from typing import Any

from numba import njit

__all__ = [
    "add_square",
    "axpy",
    "cholesky",
    "clipped",
    "dot",
    "extremes",
    "finite",
    "kernel",
    "norm",
    "observe",
    "reset",
    "rounding_of",
    "scale",
    "shift",
    "solve_lower",
    "solve_upper",
    "subtract_square",
    "symv",
    "symv_both",
]

# No reference counts are kept: a round is too short to pay for them. So nothing inside a step or a
# kernel may allocate; np.max, np.abs and array expressions do, and do not compile.
kernel: Any = partial(njit, error_model="numpy", _nrt=False)

LARGEST_STEP = 1e4  # observe() divides an observation whose xᵀΣx/r exceeds this
ROUNDING = 1e-15  # of a sum of products, times their number: five to ten units in the last place


@kernel
def dot(a, b):
    """Return aᵀb, in four partial sums."""
    n = a.size
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@kernel
def finite(a):
    """Whether every entry is finite: an infinity or NaN times zero is not zero."""
    s0 = s1 = 0.0
    n = a.size
    whole = n - n % 2
    for i in range(0, whole, 2):
        s0 += a[i] * 0.0
        s1 += a[i + 1] * 0.0
    for i in range(whole, n):
        s0 += a[i] * 0.0
    return s0 + s1 == 0.0


@kernel
def norm(a):
    """Return ‖a‖₂, also where the squares would overflow or vanish."""
    s = dot(a, a)
    if 1e-280 < s < 1e280:
        return math.sqrt(s)
    low, high = extremes(a)
    top = max(high, -low)
    if not 0.0 < top < math.inf:
        return top
    s = 0.0
    for i in range(a.size):
        s += (a[i] / top) * (a[i] / top)
    return top * math.sqrt(s)


@kernel
def extremes(a):
    """Return the least and the largest entry."""
    low = high = a[0]
    for i in range(1, a.size):
        low = min(low, a[i])
        high = max(high, a[i])
    return low, high


@kernel
def clipped(a, limit):
    """Return a cut to [−limit, limit]."""
    return min(max(a, -limit), limit)


@kernel
def axpy(a, x, y):
    """y ← y + a·x."""
    for i in range(x.size):
        y[i] += a * x[i]


@kernel
def scale(a, x, out):
    """out ← a·x (out may be x)."""
    for i in range(x.size):
        out[i] = a * x[i]


@kernel
def shift(a, S):
    """S ← S + a·I."""
    for i in range(S.shape[0]):
        S[i, i] += a


@kernel
def symv(S, x, out):
    """out ← Sx for symmetric S, four rows at a time."""
    n = x.size
    whole = n - n % 4
    for j in range(n):
        out[j] = 0.0
    for i in range(0, whole, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(n):
            out[j] += (a * S[i, j] + b * S[i + 1, j]) + (c * S[i + 2, j] + d * S[i + 3, j])
    for i in range(whole, n):
        a = x[i]
        for j in range(n):
            out[j] += a * S[i, j]


@kernel
def symv_both(S, T, x, out, other):
    """out ← Sx and other ← Tx in one go, each as :func:`symv` sums it."""
    n = x.size
    whole = n - n % 4
    for j in range(n):
        out[j] = 0.0
        other[j] = 0.0
    for i in range(0, whole, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(n):
            out[j] += (a * S[i, j] + b * S[i + 1, j]) + (c * S[i + 2, j] + d * S[i + 3, j])
            other[j] += (a * T[i, j] + b * T[i + 1, j]) + (c * T[i + 2, j] + d * T[i + 3, j])
    for i in range(whole, n):
        a = x[i]
        for j in range(n):
            out[j] += a * S[i, j]
            other[j] += a * T[i, j]


@kernel
def reset(a, S):
    """S ← a·I."""
    n = S.shape[0]
    for i in range(n):
        for j in range(n):
            S[i, j] = 0.0
        S[i, i] = a


@kernel
def add_square(u, S):
    """S ← S + uuᵀ, exactly symmetric."""
    n = u.size
    for i in range(n):
        a = u[i]
        for j in range(n):
            S[i, j] += a * u[j]


@kernel
def subtract_square(u, S):
    """S ← S − uuᵀ: exactly symmetric, since u_i·u_j is u_j·u_i."""
    n = u.size
    for i in range(n):
        a = u[i]
        for j in range(n):
            S[i, j] -= a * u[j]


@kernel
def observe(S, x, v, chi, r, u):
    """Σ ← (Σ⁻¹ + xxᵀ/r)⁻¹, given v = Σx and χ = xᵀv; v becomes the gain Σ_new·x/r.

    The textbook Σ − vvᵀ/(r + χ) loses log₁₀(χ/r) digits to cancellation, and with them the sign of
    Σ once χ/r nears 1e16. An observation of weight one is the same as several whose weights sum to
    one, so a large one is taken in parts, each with χ/r ≤ 1e4. And once χ is down to its own
    rounding, Σ is as small in that direction as its other entries let floating point say: it is
    left there, or it would lose its sign. ``u`` is scratch.
    """
    if chi <= LARGEST_STEP * r and chi * r > rounding_of(S, x) * (r + chi):
        _take(S, v, chi, r, 1.0, u)
    else:
        _observe_in_parts(S, x, v, chi, r, u)


@kernel
def _observe_in_parts(S, x, v, chi, r, u):
    """Observe, in parts, as far as floating point allows."""
    remaining = 1.0
    while True:
        noise = rounding_of(S, x)
        if not chi > 2.0 * noise:
            scale(1.0 / (r + remaining * max(chi, 0.0)), v, v)
            return
        room = chi / noise - 1.0  # χ may still shrink by a factor 1 + room
        part = min(remaining, min(LARGEST_STEP, room) * r / chi)
        _take(S, v, chi, r, part, u)
        if part == remaining:
            return
        remaining -= part
        symv(S, x, v)
        chi = dot(x, v)


@kernel
def _take(S, v, chi, r, part, u):
    """Observe a part of x: Σ ← (Σ⁻¹ + part·xxᵀ/r)⁻¹, v ← Σ_new·x/r."""
    gain = 1.0 / (r + part * chi)
    scale(math.sqrt(part * gain), v, u)
    subtract_square(u, S)
    scale(gain, v, v)


@kernel
def rounding_of(S, x):
    """Return what rounding can make of xᵀΣx: a share of Σ x_i²Σ_ii, which bounds it."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i] * S[i, i]
    return ROUNDING * (3 + x.size) * total


@kernel
def cholesky(A, least, slack):
    """A ← U with A = UᵀU, U upper triangular (the part below the diagonal is left alone).

    A pivot below ``least``, a bound known for them, or below ``slack`` times its entry of the
    diagonal, where it is rounding, is raised to it. With both 0 nothing is raised. Returns whether
    A, so raised, is positive definite.
    """
    n = A.shape[0]
    for k in range(n):
        lowest = max(least, slack * A[k, k])
        for i in range(k):
            a = A[i, k]
            for j in range(k, n):
                A[k, j] -= a * A[i, j]
        pivot = max(A[k, k], lowest)
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        A[k, k] = root
        for j in range(k + 1, n):
            A[k, j] /= root
    return True


@kernel
def solve_lower(U, x):
    """x ← U⁻ᵀx."""
    n = x.size
    for k in range(n):
        x[k] /= U[k, k]
        a = x[k]
        for j in range(k + 1, n):
            x[j] -= a * U[k, j]


@kernel
def solve_upper(U, x):
    """x ← U⁻¹x."""
    n = x.size
    for k in range(n - 1, -1, -1):
        s = x[k]
        for j in range(k + 1, n):
            s -= U[k, j] * x[j]
        x[k] = s / U[k, k]
