"""Run one block of rows by matrix products, with the same results as row by row, up to rounding.

The method and its symbols are explained in :mod:`onlinear._engine.bulk`. A block of rows is
processed in leaves, which are groups of a few rows. The tuple ``space`` is the scratch memory
(:class:`onlinear._engine.bulk.Space`). In it, ``main`` holds the deferred updates of Σ, and
``wings`` those of the learner's other matrices. The array ``numbers`` has a column for each row of
the block: xᵀw before the row is learnt, the prediction to return, the factor a of the update
w ← w + a·u, xᵀΣ₀x, and a bound on the rounding error of xᵀΣ₀x.

The functions without a decorator are templates. When they are compiled for a learner, the names
``turn``, ``accept`` and so on are bound to the functions of the learner's
:class:`onlinear._engine.bulk.Bulk`.
"""

import math

import numpy as np

from onlinear._engine.number_range import usual_label, usual_row
from onlinear._numerics.deferred_updates import (
    LEAF,
    begin,
    eliminate,
    expand,
    fold,
    gram,
    push,
)
from onlinear._numerics.linalg import ROUNDING, axpy, finite, kernel, shift
from onlinear._numerics.vector_loops import in_lanes

__all__ = ["LEAVE", "RENEW", "ROUGH", "TAKE", "block", "decide_leaf", "learn_leaf"]

# a row is left to the learner's step, which loses fewer digits, if one of these is true
VAGUE = 1e5  # xᵀΣ₀x is above this many times r, the noise of the round
COLLAPSED = 1e3  # xᵀΣ₀x is above this many times r + χ, where χ is xᵀΣx now
SPARE = 1e5  # χ after the row is below this many times its rounding error
TINY = 1e-280  # χ is below this, where floats have fewer digits

LEAVE, TAKE, RENEW = range(3)  # a row: leave it to the step, take it, take it and end the block
MEAN, VALUE, MOVE, PRIOR, ROUGH = range(5)  # rows of ``numbers``


# aᵀb in eight partial sums: fast, and in the same order on all machines
_sum_of_eight = in_lanes((((0, 4), (2, 6)), ((1, 5), (3, 7))))


@kernel
def _copy(x, diagonal, a, copy, p):
    """Set copy ← x and p ← a·x; return xᵀ(D + aI)x, where D has the given diagonal."""
    for i in range(diagonal.size):
        copy[i] = x[i]
        p[i] = (diagonal[i] + a) * x[i]
    s = _sum_of_eight(copy[: diagonal.size], p[: diagonal.size])
    for i in range(diagonal.size):
        p[i] = a * x[i]
    return s


@kernel
def _fill(table, y, start, rows, drift, first, S, X, P, numbers, diagonal):
    """Copy rows to X; return how many come before the first row with numbers of unusual size.

    For each row, also write to P what the drift within the block adds to Σ₀x, and to ``numbers`` a
    bound on the rounding error of xᵀΣ₀x.
    """
    d = S.shape[0]
    for i in range(d):
        diagonal[i] = S[i, i]
    for j in range(rows):
        x = table[start + j]
        size = _copy(x, diagonal, drift * (j + first), X[j], P[j])
        if not (usual_row(x) and usual_label(y[start + j]) and math.isfinite(size)):
            return j
        numbers[ROUGH, j] = ROUNDING * (3 + d) * size
    return rows


@kernel
def _prior(X, P, rows, d, numbers):
    """Write xᵀΣ₀x of every row to ``numbers``."""
    for j in range(rows):
        numbers[PRIOR, j] = _sum_of_eight(X[j, :d], P[j, :d])


