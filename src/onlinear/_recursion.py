"""States the learners share, and the recursion of the second-order ones.

Each learner adds its own scalars and its prediction to

    v = Σx,  χ = xᵀv,  e = y − xᵀw
    w ← w + e·v / (r + χ)
    Σ ← Σ − vvᵀ / (r + χ)

and, against a drifting target, Σ ← Σ + I/c before a round that is not the first.

Moroshko, thesis Tables 3.1 and 5.1; Vaits & Crammer, Figure 1.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine import FINE, OVERFLOW
from onlinear._kernels import axpy, dot, kernel, observe, shift, symv

__all__ = ["Gaussian", "Weights", "follow", "gaussian", "learn", "look", "moves", "weights"]


class Weights(NamedTuple):
    """Rounds learnt and weights: all a first-order learner has."""

    t: np.ndarray
    w: np.ndarray


def weights(d: int) -> Weights:
    """Begin with w = 0."""
    return Weights(np.zeros(1), np.zeros(d))


class Gaussian(NamedTuple):
    """Rounds learnt, weights, Σ: the mean and covariance of a belief about the truth."""

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray


def gaussian(d: int, precision: float) -> Gaussian:
    """Begin with w = 0 and Σ = I / precision."""
    return Gaussian(np.zeros(1), np.zeros(d), np.eye(d) / precision)


@kernel(inline="always")
def learn(state, x, e, v, chi, r, u):
    """Learn the residual e at x, given v = Σx and χ = xᵀv; return FINE, or OVERFLOW untouched."""
    t, w, S = state
    if not math.isfinite(chi * e):
        return OVERFLOW
    observe(S, x, v, chi, r, u)  # Σ ← Σ − vvᵀ/(r+χ),  v ← v/(r+χ)
    axpy(e, v, w)
    t[0] += 1
    return FINE


@kernel(inline="always")
def moves(e, chi, r):
    """Return h and k of Σ ← Σ − h·vvᵀ, w ← w + k·v: as :func:`learn`, for a block."""
    h = 1.0 / (r + chi)
    return h, e * h


@kernel(inline="always")
def look(state, c, x, v):
    """v ← Σx,  Σ = Σ_{t−1} + I/c; return χ = xᵀΣx and what is to be added to Σ_{t−1}."""
    t, _, S = state
    drift = 1.0 / c if t[0] > 0.0 else 0.0
    symv(S, x, v)
    axpy(drift, x, v)
    return dot(x, v), drift


@kernel(inline="always")
def follow(state, drift, x, e, v, chi, u):
    """Σ ← Σ_{t−1} + I/c, then learn the residual e; FINE, or OVERFLOW untouched."""
    _, _, S = state
    if not math.isfinite(chi * e):
        return OVERFLOW
    shift(drift, S)
    return learn(state, x, e, v, chi, 1.0, u)
