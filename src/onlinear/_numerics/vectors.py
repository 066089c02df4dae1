"""Operations on vectors: dot, axpy, norm and the like.

Every compiled function here has a fixed order of summation and no fast-math, so that a learner's
step gives the same bits however it is run.
"""

import math

from onlinear._numerics.jit import kernel, short
from onlinear._numerics.vector_loops import along, in_lanes

__all__ = ["axpy", "clipped", "dot", "extremes", "finite", "norm", "scale"]


@along
def _added(a, x, y):
    """Return y + a·x."""
    return y + a * x


@along
def _scaled(a, x, out):
    """Return a·x."""
    return a * x


_sum_of_four = in_lanes(((0, 1), (2, 3)))


@short
def dot(a, b):
    """Return aᵀb, in four partial sums."""
    return _sum_of_four(a, b)


@short(fastmath={"reassoc"})  # the sum is 0 or NaN, in any order
def finite(a):
    """Return whether every entry is finite, that is, whether 0 times every entry is 0."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * 0.0
    return total == 0.0


@kernel
def norm(a):
    """Return ‖a‖₂, also where the squares would overflow or underflow."""
    s = dot(a, a)
    if 1e-280 < s < 1e280:
        return math.sqrt(s)
    low, high = extremes(a)
    top = max(high, -low)
    if not 0.0 < top < math.inf:
        return top
    s = 0.0
    for i in range(a.size):
        s += (a[i] / top) * (a[i] / top)
    return top * math.sqrt(s)


@kernel
def extremes(a):
    """Return the least and the largest entry of a vector."""
    low = high = a[0]
    for i in range(1, a.size):
        low = min(low, a[i])
        high = max(high, a[i])
    return low, high


@short
def clipped(a, limit):
    """Return the number ``a`` clipped to [−limit, limit]."""
    return min(max(a, -limit), limit)


@short
def axpy(a, x, y):
    """y ← y + a·x."""
    _added(a, x, y)


@short
def scale(a, x, out):
    """out ← a·x (out may be x)."""
    _scaled(a, x, out)
