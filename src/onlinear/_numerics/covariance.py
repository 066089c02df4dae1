"""Rank-one covariance update, Σ ← (Σ⁻¹ + xxᵀ/r)⁻¹, safe against rounding errors."""

import math

from onlinear._numerics.jit import kernel, short
from onlinear._numerics.matrices import subtract_square, symv
from onlinear._numerics.vector_loops import along
from onlinear._numerics.vectors import dot, scale

__all__ = [
    "ROUNDING",
    "clear",
    "clearly_left",
    "observe",
    "observe_given",
    "observe_later",
    "rounding_of",
    "shift_and_round",
]

LARGEST_STEP = 1e4  # observe() splits an observation whose xᵀΣx/r exceeds this
UNSURE = 1e7  # beyond this xᵀΣx/r, an observation may leave Σ less definite than state files allow
VAGUE = 1e10  # beyond this xᵀΣx/r, an observation may make Σ indefinite
LEAST_PIVOT = 1e-12  # an indefinite Σ is mended with pivots of at least this share of its diagonal
LEAST_VARIANCE = 1e-290  # Σ_ii is not made smaller than about this
LARGEST_PRECISION = 1e270  # of a prior for which clearly_left decides
MOST_PARTS = 200  # the most parts that observe() splits an observation into
LEAST_PART = 1e-280  # a smaller share of an observation may underflow
ROUNDING = 1e-15  # relative error of a sum of products per term: five to ten units in last place


@along
def _gained(gain, root, v, u):
    """Return gain·v (the new v) and root·v (the new u)."""
    return gain * v, root * v


@kernel
def observe(S, x, v, chi, r, u):
    """Σ ← (Σ⁻¹ + xxᵀ/r)⁻¹, given v = Σx and χ = xᵀv; v becomes the gain Σ_new·x/r.

    The textbook formula Σ − vvᵀ/(r + χ) loses log₁₀(χ/r) digits to cancellation, and Σ is no longer
    positive definite once χ/r nears 1e16. To observe x once with weight one is the same as to
    observe it several times with weights that sum to one. So an observation with large χ/r is split
    into parts, each with χ/r ≤ 1e4. Once χ has shrunk to its own rounding error, Σ is as small in
    the direction of x as floating point can express next to the other entries of Σ; then Σ is not
    reduced further, so that it stays positive definite. ``u`` is scratch memory.
    """
    observe_given(S, x, v, chi, r, rounding_of(S, x), u)


@kernel
def observe_given(S, x, v, chi, r, rough, u):
    """Do as :func:`observe`, given a bound ``rough`` on the rounding error of χ."""
    if observe_later(S, x, v, chi, r, rough, u):
        subtract_square(u, S)


@short
def observe_later(S, x, v, chi, r, rough, u):
    """Do as :func:`observe_given`, but if True is returned, the caller has to do Σ ← Σ − uuᵀ."""
    if clear(chi, r, rough):
        _weigh(v, chi, r, 1.0, u)
        return True
    _observe_in_parts(S, x, v, chi, r, u)
    return False


@kernel(inline="always")
def clear(chi, r, rough):
    """Whether one rank-one step is enough, so that the observation need not be split.

    One step is enough if χ/r is not too large, and χ after the step is above ``rough``, a bound on
    its rounding error. (A χ that is only rounding error may be negative, and even below −r.)
    """
    return 0.0 <= chi <= LARGEST_STEP * r and chi * r > rough * (r + chi)


@kernel
def _observe_in_parts(S, x, v, chi, r, u):
    """Split an observation into at most MOST_PARTS parts, and update Σ with one after the other.

    Every part but the last divides χ by 1 + LARGEST_STEP, or brings it down to its rounding error.
    Positive floats lie between 1e−324 and 1e324, so 160 parts take χ from the largest float to
    below r times the least float: the limit MOST_PARTS is never reached unless χ is only rounding
    error.

    The rounding errors of the subtraction Σ − uuᵀ are a small share of the old Σ. If Σ shrinks by a
    factor of more than 1e7 in the direction of x, its diagonal is increased by this share
    beforehand, to keep Σ positive definite. If the factor is more than 1e10, Σ is also mended
    afterwards (:func:`_mend`).
    """
    vague = chi > VAGUE * r
    if chi > UNSURE * r:
        for i in range(x.size):
            S[i, i] *= 1.0 + ROUNDING * (3 + x.size)
    _observe_parts(S, x, v, chi, r, u)
    if vague and x.size > 1:
        _mend(S, u)


