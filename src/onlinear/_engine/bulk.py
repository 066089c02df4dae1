"""Rounds in bulk: exact online predictions at the speed of matrix products.

A second-order round is

    v = Σx,  χ = xᵀv,  m = xᵀw,   Σ ← Σ − h·vvᵀ,  w ← w + k·v

with h and k from (m, χ, y), the learner's ``turn``. Only these two numbers depend on the round
before; the rest can be put off and done for a block of rows X at once. P = XΣ₀ is one product.
Within a leaf of a few rows χ, m, h and k come from the small matrix PXᵀ by elimination; then
u = √h·v of all its rows is one product, and P of rows to come is made good by two: after leaf n the
last (n & −n) leaves are pushed onto as many following ones, so that most of these products are of
large matrices. At the end of the block Σ ← Σ₀ − UᵀU. A drift of Σ by a·I a round adds j·a·x_j to
row j of P, and is added to the end's Σ. Matrices that a learner keeps beside Σ go along, if they
take one update a row in the direction of x.

The result agrees with the rounds taken one by one to rounding, as long as χ under Σ₀ is not very
far above the noise: where it is (a vague prior, large rows), or Σ is as small as floating point
lets it be, or the learner's rules speak, the block ends before that row, and the learner's step
takes it, and more rows after it the more often that happens. Where blocks begin and end depends on
the rows alone.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.status import FINE
from onlinear._numerics.deferred_updates import (
    LEAF,
    aligned,
    begin,
    eliminate,
    expand,
    fold,
    gram,
    mirror,
    push,
    wing,
)
from onlinear._numerics.linalg import ROUNDING, axpy, kernel, shift

__all__ = ["Bulk", "Space", "block", "bulk", "grain", "no_drift", "space"]

SHORTEST = 4  # rows: fewer are not worth a block
MOST_IN_A_ROW = 64  # rows taken one by one before a block is tried again
VAGUE = 1e5  # χ under Σ₀ above this many times the noise of the round costs too many digits,
COLLAPSED = 1e3  # and so does one above this many times what is left of it, noise included,
SPARE = 1e5  # or χ left below this many times what rounding can make of it,
TINY = 1e-280  # or below this, where numbers have fewer digits

LEAVE, TAKE, RENEW = range(3)  # what becomes of a row
MEAN, VALUE, MOVE, PRIOR, ROUGH = range(5)  # rows of the numbers of a block


def first_three(state):
    """Return rounds, weights and Σ of a learner's state."""
    return state[0], state[1], state[2]


def no_drift(params):
    """Σ stays between rounds."""
    return 0.0


def as_many(state, params, X, y, start, rows):
    """Plan a block of all the rows there are."""
    return rows


def always(state, params, x, y, m, beside):
    """Take every row that ``turn`` takes."""
    return TAKE


def nothing(state, params, X, start, rows):
    """Leave the state as the block leaves it."""


def none_beside(state, params):
    """Σ is the only matrix (a tuple cannot be empty in compiled code)."""
    return (belief(state)[2],), 0


def no_turn(params, k, chi):
    """There is no other matrix."""
    return 0.0, 1.0, True


class Bulk(NamedTuple):
    """What a learner says of its rounds, so that they can be taken in bulk.

    ``turn(params, j, m, chi, y)``
        The j-th round of a block: the prediction, h, k, and whether to go on.
    ``belief(state)``
        Which arrays of the state are t, w and Σ; w may be empty if there are no weights to learn.
    ``drift(params)``
        What is added to Σ's diagonal before every round but the first.
    ``plan(state, params, X, y, start, rows)``
        How many of the next rows can be a block, as far as the learner knows beforehand.
    ``accept(state, params, x, y, m, beside)``
        Whether to TAKE the row or to LEAVE it to the step; or to take it as the last, Σ and the
        others being then for ``close`` to RENEW. w is that after the row. The place for accounts.
        ``beside`` is (χ, the wings of the other matrices, the row's place in them, memory of the
        block).
    ``close(state, params, X, start, rows)``
        Finish the block, t, w and the matrices being those after its last row.
    ``others(state, params)``
        The matrices beside Σ, and how many of them to take along.
    ``turn_other(params, k, chi)``
        For the k-th of these, given its χ = xᵀAx: h, σ of A ← A + σ·h·Ax xᵀA, and whether to go on.
    """

    turn: Callable[..., Any]
    belief: Callable[..., Any] = first_three
    drift: Callable[..., Any] = no_drift
    plan: Callable[..., Any] = as_many
    accept: Callable[..., Any] = always
    close: Callable[..., Any] = nothing
    others: Callable[..., Any] = none_beside
    turn_other: Callable[..., Any] = no_turn
    crossover: int = 64  # columns from which rounds in bulk are faster


