"""Projection onto the ball ‖f‖ ≤ R of a kernel's space in the metric of Σ⁻¹, for kernel ARCOR.

    Σ = I − Φᵀ(rI + K)⁻¹Φ      (Φf)_i = f(z_i) = p_i for n examples z_i,  K_ij = K(z_i, z_j)
    argmin over ‖u‖ ≤ R of <u − f, Σ⁻¹(u − f)>  =  (I + λΣ)⁻¹f  with λ such that its norm is R

Let s = 1/(1 + λ). The projection, its square and its values p' at the examples are

    f' = sf + (1 − s) Σ g_i K(z_i, ·)       g = (s/r)(I + sK/r)⁻¹p
    ‖f'‖² = s²‖f‖² + 2s(1 − s) pᵀg + (1 − s)² gᵀKg,    p' = sp + (1 − s) Kg

Every term is positive, so that nothing cancels, however large λ is. As in
:mod:`onlinear._updates.ball_projection`, a tridiagonal matrix T takes the place of K/r, here that
of Lanczos' recursion from p/‖p‖: with y = (I + sT)⁻¹e₁, g is (s/r)‖p‖Qy, where the columns of Q are
Lanczos' vectors. Newton's iteration for the λ at which 1/‖f'‖ equals 1/R, a concave function of λ,
rises from λ = 0 without overshooting. Each new vector costs n² multiplications by K = LLᵀ − rI, and
is followed by one Newton step, which costs O(k) for k vectors. Once the residual of y is only
rounding error, Newton's steps go on to convergence; there are at most twice as many vectors as
there is room for examples. The vectors are not stored: a second run of the recursion, with the same
rounding errors, adds them up.
"""

import math

from onlinear._numerics.linalg import axpy, dot, kernel, norm, scale
from onlinear._updates.ball_projection import factorise

__all__ = ["PROJECTING", "multiply", "project"]

PROJECTING = 17  # rows of scratch memory
NEWTON_STEPS = 100  # about five are needed
ROUNDING = 1e-16
FINE = 16.0  # final residual in units of rounding, in addition to ‖T‖, the error of T
SETTLED = 1e-15  # a relative change of s that is only rounding error


@kernel
def multiply(L, n, r, v, u, out):
    """Set ``out`` to (I + K/r)v = LLᵀv/r; u is scratch. The rows of L are stored end to end."""
    for j in range(n):
        u[j] = 0.0
    start = 0
    for i in range(n):
        axpy(v[i], L[start : start + i + 1], u[: i + 1])
        start += i + 1
    start = 0
    for i in range(n):
        out[i] = dot(L[start : start + i + 1], u[: i + 1]) / r
        start += i + 1


@kernel
def measure(diagonal, beside, s, k, share, pivot, below, forward, y):
    """Compute y = (I + sT)⁻¹e₁; return E = ‖f'‖²/(s‖f‖)² and E + ½s·dE/ds.

    T has k + 1 rows, and ``share`` is ‖p‖²/(r‖f‖²); the other arrays are those of
    :func:`onlinear._updates.ball_projection.factorise`.
    """
    y[k] = forward[k] * pivot[k]
    for i in range(k - 1, -1, -1):
        y[i] = forward[i] * pivot[i] - below[i] * y[i + 1]
    bent = twice = before = 0.0  # yᵀTy, and (Ty)ᵀ(I + sT)⁻¹Ty
    for i in range(k + 1):
        product = diagonal[i] * y[i]  # (Ty)_i
        if i < k:
            product += beside[i] * y[i + 1]
        if i > 0:
            product += beside[i - 1] * y[i - 1]
        bent += y[i] * product
        before = product - (below[i - 1] * before if i > 0 else 0.0)
        twice += before * before * pivot[i]
    l = 1.0 - s
    size = 1.0 + share * l * (2.0 * y[0] + l * bent)
    slope = share * (y[0] + l * (2.0 * bent + l * twice))
    return size, size - s * slope