@kernel
def _observe_parts(S, x, v, chi, r, u):
    """Observe in parts like :func:`_observe_in_parts`, without correcting Σ for rounding errors."""
    remaining = 1.0
    for _ in range(MOST_PARTS):
        noise = rounding_of(S, x)
        if not chi > 2.0 * noise:
            break
        room = chi / noise - 1.0  # χ may still shrink by a factor 1 + room
        times = min(LARGEST_STEP, room)
        part = min(remaining, times * r / chi)
        if part > LEAST_PART:
            _weigh(v, chi, r, part, u)
        else:  # part·χ = times·r, without the underflow
            root = math.sqrt(times / (1.0 + times)) / math.sqrt(chi)
            _gained(1.0 / (r * (1.0 + times)), root, v, u)
        subtract_square(u, S)
        if part == remaining:
            return
        remaining -= part
        symv(S, x, v)
        chi = dot(x, v)
    scale(1.0 / (r + remaining * max(chi, 0.0)), v, v)


@kernel
def _mend(S, diagonal):
    """Make Σ positive definite if rounding errors, from when Σ was much larger, made it indefinite.

    The Cholesky factor L is computed in the lower triangle. A pivot that is not above LEAST_PIVOT
    times its diagonal entry is raised to this least value, and the column of L below the pivot is
    set to 0. After the factorisation, Σ becomes LLᵀ; if no pivot was raised, Σ does not change.
    ``diagonal`` is scratch memory; a NaN in it marks a column of L that is set to 0.
    """
    n = S.shape[0]
    raised = False
    for k in range(n):
        diagonal[k] = S[k, k]
        for j in range(k):
            rest = S[k, j] - dot(S[k, :j], S[j, :j])
            S[k, j] = 0.0 if math.isnan(diagonal[j]) else rest / S[j, j]
        pivot = S[k, k] - dot(S[k, :k], S[k, :k])
        least = max(LEAST_PIVOT * abs(S[k, k]), LEAST_VARIANCE)
        if not pivot > least:
            raised = True
            diagonal[k] = math.nan
        S[k, k] = math.sqrt(max(pivot, least))
    for i in range(n - 1, -1, -1):  # from the last row, which no other row needs
        for j in range(i, -1, -1):
            if raised:
                S[i, j] = dot(S[i, : j + 1], S[j, : j + 1])
                S[j, i] = S[i, j]
            else:
                S[i, j] = S[j, i] if j < i else diagonal[i]


@short
def _weigh(v, chi, r, part, u):
    """Set u so that Σ − uuᵀ = Σ_new, where Σ_new = (Σ⁻¹ + part·xxᵀ/r)⁻¹, and v to Σ_new·x/r.

    On entry, v is Σx.
    """
    gain = 1.0 / (r + part * chi)
    root = math.sqrt(part * gain)
    _gained(gain, root, v, u)


@short
def rounding_of(S, x):
    """Return a bound on the rounding error of xᵀΣx, proportional to the sum of all x_i²·Σ_ii.

    The bound is infinite if some Σ_ii is below 1e-290: were Σ to shrink further, it would
    underflow.
    """
    return shift_and_round(0.0, S, x)


@short
def clearly_left(left, b, x):
    """Whether ``left``, xᵀΣx after a round, exceeds :func:`rounding_of` for any Σ ⪯ 4I/b.

    False means that it has to be compared with :func:`rounding_of` itself. In rounds for which this
    is true, no Σ_ii becomes small: it would take a row with an x_i² in proportion to 1/Σ_ii.
    """
    return left * b > 4.0 * ROUNDING * (3 + x.size) * dot(x, x) and b < LARGEST_PRECISION


@short
def shift_and_round(a, S, x):
    """S ← S + a·I, and return :func:`rounding_of` the new S, in one pass over the diagonal.

    If a is 0, S is not written to: a later read of the diagonal, as part of a vector, would have to
    wait for the write.
    """
    n = x.size
    s0 = s1 = 0.0
    least = math.inf  # the smallest diagonal entry
    whole = n - n % 2
    for i in range(0, whole, 2):
        if a != 0.0:
            S[i, i] += a
            S[i + 1, i + 1] += a
        p, q = S[i, i], S[i + 1, i + 1]
        least = p if p < least else least
        least = q if q < least else least
        s0 += x[i] * x[i] * p
        s1 += x[i + 1] * x[i + 1] * q
    for i in range(whole, n):
        if a != 0.0:
            S[i, i] += a
        least = S[i, i] if S[i, i] < least else least
        s0 += x[i] * x[i] * S[i, i]
    return math.inf if least < LEAST_VARIANCE else ROUNDING * (3 + n) * (s0 + s1)