class Space(NamedTuple):
    """Scratch for blocks of rows of one width."""

    X: np.ndarray
    W: np.ndarray
    numbers: np.ndarray
    scratch: np.ndarray
    memory: np.ndarray
    main: tuple[np.ndarray, ...]
    wings: tuple[tuple[np.ndarray, ...], ...]


def grain(d: int) -> int:
    """Return how many rows make a block; found by measurement."""
    return 24 if d < 96 else 32 if d < 192 else 64 if d < 384 else 96 if d < 768 else 128


def space(d: int) -> Space:
    """Return scratch for blocks of width d, with a matrix beside Σ."""
    rows = grain(d)
    return Space(
        X=aligned(rows, d),
        W=aligned(rows, rows),
        numbers=np.zeros((ROUGH + 1, rows)),
        scratch=np.zeros(d),
        memory=np.zeros(2),
        main=tuple(wing(rows, d)),
        wings=(tuple(wing(rows, d)),),
    )


# the order of a sum is the compiler's to choose here, as it is BLAS's in the products
in_any_order = partial(kernel, fastmath={"reassoc"})


@in_any_order
def _sum_of_products(a, b):
    """Return aᵀb."""
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@in_any_order
def _copy(x, diagonal, a, copy, p):
    """Copy a row in, begin its p with a·x; return xᵀ(diagonal + a)x, not finite if x is not."""
    s = 0.0
    for i in range(diagonal.size):
        copy[i] = x[i]
        p[i] = a * x[i]
        s += (diagonal[i] + a) * (x[i] * x[i])
    return s


@kernel
def _fill(table, y, start, rows, drift, first, S, X, P, numbers, diagonal):
    """Copy the rows in and begin P with what drift adds; return how many are finite."""
    d = S.shape[0]
    for i in range(d):
        diagonal[i] = S[i, i]
    for j in range(rows):
        size = _copy(table[start + j], diagonal, drift * (j + first), X[j], P[j])
        if not math.isfinite(size + y[start + j]):
            return j
        numbers[ROUGH, j] = ROUNDING * (3 + d) * size
    return rows


@kernel
def _prior(X, P, rows, d, numbers):
    """Put down xᵀΣ₀x of every row."""
    for j in range(rows):
        numbers[PRIOR, j] = _sum_of_products(X[j, :d], P[j, :d])


def _placeholder(*arguments):
    """Stand for a function of the learner or the engine, put in when a template is compiled."""
    raise NotImplementedError


one = keep = settle = turn = belief = drift_of = plan = accept = close = others = turn_other = (
    _placeholder
)


