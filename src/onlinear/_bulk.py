"""Rounds in bulk: exact online predictions at the speed of matrix products.

A second-order round is

    v = Σx,  χ = xᵀv,  m = xᵀw,   Σ ← Σ − h·vvᵀ,  w ← w + k·v

with h and k from (m, χ, y), the learner's ``turn``. Only these two numbers depend on the round
before; the rest can be put off. For a block of rows X, P = XΣ₀ is one product. Within a leaf of a
few rows, u_t = √h_t·v_t and

    u_sᵀx_t,   χ_t,   m_t                 come from G = PXᵀ, small, by elimination
    U = TP                                T the small triangular matrix of that elimination

and P of the rows to come is made good by P ← P − (XUᵀ)U: after leaf n the last (n & −n) leaves are
pushed onto as many following ones, so that all but the last of these products are of large
matrices. At the end of the block Σ ← Σ₀ − UᵀU. A drift of Σ by a·I a round adds j·a·x_j to row j of
P, and is added to the end's Σ.

The result agrees with the rounds taken one by one to rounding, as long as χ under Σ₀ is not far
above χ_t: where it is (a vague prior, large rows), or Σ is as small as floating point lets it be,
or the learner's rules speak, the block ends before that row, and the learner's step takes it, and
more rows after it the more often that happens. Where blocks begin and end depends on the rows
alone.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear import _blas
from onlinear._kernels import ROUNDING, axpy, dot, finite, kernel, shift
from onlinear._rules import FINE

__all__ = ["Bulk", "Space", "block", "bulk", "grain", "no_drift", "space"]

LEAF = 8  # rows
SHORTEST = 4  # rows: fewer are not worth a block
MOST_IN_A_ROW = 1024  # rows taken one by one before a block is tried again
VAGUE = 1e5  # χ under Σ₀ above this many times the noise of the round costs too many digits

MEAN, CHI, VALUE, ROOT, MOVE, PRIOR, ROUGH = range(7)  # rows of the numbers of a block


def first_three(state):
    """Return rounds, weights and Σ of a learner's state."""
    return state[0], state[1], state[2]


def no_drift(params):
    """Σ stays between rounds."""
    return 0.0


def as_many(state, params, X, y, start, rows):
    """Plan a block of all the rows there are."""
    return rows


def always(state, params, x, y, m, chi):
    """Take every row that ``turn`` takes."""
    return True


def nothing(state, params, X, start, rows):
    """Leave the state as the block leaves it."""


class Bulk(NamedTuple):
    """What a learner says of its rounds, so that they can be taken in bulk.

    ``turn(params, j, m, chi, y)``
        The j-th round of a block: the prediction, h, k, and whether to go on.
    ``belief(state)``
        Which arrays of the state are t, w and Σ.
    ``drift(params)``
        What is added to Σ's diagonal before every round but the first.
    ``plan(state, params, X, y, start, rows)``
        How many of the next rows can be a block, as far as the learner knows beforehand.
    ``accept(state, params, x, y, m, chi)``
        Whether the row is one to take, with w after it; the place for accounts.
    ``close(state, params, X, start, rows)``
        Finish the block, t, w and Σ being those after its last row.
    """

    turn: Callable[..., Any]
    belief: Callable[..., Any] = first_three
    drift: Callable[..., Any] = no_drift
    plan: Callable[..., Any] = as_many
    accept: Callable[..., Any] = always
    close: Callable[..., Any] = nothing


class Space(NamedTuple):
    """Scratch for blocks of rows of one width."""

    X: np.ndarray
    P: np.ndarray
    U: np.ndarray
    G: np.ndarray
    T: np.ndarray
    W: np.ndarray
    numbers: np.ndarray
    scratch: np.ndarray


def grain(d: int) -> int:
    """Return how many rows make a block; found by measurement."""
    return 32 if d < 192 else 64 if d < 384 else 96 if d < 768 else 128


def space(d: int) -> Space:
    """Return scratch for blocks of width d."""
    rows = grain(d)
    return Space(
        X=_aligned(rows, d),
        P=_aligned(rows, d),
        U=_aligned(rows, d),
        G=_aligned(LEAF, LEAF),
        T=_aligned(LEAF, LEAF),
        W=_aligned(rows, rows),
        numbers=np.zeros((ROUGH + 1, rows)),
        scratch=np.zeros((2, d)),
    )


