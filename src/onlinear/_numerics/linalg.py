"""The vocabulary of the papers: small dense operations a step is written with.

Every kernel sums in one fixed order, where the order matters, and uses no fast-math, so that a step
gives the same bits whichever way it is run. Matrices are symmetric and stored in full; loops run
along rows and in "axpy form", which is vectorised without changing the order of any sum.
"""

import math
from functools import partial
from typing import Any

from numba import njit

from onlinear._numerics.vector_loops import along

__all__ = [
    "add_square",
    "axpy",
    "cholesky",
    "clear",
    "clipped",
    "dot",
    "extremes",
    "finite",
    "inner",
    "kernel",
    "norm",
    "observe",
    "observe_given",
    "observe_later",
    "reset",
    "rounding_of",
    "scale",
    "shift",
    "shift_and_round",
    "short",
    "solve_lower",
    "solve_upper",
    "subtract_square",
    "subtract_square_and_multiply",
    "symv",
    "symv_both",
    "trace",
    "within",
]

# No reference counts are kept: a round is too short to pay for them. So nothing inside a step or a
# kernel may allocate; np.max, np.abs and array expressions do, and do not compile.
# Entrances that nobody uses are not compiled: C's, and for what only compiled code calls Python's
# too (to call an inner kernel from Python crashes the process).
# How a kernel is compiled is said for each: what is not said, Numba does as for the caller in which
# it comes across the kernel first, and what other callers get hangs on what ran before.
kernel: Any = partial(
    njit,
    error_model="numpy",
    fastmath=False,
    forceinline=False,
    no_cfunc_wrapper=True,
    _nrt=False,
)
inner: Any = partial(kernel, no_cpython_wrapper=True)
short: Any = partial(kernel, forceinline=True)  # a call would take as long as the work


def within(function: Any) -> Any:
    """Return a kernel that becomes a part of its caller: for what every round of few columns does.

    Elsewhere it is called: to make machine code takes time.
    """
    return short(getattr(function, "py_func", function))


LARGEST_STEP = 1e4  # observe() divides an observation whose xᵀΣx/r exceeds this
ROUNDING = 1e-15  # of a sum of products, times their number: five to ten units in the last place
BAND = 16  # rows of cholesky(), a multiple of four


@along
def _added(a, x, y):
    """y + a·x."""
    return y + a * x


@along
def _scaled(a, x, out):
    """a·x."""
    return a * x


@along
def _added_four(a, b, c, d, p, q, r, s, out):
    """The sum of four rows, each times a number, to out."""
    return out + ((a * p + b * q) + (c * r + d * s))


@along
def _added_eight(a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w, out):
    """The same of eight rows, summed as twice four."""
    return (out + ((a * p + b * q) + (c * r + d * s))) + ((e * t + f * u) + (g * v + h * w))


@along
def _four_less(a, b, c, d, u, p, q, r, s):
    """Four rows, less u times a number each."""
    return p - a * u, q - b * u, r - c * u, s - d * u


@along
def _four_less_and_added(a, b, c, d, e, f, g, h, u, p, q, r, s, out):
    """The same, and then their sum, each times another number, to out."""
    p, q, r, s = p - e * u, q - f * u, r - g * u, s - h * u
    return p, q, r, s, out + ((a * p + b * q) + (c * r + d * s))


@along
def _gained(gain, root, v, u):
    """v times the gain, and u = v times its root."""
    return gain * v, root * v


@short
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