def block(state, params, table, y, out, start, rows, space):
    """Take up to so many rows as a block; return how many, and whether the next is the step's."""
    X, W, numbers, before, memory, main, wings = space
    t, w, S = belief(state)
    matrices, count = others(state, params)
    d, weights = S.shape[0], w.size
    drift = drift_of(params)
    first = 1.0 if t[0] > 0.0 else 0.0
    finite_rows = _fill(table, y, start, rows, drift, first, S, X, main[0], numbers, before)
    left, rows = finite_rows < rows, finite_rows
    if rows == 0:
        return 0, True
    memory[:] = 0.0
    begin(main, S, X, rows, 1.0 if drift > 0.0 else 0.0)
    _prior(X, main[0], rows, d, numbers)
    for k in range(count):
        begin(wings[k], matrices[k], X, rows, 0.0)
    done = leaf = np.int64(0)  # not a literal, for which Numba would compile the kernels twice
    fate = TAKE
    while done < rows:
        n = min(LEAF, rows - done)
        gram(main, X, done, n, d)
        for k in range(count):
            gram(wings[k], X, done, n, d)
        for j in range(n):
            numbers[MEAN, done + j] = _sum_of_products(w, X[done + j])
        taken = n
        for j in range(n):
            at = done + j
            G = main[2]
            chi, m = G[j, j], numbers[MEAN, at]
            value, h, move, fine = turn(params, at, m, chi, y[start + at])
            noise = 1.0 - h * chi  # r/(r + χ)
            clear = chi * noise > SPARE * numbers[ROUGH, at] and chi > TINY
            clear = clear or (numbers[ROUGH, at] == 0.0 and chi == 0.0)
            sane = h > 0.0 or (h == 0.0 and move == 0.0)
            near = numbers[PRIOR, at] * h <= min(VAGUE * noise, COLLAPSED)
            finite_too = math.isfinite(chi * (y[start + at] - m)) and math.isfinite(move + value)
            fine = fine and clear and sane and near and finite_too
            for k in range(count):
                h_other, sign, fine_too = turn_other(params, k, wings[k][2][j, j])
                fine = fine and fine_too and h_other >= 0.0
                if fine:
                    eliminate(wings[k], j, n, done, h_other, sign)
            if not fine:
                taken, left = j, True
                break
            eliminate(main, j, n, done, h, -1.0)
            root = main[5][at]
            numbers[VALUE, at] = value
            numbers[MOVE, at] = move / root if root > 0.0 else 0.0
            for s in range(j + 1, n):
                numbers[MEAN, done + s] += numbers[MOVE, at] * G[j, s]
        if taken > 0:
            expand(main, done, taken, -1.0, d)
            for k in range(count):
                expand(wings[k], done, taken, turn_other(params, k, 0.0)[1], d)
        for i in range(weights):
            before[i] = w[i]
        for j in range(taken):
            at = done + j
            axpy(numbers[MOVE, at], main[1][at, :weights], w)
            beside = main[4][at], wings, at, memory
            fate = accept(state, params, X[at, :d], y[start + at], numbers[MEAN, at], beside)
            if fate == LEAVE:
                for i in range(weights):
                    w[i] = before[i]
                for k in range(done, at):
                    axpy(numbers[MOVE, k], main[1][k, :weights], w)
                taken, left = j, True
                break
            t[0] += 1.0
            keep(out, start + at, numbers[VALUE, at], state)
            if fate != TAKE:
                taken, left = j + 1, False
                break
        done += taken
        if taken < n or fate != TAKE:
            break
        leaf += 1
        span = (leaf & -leaf) * LEAF
        if done < rows:
            following = min(span, rows - done)
            push(main, X, W, done, span, following, -1.0, d)
            for k in range(count):
                push(wings[k], X, W, done, span, following, turn_other(params, k, 0.0)[1], d)
    if done > 0 and fate != RENEW:
        fold(main, S, done, -1.0, d)
        shift(drift * (done - 1.0 + first), S)
        for k in range(count):
            fold(wings[k], matrices[k], done, turn_other(params, k, 0.0)[1], d)
    return done, left


def bulk(state, params, X, y, work, labelled, out, start, stop):
    """Rounds start..stop of a table in blocks; rows that no block can take are taken one by one.

    ``pace`` holds how many rows are to be taken so, how many the next time, and how many at most a
    block may have, which follows how early the last ones ended. The last block may end after
    ``stop``, so that it does not matter where the engine stops in between. Only the lower triangles
    of matrices are kept up, until a row is taken by itself, or the last one.
    """
    table, space, pace = X
    _, _, S = belief(state)
    matrices, count = others(state, params)
    grain, end = space[0].shape[0], table.shape[0] if labelled else stop
    i = start
    while i < stop:
        rows = min(grain, end - i, pace[2])
        planned = plan(state, params, table, y, i, rows) if labelled and pace[0] == 0 else 0
        if planned >= SHORTEST:
            taken, left = block(state, params, table, y, out, i, planned, space)
            close(state, params, table, i, taken)
            i += taken
            pace[2] = max(2 * taken, LEAF)
            if not left and taken >= SHORTEST:
                pace[1] = SHORTEST
                continue
            if 2 * taken >= planned:
                pace[0] = 1
            else:
                pace[0] = pace[1]
                pace[1] = min(2 * pace[1], MOST_IN_A_ROW)
        elif pace[0] == 0:
            pace[0] = planned if planned > 0 else rows
        mirror(S)
        for k in range(count):
            mirror(matrices[k])
        while pace[0] > 0 and i < stop:
            label = y[i] if labelled else math.nan
            value, rule = one(state, params, table[i], label, work, labelled)
            if rule != FINE:
                settle(state, work)
                return i, rule, value
            keep(out, i, value, state)
            pace[0] -= 1
            i += 1
        settle(state, work)
    if i == table.shape[0]:
        mirror(S)
        for k in range(count):
            mirror(matrices[k])
    return i, FINE, 0.0
