"""Ridge systems whose penalty is weighed anew in every round, as CIRR, OSLOG and their bounds need.

    M = (aD⁻¹ + S)⁻¹ = √D (aI + √D S √D)⁻¹ √D,    S = A + xxᵀ,  v = Mb

All of D moves in every round, but most of it does not matter: the smaller D_i S_ii, the less weight
i has to do with the others. Let s be the small ones, those with D_i S_ii ≤ a·``small``, and r the
rest. Only the k × k block of r is factorised; the two are then brought into line by turns,

    v_r = M_rr (b_r − S_rs v_s)          M_rr = (aD_r⁻¹ + S_rr)⁻¹, by the factor
    v_i = D_i (b_i − Σ_{j≠i} S_ij v_j) / (a + D_i S_ii)          for i in s

which is block Gauss–Seidel. Write z = v/√D, and E = Σ_{i∈s} D_i S_ii / a ≤ n·small. As √D S √D is
positive, its part of s has no eigenvalue beyond aE, and its corner of r and s no effect on the rest
beyond √(aE): if the last turn moved z_s by δ, then v_r is off by at most √(aE)‖δ‖ in the norm of
M⁻¹, and each turn divides δ by 1/E or more. Turns end when that is rounding beside √(bᵀMb), the
norm of v. Should it not come to that within ``TURNS``, nothing is taken to be small.

A turn costs n² and 2k². A weight at rest at a floor of 1e-12 is small, so where few inputs matter a
round costs O(n²); where all of them do it is the factorisation, n³/3.
"""

import math

from onlinear._kernels import axpy, cholesky, dot, kernel, solve_lower, solve_upper

__all__ = ["SCRATCH", "SMALL", "factorise", "solve", "weigh"]

SMALL = 1e-5  # D_i S_ii / a below which a weight is taken to be nearly on its own
SETTLED = 1e-33  # (1e-16.5)²: a share of bᵀMb that is rounding
TURNS = 8
ROUNDING = 1e-13  # a pivot below this share of its diagonal entry has no digits left
SCRATCH = 3  # rows that solve() needs


@kernel
def weigh(w, floor, root):
    """root ← √D."""
    for i in range(w.size):
        root[i] = math.sqrt(max(abs(w[i]), floor))


@kernel
def factorise(root, A, x, a, small, order, U):
    """Order the weights, those that matter first, and factorise their part of aI + √D S √D.

    Returns how many matter, k, or −1 if the numbers do not fit. The factor is the k × k matrix in
    the first k² entries of U.
    """
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
    C = U.reshape(U.size)[: k * k].reshape((k, k))
    for p in range(k):
        i = int(order[p])
        r, s, line, row, rest = root[i], x[i], A[i], C[p, p:], order[p:k]
        if k == n:
            line, roots, inputs = line[p:], root[p:], x[p:]
            for q in range(row.size):
                row[q] = r * roots[q] * (line[q] + s * inputs[q])
        else:
            for q in range(row.size):
                j = int(rest[q])
                row[q] = r * root[j] * (line[j] + s * x[j])
        row[0] += a
    # every pivot of aI + a positive matrix is at least a
    return k if cholesky(C, a, ROUNDING * n) else -1


@kernel
def solve(root, A, x, a, b, k, order, U, v, scratch):
    """v ← Mb by the factor of the k weights that matter; returns k.

    If the turns do not settle all weights are taken to matter from then on: the factor is made
    anew, and k = n, or −1 if the numbers do not fit.
    """
    if not _settle(root, A, x, a, b, k, order, U, v, scratch):
        k = factorise(root, A, x, a, 0.0, order, U)
        if k >= 0:
            _settle(root, A, x, a, b, k, order, U, v, scratch)
    return k


@kernel
def _settle(root, A, x, a, b, k, order, U, v, scratch):
    """v ← Mb; return whether the turns came to rest."""
    n = x.size
    C = U.reshape(U.size)[: k * k].reshape((k, k))
    of_large, of_small, z = scratch[0], scratch[1], scratch[2, :k]  # S_·r v_r, S_·s v_s, √D⁻¹v_r
    mutual = 0.0  # aE
    for j in range(n):
        i = int(order[j])
        v[i] = of_small[i] = 0.0
        if j >= k:
            mutual += root[i] * root[i] * (A[i, i] + x[i] * x[i])
    for _ in range(TURNS):
        for j in range(k):
            i = int(order[j])
            z[j] = root[i] * (b[i] - of_small[i])
        solve_lower(C, z)
        solve_upper(C, z)
        for j in range(k):
            i = int(order[j])
            v[i] = root[i] * z[j]
        if k == n:
            return True
        _multiply(A, x, order[:k], v, of_large)
        moved = 0.0  # ‖δ‖²
        for j in range(k, n):
            i = int(order[j])
            D, s = root[i] * root[i], A[i, i] + x[i] * x[i]
            old = v[i]
            v[i] = D * (b[i] - of_large[i] - (of_small[i] - s * old)) / (a + D * s)
            if D > 0.0:
                moved += (v[i] - old) * ((v[i] - old) / D)
        if mutual * moved <= SETTLED * dot(b, v):
            return True
        _multiply(A, x, order[k:], v, of_small)
    return False


@kernel
def _multiply(A, x, rows, v, out):
    """out ← Σ over i in ``rows`` of v_i·(row i of S), four at a time."""
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
