"""Label statistics of ``Auto``: range, noise, outliers, and which expert leads.

The experts are the learners that ``Auto`` combines; the one with the least recent loss leads. The
noise variance σ² is a running mean of the squared errors of ``Auto``. All label statistics of one
``Auto`` are stored in one array, with the first label y₁ subtracted from the other labels.
"""

import math

from onlinear._numerics.linalg import kernel
from onlinear.algorithms._auto.outliers import EARLY, FADES, believable

__all__ = [
    "CUT",
    "CUT_ENTRIES",
    "DROPPED",
    "FIRST",
    "HIGH",
    "LEADER",
    "LEFT_OUT",
    "LOSS",
    "LOW",
    "MEAN",
    "NOISE",
    "SINCE",
    "SIZE",
    "allowed_range",
    "compare_experts",
    "extend_range",
    "judge",
    "noise_of",
    "shift_past",
]

RATE = 0.01  # rate at which σ² follows the squared errors, after a hundred rows
# predictions may exceed the labels' range by this share of it: ROOM, or EARLY_ROOM/√t if larger
ROOM, EARLY_ROOM = 0.02, 3.0
ABSURD = 10.0  # a label farther than this many σ from the prediction is clipped
FINE_LABEL = 1e-3  # for clipping, σ counts as at least this share of the labels' range
FINEST = 1e-24  # in learning, σ² is at least this share of the squared range of the labels

# indices: y₁; range and mean of the labels minus y₁; σ²; how many labels up to the last were
# clipped in succession; how many labels and entries of x were clipped so far; the leading expert
# and since which row; Auto's squared loss
FIRST, LOW, HIGH, MEAN, NOISE, STREAK, CUT, CUT_ENTRIES, LEADER, SINCE, LOSS = range(11)
# more indices: whether one of the first rows was dropped; a fading count of outlying labels; the
# distance of the last outlying label from its prediction; how many labels were not learnt
DROPPED, ODD, LAST, LEFT_OUT, SIZE = range(11, 16)


@kernel
def allowed_range(labels, rounds):
    """Return the range that predictions are clipped to."""
    room = max(ROOM, EARLY_ROOM / math.sqrt(rounds + 1.0)) * (labels[HIGH] - labels[LOW])
    return labels[LOW] - room, labels[HIGH] + room


@kernel
def judge(labels, n, y, guess):
    """Return the label of round n, clipped if it is an outlier, and whether to learn it at all.

    The label y is judged by its distance from the prediction ``guess``, and outliers are counted in
    ``labels``, the array of the label statistics. If the label is not to be learnt, ``guess`` is
    returned in its place.
    """
    if n <= EARLY:
        return y, True
    usual = max(math.sqrt(labels[NOISE]), FINE_LABEL * (labels[HIGH] - labels[LOW]))
    heard = 2.0 * labels[LOW] - labels[HIGH] <= y <= 2.0 * labels[HIGH] - labels[LOW]
    longer = labels[STREAK] if heard else max(labels[STREAK], labels[ODD])
    limit = ABSURD * usual * 2.0**longer if usual > 0.0 else math.inf
    near, distance = min(max(y, guess - limit), guess + limit), abs(y - guess)
    believed = near == y or heard or believable(distance, longer, labels[LAST])
    labels[STREAK] = labels[STREAK] + 1.0 if near != y else 0.0
    labels[ODD] = labels[ODD] * (1.0 - FADES) + (near != y and not heard)
    labels[LAST] = distance if near != y else labels[LAST]
    labels[CUT] += near != y
    labels[LEFT_OUT] += not believed
    return near if believed else guess, believed


@kernel
def compare_experts(labels, losses, recent, n, y, guess, middle, f):
    """Update σ² and the losses of Auto and of its experts after round n; find the leader."""
    e, pace = y - guess, max(1.0 / max(n - 1.0, 1.0), RATE)
    labels[LOSS] += e * e
    labels[NOISE] += pace * (e * e - labels[NOISE])
    leader = 0
    for k in range(losses.size):
        miss = y - middle - f[k]
        losses[k] += miss * miss
        recent[k] += pace * (miss * miss - recent[k])
        leader = k if recent[k] < recent[leader] else leader
    if leader != labels[LEADER]:
        labels[LEADER], labels[SINCE] = leader, n


@kernel
def noise_of(labels):
    """Return the noise variance σ², but at least a small share of the labels' squared range."""
    return max(labels[NOISE], FINEST * (labels[HIGH] - labels[LOW]) ** 2)


@kernel
def shift_past(past, y, e):
    """Insert the label y and the error e of this round in front of those of earlier rounds."""
    for i in range(past.size - 1, 1, -1):
        past[i] = past[i - 2]
    if past.size:
        past[0], past[1] = y, e


@kernel
def extend_range(labels, n, y):
    """Update the range and the mean of the labels with the label of round n."""
    labels[LOW], labels[HIGH] = min(labels[LOW], y), max(labels[HIGH], y)
    labels[MEAN] += (y - labels[MEAN]) / n
