"""Numbers far from all that was seen: one of them is not believed, more of them are.

An entry is absurd if it is farther than 20 deviations from its column's mean and outside of the
range seen by more than the range itself; in a column that has shown one value only, if it is
farther from that than a thousand times its size. The mean then stands in for it. If there was one
within the last thousands of rows, and it is not farther than four times that one, it is taken, but
for one at 40 deviations at most, the next at 80, and widens the range: what is real gets through,
be it a shift or an event that comes back.

Among the first rows, where deviations mean little, the one value that is farther from the median
than all others by a factor of 50, or by a thousand times the median if the others are all alike, is
not believed either.
"""

import math

from onlinear._numerics.linalg import inner

__all__ = ["EARLY", "FADES", "believable", "clean", "odd_one_out", "widen"]

EARLY = 10  # rows that are looked at together
FAR = 20.0  # deviations
STRANGE = 1e3  # times the one value seen
UNHEARD = 50.0
FADES = 1e-4  # the rate at which an absurd number is forgotten,
RECENT = 0.5  # and what must be left of one for the next to be believed
ALIKE = 4.0  # if it is farther by no more than this factor


@inner
def believable(distance, absurd, last):
    """Whether a number so far away is one of several: ``absurd`` counts them, fading."""
    return absurd >= RECENT and distance <= ALIKE * last


@inner
def clean(x, n, mean, spread, seen, absurd, last, out):
    """out ← x, but for absurd entries; n rows were seen, ``seen`` is the range of each column.

    ``absurd`` counts those of a column, fading, ``last`` is how far the last one was.
    """
    for j in range(x.size):
        out[j] = x[j]
        if n < EARLY:
            continue
        off, limit = x[j] - mean[j], FAR * math.sqrt(spread[j])
        least, most = seen[0, j], seen[1, j]
        if most == least:
            strange = mean[j] != 0.0 and abs(off) > STRANGE * abs(mean[j])
            if strange and not believable(abs(off), absurd[j], last[j]):
                out[j] = mean[j]
        elif 0.0 < limit < abs(off) and not (2.0 * least - most <= x[j] <= 2.0 * most - least):
            limit *= 2.0 ** absurd[j] if believable(abs(off), absurd[j], last[j]) else 0.0
            out[j] = mean[j] + min(max(off, -limit), limit)


@inner
def widen(x, first, seen):
    """Take a row, the first or not, into the ranges seen."""
    for j in range(x.size):
        seen[0, j] = x[j] if first else min(x[j], seen[0, j])
        seen[1, j] = x[j] if first else max(x[j], seen[1, j])


@inner
def odd_one_out(values, order):
    """Return the place of the value that is absurd beside the others, or −1, and their median."""
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
