"""Projection onto a ball in the metric of Σ⁻¹, for a function f = Σ_i β_i K(z_i, ·).

    argmin over ‖g‖ ≤ R of (g − f)ᵀΣ⁻¹(g − f)  =  (I + αΣ)⁻¹f  with α such that its norm is R

The z_i are the examples learnt, K is a kernel, r is the noise variance, and C = I + K/r = LLᵀ for
the matrix K of all K(z_i, z_j). This is the projection of :mod:`onlinear._updates.ball_projection`
without a matrix Σ: on the coefficients β, Σ acts as C⁻¹. With s = Lᵀβ,

    Σ acts on s as M = L⁻¹L⁻ᵀ,   ‖f‖² = βᵀKβ = r·sᵀ(I − M)s

so Lanczos' recursion runs with M on s. A vector costs two solutions with L and Lᵀ, O(n²) for n
examples. Newton's method for α is that of the other module, but with the norm √(r·sᵀ(I − M)s). (The
recursion has to be orthogonal in s, not in the inner product of functions: there, a part of β with
Kβ = 0 would have the length 0, and would grow.) If Lanczos' recursion fails, the eigenvectors of C
give the projection in O(n³).
"""

import math

import numpy as np

from onlinear._numerics.linalg import axpy, dot, kernel, norm, scale
from onlinear._updates.ball_projection import COARSE, FAILED, FOUND, add_rows, search
from onlinear._updates.dual import solve_columns, solve_rows

__all__ = ["project_dual"]

VECTORS = 100  # the most vectors of Lanczos; about a dozen are usual
NEWTON_STEPS = 100


def project_dual(L: np.ndarray, beta: np.ndarray, r: float, radius: float) -> np.ndarray:
    """Return β of the projection of f on the ball ‖f‖ ≤ radius; L is stored row after row."""
    n = beta.size
    s = np.empty(n)
    if length(L, beta, r, s) <= radius:
        return beta
    most = min(2 * n, VECTORS)
    Q, numbers = np.empty((most + 1, n)), np.empty((6, most))
    if by_lanczos(L, n, s, math.sqrt(r), radius, Q, numbers):
        beta = Q[most]
        solve_columns(L, n, beta)
    else:
        beta = by_eigenvectors(L, beta, r, radius)
    return np.asarray(beta * (radius / length(L, beta, r, s)))


@kernel
def length(L, beta, r, s):
    """Write Lᵀβ to s, and return ‖f‖."""
    for j in range(beta.size):
        s[j] = 0.0
    for i in range(beta.size):
        start = i * (i + 1) // 2
        axpy(beta[i], L[start : start + i + 1], s[: i + 1])
    return math.sqrt(r * max(dot(s, s) - dot(beta, beta), 0.0))


@kernel
def by_lanczos(L, n, s, root, radius, Q, numbers):
    """Write the projection of s to the last row of Q; return False if the method fails.

    ``root`` is √r.
    """
    most = numbers.shape[1]
    diagonal, beside, y = numbers[0], numbers[1], numbers[2]
    pivot, below, forward = numbers[3], numbers[4], numbers[5]
    size = norm(s)
    scale(1.0 / size, s, Q[0])
    forward[0] = root * size / radius
    alpha = reach = 0.0
    coarse = COARSE
    for k in range(most):
        z = Q[k + 1]
        scale(1.0, Q[k], z)
        solve_columns(L, n, z)
        solve_rows(L, n, z)
        if k > 0:
            axpy(-beside[k - 1], Q[k - 1], z)
        diagonal[k] = dot(Q[k], z)
        axpy(-diagonal[k], Q[k], z)
        beside[k] = norm(z)
        alpha, reach, coarse, outcome = search(
            diagonal, beside, k, 1.0, alpha, reach, coarse, pivot, below, forward, y
        )
        if outcome == FOUND:
            scale(0.0, s, Q[most])
            add_rows(Q, k + 1, y, Q[most])
            scale(radius / root, Q[most], Q[most])
            return True
        if outcome == FAILED or beside[k] == 0.0:
            return False
        scale(1.0 / beside[k], z, z)
    return False


def by_eigenvectors(L: np.ndarray, beta: np.ndarray, r: float, radius: float) -> np.ndarray:
    """Return β of the projection, computed from all eigenvalues and eigenvectors of C.

    With the eigenvalues e_i of C, and b for β in the basis of its eigenvectors, the squared norm of
    (I + αΣ)⁻¹f is Σ r(e_i − 1)b_i²/(1 + α/e_i)².
    """
    n = beta.size
    square = np.zeros((n, n))
    for i in range(n):
        square[i, : i + 1] = L[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    values, vectors = np.linalg.eigh(square @ square.T)
    values = np.maximum(values, 1.0)
    b = vectors.T @ beta
    squares = r * (values - 1.0) * b**2
    alpha = 0.0
    for _ in range(NEWTON_STEPS):
        share = 1.0 / (1.0 + alpha / values)
        size = math.sqrt(np.sum(squares * share**2))
        slope = np.sum(squares * share**3 / values) / size**2
        better = alpha + (size / radius - 1.0) / slope
        if not better > alpha:
            break
        alpha = better
    return np.asarray(vectors @ (b / (1.0 + alpha / values)))
