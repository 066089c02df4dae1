"""The regret bound of ARCOR with a finite radius, computed row by row.

    L ≤ Σ (y_t − u_tᵀx_t)² + r‖u_1‖² + 4 R_B r Σ Λ⁻¹‖u_{t+1} − u_t‖ + Σ (R_B‖x‖ + |y|)²·χ/(r+χ)

L is the learner's loss, and the u_t are comparators with ‖u_t‖ ≤ R_B; the other symbols are those
of :mod:`onlinear.algorithms.arcor`. If the user gives no comparators, all u_t are the same u: the
best u of any length, scaled down to ‖u‖ = R_B if it is longer. The last term of the bound depends
on the learner's Σ and its resets, which this module computes again from the rows. A segment
consists of the rows after one reset, up to and including the row of the next. The tally is the
array of the numbers that make up the bound. Rows are added to the bound one by one, or in blocks,
which use matrix products (:mod:`onlinear._engine.bulk`).

Vaits & Crammer, ALT 2011, Theorem 1, corrected.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear._engine.bulk import LEAVE, RENEW, TAKE, Bulk, long_blocks
from onlinear._engine.step import FINE, InTurn, Tally
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    FACTOR,
    Guarantee,
    Path,
    compete,
    competitor,
    cut_to,
    enter,
    in_bulk,
    inside_ball,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import ROUNDING, dot, kernel, norm, observe_given, symv, symv_both
from onlinear._updates.gaussian import moves
from onlinear.algorithms._covariance_reset import (
    certainty,
    close,
    fate,
    others,
    plan,
    start_afresh_if_too_certain,
    threshold,
    turn_other,
)

__all__ = ["NEVER", "SUMS", "add_to_extra", "bound", "in_ball", "lengthen"]

CERTAINTY = 3  # index in the tally of an upper bound on λ_max(Σ_t⁻¹)
# indices in ``sums``: Σy², the least penalised loss over all u, Σ‖x‖² and Λ⁻¹ of the segment
SQUARES, LEAST, LENGTHS, THETA = range(4)
SUMS = THETA + 1
NEVER = 1e308  # stands for Λ⁻¹ = ∞ (no resets), since a state must be finite


@kernel(inline="always")
def add_to_extra(tally, sums, r, radius, length, y, chi):
    """Add a row of this length to the last term of the bound, given the learner's χ."""
    farthest = radius * length + abs(y)
    tally[EXTRA] += farthest * farthest * chi / (r + chi)
    tally[CERTAINTY] = min(1.0 + sums[LENGTHS] / r, sums[THETA])


@kernel(inline="always")
def lengthen(sums, square, resets, theta):
    """Add ‖x‖² to the segment's sum; if the row ``resets`` Σ, begin a segment with threshold θ."""
    sums[LENGTHS] += square
    if resets:
        sums[LENGTHS] = 0.0
        sums[THETA] = min(theta, NEVER)


def own_belief(state):
    """Return t, w and Σ of the bound's copy of the learner; w is empty, since only Σ is needed."""
    return state[6], state[7], state[8]


def own_turn(params, j, m, chi, y):
    """Return (0, h, 0, True), as the ``turn`` of a :class:`Bulk` must, for a row of a block.

    h is the factor in the learner's update Σ ← Σ − h·Σx xᵀΣ. The zeros stand for a prediction and
    for the factor in an update of weights, which the bound does not need; True lets the block go
    on.
    """
    h, _ = moves(0.0, chi, params[0])
    return 0.0, h, 0.0, True


def count_in_bulk(state, params, x, y, m, beside):
    """Add a row of a block to the last term of the bound, unless the block cannot take the row.

    Return what :func:`fate` returns: LEAVE if the block cannot take the row, RENEW if the row
    causes a reset, else TAKE.
    """
    sums, segment = state[5], state[10]
    square = dot(x, x)
    ends = fate(state, params, square, beside)
    if ends != LEAVE:
        lengthen(sums, square, ends == RENEW, certainty(params, segment[0] + 1.0))
        add_to_extra(state[0], sums, params[0], params[1], norm(x), y, beside[0])
    return ends


COUNT_IN_BULK = Bulk(
    own_turn,
    belief=own_belief,
    plan=plan,
    accept=count_in_bulk,
    close=close,
    others=others,
    turn_other=turn_other,
    longest=long_blocks,
)


def keep_count(out, i, value, state):
    """Copy to column i of ``out`` the entries of the tally that :func:`count` updates."""
    out[EXTRA, i] = state[0][EXTRA]
    out[CERTAINTY, i] = state[0][CERTAINTY]


