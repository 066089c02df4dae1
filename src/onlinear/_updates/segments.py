"""Kernel learners whose covariance is reset: f stays, and a new segment of examples begins.

    f = Σ α_i K(z_i, ·)        over all examples
    Σ = I − Φᵀ(D + K)⁻¹Φ       over the examples of the present segment, those since the last reset
    D + K = LLᵀ,  q = L⁻¹k,  c = L⁻ᵀq,  χ = K(x, x) − qᵀq        k_i = K(z_i, x)
    f ← f + g·Σφ(x):  α ← [α − gc on the segment; g],  L ← [L 0; qᵀ √(noise + χ)]

K is the matrix of all K(z_i, z_j), D the diagonal matrix of the noise variances of the examples,
Φ maps a function f to its values f(z_i), and g is the gain of the round. So only the examples of
the present segment cost O(n²) per round; those of earlier segments are kept for f alone.
"""

import math

from onlinear._engine.status import DOMAIN, OVERFLOW
from onlinear._numerics.linalg import axpy, kernel, scale
from onlinear._updates.dual import MOST, add_row, solve_columns, uncertainty

__all__ = ["RULES", "clear_rows", "extend", "look", "respond"]

RULES = (
    "needs K(x, x) ≤ 1e10 times the variance of the noise, or rounding errors are too large "
    "(rescale the rows, or use {cure}), got a ratio of {{value:g}}",
    "needs a kernel that is an inner product (positive semi-definite), got a variance of "
    "{{value:g}}",
)


@kernel
def look(L, rows, noise, own, k, q):
    """Set q to L⁻¹k; return χ, a status, and the value it is about."""
    if not math.isfinite(own):
        return 0.0, OVERFLOW, own
    if own > MOST * noise:
        return 0.0, DOMAIN, own / noise
    scale(1.0, k[:rows], q[:rows])
    return uncertainty(L, rows, own, q[:rows])


@kernel
def respond(L, rows, q, c):
    """Set c to L⁻ᵀq, the coefficients of φ(x) − Σφ(x)."""
    scale(1.0, q[:rows], c[:rows])
    solve_columns(L, rows, c)


@kernel
def extend(alpha, L, Z, n, rows, x, gain, root, q, c):
    """Add the example x: f ← f + ``gain``·Σφ(x), and a row of L that ends with ``root``."""
    axpy(-gain, c[:rows], alpha[n - rows : n])
    alpha[n] = gain
    add_row(L, rows, q, root)
    for j in range(x.size):
        Z[n, j] = x[j]


@kernel
def clear_rows(L, rows):
    """Set the first rows of L to zero: a new segment begins."""
    for i in range(rows * (rows + 1) // 2):
        L[i] = 0.0
