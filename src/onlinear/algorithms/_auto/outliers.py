"""Outliers in x: a single extreme value is replaced, repeated ones are accepted.

An entry is an outlier if it is more than 20 standard deviations from its column's mean, and outside
the range seen by more than the width of that range. In a column that has been constant, an entry is
an outlier if its distance from the constant is more than a thousand times the constant's size.

An outlier is replaced by the mean. If there was another within the last few thousand rows, and the
new one is at most four times as far away, it is learnt, clipped to 40 deviations (the next to 80),
and widens the range. So genuine level shifts and recurring events are still learned. When its row
is predicted, the outlier is still replaced: a weight says little so far from the rows that it was
learnt from.

Among the first rows, where deviations mean little, the one value that is farther from the median
than all others by a factor of 50, or by a thousand times the median if all others are equal, is
replaced as well.
"""

import math

from onlinear._numerics.linalg import kernel

__all__ = ["EARLY", "FADES", "believable", "clean", "odd_one_out", "widen"]

EARLY = 10  # first rows, which are checked together
FAR = 20.0  # standard deviations
STRANGE = 1e3  # times the value of a constant column
UNHEARD = 50.0
FADES = 1e-4  # rate at which the count of outliers decays,
RECENT = 0.5  # and the least count at which the next one is accepted
ALIKE = 4.0  # if it is farther away by at most this factor


@kernel
def believable(distance, absurd, last):
    """Whether to accept an outlier at this distance; ``absurd`` is the decaying count of them."""
    return absurd >= RECENT and distance <= ALIKE * last


@kernel
def clean(x, n, mean, spread, seen, absurd, last, learning, out):
    """out ← x with outliers replaced; n rows were seen, ``seen`` is the range of each column.

    ``absurd`` is the decaying count of outliers per column, ``last`` the distance of the last one.
    With ``learning``, outliers that are believable are only clipped.
    """
    for j in range(x.size):
        out[j] = x[j]
        if n < EARLY:
            continue
        off, limit = x[j] - mean[j], FAR * math.sqrt(spread[j])
        least, most = seen[0, j], seen[1, j]
        if most == least:
            strange = mean[j] != 0.0 and abs(off) > STRANGE * abs(mean[j])
            if strange and not (learning and believable(abs(off), absurd[j], last[j])):
                out[j] = mean[j]
        elif 0.0 < limit < abs(off) and not (2.0 * least - most <= x[j] <= 2.0 * most - least):
            believed = learning and believable(abs(off), absurd[j], last[j])
            limit *= 2.0 ** absurd[j] if believed else 0.0
            out[j] = mean[j] + min(max(off, -limit), limit)


@kernel
def widen(x, first, seen):
    """Widen the ranges seen by a row."""
    for j in range(x.size):
        seen[0, j] = x[j] if first else min(x[j], seen[0, j])
        seen[1, j] = x[j] if first else max(x[j], seen[1, j])


@kernel
def odd_one_out(values, order):
    """Return the index of the one value far from all others, or −1, and their median."""
    n = values.size
    for i in range(n):  # sort
        a, j = values[i], i
        while j > 0 and order[j - 1] > a:
            order[j] = order[j - 1]
            j -= 1
        order[j] = a
    middle = 0.5 * (order[(n - 1) // 2] + order[n // 2])
    below, above = middle - order[0], order[n - 1] - middle
    others = max(middle - order[1], order[n - 2] - middle, min(below, above))
    usual = UNHEARD * others if others > 0.0 else STRANGE * abs(middle)
    if usual > 0.0 and max(below, above) > usual:
        for i in range(n):
            if abs(values[i] - middle) > usual:
                return i, middle
    return -1, middle
