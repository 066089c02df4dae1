"""Solve the reweighted ridge systems of CIRR, OSLOG and their bounds.

    v = Mb,    M = (aD⁻¹ + S)⁻¹ = √D B⁻¹ √D,    B = aI + √D S √D,    S = A + xxᵀ

A is the sum of xxᵀ over rows, x is a row that A does not include yet, b is a vector such as the sum
of yx, and a is the penalty. D is diagonal, and its entry D_i is the larger of |w_i| and a floor,
where w is the learner's weight vector. All of D changes in every round, but most of its entries do
not matter: the smaller D_i S_ii is relative to a, the less weight i interacts with the others. Let
s be the set of small weights, D_i S_ii ≤ a·``small``, and r the set of the other k weights. Only
B_rr is factorised; v_r and v_s are computed alternately until they converge,

    v_r = M_rr (b_r − S_rs v_s),    M_rr = (aD_r⁻¹ + S_rr)⁻¹ by the factor
    v_i = D_i (b_i − Σ_{j≠i} S_ij v_j) / (a + D_i S_ii)    for every i in s

With z = D^{−½}v, an iteration that moves z_s by δ leaves the residual −Fδ in the system Bz = √D b,
F being the columns s of √D S √D with zeros in place of its diagonal. Let E = Σ_{i∈s} D_i S_ii / a,
at most n·small. In the norm of M⁻¹, the squared error of v is δᵀFᵀB⁻¹Fδ. As √D S √D is positive
semi-definite and B = aI + √D S √D, FᵀB⁻¹F is at most aE(1 + √E)². So in the norm of M⁻¹ the error
of v is at most about √(aE)‖δ‖ for any data. The iterations end when the bound √(aE)‖δ‖ on the error
of v is only rounding error compared with √(bᵀMb), the norm of v itself. The next iteration moves
z_s by at most E‖δ‖, so two to four iterations are enough. If the iterations do not converge, or if
too few weights are small, all weights count as large.

For n weights, an iteration costs n² + 2k² operations, the factorisation k³/3. A weight at the floor
of 1e-12 belongs to the small weights s, which are not factorised, so a round costs O(n²) if few
inputs matter. No factor and no solution is kept from one round to the next.

A ``system`` is (√D, A, x, a, order, U). ``order`` holds the indices of the weights, those of r
first, and U holds the Cholesky factor of B_rr in its first k² entries; :func:`factorise` sets both.
"""

import math

from onlinear._numerics.linalg import axpy, cholesky, dot, kernel, solve_lower, solve_upper

__all__ = ["FIGURES", "ROUNDING", "SCRATCH", "SMALL", "factorise", "solve", "weigh"]

SMALL = 1e-5  # largest D_i S_ii / a of a small weight; ten times this costs half an iteration more
FEW = 8  # with fewer small weights, or less than a quarter of all, iterating does not pay
TURNS = 8  # the most iterations
ROUNDING = 3e-17  # tolerated error of v, as a share of √(bᵀMb)
FIGURES = 1e-10  # tolerated error of v where only the value of a regret bound depends on v
LOST = 1e-13  # a pivot below this share of its diagonal entry is rounding error
SCRATCH = 3  # rows of scratch memory that solve() needs


@kernel
def weigh(w, floor, root):
    """Write √D to ``root``, where D_i is the larger of |w_i| and the floor."""
    for i in range(w.size):
        root[i] = math.sqrt(max(abs(w[i]), floor))


