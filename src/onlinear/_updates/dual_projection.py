"""Projection onto a ball in the metric of Σ⁻¹, for a function f = Σ_i β_i K(z_i, ·).

    argmin over ‖g‖ ≤ R of the squared distance (g − f)ᵀΣ⁻¹(g − f)  =  (I + αΣ)⁻¹f,  of norm R

The z_i are the examples learnt, K is a kernel, and C = I + K/r = LLᵀ for the matrix K of all
K(z_i, z_j) and the noise variance r. This is the projection of
:mod:`onlinear._updates.ball_projection`, without a matrix Σ. A function is kept as two vectors, its
coefficients β and its values p = Kβ at the examples:

    ⟨f, g⟩ = βᵀp'          for f = (β, p) and g = (β', p')
    Σf = (C⁻¹β, C⁻¹p)      as Σ = I − Φᵀ(rI + K)⁻¹Φ, where f = Φᵀβ, and C commutes with K

So a vector of Lanczos costs two solutions of linear systems with L and Lᵀ, O(n²) for n examples;
Newton's method for α is that of the other module. If Lanczos' recursion fails, the eigenvectors of
C give the projection in O(n³).
"""

import math

import numpy as np

from onlinear._numerics.linalg import axpy, dot, kernel, scale
from onlinear._updates.ball_projection import COARSE, FAILED, FOUND, add_rows, search
from onlinear._updates.dual import solve_columns, solve_rows

__all__ = ["project_dual"]

VECTORS = 100  # the most vectors of Lanczos; about a dozen are usual
NEAR = 1e-11  # the norm of the projection in units of R may be this far from 1 before it is scaled
NEWTON_STEPS = 100


def project_dual(
    L: np.ndarray, beta: np.ndarray, p: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (β, p) of the projection of f = (β, p) on the ball; L is stored row after row."""
    n = beta.size
    if norm(beta, p) <= radius:
        return beta, p
    most = min(2 * n, VECTORS)
    Q, P, numbers = np.empty((most + 1, n)), np.empty((most + 1, n)), np.empty((6, most))
    if not by_lanczos(L, n, beta, p, radius, Q, P, numbers):
        return by_eigenvectors(L, beta, p, radius)
    return Q[most], P[most]


@kernel
def norm(beta, p):
    """Return ‖f‖ of f = (β, p)."""
    return math.sqrt(max(dot(beta, p), 0.0))


@kernel
def by_lanczos(L, n, beta, p, radius, Q, P, numbers):
    """Write the projection to the last rows of Q and P; return False if the method fails.

    The k-th vector of Lanczos has its β in row k of Q, and its p in row k of P.
    """
    most = numbers.shape[1]
    diagonal, beside, y = numbers[0], numbers[1], numbers[2]
    pivot, below, forward = numbers[3], numbers[4], numbers[5]
    length = norm(beta, p)
    scale(1.0 / length, beta, Q[0])
    scale(1.0 / length, p, P[0])
    forward[0] = length / radius
    alpha = reach = 0.0
    coarse = COARSE
    for k in range(most):
        for vectors in (Q, P):
            z = vectors[k + 1]
            scale(1.0, vectors[k], z)
            solve_rows(L, n, z)
            solve_columns(L, n, z)
            if k > 0:
                axpy(-beside[k - 1], vectors[k - 1], z)
        diagonal[k] = dot(Q[k], P[k + 1])
        axpy(-diagonal[k], Q[k], Q[k + 1])
        axpy(-diagonal[k], P[k], P[k + 1])
        beside[k] = norm(Q[k + 1], P[k + 1])
        alpha, reach, coarse, outcome = search(
            diagonal, beside, k, alpha, reach, coarse, pivot, below, forward, y
        )
        if outcome == FOUND:
            return combine(Q, P, k + 1, y, radius)
        if outcome == FAILED or beside[k] == 0.0:
            return False
        scale(1.0 / beside[k], Q[k + 1], Q[k + 1])
        scale(1.0 / beside[k], P[k + 1], P[k + 1])
    return False


@kernel
def combine(Q, P, rows, y, radius):
    """Write R·Σ_k y_k q_k to the last rows of Q and P; return False unless its norm is nearly R."""
    last = Q.shape[0] - 1
    for vectors in (Q, P):
        scale(0.0, vectors[0], vectors[last])
        add_rows(vectors, rows, y, vectors[last])
    size = norm(Q[last], P[last])
    if not abs(size - 1.0) <= NEAR:
        return False
    scale(radius / size, Q[last], Q[last])
    scale(radius / size, P[last], P[last])
    return True


def by_eigenvectors(
    L: np.ndarray, beta: np.ndarray, p: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the projection, computed from all eigenvalues and eigenvectors of C.

    With the eigenvalues 1/σ_i of C, and b and q for β and p in the basis of its eigenvectors, the
    squared norm of (I + αΣ)⁻¹f is Σ b_i q_i/(1 + ασ_i)².
    """
    n = beta.size
    square = np.zeros((n, n))
    for i in range(n):
        square[i, : i + 1] = L[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    values, vectors = np.linalg.eigh(square @ square.T)
    sigma = 1.0 / np.maximum(values, 1.0)
    b, q = vectors.T @ beta, vectors.T @ p
    squares = np.maximum(b * q, 0.0)
    alpha = 0.0
    for _ in range(NEWTON_STEPS):
        share = 1.0 / (1.0 + alpha * sigma)
        size = math.sqrt(np.sum(squares * share**2))
        slope = np.sum(squares * share**3 * sigma) / size**2
        better = alpha + (size / radius - 1.0) / slope
        if not better > alpha:
            break
        alpha = better
    share = 1.0 / (1.0 + alpha * sigma)
    beta, p = vectors @ (share * b), vectors @ (share * q)
    size = norm(beta, p)
    return beta * (radius / size), p * (radius / size)
