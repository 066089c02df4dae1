"""Convert the states of learners when columns are rescaled (:mod:`onlinear._updates.units`)."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from onlinear._numerics.linalg import axpy, kernel, scale

__all__ = [
    "FORGETFUL",
    "GAUSSIAN",
    "SUMS",
    "Follows",
    "awaken_gaussian",
    "rescale_gaussian",
    "reweigh_gaussian",
    "reweigh_if_more",
    "variance",
]

LEAST = 0.01  # share of a weight's precision that must remain when its prior is reduced
VAGUE = 1e8  # if a weight's variance is this many times its prior's, the prior replaces it
EXTREME = 1e-140  # squares of prior variances below this or above 1/EXTREME may over- or underflow


class Follows(NamedTuple):
    """Functions that convert a learner's state to rescaled columns; all but ``fresh`` are compiled.

    ``fresh(state)``
        The number that a column has in an initial state, such as its weight's prior variance.
    ``parts(state)``
        The arrays of the state that a conversion changes, each flattened.
    ``rescale(state, i, g, h)``
        Convert the state after column i was replaced by g times itself plus h times column 0.
    ``awaken(state, i, fresh)``
        Give column i, which has been 0 in every row seen, the prior ``fresh`` of an initial state.
    ``reweigh(state, params, i, fresh, share, scratch)``
        Add ``share`` times column i's prior precision to the state; ``share`` may be negative.
    ``adapt(state, params, work)``
        Finish the conversion of the state, after the scaling of the columns has changed.
    """

    fresh: Callable[..., float]
    parts: Callable[..., tuple[Any, ...]]
    rescale: Callable[..., None]
    awaken: Callable[..., None]
    reweigh: Callable[..., None]
    adapt: Callable[..., None]


@kernel
def _rescale_weights(w, i, g, h):
    w[i] /= g
    if h != 0.0:
        w[0] -= h * w[i]


@kernel
def rescale_gaussian(state, i, g, h):
    """Convert the state, w ← Lw and Σ ← LΣLᵀ, after column u_i was replaced by g·u_i + h.

    L maps the old weights to those that give the same predictions with the new column.
    """
    w, S = state[1], state[2]
    _rescale_weights(w, i, g, h)
    for k in range(w.size):
        S[i, k] /= g
    S[i, i] /= g
    for k in range(w.size):
        S[k, i] = S[i, k]
    if h != 0.0:
        S[0, 0] += h * (h * S[i, i] - 2.0 * S[0, i])
        for k in range(1, w.size):
            S[0, k] -= h * S[i, k]
            S[k, 0] = S[0, k]


@kernel
def awaken_gaussian(state, i, fresh):
    """Give column i the prior variance ``fresh``: w_i ← 0, Σ_i ← fresh·e_i."""
    w, S = state[1], state[2]
    w[i] = 0.0
    for k in range(w.size):
        S[i, k] = S[k, i] = 0.0
    S[i, i] = fresh


@kernel
def reweigh_gaussian(state, params, i, fresh, share, scratch):
    """Add ``share`` times the prior precision of column i: Σ⁻¹ ← Σ⁻¹ + share·e_i e_iᵀ/fresh."""
    w, S = state[1], state[2]
    more = share / fresh
    left = 1.0 + more * S[i, i]
    if left < LEAST:
        return
    scale(1.0, S[i], scratch)
    new = w[i] / left
    axpy(-more * w[i] / left, scratch, w)
    if left > VAGUE:
        w[i] = new  # the same without cancellation
    if EXTREME < fresh < 1.0 / EXTREME:
        for j in range(w.size):
            for k in range(w.size):
                S[j, k] -= more / left * (scratch[j] * scratch[k])
    else:  # a product of two covariances may overflow or vanish
        root, sign = math.sqrt(abs(more / left)), -1.0 if share > 0.0 else 1.0
        for j in range(w.size):
            for k in range(w.size):
                S[j, k] += sign * ((root * scratch[j]) * (root * scratch[k]))
    for k in range(w.size):  # recompute without cancellation
        S[i, k] = S[k, i] = scratch[k] / left


@kernel
def reweigh_if_more(state, params, i, fresh, share, scratch):
    """Reweigh only if ``share`` is positive: for learners that forget their prior over time."""
    if share > 0.0:
        reweigh_gaussian(state, params, i, fresh, share, scratch)


@kernel
def _nothing(state, params, work):
    pass


@kernel
def _no_prior(state, params, i, fresh, share, scratch):
    pass


@kernel
def _gaussian_parts(state):
    return state[1], state[2].reshape(state[2].size)


def variance(state: Any) -> float:
    """Return Σ_00; in an initial state, this is the prior variance of every weight."""
    return float(state[2][0, 0])


GAUSSIAN = Follows(
    variance, _gaussian_parts, rescale_gaussian, awaken_gaussian, reweigh_gaussian, _nothing
)


@kernel
def _parts_and_vector(state):
    return state[1], state[2].reshape(state[2].size), state[3]


@kernel
def _rescale_forgetful(state, i, g, h):
    """Convert w and Σ like :func:`rescale_gaussian`; bound max u_i² for the new u_i."""
    rescale_gaussian(state, i, g, h)
    most = g * math.sqrt(state[3][i]) + abs(h)
    state[3][i] = most * most


@kernel
def _awaken_forgetful(state, i, fresh):
    awaken_gaussian(state, i, fresh)
    state[3][i] = 0.0


FORGETFUL = Follows(  # for RLS and CR-RLS, which forget their prior over time
    variance, _parts_and_vector, _rescale_forgetful, _awaken_forgetful, reweigh_if_more, _nothing
)


@kernel
def _rescale_sums(state, i, g, h):
    """Convert the state, w ← Lw, A ← MAMᵀ, b ← Mb, after column u_i was replaced by g·u_i + h.

    A is the sum of uuᵀ and b that of yu. M maps the old rows u to the new ones, and L the old
    weights to those that give the same predictions.
    """
    w, A, b = state[1], state[2], state[3]
    _rescale_weights(w, i, g, h)
    b[i] *= g
    corner = A[i, i]
    for k in range(w.size):
        A[i, k] *= g
    A[i, i] = g * g * corner
    if h != 0.0:
        b[i] += h * b[0]
        A[i, i] += h * (2.0 * A[i, 0] + h * A[0, 0])
        for k in range(w.size):
            if k != i:
                A[i, k] += h * A[0, k]
    for k in range(w.size):
        A[k, i] = A[i, k]


@kernel
def _awaken_sums(state, i, fresh):
    state[1][i] = fresh


def _weight(state: Any) -> float:
    return float(state[1][0])


SUMS = Follows(_weight, _parts_and_vector, _rescale_sums, _awaken_sums, _no_prior, _nothing)
