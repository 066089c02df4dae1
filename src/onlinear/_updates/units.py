"""Running standardization: convert a learner's state exactly when the scaling of columns changes.

A learner's weights apply to u = [1, (x − m)/s], where m and s are near the running mean and
standard deviation of each column (without intercept, u = x/s and s² is near the running mean
square). When a column's mean or deviation has moved by more than a little, its m and s are updated,
and the learner's state is converted exactly. The new scaling turns column i of every row seen, u_i,
into g·u_i + h, so

    w_i ← w_i/g,  w_0 ← w_0 − h·w_i        Σ ← LΣLᵀ, L being that map of w
    A ← MAMᵀ,  b ← Mb                      of sums A = Σuuᵀ, b = Σyu, M being that map of u

in O(d) per column. So the state is always that of rows in the present scaling, and terms that a
learner adds in every round, such as drift, are isotropic in this scaling. Only the prior of a
column is not converted when the scaling changes. When the variance s² of a column has changed by
more than a fixed factor since the prior of the column was set, the prior is set again by a rank-one
update,

    Σ⁻¹ ← Σ⁻¹ + p(1 − s₀²/s²)·e_i e_iᵀ

where p is the precision of the prior, s₀² was the variance when the prior was last set, and e_i is
the i-th unit vector. A column that has been constant is inert: u_i = 0, and the column gets a prior
when its value first changes. If a column grows by a large factor, s₀²/s² is near 0, and Σ_ii/g² is
so large that the prior replaces all that was known of w_i: w_i and its covariances become 0, and
the other weights become their estimates under the condition w_i = 0. Beyond a factor of 1e60,
Σ_ii/g² might overflow, so the limits (w_i = 0 and zero covariances) are set directly.

Scaling a column by a power of two changes no prediction; other factors, and shifts, change only the
rounding.
"""

import math
from typing import Any

import numpy as np

from onlinear._numerics.linalg import kernel, scale
from onlinear._updates.rescaling import Follows
from onlinear._validation.states import check_range

__all__ = [
    "check_units",
    "copy_back",
    "express",
    "keep_copy",
    "measure",
    "move",
    "moved",
]

# a column's squared scale stays within this factor of its variance (the factor is not a ratio of
# small numbers of rows, so that rounding does not decide ties)
SLACK = 1.0491
SHIFT = 0.02  # a column's centre stays within this share of the standard deviation from its mean
STALE = 2.1907  # the prior of a column is set again when its variance has changed by this factor
NEARLY = 1.01  # a state that is read from a file may exceed these limits by this factor
ASLEEP = 1e-60  # a column that grows by more than 1/ASLEEP counts as constant before that
CONSTANT = 1e-290  # a smaller variance counts as that of a constant: squares underflow there


# --- units ----------------------------------------------------------------------------------


@kernel
def express(x, centre, scale, first, u):
    """Write the standardized x to u, after a leading 1 if ``first`` is 1; inert columns give 0."""
    if first:
        u[0] = 1.0
    for j in range(x.size):
        u[j + first] = (x[j] - centre[j]) / scale[j] if scale[j] > 0.0 else 0.0


@kernel
def measure(x, n, mean, spread, first, new_mean, new_spread):
    """Compute running means and variances after the n-th row x; return whether they are finite.

    Without intercept (``first`` is 0), means are 0, and variances are mean squares.
    """
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
    variance. ``stack`` holds the states of several learners, and ``begun`` says for each of them
    whether rows have been learnt (t > 0).
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
    """Return a compiled function that updates the scaling of columns to their mean and variance.

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
            elif scale[j] < ASLEEP * new:  # the limit of reweigh and rescale below
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
    """Copy arrays to the beginning of ``room``, so that :func:`copy_back` can restore them."""
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
