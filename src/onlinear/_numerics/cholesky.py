"""Cholesky factorisation A = UᵀU of a symmetric matrix, and triangular solves."""

import math

from onlinear._numerics.jit import kernel
from onlinear._numerics.vectors import axpy, dot, scale

__all__ = ["cholesky", "solve_lower", "solve_upper"]

BAND = 16  # rows that cholesky() processes together; a multiple of four


@kernel
def cholesky(A, least, slack):
    """A ← U with A = UᵀU, U upper triangular (the entries below the diagonal are meaningless).

    A pivot below ``least``, a known lower bound of all pivots, is raised to ``least``. A pivot
    below ``slack`` times the diagonal entry of A is raised to that product, since it is only
    rounding error. If ``least`` and ``slack`` are 0, no pivot is raised. Returns whether A, with
    its pivots raised, is positive definite.

    Rows are processed in bands. While four finished rows of U are in cache, their part of UᵀU is
    subtracted from all rows of a band, four rows at a time.
    """
    n = A.shape[0]
    whole = n - n % 4
    for k in range(1, n):
        A[k, 0] = max(least, slack * A[k, k])  # pivot k's lower limit, kept below the diagonal
        for j in range(max(4, k - k % 4), k):
            A[k, j] = 0.0  # below the diagonal, but within its group of four rows
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
    """Subtract from rows k..k+3 of A, from column k on, the part of UᵀU due to rows i..i+3 of U."""
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
    """Subtract the part of UᵀU due to rows first..k−1 of U from row k; divide by the pivot's root.

    The pivot is first raised to ``lowest``; if it is still not positive, False is returned.
    """
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
    """Replace x by U⁻ᵀx, the solution z of Uᵀz = x."""
    for k in range(x.size):
        x[k] /= U[k, k]
        axpy(-x[k], U[k, k + 1 :], x[k + 1 :])


@kernel
def solve_upper(U, x):
    """Replace x by U⁻¹x, the solution z of Uz = x."""
    for k in range(x.size - 1, -1, -1):
        x[k] = (x[k] - dot(U[k, k + 1 :], x[k + 1 :])) / U[k, k]
