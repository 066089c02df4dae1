"""ARCOR's covariance reset, shared by the learner and its regret bound.

    λ_max(Σ̃⁻¹) > θ_i,  θ_i = Λ_i⁻¹(1 + 10⁻¹²)    →    Σ ← I,  i ← i + 1

The symbols are those of :mod:`onlinear.algorithms.arcor`, and θ is the θ_i of the present segment
(the rows since the last reset). The test needs no eigenvalues. The matrix N = (θI − Σ⁻¹)⁻¹ gets a
rank-one update in every round, like Σ, and θI − Σ̃⁻¹ is positive definite exactly if xᵀNx < r. When
r − xᵀNx is only rounding error, N is no longer accurate. From then until the next reset, the test
is whether the Cholesky factorisation of Σ̃ − I/θ fails.

The last arrays of a state are Σ, N and the pair (segment i, whether N is accurate); ``params`` are
the parameters of ARCOR.
"""

import math
from collections.abc import Sequence

import numpy as np

from onlinear._engine.bulk import LEAVE, RENEW, TAKE
from onlinear._numerics.linalg import (
    add_square,
    cholesky,
    dot,
    kernel,
    reset,
    scale,
    solve_lower,
    solve_upper,
    trace,
)
from onlinear._validation.states import check_counts, check_sums

__all__ = [
    "certainty",
    "check_resets",
    "close",
    "fate",
    "inverse_thresholds",
    "others",
    "plan",
    "renew",
    "start_afresh_if_too_certain",
    "threshold",
    "turn_other",
]

TIE = 1e-12  # λ_max above Λ⁻¹ by less than this share is a tie
RESET = 2.0  # a third value of segment[1], besides 0 and 1: the present block ends with a reset
UNDECIDED = 1e-13  # |r − xᵀNx| below this share of tr(N)‖x‖² is rounding error


def threshold(params, i):
    """Return the threshold Λ_i⁻¹ of segment i, with a tolerance for ties.

    If the user gave a sequence of thresholds, its last threshold is used for all later segments.
    """
    _, _, q, inverse = params
    if inverse.size:
        return inverse[max(1, min(int(i), inverse.size)) - 1] * (1.0 + TIE)
    if math.isinf(q):
        return math.inf
    return (i ** (q - 1.0) + 1.0) * (1.0 + TIE)


certainty = kernel(threshold)


def inverse_thresholds(owner: str, thresholds: Sequence[float] | None) -> np.ndarray:
    """Return the Λ_i⁻¹ that the user gave, none if there are no ``thresholds``; check them."""
    if thresholds is None:
        return np.zeros(0)
    values = np.asarray(thresholds, dtype=float)
    falling = values.ndim == 1 and values.size > 0 and np.all(np.diff(values) <= 0)
    if not falling or not np.all((values > 0) & (values < 1)):
        raise ValueError(f"{owner} needs 1 > Λ_1 ≥ Λ_2 ≥ … > 0, got thresholds={thresholds!r}")
    return 1.0 / values


@kernel
def _too_certain(x, square, r, theta, S, N, u, segment, U):
    """Return whether λ_max(Σ̃⁻¹) > θ, given S = Σ̃, ‖x‖² and u = Nx; if not, update N."""
    d = x.size
    if segment[1]:
        gap = r - dot(x, u)
        if abs(gap) > UNDECIDED * trace(N) * square:
            if gap <= 0.0:
                return True
            scale(math.sqrt(1.0 / gap), u, u)
            add_square(u, N)  # N ← N + Nx xᵀN / (r − xᵀNx)
            return False
        segment[1] = 0.0
    for i in range(d):
        for j in range(d):
            U[i, j] = S[i, j]
        U[i, i] -= 1.0 / theta
    return not cholesky(U, 0.0, 0.0)


