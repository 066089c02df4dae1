"""Operations on symmetric matrices: products with a vector, rank-one updates, the diagonal.

Every compiled function here has a fixed order of summation and no fast-math, so that a learner's
step gives the same bits however it is run. Matrices are stored in full. Loops run along rows and,
like ``axpy``, add multiples of vectors to a vector, which can be vectorised without changing the
order of any sum.
"""

from onlinear._numerics.jit import kernel, short
from onlinear._numerics.vector_loops import along
from onlinear._numerics.vectors import axpy

__all__ = [
    "add_square",
    "reset",
    "shift",
    "subtract_square",
    "subtract_square_and_multiply",
    "symv",
    "symv_both",
    "trace",
]


@along
def _added_four(a, b, c, d, p, q, r, s, out):
    """Add four rows, each times a number, to out."""
    return out + ((a * p + b * q) + (c * r + d * s))


@along
def _added_eight(a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w, out):
    """Add eight rows, each times a number, to out, as two sums of four."""
    return (out + ((a * p + b * q) + (c * r + d * s))) + ((e * t + f * u) + (g * v + h * w))


@along
def _four_less(a, b, c, d, u, p, q, r, s):
    """Subtract a multiple of u from each of four rows."""
    return p - a * u, q - b * u, r - c * u, s - d * u


@along
def _four_less_and_added(a, b, c, d, e, f, g, h, u, p, q, r, s, out):
    """Subtract a multiple of u from each of four rows, then add a weighted sum of them to out."""
    p, q, r, s = p - e * u, q - f * u, r - g * u, s - h * u
    return p, q, r, s, out + ((a * p + b * q) + (c * r + d * s))


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
    """out ← Sx for symmetric S, eight rows at a time, summed in groups of four."""
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
        axpy(x[i], S[i], out)


@kernel
def symv_both(S, T, x, out, other):
    """out ← Sx and other ← Tx in one pass, summed as in :func:`symv`."""
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
        axpy(x[i], S[i], out)
        axpy(x[i], T[i], other)


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
        axpy(u[i], u, S[i])


@kernel
def subtract_square(u, S):
    """S ← S − uuᵀ: exactly symmetric, since u_i·u_j is u_j·u_i."""
    n = u.size
    whole = n - n % 4
    for i in range(0, whole, 4):
        _four_less(u[i], u[i + 1], u[i + 2], u[i + 3], u, S[i], S[i + 1], S[i + 2], S[i + 3])
    for i in range(whole, n):
        axpy(-u[i], u, S[i])


@kernel
def subtract_square_and_multiply(u, S, x, out):
    """S ← S − uuᵀ, then out ← Sx, in one pass, with the same bits as in two passes.

    The number of rows of S must be a multiple of four.
    """
    n = x.size
    for j in range(n):
        out[j] = 0.0
    for i in range(0, n, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        e, f, g, h = u[i], u[i + 1], u[i + 2], u[i + 3]
        p, q, r, s = S[i], S[i + 1], S[i + 2], S[i + 3]
        _four_less_and_added(a, b, c, d, e, f, g, h, u, p, q, r, s, out)
