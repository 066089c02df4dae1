"""Outliers in x: a single extreme value is replaced, repeated extreme values are accepted.

An entry is an outlier if it is more than 20 standard deviations from its column's mean, and outside
the range of the column's earlier values by more than the width of that range. In a column that has
been constant, an entry is an outlier if its distance from the constant is more than a thousand
times the constant's absolute value.

An outlier is replaced by the column's mean. However, an outlier is learnt if the column had another
outlier within the last few thousand rows, and if it is at most four times as far from the mean as
that earlier outlier. An outlier that is learnt is clipped to 40 standard deviations from the mean
(the next one to 80) and widens the range. Because repeated outliers are learnt, genuine level
shifts and recurring events are learnt too. For the prediction of its row, even an outlier that is
learnt afterwards is replaced by the mean, since the learnt weights are unreliable so far from
earlier rows.

In the first ten rows, standard deviations mean little. So in the first ten rows, at most one value
of each column is replaced by the median if it is more than 50 times as far from the median as all
other values. If all other values are equal, the value is replaced if its distance from the median
is more than a thousand times the median's absolute value.
"""

import math

from onlinear._numerics.linalg import kernel

__all__ = ["EARLY", "FADES", "believable", "clean", "odd_one_out", "widen"]

EARLY = 10  # number of first rows, which are checked together
FAR = 20.0  # an outlier is more than this many standard deviations from the mean
STRANGE = 1e3  # in a constant column, an outlier is farther than this many times the constant
UNHEARD = 50.0  # in the first rows, an outlier is this many times as far away as all other values
FADES = 1e-4  # rate at which the count of outliers decays
RECENT = 0.5  # an outlier is accepted if the decayed count of outliers is at least this
ALIKE = 4.0  # an outlier is accepted if it is at most this many times as far away as the last one


@kernel
def believable(distance, absurd, last):
    """Whether to accept an outlier, given its distance from the mean.

    For an outlying label, it is the distance from the prediction. ``absurd`` is the decaying count
    of outliers, and ``last`` the distance of the last outlier.
    """
    return absurd >= RECENT and distance <= ALIKE * last


@kernel
def clean(x, n, mean, spread, seen, absurd, last, learning, out):
    """Write x, with outliers replaced, to ``out``.

    n rows were seen so far. For each column, ``spread`` is the variance, ``seen`` the range,
    ``absurd`` the decaying count of outliers, and ``last`` the distance of the last outlier from
    the mean. With ``learning``, outliers that :func:`believable` accepts are only clipped.
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
    """Widen the range of each column so that it includes the row x."""
    for j in range(x.size):
        seen[0, j] = x[j] if first else min(x[j], seen[0, j])
        seen[1, j] = x[j] if first else max(x[j], seen[1, j])


@kernel
def odd_one_out(values, order):
    """Return the index of a value far from all others (−1 if there is none), and the median."""
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