@kernel(inline="always")
def _safe(chi, m, y, value, h, move, prior, rough):
    """Whether a row can be in a block: no limit (VAGUE to TINY) is passed; numbers are finite."""
    noise = 1.0 - h * chi  # r/(r + χ)
    clear = chi * noise > SPARE * rough and chi > TINY
    clear = clear or (rough == 0.0 and chi == 0.0)
    sane = h > 0.0 or (h == 0.0 and move == 0.0)
    near = prior * h <= min(VAGUE * noise, COLLAPSED)
    finite_too = math.isfinite(chi * (y - m)) and math.isfinite(move + value)
    return clear and sane and near and finite_too


def _placeholder(*arguments):
    """Stand in for a function that ``CompiledStep`` binds to the same name before it compiles."""
    raise NotImplementedError


keep = turn = belief = drift_of = accept = others = turn_other = _placeholder
decide = learn = _placeholder


def decide_leaf(params, y, start, done, n, count, space):
    """Compute the predictions and updates for a leaf; return how many rows the block can take.

    The updates by a row are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    _, _, numbers, _, _, main, wings = space
    G = main[2]
    for j in range(n):
        at = done + j
        chi, m, label = G[j, j], numbers[MEAN, at], y[start + at]
        value, h, move, fine = turn(params, at, m, chi, label)
        safe = _safe(chi, m, label, value, h, move, numbers[PRIOR, at], numbers[ROUGH, at])
        fine = fine and safe
        for k in range(count):
            h_other, sign, fine_too = turn_other(params, k, wings[k][2][j, j])
            fine = fine and fine_too and h_other >= 0.0
            if fine:
                eliminate(wings[k], j, n, done, h_other, sign)
        if not fine:
            return j
        eliminate(main, j, n, done, h, -1.0)
        root = main[5][at]
        numbers[VALUE, at] = value
        numbers[MOVE, at] = move / root if root > 0.0 else 0.0
        for s in range(j + 1, n):
            numbers[MEAN, done + s] += numbers[MOVE, at] * G[j, s]
    return n


def learn_leaf(state, params, y, out, start, done, taken, space):
    """Update the weights row by row; return how many rows are learnt, and LEAVE, TAKE or RENEW.

    LEAVE means that the learner's step has to run the next row, TAKE that the block goes on, and
    RENEW that the block ends after the last row learnt.
    """
    X, _, numbers, before, memory, main, wings = space
    t, w, S = belief(state)
    d, weights = S.shape[0], w.size
    fate = TAKE
    for i in range(weights):
        before[i] = w[i]
    for j in range(taken):
        at = done + j
        axpy(numbers[MOVE, at], main[1][at, :weights], w)
        beside = main[4][at], wings, at, memory
        fate = LEAVE
        if finite(w):
            fate = accept(state, params, X[at, :d], y[start + at], numbers[MEAN, at], beside)
        if fate == LEAVE:
            for i in range(weights):
                w[i] = before[i]
            for k in range(done, at):
                axpy(numbers[MOVE, k], main[1][k, :weights], w)
            return j, fate
        t[0] += 1.0
        keep(out, start + at, numbers[VALUE, at], state)
        if fate != TAKE:
            return j + 1, fate
    return taken, fate


def block(state, params, table, y, out, start, rows, space):
    """Run rows as a block; return how many were run, and whether the step must run the next row."""
    X, W, numbers, before, memory, main, wings = space
    t, w, S = belief(state)
    matrices, count = others(state, params)
    d, drift = S.shape[0], drift_of(params)
    first = 1.0 if t[0] > 0.0 else 0.0
    usual_rows = _fill(table, y, start, rows, drift, first, S, X, main[0], numbers, before)
    left, rows = usual_rows < rows, usual_rows
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
            numbers[MEAN, done + j] = _sum_of_eight(w, X[done + j])
        taken = decide(params, y, start, done, n, count, space)
        left = left or taken < n
        if taken > 0:
            expand(main, done, taken, -1.0, d)
            for k in range(count):
                expand(wings[k], done, taken, turn_other(params, k, 0.0)[1], d)
        taken, fate = learn(state, params, y, out, start, done, taken, space)
        if fate != TAKE:
            left = fate == LEAVE
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
