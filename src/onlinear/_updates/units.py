"""Running standardization: convert a learner's state exactly when the scaling of columns changes.

A learner's weights apply to u = [1, (x − m)/s], where m and s are near the running mean and
standard deviation of each column (without intercept, u = x/s and s² is near the running mean
square). When mean or deviation have moved by more than a little, m and s are updated, and the
learner's state is converted exactly: column i of every row seen, u_i, becomes g·u_i + h, so

    w_i ← w_i/g,  w_0 ← w_0 − h·w_i        Σ ← LΣLᵀ, L being that map of w
    A ← MAMᵀ,  b ← Mb                      of sums A = Σuuᵀ, b = Σyu, M being that map of u

in O(d) per column. So all past rows have the present scaling, and terms that a learner adds in
every round, such as drift, are isotropic in this scaling. Only the prior is not converted. When the
variance s² of a column has changed by some factor since its prior was set, the prior is set again
by a rank-one update,

    Σ⁻¹ ← Σ⁻¹ + p(1 − s₀²/s²)·e_i e_iᵀ     p the precision of the prior, s₀² the variance then

A column that has been constant is inert: u_i = 0, and it gets a prior when it first changes. If a
column grows by a large factor, s₀²/s² is near 0, and Σ_ii/g² is so large that the prior replaces
all that was known of w_i: w_i and its covariances become 0, and the other weights become their
estimates under the condition w_i = 0. Beyond a factor of 1e60, Σ_ii/g² might overflow, and these
limits are set directly.

Scaling a column by a power of two changes no prediction; other factors, and shifts, change only the
rounding.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear._numerics.linalg import axpy, kernel, scale
from onlinear._validation.states import check_range

__all__ = [
    "FORGETFUL",
    "GAUSSIAN",
    "SUMS",
    "Follows",
    "awaken_gaussian",
    "check_units",
    "copy_back",
    "express",
    "keep_copy",
    "measure",
    "move",
    "moved",
    "rescale_gaussian",
    "reweigh_gaussian",
    "reweigh_if_more",
    "variance",
]

SLACK = 1.0491  # a column keeps its scale within this factor of its variance (no ratio of rows),
SHIFT = 0.02  # and its centre within this share of its deviation from its mean
STALE = 2.1907  # its prior is set again when its variance has changed by this factor
LEAST = 0.01  # share of a weight's precision that must remain when its prior is reduced
NEARLY = 1.01  # a state that is read from a file may exceed these limits by this factor
VAGUE = 1e8  # if a weight's variance exceeds its prior's this many times, the prior replaces it
ASLEEP = 1e-60  # a column that grows by more than the inverse of this was constant till then
EXTREME = 1e-140  # a prior variance below this, or above its inverse, has a square near the limits
CONSTANT = 1e-290  # a smaller variance counts as that of a constant: squares underflow there


class Follows(NamedTuple):
    """How to convert a learner's state when columns are rescaled; all but ``fresh`` are compiled.

    ``fresh(state)``
        The number that a new column has in an initial state, such as its prior variance.
    ``parts(state)``
        The arrays that change, each flat.
    ``rescale(state, i, g, h)``
        Column i of every row seen becomes g times itself plus h times column 0.
    ``awaken(state, i, fresh)``
        Give column i, which has been 0 in every row seen, the prior it began with.
    ``reweigh(state, params, i, fresh, share, scratch)``
        Add ``share`` of the prior of column i.
    ``adapt(state, params, work)``
        Finish the conversion, after the scaling of the columns has changed.
    """

    fresh: Callable[..., float]
    parts: Callable[..., tuple[Any, ...]]
    rescale: Callable[..., None]
    awaken: Callable[..., None]
    reweigh: Callable[..., None]
    adapt: Callable[..., None]


# --- units ----------------------------------------------------------------------------------


@kernel
def express(x, centre, scale, first, u):
    """Write the standardized x to u, after a leading 1 if ``first`` is 1; inert columns are 0."""
    if first:
        u[0] = 1.0
    for j in range(x.size):
        u[j + first] = (x[j] - centre[j]) / scale[j] if scale[j] > 0.0 else 0.0


@kernel
def measure(x, n, mean, spread, first, new_mean, new_spread):
    """Compute running means and variances after the n-th row x; return whether they are finite."""
    total = 0.0
    for j in range(x.size):
        off = x[j] - mean[j]
        new_mean[j] = mean[j] + off / n if first else 0.0
        new_spread[j] = spread[j] + (off * (x[j] - new_mean[j]) - spread[j]) / n
        total += new_spread[j] + x[j] * x[j]
    return math.isfinite(total)


@kernel
def _has_moved(mean, spread, centre, scale):
    if spread < CONSTANT:
        return False
    if scale == 0.0:  # inert until now
        return True
    square = scale * scale
    near = SLACK * spread >= square and spread <= SLACK * square
    return not near or abs(mean - centre) > SHIFT * scale


@kernel
def moved(mean, spread, centre, scale):
    """Return whether the scaling of some column is too far from its mean and variance."""
    some = False
    for j in range(mean.size):
        some = some or _has_moved(mean[j], spread[j], centre[j], scale[j])
    return some


def check_units(stack: Any, begun: np.ndarray) -> None:
    """Refuse means, variances and scalings that no rows can produce.

    After every row, a column is inert (constant so far), or its scaling is near its mean and
    variance. ``begun`` says for each state whether t > 0.
    """
    for name in ("spread", "scale", "prior"):
        check_range(name, getattr(stack, name), 0)
    with np.errstate(over="ignore"):
        square = stack.scale * stack.scale
    lasting = begun & (stack.spread >= CONSTANT)
    least, most = (stack.spread / SLACK / NEARLY, stack.spread * SLACK * NEARLY)
    check_range(
        "a squared scale", square, np.where(lasting, least, 0), np.where(lasting, most, np.inf)
    )
    check_range(
        "a variance of a prior", stack.prior, square / STALE / NEARLY, square * STALE * NEARLY
    )
    off = np.abs(stack.mean - stack.centre)
    check_range(
        "the distance of a centre from its mean",
        off,
        0,
        np.where(lasting, SHIFT * NEARLY * stack.scale, np.inf),
    )


def move(follows: Follows) -> Any:
    """Return the compiled function that scales columns by their present mean and variance.

    The compiled function also converts the learner's state to the new scaling.
    """
    _, _, rescale, awaken, reweigh, adapt = follows

    @kernel
    def bring(state, params, fresh, mean, spread, units, first, scratch, work):
        centre, scale, prior = units
        for j in range(mean.size):
            if not _has_moved(mean[j], spread[j], centre[j], scale[j]):
                continue
            i, new = j + first, math.sqrt(spread[j])
            if scale[j] == 0.0:
                awaken(state, i, fresh)
                scale[j], prior[j] = new, spread[j]
            elif scale[j] < ASLEEP * new:  # as reweigh and rescale below, in the limit
                reweigh(state, params, i, ASLEEP * ASLEEP * fresh, 1.0, scratch)
                rescale(state, i, scale[j] / new, 0.0)
                awaken(state, i, fresh)
                scale[j], prior[j] = new, spread[j]
            rescale(state, i, scale[j] / new, 0.0)
            ratio = prior[j] / spread[j]
            if ratio > STALE or ratio * STALE < 1.0:
                reweigh(state, params, i, fresh, 1.0 - ratio, scratch)
                prior[j] = spread[j]
            rescale(state, i, 1.0, (centre[j] - mean[j]) / new)  # last: Σ may be very large before
            centre[j], scale[j] = mean[j], new
        adapt(state, params, work)

    return bring


@kernel
def keep_copy(parts, room):
    """Copy arrays to the beginning of ``room``."""
    at = 0
    for part in parts:
        scale(1.0, part, room[at : at + part.size])
        at += part.size


@kernel
def copy_back(parts, room):
    """Restore the arrays that :func:`keep_copy` copied."""
    at = 0
    for part in parts:
        scale(1.0, room[at : at + part.size], part)
        at += part.size


# --- states ---------------------------------------------------------------------------------


@kernel
def _rescale_weights(w, i, g, h):
    w[i] /= g
    if h != 0.0:
        w[0] -= h * w[i]


@kernel
def rescale_gaussian(state, i, g, h):
    """Convert the state, w ← Lw and Σ ← LΣLᵀ, after column u_i was replaced by g·u_i + h."""
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
    """Add ``share`` of the prior of column i: Σ⁻¹ ← Σ⁻¹ + share·e_i e_iᵀ/fresh."""
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
    """Add ``share`` of the prior of column i if it is positive, for a prior that fades away."""
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
    """Convert w and Σ like :func:`rescale_gaussian`, and replace max u_i² by an upper bound."""
    rescale_gaussian(state, i, g, h)
    most = g * math.sqrt(state[3][i]) + abs(h)
    state[3][i] = most * most


@kernel
def _awaken_forgetful(state, i, fresh):
    awaken_gaussian(state, i, fresh)
    state[3][i] = 0.0


FORGETFUL = Follows(  # their prior fades
    variance, _parts_and_vector, _rescale_forgetful, _awaken_forgetful, reweigh_if_more, _nothing
)


@kernel
def _rescale_sums(state, i, g, h):
    """Convert the state, w ← Lw, A ← MAMᵀ, b ← Mb, after column u_i was replaced by g·u_i + h."""
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
