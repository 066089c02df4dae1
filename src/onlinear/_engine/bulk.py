"""Bulk rounds: exact online predictions for blocks of rows, by matrix products.

A round of a second-order learner, with the weights w and their covariance Σ, is

    v = Σx,  χ = xᵀv,  m = xᵀw,   Σ ← Σ − h·vvᵀ,  w ← w + k·v

The learner's function ``turn`` computes h and k from (m, χ, y). Only these scalars have to be known
before the next round; all other work can be deferred and done for a block of rows X at once. With
Σ₀ for Σ before the block, P = XΣ₀ is one matrix product. A block is processed in *leaves*, groups
of a few rows. Within a leaf, χ, m, h and k come from the small matrix PXᵀ by elimination. One
product then gives u = √h·v for all rows of the leaf. Two more products correct P for later rows:
after leaf n, the updates of the last n & −n leaves (the largest power of two that divides n) are
applied to as many following leaves, so that most of the products are of large matrices. At the end
of the block, Σ becomes Σ₀ − UᵀU, where the rows of U are the vectors u. If Σ also grows by a·I in
every round, as it does for a drifting target, j·a·x_j is added to row j of P, and the growth is
added to Σ at the end of the block. Other matrices A that a learner keeps are also updated block by
block, if every row x makes one update A ← A ± h·Ax xᵀA.

Up to rounding, a block gives the same results as rounds run one by one, as long as no xᵀΣ₀x is far
above the noise variance r of its round, where h = 1/(r + χ). A block ends before a row where xᵀΣ₀x
is far above r (because the prior is vague or the row is large), where Σ is as small as floating
point allows, where numbers are not of usual size (:mod:`onlinear._engine.number_range`), or where
the row breaks a condition of the learner. That row is then run by the learner's step, the function
that runs one round; the more often blocks end early, the more of the following rows are run one by
one. Where blocks begin and end depends only on the rows.

This module has the loop over blocks, and :class:`Bulk`, with which a learner describes its rounds;
the code that runs one block is in :mod:`onlinear._engine.bulk_block`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.bulk_block import LEAVE, RENEW, ROUGH, TAKE
from onlinear._engine.number_range import usual_numbers, usual_state
from onlinear._engine.status import FINE
from onlinear._numerics.deferred_updates import LEAF, aligned, mirror, wing

__all__ = [
    "LEAVE",
    "RENEW",
    "SHORTEST",
    "TAKE",
    "Bulk",
    "Space",
    "bulk",
    "long_blocks",
    "no_drift",
    "short_blocks",
    "space",
]

SHORTEST = 4  # rows: fewer are not worth a block
MOST_IN_A_ROW = 64  # at most this many rows are taken one by one before a block is tried again


def first_three(state):
    """Return t, w and Σ, the first three arrays of the state: the default of ``Bulk.belief``."""
    return state[0], state[1], state[2]


def no_drift(params):
    """Return 0, since Σ does not change between rounds: the default of ``Bulk.drift``."""
    return 0.0


def as_many(state, params, X, y, start, rows):
    """Return ``rows``, since all these rows can form a block: the default of ``Bulk.plan``."""
    return rows


def always(state, params, x, y, m, beside):
    """Return TAKE, since a block takes every row: the default of ``Bulk.accept``."""
    return TAKE


def nothing(state, params, X, start, rows):
    """Do nothing at the end of a block: the default of ``Bulk.close``."""


def none_beside(state, params):
    """Return no other matrices to update: the default of ``Bulk.others``.

    The tuple of matrices contains Σ only because it must not be empty.
    """
    return (belief(state)[2],), 0


def no_turn(params, k, chi):
    """Stand in for ``turn_other`` if the learner has no matrices but Σ."""
    return 0.0, 1.0, True


def short_blocks(d: int) -> int:
    """Return the number of rows that timings showed to be best: the default of ``Bulk.longest``."""
    return 24 if d < 192 else long_blocks(d)


def long_blocks(d: int) -> int:
    """Return the number of rows that timings showed to be best if the end of a block costs much.

    It costs much if ``accept`` or ``close`` of a learner changes all of Σ.
    """
    return 64 if d < 384 else 96 if d < 768 else 128


class Bulk(NamedTuple):
    """How a learner describes its rounds, so that they can be run in bulk.

    ``turn(params, j, m, chi, y)``
        Compute the j-th round of a block: return the prediction, h, k, and whether the round can be
        part of the block.
    ``belief(state)``
        Return the arrays of the state that are t (the number of rounds), w and Σ; w may be empty if
        there are no weights to learn.
    ``drift(params)``
        Return what is added to Σ's diagonal before every round but the first.
    ``plan(state, params, X, y, start, rows)``
        Return how many of the next rows can form a block, as far as the learner can tell in
        advance.
    ``accept(state, params, x, y, m, beside)``
        Return TAKE to take the row into the block, LEAVE to leave it to the step, or RENEW to take
        it as the last row of the block, after which ``close`` sets Σ and the other matrices anew.
        When ``accept`` is called, the row has already updated the state's w. If the step computes a
        bound, ``accept`` adds the row to the bound. ``beside`` is a tuple: χ, the scratch arrays
        ("wings") of the other matrices, the row's index in these arrays, and an array of two
        numbers that are 0 when a block begins, for any use by ``accept``.
    ``close(state, params, X, start, rows)``
        Finish the block. When ``close`` is called, t, w and the matrices are those after the last
        row of the block; but after RENEW, the matrices are those before the block.
    ``others(state, params)``
        Return a tuple of the matrices that are updated along with Σ, and how many of them to
        update.
    ``turn_other(params, k, chi)``
        For the k-th of these matrices, A, given χ = xᵀAx, return h and σ of the update
        A ← A + σ·h·Ax xᵀA, and whether the row can be part of the block.
    ``longest(d)``
        Return how many rows with d columns a block has, unless it ends early.
    """

    turn: Callable[..., Any]
    belief: Callable[..., Any] = first_three
    drift: Callable[..., Any] = no_drift
    plan: Callable[..., Any] = as_many
    accept: Callable[..., Any] = always
    close: Callable[..., Any] = nothing
    others: Callable[..., Any] = none_beside
    turn_other: Callable[..., Any] = no_turn
    longest: Callable[[int], int] = short_blocks
    crossover: int = 64  # from this many columns on, rounds in bulk are faster


class Space(NamedTuple):
    """Scratch memory for blocks of rows with a given number of columns."""

    X: np.ndarray
    W: np.ndarray
    numbers: np.ndarray
    scratch: np.ndarray
    memory: np.ndarray
    main: tuple[np.ndarray, ...]
    wings: tuple[tuple[np.ndarray, ...], ...]


def space(rows: int, d: int) -> Space:
    """Return scratch memory for blocks of at most ``rows`` rows with d columns.

    There is memory for Σ and for one more matrix.
    """
    return Space(
        X=aligned(rows, d),
        W=aligned(rows, rows),
        numbers=np.zeros((ROUGH + 1, rows)),
        scratch=np.zeros(d),
        memory=np.zeros(2),
        main=tuple(wing(rows, d)),
        wings=(tuple(wing(rows, d)),),
    )


def _placeholder(*arguments):
    """Stand in for the function that replaces it before ``CompiledStep`` compiles a loop."""
    raise NotImplementedError


one = keep = settle = belief = plan = close = others = block = _placeholder


def bulk(state, params, X, y, work, labelled, out, start, stop):
    """Run rounds start..stop of a table in blocks, and rows that fit no block one by one.

    ``X`` is (table, scratch memory, pace). ``pace`` holds three numbers of rows: how many to run
    one by one now, how many to run one by one after the next block that ends early, and how many a
    block may have (twice as many as the last block, but at least as many as a leaf). The last block
    may end after ``stop``, so that results do not depend on how the table is split into calls. Only
    the lower triangles of matrices are up to date until a row is run by itself, or the table ends.
    """
    table, space, pace = X
    _, _, S = belief(state)
    matrices, count = others(state, params)
    longest, end = space[0].shape[0], table.shape[0] if labelled else stop
    i = start
    while i < stop:
        rows = min(longest, end - i, pace[2])
        planned = 0
        if labelled and pace[0] == 0 and usual_numbers(params) and usual_state(belief(state)):
            planned = plan(state, params, table, y, i, rows)
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
            value, rule = one(state, params, table[i], label, work, labelled, False)
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