@short(fastmath={"reassoc"})  # the sum is 0 or no number, in whatever order
def finite(a):
    """Whether every entry is finite: an infinity or NaN times zero is not zero."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * 0.0
    return total == 0.0


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


@short
def clipped(a, limit):
    """Return a cut to [−limit, limit]."""
    return min(max(a, -limit), limit)


@short
def axpy(a, x, y):
    """y ← y + a·x."""
    _added(a, x, y)


@short
def scale(a, x, out):
    """out ← a·x (out may be x)."""
    _scaled(a, x, out)


@short
def shift(a, S):
    """S ← S + a·I."""
    for i in range(S.shape[0]):
        S[i, i] += a


@kernel
def trace(S):
    """Return the sum of the diagonal, in four partial sums."""
    n = S.shape[0]
    whole = n - n % 4
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, whole, 4):
        s0 += S[i, i]
        s1 += S[i + 1, i + 1]
        s2 += S[i + 2, i + 2]
        s3 += S[i + 3, i + 3]
    for i in range(whole, n):
        s0 += S[i, i]
    return (s0 + s1) + (s2 + s3)


@kernel
def symv(S, x, out):
    """out ← Sx for symmetric S, eight rows at a time, summed as by fours."""
    n = x.size
    eights, fours = n - n % 8, n - n % 4
    for j in range(n):
        out[j] = 0.0
    for i in range(0, eights, 8):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        e, f, g, h = x[i + 4], x[i + 5], x[i + 6], x[i + 7]
        p, q, r, s = S[i], S[i + 1], S[i + 2], S[i + 3]
        t, u, v, w = S[i + 4], S[i + 5], S[i + 6], S[i + 7]
        _added_eight(a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w, out)
    for i in range(eights, fours, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        _added_four(a, b, c, d, S[i], S[i + 1], S[i + 2], S[i + 3], out)
    for i in range(fours, n):
        _added(x[i], S[i], out)


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
        _added_four(a, b, c, d, S[i], S[i + 1], S[i + 2], S[i + 3], out)
        _added_four(a, b, c, d, T[i], T[i + 1], T[i + 2], T[i + 3], other)
    for i in range(whole, n):
        _added(x[i], S[i], out)
        _added(x[i], T[i], other)


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
    for i in range(u.size):
        _added(u[i], u, S[i])


@kernel
def subtract_square(u, S):
    """S ← S − uuᵀ: exactly symmetric, since u_i·u_j is u_j·u_i."""
    n = u.size
    whole = n - n % 4
    for i in range(0, whole, 4):
        _four_less(u[i], u[i + 1], u[i + 2], u[i + 3], u, S[i], S[i + 1], S[i + 2], S[i + 3])
    for i in range(whole, n):
        _added(-u[i], u, S[i])


@kernel
def subtract_square_and_multiply(u, S, x, out):
    """S ← S − uuᵀ and out ← Sx in one pass; the bits of one after the other.

    Their number must be a multiple of four.
    """
    n = x.size
    for j in range(n):
        out[j] = 0.0
    for i in range(0, n, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        e, f, g, h = u[i], u[i + 1], u[i + 2], u[i + 3]
        p, q, r, s = S[i], S[i + 1], S[i + 2], S[i + 3]
        _four_less_and_added(a, b, c, d, e, f, g, h, u, p, q, r, s, out)


@kernel
def observe(S, x, v, chi, r, u):
    """Σ ← (Σ⁻¹ + xxᵀ/r)⁻¹, given v = Σx and χ = xᵀv; v becomes the gain Σ_new·x/r.

    The textbook Σ − vvᵀ/(r + χ) loses log₁₀(χ/r) digits to cancellation, and with them the sign of
    Σ once χ/r nears 1e16. An observation of weight one is the same as several whose weights sum to
    one, so a large one is taken in parts, each with χ/r ≤ 1e4. And once χ is down to its own
    rounding, Σ is as small in that direction as its other entries let floating point say: it is
    left there, or it would lose its sign. ``u`` is scratch.
    """
    observe_given(S, x, v, chi, r, rounding_of(S, x), u)


@kernel
def observe_given(S, x, v, chi, r, rough, u):
    """As :func:`observe`, given at least what rounding can make of χ."""
    if observe_later(S, x, v, chi, r, rough, u):
        subtract_square(u, S)


@short
def observe_later(S, x, v, chi, r, rough, u):
    """The same, but Σ ← Σ − uuᵀ may be left to be done; return whether it is."""
    if clear(chi, r, rough):
        _weigh(v, chi, r, 1.0, u)
        return True
    _observe_in_parts(S, x, v, chi, r, u)
    return False


@kernel(inline="always")
def clear(chi, r, rough):
    """Whether Σ can be observed in one go: χ/r is not too large, and χ left not rounding."""
    return chi <= LARGEST_STEP * r and chi * r > rough * (r + chi)


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
        _weigh(v, chi, r, part, u)
        subtract_square(u, S)
        if part == remaining:
            return
        remaining -= part
        symv(S, x, v)
        chi = dot(x, v)


@short
def _weigh(v, chi, r, part, u):
    """Set u so that Σ − uuᵀ is (Σ⁻¹ + part·xxᵀ/r)⁻¹ = Σ_new, and v ← Σ_new·x/r."""
    gain = 1.0 / (r + part * chi)
    root = math.sqrt(part * gain)
    _gained(gain, root, v, u)


@short
def rounding_of(S, x):
    """Return what rounding can make of xᵀΣx: a share of Σ x_i²Σ_ii, which bounds it.

    (Writes Σ's diagonal as it is.)
    """
    return shift_and_round(0.0, S, x)


@short
def shift_and_round(a, S, x):
    """S ← S + a·I, and return :func:`rounding_of` it, in one pass over the diagonal."""
    n = x.size
    s0 = s1 = 0.0
    whole = n - n % 2
    for i in range(0, whole, 2):
        S[i, i] += a
        S[i + 1, i + 1] += a
        s0 += x[i] * x[i] * S[i, i]
        s1 += x[i + 1] * x[i + 1] * S[i + 1, i + 1]
    for i in range(whole, n):
        S[i, i] += a
        s0 += x[i] * x[i] * S[i, i]
    return ROUNDING * (3 + n) * (s0 + s1)


@kernel
def cholesky(A, least, slack):
    """A ← U with A = UᵀU, U upper triangular (what is left below the diagonal means nothing).

    A pivot below ``least``, a bound known for them, or below ``slack`` times its entry of the
    diagonal, where it is rounding, is raised to it. With both 0 nothing is raised. Returns whether
    A, so raised, is positive definite.

    Rows are taken in fours, from each of which four rows above are subtracted at a time, for a
    band of fours while the rows above are at hand.
    """
    n = A.shape[0]
    whole = n - n % 4
    for k in range(1, n):
        A[k, 0] = max(least, slack * A[k, k])  # the least its pivot may be, kept out of the way
        for j in range(max(4, k - k % 4), k):
            A[k, j] = 0.0  # below the diagonal, in the way of the rows taken with it
    for first in range(0, whole, BAND):
        end = min(first + BAND, whole)
        for i in range(0, first, 4):
            for k in range(first, end, 4):
                _subtract_four_from_four(A, i, k)
        for k in range(first, end, 4):
            for i in range(first, k, 4):
                _subtract_four_from_four(A, i, k)
            for j in range(k, k + 4):
                lowest = A[j, 0] if j > 0 else max(least, slack * A[0, 0])
                if not _finish_row(A, k, j, lowest):
                    return False
    for k in range(whole, n):
        lowest = A[k, 0] if k > 0 else max(least, slack * A[0, 0])
        for i in range(0, whole, 4):
            a, b, c, d = A[i, k], A[i + 1, k], A[i + 2, k], A[i + 3, k]
            p, q, r, s, row = A[i, k:], A[i + 1, k:], A[i + 2, k:], A[i + 3, k:], A[k, k:]
            for j in range(row.size):
                row[j] -= (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
        if not _finish_row(A, whole, k, lowest):
            return False
    return True


@kernel
def _subtract_four_from_four(A, i, k):
    """Subtract from rows k..k+3 of A, from column k on, what rows i..i+3 of U account for."""
    p, q, r, s = A[i, k:], A[i + 1, k:], A[i + 2, k:], A[i + 3, k:]
    e, f, g, h = A[k, k:], A[k + 1, k:], A[k + 2, k:], A[k + 3, k:]
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    r0, r1, r2, r3 = r[0], r[1], r[2], r[3]
    s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
    for j in range(e.size):  # slices from 0 on: the compiler would not vectorise range(k, n)
        a, b, c, d = p[j], q[j], r[j], s[j]
        e[j] -= (p0 * a + q0 * b) + (r0 * c + s0 * d)
        f[j] -= (p1 * a + q1 * b) + (r1 * c + s1 * d)
        g[j] -= (p2 * a + q2 * b) + (r2 * c + s2 * d)
        h[j] -= (p3 * a + q3 * b) + (r3 * c + s3 * d)


@kernel
def _finish_row(A, first, k, lowest):
    """Subtract rows first..k−1 of U from row k and divide it by the root of its pivot."""
    for i in range(first, k):
        axpy(-A[i, k], A[i, k:], A[k, k:])
    pivot = max(A[k, k], lowest)
    if not pivot > 0.0:
        return False
    root = math.sqrt(pivot)
    scale(1.0 / root, A[k, k:], A[k, k:])
    A[k, k] = root
    return True


@kernel
def solve_lower(U, x):
    """x ← U⁻ᵀx."""
    for k in range(x.size):
        x[k] /= U[k, k]
        axpy(-x[k], U[k, k + 1 :], x[k + 1 :])


@kernel
def solve_upper(U, x):
    """x ← U⁻¹x."""
    for k in range(x.size - 1, -1, -1):
        x[k] = (x[k] - dot(U[k, k + 1 :], x[k + 1 :])) / U[k, k]
