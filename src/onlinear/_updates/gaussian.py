"""The recursion of second-order learners (recursive least squares), and states for learners.

Apart from the prediction, and scalars that each learner computes in its own way, a round is

    v = Σx,  χ = xᵀv,  e = y − xᵀw
    w ← w + e·v / (r + χ)
    Σ ← Σ − vvᵀ / (r + χ)

Here w and Σ are the mean and the covariance of the weights, and r is the variance that the learner
assumes for the noise. Learners for drifting weights make the update Σ ← Σ + I/c before every round
but the first; the smaller the parameter c, the faster the drift.

Moroshko, thesis Tables 3.1 and 5.1; Vaits & Crammer, Figure 1.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import FINE, OVERFLOW
from onlinear._numerics.linalg import (
    axpy,
    dot,
    kernel,
    observe,
    observe_later,
    rounding_of,
    shift,
    shift_and_round,
    subtract_square,
    subtract_square_and_multiply,
    symv,
    within,
)

__all__ = [
    "Gaussian",
    "Weights",
    "covariance_times",
    "deferred",
    "drifted",
    "follow",
    "follow_later",
    "gaussian",
    "learn",
    "learn_later",
    "look",
    "moves",
    "put_off",
    "settle",
    "weights",
]

WIDE = 96  # from this many columns on, one pass over Σ per round is faster than two

_symv, _subtract_square = within(symv), within(subtract_square)


class Weights(NamedTuple):
    """The state of a first-order learner: the number of rounds t and the weights w."""

    t: np.ndarray
    w: np.ndarray


def weights(d: int) -> Weights:
    """Return the initial state w = 0 of a first-order learner."""
    return Weights(np.zeros(1), np.zeros(d))


class Gaussian(NamedTuple):
    """The number of rounds t, and the mean w and covariance Σ of a Gaussian over the weights."""

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray


def gaussian(d: int, precision: float) -> Gaussian:
    """Return the initial state w = 0, Σ = I / precision of a second-order learner."""
    return Gaussian(np.zeros(1), np.zeros(d), np.eye(d) / precision)


@kernel(inline="always")
def learn(state, x, e, v, chi, r, u):
    """Learn the residual e at x, given v = Σx and χ = xᵀv.

    If the numbers would overflow, return OVERFLOW and change nothing.
    """
    t, w, S = state
    if not math.isfinite(chi * e):
        return OVERFLOW
    observe(S, x, v, chi, r, u)  # Σ ← Σ − vvᵀ/(r+χ),  v ← v/(r+χ)
    axpy(e, v, w)
    t[0] += 1
    return FINE


@kernel(inline="always")
def covariance_times(state, x, work):
    """Write Σx to work[0], after making the update of Σ deferred by the previous round, if any."""
    _, _, S = state
    v, u, owed = work[0], work[1], work[2]
    if owed[0] == 0.0:
        _symv(S, x, v)
    else:
        subtract_square_and_multiply(u, S, x, v)
        owed[0] = 0.0


@kernel(inline="always")
def learn_later(state, x, e, chi, r, work):
    """Learn the residual e at x like :func:`learn`, but defer the update of a large Σ.

    :func:`covariance_times` must have written Σx to ``work`` before. In the next round,
    :func:`covariance_times` also makes the deferred update, in the pass over Σ that computes the
    new Σx; after the last round, :func:`settle` makes the update.
    """
    if not math.isfinite(chi * e):
        return OVERFLOW
    return learn_given(state, x, e, chi, r, rounding_of(state[2], x), work)


@kernel(inline="always")
def learn_given(state, x, e, chi, r, rough, work):
    """Learn the residual e like :func:`learn_later`; ``rough`` bounds the rounding error of χ."""
    t, w, S = state
    v, u = work[0], work[1]
    if observe_later(S, x, v, chi, r, rough, u):
        put_off(u, S, work)
    axpy(e, v, w)
    t[0] += 1
    return FINE


@kernel(inline="always")
def deferred(u):
    """Whether Σ is so large that the subtraction of uuᵀ is deferred to the next round."""
    return u.size >= WIDE and u.size % 4 == 0


@kernel(inline="always")
def put_off(u, S, work):
    """Subtract uuᵀ from Σ: at once or, if it is :func:`deferred`, in the next round.

    In the latter case, u must be in work[1].
    """
    if deferred(u):
        work[2, 0] = 1.0
    else:
        _subtract_square(u, S)


@kernel(inline="always")
def follow_later(state, drift, x, e, chi, work):
    """Add ``drift``·I to Σ, then learn the residual e like :func:`learn_later`."""
    if not math.isfinite(chi * e):
        return OVERFLOW
    return learn_given(state, x, e, chi, 1.0, shift_and_round(drift, state[2], x), work)


def settle(state, work):
    """Make the update of Σ that :func:`learn_later` has deferred, if any."""
    u, owed = work[1], work[2]
    if owed[0] != 0.0:
        subtract_square(u, state[2])
        owed[0] = 0.0


@kernel(inline="always")
def moves(e, chi, r):
    """Return the factors h and k of a row's updates Σ ← Σ − h·vvᵀ, w ← w + k·v, where v = Σx."""
    h = 1.0 / (r + chi)
    return h, e * h


@kernel(inline="always")
def look(state, c, x, v):
    """Write Σx to v, where Σ = Σ_{t−1} + I/c; return χ = xᵀΣx and the drift, 1/c or 0."""
    _, _, S = state
    symv(S, x, v)
    return drifted(state, c, x, v)


@kernel(inline="always")
def drifted(state, c, x, v):
    """Change v from Σ_{t−1}x to Σx, where Σ = Σ_{t−1} + I/c; return χ = xᵀΣx and the drift."""
    t, _, _ = state
    drift = 1.0 / c if t[0] > 0.0 else 0.0
    if drift > 0.0:
        axpy(drift, x, v)
    return dot(x, v), drift


@kernel(inline="always")
def follow(state, drift, x, e, v, chi, u):
    """Add ``drift``·I to Σ, then learn the residual e; on OVERFLOW, nothing is changed."""
    _, _, S = state
    if not math.isfinite(chi * e):
        return OVERFLOW
    shift(drift, S)
    return learn(state, x, e, v, chi, 1.0, u)