@kernel
def factorise(system, small):
    """Find the set r of large weights and factorise B_rr; return their number k, −1 on overflow."""
    root, A, x, a, order, U = system
    n = x.size
    k, last = 0, n
    trace = 0.0
    for i in range(n):
        size = root[i] * root[i] * (A[i, i] + x[i] * x[i])
        trace += size
        if size > small * a:
            order[k] = i
            k += 1
        else:
            last -= 1
            order[last] = i
    if not math.isfinite(trace):
        return -1
    if n - k < max(FEW, n // 4):
        k = n
        for i in range(n):
            order[i] = i
    C = U.reshape(U.size)[: k * k].reshape((k, k))
    for p in range(k):
        i = int(order[p])
        if k == n:
            _fill(root[i], x[i], root[p:], x[p:], A[i, p:], C[p, p:])
        else:
            _fill_from(order[p:k], root[i], x[i], root, x, A[i], C[p, p:])
        C[p, p] += a
    # every pivot of aI plus a positive semi-definite matrix is at least a
    return k if cholesky(C, a, LOST * n) else -1


@kernel
def _fill(r, s, root, x, row, out):
    """Write a row of √D S √D to ``out``; r and s are the entries of √D and x for that row."""
    for j in range(out.size):
        out[j] = r * root[j] * (row[j] + s * x[j])


@kernel
def _fill_from(columns, r, s, root, x, row, out):
    """Write the entries ``columns`` of a row of √D S √D to ``out``, like :func:`_fill`."""
    for p in range(out.size):
        j = int(columns[p])
        out[p] = r * root[j] * (row[j] + s * x[j])


@kernel
def solve(system, k, b, share, v, scratch):
    """Compute v = Mb up to rounding and an error of at most ``share`` of the norm of v; return k.

    If the iterations do not converge, all weights count as large from then on: the full matrix is
    factorised, and k is n, or −1 on overflow.
    """
    root, _, _, _, _, U = system
    n = b.size
    if k < n and not _settle(system, k, b, share, v, scratch):
        k = factorise(system, -1.0)
    if k == n:
        for i in range(n):
            v[i] = root[i] * b[i]
        solve_lower(U, v)
        solve_upper(U, v)
        for i in range(n):
            v[i] *= root[i]
    return k


@kernel
def _settle(system, k, b, share, v, scratch):
    """Compute v = Mb by iterations; return whether they converged."""
    root, A, x, a, order, U = system
    n = b.size
    C = U.reshape(U.size)[: k * k].reshape((k, k))
    of_large, of_small, z = scratch[0], scratch[1], scratch[2, :k]  # S_·r v_r, S_·s v_s, z_r
    most = 0.0  # aE
    for j in range(k, n):
        i = int(order[j])
        v[i] = 0.0
        most += root[i] * root[i] * (A[i, i] + x[i] * x[i])
    for i in range(n):
        of_small[i] = 0.0
    for _ in range(TURNS):
        for j in range(k):
            i = int(order[j])
            z[j] = root[i] * (b[i] - of_small[i])
        solve_lower(C, z)
        solve_upper(C, z)
        for j in range(k):
            i = int(order[j])
            v[i] = root[i] * z[j]
        _multiply(A, x, order[:k], v, of_large)
        moved = 0.0  # ‖δ‖²
        for j in range(k, n):
            i = int(order[j])
            D, own, old = root[i] * root[i], A[i, i] + x[i] * x[i], v[i]
            v[i] = D * (b[i] - of_large[i] - (of_small[i] - own * old)) / (a + D * own)
            if D > 0.0:
                moved += (v[i] - old) * ((v[i] - old) / D)
        if most * moved <= share * share * dot(b, v):
            return True
        _multiply(A, x, order[k:], v, of_small)
    return False


@kernel
def _multiply(A, x, rows, v, out):
    """Write to ``out`` the sum of v_i·(row i of A + xxᵀ) over all i in ``rows``."""
    whole = rows.size - rows.size % 4
    along = 0.0
    for j in range(out.size):
        out[j] = 0.0
    for m in range(0, whole, 4):
        e, f, g, h = int(rows[m]), int(rows[m + 1]), int(rows[m + 2]), int(rows[m + 3])
        a, b, c, d = v[e], v[f], v[g], v[h]
        p, q, r, s = A[e], A[f], A[g], A[h]
        along += (a * x[e] + b * x[f]) + (c * x[g] + d * x[h])
        for j in range(out.size):
            out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for m in range(whole, rows.size):
        i = int(rows[m])
        along += v[i] * x[i]
        axpy(v[i], A[i], out)
    axpy(along, x, out)