@kernel
def start_afresh_if_too_certain(params, theta, x, square, S, N, u, segment, U):
    """Reset (Σ ← I, i ← i + 1) if λ_max(Σ̃⁻¹) > θ; return whether there was a reset.

    ``square`` is ‖x‖², S is Σ̃, and u is Nx.
    """
    r, _, _, _ = params
    if math.isinf(theta) or not _too_certain(x, square, r, theta, S, N, u, segment, U):
        return False
    _start_afresh(params, S, N, segment)
    return True


@kernel
def _start_afresh(params, S, N, segment):
    """Reset the covariance, Σ ← I, and begin the next segment, i ← i + 1."""
    segment[0] += 1.0
    segment[1] = 1.0
    reset(1.0, S)
    reset(1.0 / (certainty(params, segment[0]) - 1.0), N)


@kernel
def renew(params, S, N, segment, column, U):
    """Recompute N = (θI − Σ⁻¹)⁻¹ = (I + (θΣ − I)⁻¹)/θ in O(d³).

    N has to be recomputed when Σ has changed other than by learning a row.
    """
    theta, d = certainty(params, segment[0]), S.shape[0]
    if math.isinf(theta):
        return
    for i in range(d):
        scale(theta, S[i], U[i])
        U[i, i] -= 1.0
    segment[1] = 1.0 if cholesky(U, 0.0, 0.0) else 0.0
    for i in range(d):
        for j in range(d):
            column[j] = 0.0
        column[i] = 1.0
        if segment[1]:
            solve_lower(U, column)
            solve_upper(U, column)
        for j in range(i + 1):
            N[i, j] = N[j, i] = column[j] / theta
        N[i, i] += 1.0 / theta


def check_resets(N: np.ndarray, segment: np.ndarray, t: np.ndarray) -> None:
    """Refuse N, segment and t, of one or more models, that no sequence of rows can produce."""
    check_sums("N", N)
    check_counts("is its segment", segment[..., 0], 1, t[..., 0] + 1)
    check_counts("is its flag of N", segment[..., 1], 0, 1)


# --- in blocks of rows ----------------------------------------------------------------------


def others(state, params):
    """Return (N,), and 1 if a block has to update N along with Σ, or 0 if Σ is never reset."""
    N, segment = state[-2], state[-1]
    return (N,), 0 if math.isinf(certainty(params, segment[0])) else 1


def turn_other(params, k, nu):
    """Return factor and sign of the update N ← N + Nx xᵀN / (r − xᵀNx), and True.

    The factor is 0 for a row that causes a reset; ``nu`` is xᵀNx. True lets the block go on.
    """
    gap = params[0] - nu
    return 1.0 / gap if gap > 0.0 else 0.0, 1.0, True


@kernel(inline="always")
def fate(state, params, square, beside):
    """Return RENEW if a row of a block causes a reset, LEAVE if rounding would decide, else TAKE.

    The test for a reset is the one of :func:`_too_certain`; ``square`` is ‖x‖². A reset ends the
    block. If LEAVE is returned, the row is learnt outside of blocks, by the step. ``beside`` is
    that of ``accept`` in :class:`onlinear._engine.bulk.Bulk`; of the two numbers at its end, the
    first holds tr(N).
    """
    N, segment = state[-2], state[-1]
    _, wings, at, memory = beside
    _, U, _, _, nu, _ = wings[0]
    if math.isinf(certainty(params, segment[0])):
        return TAKE
    if memory[0] == 0.0:
        memory[0] = trace(N)
    gap = params[0] - nu[at]
    if not abs(gap) > UNDECIDED * memory[0] * square:
        return LEAVE
    if gap <= 0.0:
        segment[1] = RESET
        return RENEW
    memory[0] += dot(U[at], U[at])
    return TAKE


def plan(state, params, X, y, start, rows):
    """Return how many of the next rows can form a block: all if N is accurate, else none."""
    return rows if state[-1][1] else 0


def close(state, params, X, start, rows):
    """Reset Σ at the end of a block if the block's last row has caused a reset."""
    S, N, segment = state[-3], state[-2], state[-1]
    if segment[1] == RESET:
        _start_afresh(params, S, N, segment)
