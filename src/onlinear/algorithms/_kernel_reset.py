"""Kernel ARCOR's covariance reset, shared by the learner and its regret bound.

    λ_max(K) > θ_i,  θ_i = r(Λ_i⁻¹(1 + 10⁻¹²) − 1)    →    the segment ends,  i ← i + 1

The symbols are those of :mod:`onlinear.algorithms.kernelarcor`. The factor NNᵀ = θI − K of the
segment's examples grows by a row per round; if it cannot, λ_max(K) > θ. ``segment`` has i, r and
θ, which is 0 if the segment never ends.
"""

import math

from onlinear._numerics.linalg import dot, kernel, scale
from onlinear._updates.dual import add_row, solve_rows
from onlinear.algorithms._covariance_reset import certainty

__all__ = ["begin_segment", "too_certain"]


@kernel
def begin_segment(segment, params):
    """Note the r and the θ of a segment that begins; they stay until it ends."""
    segment[1] = params[0]
    theta = params[0] * (certainty(params[:4], segment[0]) - 1.0)
    segment[2] = theta if math.isfinite(theta) else 0.0


@kernel
def too_certain(N, rows, theta, own, k, v):
    """Return whether λ_max(K) > θ with one more example; if not, add its row to N.

    ``own`` is K(x, x) of the new example, and ``k`` has its K(z_i, x); v is scratch.
    """
    if theta == 0.0:
        return False
    scale(-1.0, k[:rows], v[:rows])
    solve_rows(N, rows, v)
    pivot = theta - own - dot(v[:rows], v[:rows])
    if not pivot > 0.0:
        return True
    add_row(N, rows, v, math.sqrt(pivot))
    return False
