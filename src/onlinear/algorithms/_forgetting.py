"""The recursion with forgetting that RLS and CR-RLS share, and its guard against wind-up.

The formulas and the guard are explained in :mod:`onlinear.algorithms.rls`.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.status import FINE, OVERFLOW
from onlinear._numerics.linalg import dot, kernel, scale, short, subtract_square, symv
from onlinear._updates.gaussian import gaussian, learn, moves

__all__ = [
    "Forgetful",
    "confirm",
    "factors",
    "fade",
    "forget",
    "forgetful",
    "learn_and_fade",
    "limited",
    "uncertainty",
    "unforced",
]

WOUND_UP = 1e9  # if Σ_ii·x_i² exceeds this, the data no longer excite column i
FADED = 0.1  # a block ends before the weight of its first row falls below this
LARGE = 1e300  # x_i² beyond this may overflow in ‖x‖²
TINY = 1e-200  # x_i² below this counts as 0
MOST_QUARTERS = 1100  # 4^1100 is beyond any quotient of two floats


class Forgetful(NamedTuple):
    """The state: the number of rounds, the weights, Σ, and the largest x_i² of each column."""

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray
    peak: np.ndarray


def forgetful(d: int, precision: float) -> Forgetful:
    """Return the initial state: w = 0 and Σ = I / precision."""
    return Forgetful(*gaussian(d, precision), np.zeros(d))


@kernel
def _limit(peak, b):
    """Return how large Σ_ii may be, given the largest x_i² seen."""
    return max(WOUND_UP / peak, 1.0 / b) if peak > TINY else WOUND_UP / b


def limited(params):
    """Return whether the guard, which divides Σ_ii by 4, is stronger than the growth of Σ by 1/r.

    Then no Σ_ii exceeds 1e210, because its limit is at most 1e209 if b is of usual size.
    """
    return params[0] >= 0.25


@short
def uncertainty(state, x, work):
    """Write Σx to work[0]; return χ = xᵀΣx."""
    symv(state[2], x, work[0])
    return dot(x, work[0])


@kernel
def learn_and_fade(state, r, x, e, chi, work):
    """Learn the residual e, and multiply the weights of earlier rows by r.

    Before the call, :func:`uncertainty` must have written Σx to ``work[0]`` and returned χ.
    """
    t, w, S, peak = state
    if not math.isfinite(dot(x, x)):
        return OVERFLOW
    rule = learn((t, w, S), x, e, work[0], chi, r, work[1])
    if rule != FINE:
        return rule
    for i in range(x.size):
        scale(1.0 / r, S[i], S[i])  # Σ ← Σ/r
        peak[i] = max(peak[i], x[i] * x[i])
    return FINE


@short
def confirm(state, r, b, i, v):
    """If Σ_ii is too large, update Σ as if w_i had been measured, and found at its present value.

    Return the precision k of the measurement, which is 3/Σ_ii if r ≥ ¼, or 0 if there is none; v is
    scratch.
    """
    _, _, S, peak = state
    limit, k = _limit(peak[i], b), 0.0
    for _ in range(MOST_QUARTERS):
        if not S[i, i] > limit:
            break
        k += 3.0 / S[i, i]
        scale(math.sqrt(0.75 / S[i, i]), S[i], v)
        subtract_square(v, S)  # Σ ← Σ − (1 − ¼)·Σe_i e_iᵀΣ/Σ_ii, so that Σ_ii ← ¼Σ_ii
        if r >= 0.25:  # Σ has grown by 1/r, at most by 4
            break
    return k


@kernel
def forget(state, r, b, x, e, chi, work):
    """Do :func:`learn_and_fade`, and limit the growth of Σ."""
    rule = learn_and_fade(state, r, x, e, chi, work)
    if rule != FINE:
        return rule
    for i in range(x.size):
        confirm(state, r, b, i, work[0])
    return FINE


@short
def factors(forgetting, j, e, chi):
    """Return r^(j+1) for row j = 0, 1, … of a block, and the factors h and k of its updates.

    Within a block, Σ is not divided by r after each row (:func:`fade` does it at the end), so at
    row j it is too small by the factor rʲ. To make up for the missing divisions of Σ by r, h and k
    are computed with r^(j+1) in place of r.
    """
    r = forgetting ** (j + 1.0)
    h, k = moves(e, chi, r)
    return r, h, k


@kernel
def unforced(state, r, b, X, start, rows):
    """Return how many of the next rows can be learnt as one block; 0 if a Σ_ii might get too large.

    Within a block Σ is not divided by r, so in round j it is too small by the factor rʲ.
    """
    _, _, S, peak = state
    rows = min(rows, int(1.0 + math.log(FADED) / math.log(r))) if r < 1.0 else rows
    growth = r**-rows
    for i in range(peak.size):
        top = peak[i]
        for j in range(start, start + rows):
            top = max(top, X[j, i] * X[j, i])
        least = min(_limit(peak[i], b), _limit(top, b))  # for any row in between
        if not (S[i, i] * growth <= least and top < LARGE):
            return 0
    return rows


@kernel
def fade(state, r, X, start, rows):
    """Divide Σ by r once for each row of a block, because the block itself has not done so.

    The largest x_i² of each column are updated, too.
    """
    _, _, S, peak = state
    growth = r**-rows
    for i in range(peak.size):
        scale(growth, S[i], S[i])
        for j in range(start, start + rows):
            peak[i] = max(peak[i], X[j, i] * X[j, i])