@kernel
def find(L, n, r, p, share, goal, vectors, numbers):
    """Return the s for which ‖f'‖ = ``goal``·‖f‖, and k, the last of Lanczos' vectors.

    The recursion's coefficients and y are in the first half of ``numbers``.
    """
    last, q, z, u = vectors[0], vectors[1], vectors[2], vectors[3]
    most = numbers.size // 6
    diagonal, beside, y = numbers[:most], numbers[most : 2 * most], numbers[2 * most : 3 * most]
    pivot, below = numbers[3 * most : 4 * most], numbers[4 * most : 5 * most]
    forward = numbers[5 * most :]
    begin(p, n, q)
    forward[0] = 1.0
    s, reach = 1.0, 1.0  # reach is about ‖I + T‖
    root = math.sqrt(share)
    k = 0
    while True:
        multiply(L, n, r, q, u, z)
        if k > 0:
            axpy(-beside[k - 1], last[:n], z[:n])
        turn = dot(q[:n], z[:n])
        diagonal[k] = turn - 1.0
        axpy(-turn, q[:n], z[:n])
        beside[k] = norm(z[:n])
        reach = max(reach, 1.0 + diagonal[k] + beside[k])
        fine = ROUNDING * (FINE + reach)
        for _ in range(NEWTON_STEPS):
            factorise(diagonal, beside, s, 0, k, pivot, below, forward)
            size, slope = measure(diagonal, beside, s, k, share, pivot, below, forward, y)
            left = (1.0 - s) * root * beside[k] * abs(y[k]) / math.sqrt(size)
            better = goal / math.sqrt(size)
            if slope > 0.0:
                better = s / (1.0 + (s / better - 1.0) * size / slope)
            settled = abs(better - s) <= SETTLED * s
            if left <= fine and settled:
                return s, k
            if not 0.0 < better <= 1.0:
                better = goal / math.sqrt(size)
            s = min(better, 1.0)
            if left > fine:
                break
        k += 1
        if k == diagonal.size or beside[k - 1] == 0.0:
            return s, k - 1
        advance(beside[k - 1], n, last, q, z)


@kernel
def begin(p, n, q):
    """Set q to p/‖p‖, Lanczos' first vector."""
    scale(1.0 / norm(p[:n]), p[:n], q[:n])


@kernel
def advance(size, n, last, q, z):
    """Go on to Lanczos' next vector: q moves to ``last``, and z/``size`` to q."""
    scale(1.0, q[:n], last[:n])
    scale(1.0 / size, z[:n], q[:n])


@kernel
def add_up(L, n, r, p, s, k, vectors, numbers, g):
    """Set g to (s/r)‖p‖Qy by a second run of Lanczos' recursion."""
    last, q, z, u = vectors[0], vectors[1], vectors[2], vectors[3]
    most = numbers.size // 6
    diagonal, beside, y = numbers[:most], numbers[most : 2 * most], numbers[2 * most : 3 * most]
    begin(p, n, q)
    for j in range(n):
        g[j] = 0.0
    for i in range(k + 1):
        axpy(y[i], q[:n], g[:n])
        if i < k:
            multiply(L, n, r, q, u, z)
            if i > 0:
                axpy(-beside[i - 1], last[:n], z[:n])
            axpy(-(diagonal[i] + 1.0), q[:n], z[:n])
            advance(beside[i], n, last, q, z)
    scale(s / r * norm(p[:n]), g[:n], g[:n])


@kernel
def project(L, n, r, alpha, p, length, radius, work):
    """Project f = Σα_i K(z_i, ·), with ‖f‖ = ``length`` above ``radius``; update α and p; return s.

    The last n of all examples have the factor L with LLᵀ = rI + K, and p. ``work`` is scratch
    memory of PROJECTING rows, each of at least as many numbers as there are examples.
    """
    goal = radius / length
    size = norm(p[:n]) if n > 0 else 0.0
    share = size / length * (size / length) / r
    if not share > 0.0:  # f is 0 on the segment, where Σ is I
        scale(goal, alpha, alpha)
        scale(goal, p[:n], p[:n])
        return goal
    vectors, g = work[:4], work[4]
    numbers = work.reshape(work.size)[5 * work.shape[1] : PROJECTING * work.shape[1]]
    s, k = find(L, n, r, p, share, goal, vectors, numbers)
    add_up(L, n, r, p, s, k, vectors, numbers, g)
    scale(s, alpha, alpha)
    own = alpha[alpha.size - n :]
    axpy(1.0 - s, g[:n], own)
    multiply(L, n, r, g, vectors[3], vectors[2])
    scale(s, p[:n], p[:n])
    axpy((1.0 - s) * r, vectors[2][:n], p[:n])
    axpy((s - 1.0) * r, g[:n], p[:n])
    return s
