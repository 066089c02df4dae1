"""Projection onto the ball ‖w‖ ≤ R in the metric of Σ⁻¹, for ARCOR and ONS.

    argmin over ‖u‖ ≤ R of (u − w)ᵀΣ⁻¹(u − w)  =  (I + αΣ)⁻¹w  with α such that its norm is R

The function 1/‖(I + αΣ)⁻¹w‖ is concave in α, so Newton's iteration for the α at which it equals 1/R
rises from α = 0 to this root without overshooting. A factorisation of I + αΣ for each Newton step
would cost O(d³). Lanczos' recursion

    β_k q_{k+1} = Σq_k − α_k q_k − β_{k−1}q_{k−1},   q_0 = w/‖w‖

costs O(d²) per vector. (Its coefficients α_k have nothing to do with α.) Let T be the tridiagonal
matrix of the α_k and β_k, and let the columns of Q be the first k vectors q. Newton's method finds
the α and u that solve

    u = R·Qy,   (I + αT)y = (‖w‖/R)e₁,   ‖y‖ = 1

at a cost of O(k) per step. The residual ‖(I + αΣ)u − w‖ = R·α·β_k|y_k| bounds the error of u, since
I + αΣ ≥ I. For a given α, u is the k-th iterate of the method of conjugate gradients, and the
length of u increases with k (Steihaug). So the root α increases with k, too, and after each new
vector Newton's method can go on from the last α.

Lanczos' vectors q_k do not stay orthogonal in floating point. The formula of the residual does not
need orthogonal q_k: Lanczos' recursion holds up to rounding (Paige). For a function f such as f(T)
= (I + αT)⁻², e₁ᵀf(T)e₁ still equals q₀ᵀf(Σ)q₀ up to small errors, so that ‖Qy‖ = ‖y‖ even if the
q_k are not orthogonal (Druskin & Knizhnerman); the code checks this equality. Because of the lost
orthogonality, a few more vectors q_k are needed, possibly more than d in all, but reorthogonalising
the vectors would cost more.

Paige, Linear Algebra Appl. 34, 1980; Druskin & Knizhnerman, Comput. Math. Math. Phys. 31, 1991;
Steihaug, SIAM J. Numer. Anal. 20, 1983.
"""

import math

from onlinear._numerics.linalg import (
    axpy,
    cholesky,
    dot,
    kernel,
    norm,
    scale,
    shift,
    solve_lower,
    solve_upper,
    symv,
)

__all__ = ["COARSE", "FAILED", "FOUND", "SCRATCH", "add_rows", "project_ellipsoid", "search"]

MORE = 32  # after d + MORE, or 2d, vectors without convergence, Cholesky's method is used
SCRATCH = MORE + 13  # rows in addition to d: MORE + 1 vectors, and six arrays of up to 2d numbers
NEWTON_STEPS = 100  # the secular equation needs about five
COARSE = 0.5  # first Newton step at a residual below this share of R, next one at its square
ROUNDING = 1e-16
FINE = 16.0  # final residual in units of rounding, in addition to α‖Σ‖, the error of T
FOUND, MORE_VECTORS, FAILED = range(3)  # outcomes of the search for α
STEEP = 4e3  # beyond this α‖Σ‖, Cholesky's method is used: it keeps the digits of a graded Σ


@kernel
def project_ellipsoid(S, w, radius, work):
    """Project w: w ← argmin over ‖u‖ ≤ radius of (u − w)ᵀΣ⁻¹(u − w); no change if ‖w‖ ≤ radius.

    ``work`` is scratch memory of d + SCRATCH rows.
    """
    length = norm(w)
    if length > radius and not by_lanczos(S, w, length, radius, work):
        by_cholesky(S, w, radius, work)


@kernel
def by_lanczos(S, w, length, radius, work):
    """Project w by Lanczos' recursion and return True, or return False if the method fails.

    After a failure, w is unchanged.
    """
    n = w.size
    most = min(2 * n, n + MORE)
    flat = work.reshape(work.size)
    diagonal, beside, y = flat[:most], flat[most : 2 * most], flat[2 * most : 3 * most]
    pivot, below = flat[3 * most : 4 * most], flat[4 * most : 5 * most]
    forward = flat[5 * most : 6 * most]
    Q = work[12 : most + 13]
    for j in range(n):
        Q[0, j] = w[j] / length
    forward[0] = length / radius
    alpha = reach = 0.0  # reach is about ‖Σ‖
    coarse = COARSE
    for k in range(most):
        q, z = Q[k], Q[k + 1]
        symv(S, q, z)
        if k > 0:
            axpy(-beside[k - 1], Q[k - 1], z)
        diagonal[k] = dot(q, z)
        axpy(-diagonal[k], q, z)
        beside[k] = norm(z)
        alpha, reach, coarse, outcome = search(
            diagonal, beside, k, 0.0, alpha, reach, coarse, pivot, below, forward, y
        )
        if outcome == FOUND:
            return combine(Q, k + 1, y, ROUNDING * (FINE + alpha * reach), radius, z, w)
        if outcome == FAILED:
            return False
        scale(1.0 / beside[k], z, z)
    return False