def _aligned(rows: int, d: int) -> np.ndarray:
    """Return rows of d numbers or more that begin with a cache line, not all in the same ones."""
    pitch = -(-d // 8) * 8
    if pitch % 512 == 0:
        pitch += 8
    flat = np.zeros(rows * pitch + 8)
    first = -flat.ctypes.data % 64 // 8
    return flat[first : first + rows * pitch].reshape(rows, pitch)


@kernel
def _mirror(S):
    """Copy the lower triangle to the upper one, in squares that stay in cache."""
    d = S.shape[0]
    for top in range(0, d, 32):
        for left in range(0, top + 1, 32):
            for i in range(top, min(top + 32, d)):
                for j in range(left, min(left + 32, i)):
                    S[j, i] = S[i, j]


@kernel
def _fill(table, y, start, rows, drift, first, S, X, P, numbers, scratch):
    """Copy the rows in and begin P with what drift adds; return how many are finite."""
    d = S.shape[0]
    diagonal, scaled = scratch[0], scratch[1]
    for i in range(d):
        diagonal[i] = S[i, i]
    for j in range(rows):
        x = table[start + j]
        if not finite(x) or not math.isfinite(y[start + j]):
            return j
        a = drift * (j + first)
        for i in range(d):
            X[j, i] = x[i]
            scaled[i] = (diagonal[i] + a) * x[i]
        numbers[ROUGH, j] = ROUNDING * (3 + d) * dot(x, scaled)
        if drift > 0.0:
            for i in range(d):
                P[j, i] = a * x[i]
    return rows


@kernel
def _prior(X, P, rows, numbers):
    """Put down xᵀΣ₀x of every row."""
    for j in range(rows):
        numbers[PRIOR, j] = dot(X[j], P[j])


@kernel
def _invert(G, numbers, first, rows, T):
    """T ← the matrix with U = TP: u_t = √h_t·(p_t − Σ_{s<t} (u_sᵀx_t)·u_s)."""
    for t in range(rows):
        for j in range(rows):
            T[t, j] = 0.0
        T[t, t] = 1.0
        for s in range(t):
            f = G[s, t]
            for j in range(s + 1):
                T[t, j] -= f * T[s, j]
        root = numbers[ROOT, first + t]
        for j in range(t + 1):
            T[t, j] *= root


@kernel
def _eliminate(G, t, rows, root, move, numbers, first):
    """Take row t of the leaf out of χ, m and the products of those after it."""
    for j in range(t + 1, rows):
        G[t, j] *= root  # u_tᵀx_j
    for s in range(t + 1, rows):
        f = G[t, s]
        for j in range(s, rows):
            G[s, j] -= f * G[t, j]
        numbers[MEAN, first + s] += move * f


def _placeholder(*arguments):
    """Stand for a function of the learner or the engine, put in when a template is compiled."""
    raise NotImplementedError


one = keep = turn = belief = drift_of = plan = accept = close = _placeholder


def block(state, params, table, y, out, start, rows, space):
    """Take up to so many rows as a block; return how many were taken."""
    X, P, U, G, T, W, numbers, scratch = space
    before = scratch[0]
    t, w, S = belief(state)
    d = w.size
    drift = drift_of(params)
    first = 1.0 if t[0] > 0.0 else 0.0
    rows = _fill(table, y, start, rows, drift, first, S, X, P, numbers, scratch)
    if rows == 0:
        return 0
    _blas.products_with(S, X, rows, 1.0 if drift > 0.0 else 0.0, P)
    _prior(X, P, rows, numbers)
    done = leaf = 0
    while done < rows:
        n = min(LEAF, rows - done)
        _blas.product(P, done, n, X, done, n, d, G)  # G[s, t] = p_sᵀx_t
        for j in range(n):
            numbers[MEAN, done + j] = dot(w, X[done + j])
        taken = n
        for j in range(n):
            at = done + j
            chi, m = G[j, j], numbers[MEAN, at]
            value, h, k, fine = turn(params, at, m, chi, y[start + at])
            noise = 1.0 - h * chi  # r/(r + χ)
            clear = chi * noise > numbers[ROUGH, at] or numbers[ROUGH, at] == 0.0
            sane = h >= 0.0 and numbers[PRIOR, at] * h <= VAGUE * noise
            if not (fine and clear and sane and math.isfinite(k) and math.isfinite(value)):
                taken = j
                break
            root = math.sqrt(h)
            numbers[CHI, at], numbers[VALUE, at], numbers[ROOT, at] = chi, value, root
            numbers[MOVE, at] = k / root if root > 0.0 else 0.0
            _eliminate(G, j, n, root, numbers[MOVE, at], numbers, done)
        _invert(G, numbers, done, taken, T)
        if taken > 0:
            _blas.add_product(1.0, T, taken, P, done, taken, d, 0.0, U, done)
        for j in range(taken):
            at = done + j
            for i in range(d):
                before[i] = w[i]
            axpy(numbers[MOVE, at], U[at, :d], w)
            if not accept(
                state, params, X[at, :d], y[start + at], numbers[MEAN, at], numbers[CHI, at]
            ):
                for i in range(d):
                    w[i] = before[i]
                taken = j
                break
            t[0] += 1.0
            keep(out, start + at, numbers[VALUE, at], state)
        done += taken
        if taken < n:
            break
        leaf += 1
        span = (leaf & -leaf) * LEAF
        if done < rows:
            count = min(span, rows - done)
            _blas.product(X, done, count, U, done - span, span, d, W)  # W = XUᵀ
            _blas.add_product(-1.0, W, count, U, done - span, span, d, 1.0, P, done)
    if done > 0:
        _blas.subtract_square(U, done, d, S)
        shift(drift * (done - 1.0 + first), S)
    return done


def bulk(state, params, X, y, work, labelled, out, start, stop):
    """Rounds start..stop of a table in blocks; rows that no block can take are taken one by one.

    ``pace`` holds how many rows are to be taken so, and how many the next time. A block ends with
    a multiple of the grain, so that it does not matter where the engine stopped in between.
    """
    table, space, pace = X
    _, _, S = belief(state)
    grain = space[0].shape[0]
    i = start
    while i < stop:
        rows = min(grain - i % grain, stop - i)
        planned = plan(state, params, table, y, i, rows) if labelled and pace[0] == 0 else 0
        taken = 0
        if planned >= SHORTEST:
            taken = block(state, params, table, y, out, i, planned, space)
            close(state, params, table, i, taken)
            i += taken
            if taken == planned:
                pace[1] = SHORTEST
                continue
            pace[0] = pace[1]
            pace[1] = min(2 * pace[1], MOST_IN_A_ROW)
        elif pace[0] == 0:
            pace[0] = planned if planned > 0 else rows
        _mirror(S)
        while pace[0] > 0 and i < stop:
            label = y[i] if labelled else math.nan
            value, rule = one(state, params, table[i], label, work, labelled)
            if rule != FINE:
                return i, rule, value
            keep(out, i, value, state)
            pace[0] -= 1
            i += 1
    _mirror(S)
    return stop, FINE, 0.0
