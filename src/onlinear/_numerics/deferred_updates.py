"""Deferred rank-one updates of a symmetric matrix, used by :mod:`onlinear._engine.bulk`.

Each row x updates a symmetric matrix by A ← A + σ·h·vvᵀ, where v = Ax and h is a number that the
learner computes; σ is −1 for a covariance and +1 for a matrix that grows. The updates by a block of
rows X are deferred. A₀ is A before the block, P begins as XA₀, and the rows of U are the vectors
u = √h·v. A block is processed in groups of a few rows, which are called leaves:

    leaf       G = PXᵀ for the rows of a leaf gives xᵀAx row by row, and the effect of each row on
               the rows after it; then U = TP with a small triangular matrix T
    push       P ← P + σ(XUᵀ)U for later rows
    fold       A ← A₀ + σUᵀU at the end of the block
"""

from typing import NamedTuple

import numpy as np

from onlinear._numerics import blas
from onlinear._numerics.aligned import zeros
from onlinear._numerics.jit import kernel

__all__ = [
    "LEAF",
    "Wing",
    "aligned",
    "begin",
    "eliminate",
    "expand",
    "fold",
    "gram",
    "mirror",
    "push",
    "wing",
]

LEAF = 8  # rows


class Wing(NamedTuple):
    """Scratch memory for the deferred updates of one matrix A.

    ``chi`` holds χ = xᵀAx and ``root`` holds √h of every row; P, U, G and T are the matrices of the
    formulas above.
    """

    P: np.ndarray
    U: np.ndarray
    G: np.ndarray
    T: np.ndarray
    chi: np.ndarray
    root: np.ndarray


def wing(rows: int, d: int) -> Wing:
    """Return scratch memory for blocks of ``rows`` rows with d columns."""
    large, small = (aligned(rows, d) for _ in range(2)), (aligned(LEAF, LEAF) for _ in range(2))
    P, U = large
    G, T = small
    return Wing(P, U, G, T, np.zeros(rows), np.zeros(rows))


def aligned(rows: int, d: int) -> np.ndarray:
    """Return an array of zeros whose rows have at least d numbers and begin at a cache line.

    No row has a multiple of 512 numbers, since such rows would compete for the same cache sets.
    """
    pitch = -(-d // 8) * 8
    if pitch % 512 == 0:
        pitch += 8
    return zeros(rows * pitch).reshape(rows, pitch)


@kernel
def _multiple(A):
    """Return a if the lower triangle of A equals the lower triangle of a·I, else 0."""
    a = A[0, 0]
    for i in range(A.shape[0]):
        if A[i, i] != a:
            return 0.0
        for j in range(i):
            if A[i, j] != 0.0:
                return 0.0
    return a


@kernel
def begin(wing, A, X, rows, beta):
    """Set P ← XA + βP, faster if A is a multiple of I, as at the beginning and after a reset."""
    P, d = wing[0], A.shape[0]
    a = _multiple(A)
    if a == 0.0:
        blas.products_with(A, X, rows, beta, P)
    else:
        _add_rows(a, X, rows, d, beta, P)


@kernel
def _add_rows(a, X, rows, d, beta, P):
    """Set P ← aX + βP."""
    for j in range(rows):
        x, p = X[j, :d], P[j, :d]
        if beta == 0.0:
            for i in range(d):
                p[i] = a * x[i]
        else:
            for i in range(d):
                p[i] = a * x[i] + beta * p[i]


@kernel
def gram(wing, X, done, rows, d):
    """Begin a leaf, the ``rows`` rows after the first ``done`` rows of a block: G[s, t] ← p_sᵀx_t.

    The vectors p_s and x_t are rows s and t of P and X, counted from the first row of the leaf.
    """
    blas.product(wing[0], done, rows, X, done, rows, d, wing[2])


@kernel
def eliminate(wing, j, rows, done, h, sign):
    """Eliminate row j of the leaf from the rows after row j, and store χ and √h of row j.

    After the elimination, G[j, s] holds u_jᵀx_s for every s > j. ``sign`` is σ.
    """
    _, _, G, _, chi, root = wing
    chi[done + j] = G[j, j]
    for s in range(j + 1, rows):
        f = sign * h * G[j, s]
        for i in range(s, rows):
            G[s, i] += f * G[j, i]
    root[done + j] = h**0.5  # done last: the next row's χ does not depend on it
    for s in range(j + 1, rows):
        G[j, s] *= root[done + j]


@kernel
def _invert(G, root, done, rows, sign, T):
    """Compute the T for which U = TP, that is u_t = √h_t·(p_t + σ Σ_{s<t} (u_sᵀx_t)·u_s)."""
    for t in range(rows):
        for j in range(rows):
            T[t, j] = 0.0
        T[t, t] = 1.0
        for s in range(t):
            f = sign * G[s, t]
            for j in range(s + 1):
                T[t, j] += f * T[s, j]
        for j in range(t + 1):
            T[t, j] *= root[done + t]


@kernel
def expand(wing, done, rows, sign, d):
    """End a leaf: U ← TP for the leaf's first ``rows`` rows."""
    P, U, G, T, _, root = wing
    _invert(G, root, done, rows, sign, T)
    blas.add_product(1.0, T, rows, P, done, rows, d, 0.0, U, done)


@kernel
def push(wing, X, W, done, span, rows, sign, d):
    """Add the effect of ``span`` rows of a block, which end at row ``done``, to later rows of P.

    The later rows are the ``rows`` rows from row ``done`` on. W is scratch memory.
    """
    P, U, _, _, _, _ = wing
    blas.product(X, done, rows, U, done - span, span, d, W)  # W = XUᵀ
    blas.add_product(sign, W, rows, U, done - span, span, d, 1.0, P, done)


@kernel
def fold(wing, A, rows, sign, d):
    """End a block: A ← A + σUᵀU, in the lower triangle of A only."""
    blas.add_squares(sign, wing[1], rows, d, A)


@kernel
def mirror(A):
    """Copy the lower triangle of A to the upper triangle, in tiles that fit in cache."""
    d = A.shape[0]
    for top in range(0, d, 32):
        for left in range(0, top + 1, 32):
            for i in range(top, min(top + 32, d)):
                for j in range(left, min(left + 32, i)):
                    A[j, i] = A[i, j]