@kernel
def search(diagonal, beside, k, less, alpha, reach, coarse, pivot, below, forward, y):
    """Make Newton steps for α after the k-th vector of Lanczos (from 0), and compute y.

    Newton steps are made as long as the residual of u is small enough; once it is only rounding
    error, they go on to convergence. Return the new α, ``reach``, about ‖Σ‖, the share of R below
    which the residual has to be for the next step, and an outcome. The outcome is FOUND if y is the
    solution, MORE_VECTORS if the next vector is needed, or FAILED. The search begins with α = 0,
    ``reach`` = 0, ``coarse`` = COARSE and f_0 = ‖w‖/R in ``forward``; see :func:`factorise`. With
    ``less`` = 1 instead of 0, the norm that is to be R is √(uᵀ(I − Σ)u) instead of ‖u‖.
    """
    reach = max(reach, diagonal[k] + beside[k])
    factorise(diagonal, beside, alpha, k, k, pivot, below, forward)
    for _ in range(NEWTON_STEPS):
        left = alpha * beside[k] * abs(forward[k] * pivot[k])
        fine = ROUNDING * (FINE + alpha * reach)
        if left > max(coarse, fine):
            return alpha, reach, coarse, MORE_VECTORS
        size, slope = solve(diagonal, beside, k, less, pivot, below, forward, y)
        better = alpha + (size - 1.0) / slope
        if left <= fine and (size <= 1.0 + fine or better == alpha):
            return alpha, reach, coarse, FOUND
        if not 0.0 <= better * reach <= STEEP:
            return alpha, reach, coarse, FAILED
        alpha = better
        coarse *= coarse
        factorise(diagonal, beside, alpha, 0, k, pivot, below, forward)
    return alpha, reach, coarse, FAILED


@kernel
def combine(Q, rows, y, fine, radius, u, w):
    """Set w to R·Qy and return True if ‖Qy‖ is 1 up to rounding; otherwise return False.

    The columns q_k of the matrix Q are the first ``rows`` rows of the array ``Q``, R is ``radius``,
    and ``u`` is scratch.
    """
    scale(0.0, w, u)
    add_rows(Q, rows, y, u)
    size = norm(u)
    if not abs(size - 1.0) <= 16.0 * fine:
        return False
    scale(radius / size, u, w)
    return True


@kernel
def add_rows(Q, rows, c, z):
    """Add Σ c_i q_i to z, where q_i is row i of Q, four rows at a time."""
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        c0, c1, c2, c3 = c[i], c[i + 1], c[i + 2], c[i + 3]
        for j in range(z.size):
            z[j] += (c0 * Q[i, j] + c1 * Q[i + 1, j]) + (c2 * Q[i + 2, j] + c3 * Q[i + 3, j])
    for i in range(whole, rows):
        c0 = c[i]
        for j in range(z.size):
            z[j] += c0 * Q[i, j]


@kernel
def factorise(diagonal, beside, alpha, first, last, pivot, below, forward):
    """Compute rows first..last of I + αT = LDLᵀ and of f = L⁻¹·f_0e₁, given the rows before.

    The tridiagonal matrix T has ``diagonal`` on the diagonal and ``beside`` next to it. ``pivot``
    holds 1/D_ii, ``below`` L_i+1,i, and ``forward`` f, of which the first entry, f_0 = ‖w‖/R, is
    already set.
    """
    for i in range(first, last + 1):
        left = 1.0 + alpha * diagonal[i]
        if i > 0:
            side = alpha * beside[i - 1]
            below[i - 1] = side * pivot[i - 1]
            left -= side * below[i - 1]
            forward[i] = -below[i - 1] * forward[i - 1]
        pivot[i] = 1.0 / left


@kernel
def solve(diagonal, beside, k, less, pivot, below, forward, y):
    """Compute y = (I + αT)⁻¹f_0e₁ = L⁻ᵀD⁻¹f; return ‖y‖ and a derivative for Newton's method.

    T, f_0, f, L and D are those of :func:`factorise`. The derivative is that of 1/‖y‖ in α, times
    ‖y‖: ‖y‖·(1/‖y‖)' = yᵀ(I + αT)⁻¹Ty / ‖y‖². If ``less`` is 1, not 0, yᵀ(I − T) takes the place of
    yᵀ, and ‖y‖² is yᵀ(I − T)y.
    """
    y[k] = forward[k] * pivot[k]
    squares = y[k] * y[k]
    for i in range(k - 1, -1, -1):
        y[i] = forward[i] * pivot[i] - below[i] * y[i + 1]
        squares += y[i] * y[i]
    a = b = total = 0.0  # entries of L⁻¹y, or L⁻¹(I − T)y, and L⁻¹Ty
    for i in range(k + 1):
        bend = diagonal[i] * y[i]  # (Ty)_i
        if i < k:
            bend += beside[i] * y[i + 1]
        if i > 0:
            bend += beside[i - 1] * y[i - 1]
            a *= below[i - 1]
            b *= below[i - 1]
        squares -= less * (y[i] * bend)
        a = (y[i] - less * bend) - a
        b = bend - b
        total += a * b * pivot[i]
    return math.sqrt(max(squares, 0.0)), total / squares


@kernel
def by_cholesky(S, w, radius, work):
    """Project w onto the ball by a Cholesky factorisation of I + αΣ for every Newton step."""
    n = w.size
    u, z, U = work[0], work[1], work[2 : n + 2]
    alpha = 0.0
    for _ in range(NEWTON_STEPS):
        for i in range(n):
            u[i] = w[i]
            for j in range(n):
                U[i, j] = alpha * S[i, j]
        shift(1.0, U)
        cholesky(U, 1.0, 0.0)
        solve_lower(U, u)
        solve_upper(U, u)  # u = (I + αΣ)⁻¹w
        length = norm(u)
        scale(1.0 / length, u, u)
        if length <= radius * (1.0 + 4e-16):
            break
        symv(S, u, z)
        solve_lower(U, z)
        solve_upper(U, z)  # z = (I + αΣ)⁻¹Σu/‖u‖
        better = alpha + (length / radius - 1.0) / dot(u, z)
        if not alpha < better < math.inf:
            break
        alpha = better
    scale(radius, u, w)