def count(state, params, x, y, work):
    """Add a row to the last term of the bound; update Σ, and reset it, as the learner does."""
    tally, _, _, _, _, sums, t, _, own, N, segment = state
    r, radius, _, _ = params
    p, n, scratch, U = work[0], work[1], work[2], work[3:]
    theta, square = sums[THETA] if sums[THETA] < NEVER else math.inf, dot(x, x)
    if math.isfinite(theta):
        symv_both(own, N, x, p, n)  # Σx and Nx
    else:
        symv(own, x, p)
    chi = dot(x, p)
    observe_given(own, x, p, chi, r, ROUNDING * (3 + x.size) * square, scratch)  # Σ is at most I
    resets = start_afresh_if_too_certain(params, theta, x, square, own, N, n, segment, U)
    lengthen(sums, square, resets, certainty(params, segment[0]))
    add_to_extra(tally, sums, r, radius, norm(x), y, chi)
    t[0] += 1
    return 0.0, FINE


@kernel(inline="always")
def _compare(state, params, y, gain):
    """Record a row that raises the minimum of the penalised loss over all weights u by ``gain``."""
    tally, notes, w, sums = state[0], state[1], state[3], state[5]
    sums[SQUARES] += y * y
    sums[LEAST] += gain
    comparator = inside_ball(sums[LEAST], sums[SQUARES], w, params[1])
    return enter(tally, notes, comparator, 1.0, tally[EXTRA])


def compare_in_bulk(state, params, x, y, m, beside):
    """Add a row of a block to the bound; return TAKE, which accepts the row."""
    _compare(state, params, y, (y - m) * (y - m) / (1.0 + beside[0]))
    return TAKE


def keep_comparator(out, i, value, state):
    """Copy to column i of ``out`` the entries of the tally that :func:`compare` updates."""
    out[COMPARATOR, i] = state[0][COMPARATOR]
    out[FACTOR, i] = state[0][FACTOR]


def compare(state, params, x, y, work):
    """Add a row to the least-squares problem of the comparator."""
    gain, _, rule = compete(state[2:5], math.inf, x, y, work)
    if rule != FINE:
        return lose(state[0], state[1], rule, gain)
    return _compare(state, params, y, gain)


_counted, _compared = (kernel(part, inline="always") for part in (count, compare))


@InTurn.of(
    Tally(count, lambda d: d + 3, COUNT_IN_BULK, keep=keep_count),
    Tally(compare, 2, in_bulk(compare_in_bulk), keep=keep_comparator),
)
def bound(state, params, x, y, work):
    """Add a row to the bound on ARCOR's loss L against comparators u_t with ‖u_t‖ ≤ R_B.

      L ≤ Σ (y_t − u_tᵀx_t)² + r‖u_1‖² + 4 R_B r Σ Λ⁻¹‖u_{t+1} − u_t‖ + Σ (R_B‖x‖ + |y|)²·χ/(r+χ)

    For ‖x‖ ≤ 1 and |y| ≤ Y, the last term is at most 2(R_B² + Y²) Σ_segments ln det Σ̃⁻¹, where Σ̃
    is Σ at the end of a segment, before the reset. A row that triggers a reset belongs to the
    segment that it ends. Λ⁻¹ is the segment's threshold, or 1 + Σ‖x‖²/r over the rows of the
    segment so far if that is less.
    """
    _counted(state, params, x, y, work)
    return _compared(state, params, x, y, work)


def in_ball(
    params: Any, init: Callable[..., Any] | None, owner: str = "ARCOR", length: str = "‖x‖"
) -> Guarantee:
    """Return the bound of ARCOR with a finite radius; ``init`` makes ARCOR's initial state.

    ``length`` is the length of a row in words.
    """
    r, radius, _, _ = params

    def start(d: int) -> tuple[np.ndarray, ...]:
        sums = np.array([0.0, 0.0, 0.0, min(threshold(params, 1.0), NEVER)])
        assert init is not None  # KernelARCOR, which has none, has its own account
        own = init(params, d)._replace(w=np.zeros(0))
        return *competitor(d, r, extra=1), sums, *own

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        drift = path.drift(2, 4 * radius * r * tally[CERTAINTY])
        outside = path.ever(path.squares > (radius * (1 + 1e-12)) ** 2)
        return path.loss + r * path.squares[0] + drift + tally[EXTRA], outside

    added = f"+ Σ (radius·{length} + |y|)²·χ/(r+χ) (Theorem 1, corrected)"
    return Guarantee(
        f"loss ≤ comparator {added}",
        f"{r:g}·‖u‖² + loss of u, {cut_to(radius)}",
        Account(owner, start, bound, tuple(params)),
        f"loss ≤ loss of u + {r:g}·‖u_1‖² + {4 * radius * r:g}·Σ‖u_t+1 − u_t‖/Λ {added}",
        price,
        paths="u_t with ‖u_t‖ ≤ radius",
    )
