"""One round of Auto: predict a row, then learn its label, at once or after a delay.

A ticket is an array that holds what is known about a row when it is predicted: the row, the
features from which the experts' predictions are combined, and a few numbers. A label is learnt from
the ticket that was made when its row was predicted, whether the label arrives at once or after
later rows.
"""

import math

from onlinear._engine.status import DOMAIN, FINE
from onlinear._numerics.linalg import kernel, reset, scale
from onlinear._updates.units import express, measure, moved
from onlinear.algorithms._auto.combination import combine, learn_to_combine
from onlinear.algorithms._auto.correction import (
    begin_to_correct,
    corrected,
    differences,
    learn_to_correct,
)
from onlinear.algorithms._auto.experts import GIVEN, ROWS, STANDARD, change_units, follow, foresee
from onlinear.algorithms._auto.labels import (
    CUT,
    CUT_ENTRIES,
    DROPPED,
    FIRST,
    LEFT_OUT,
    MEAN,
    allowed_range,
    compare_experts,
    extend_range,
    judge,
    noise_of,
    shift_past,
)
from onlinear.algorithms._auto.outliers import EARLY, FADES, clean, odd_one_out, widen

__all__ = [
    "FIRST_ROWS",
    "GUESS",
    "LABELS",
    "LARGEST",
    "MEANS",
    "MIDDLE",
    "MOST_LAGS",
    "NUMBERS",
    "RIDGES",
    "begin",
    "issue_ticket",
    "learn_label",
    "predicted",
    "refused",
    "scratch",
    "split_scratch",
]

PRIOR = 0.1  # prior variance of the ridges' weights
SHARE = 1e-3  # share of the mixture weights that is redistributed in each round
MOST_LAGS = 8
MOST_FEATURES = len(STANDARD + GIVEN) + 1 + 2 * MOST_LAGS

LARGEST = 1e100  # |x_i| or |y| beyond this is refused

# places in the state: mean, labels, V, early; the weights of the correction, and their Σ
MEANS, LABELS, RIDGES, FIRST_ROWS, CORRECTION, DOUBT = 5, 13, 15, 21, 22, 23
# indices in a ticket, after x and the features: p̄, range, ŷ, all minus y₁; y₁, whether y₁ was
# known, the number of columns d
MIDDLE, FROM, TO, GUESS, ORIGIN, KNOWN, WIDTH, NUMBERS = range(8)


def scratch(d: int) -> int:
    """Return how many rows of scratch memory, of d numbers each, a step needs for d columns."""
    numbers = 4 * d + (3 + ROWS) * (d + 1) + 3 * MOST_FEATURES + NUMBERS + 2 * EARLY
    return -(-numbers // d)


@kernel(inline="always")
def split_scratch(work, d, F):
    """Split scratch memory into a ticket, x without outliers, values to sort, and other arrays."""
    flat, D = work.reshape(work.size), d + 1
    ticket, flat = flat[: d + F + NUMBERS], flat[d + F + NUMBERS :]
    tidy, new_mean, new_spread, flat = flat[:d], flat[d : 2 * d], flat[2 * d : 3 * d], flat[3 * d :]
    u, given, column, flat = flat[:D], flat[D : 2 * D], flat[2 * D : 3 * D], flat[3 * D :]
    below, flat = flat[: ROWS * D].reshape((ROWS, D)), flat[ROWS * D :]
    h, h2, values = flat[:F], flat[F : 2 * F], flat[2 * F : 2 * F + 2 * EARLY]
    return ticket, tidy, values, (u, given, column, new_mean, new_spread, h, h2, below, values)


@kernel
def refused(x, y, d):
    """Return a value in x or y that is too large, and the rule it breaks; or else y and FINE."""
    for j in range(d):
        if abs(x[j]) > LARGEST:
            return x[j], DOMAIN
    return y, DOMAIN + 1 if abs(y) > LARGEST else FINE


@kernel
def begin(state):
    """Reset the state of Auto to the initial state, but keep the stored first rows."""
    (
        t, rounds, W, S, calm, mean, spread, centre, units, prior, absurd, last, _, labels, past, V,
        T, trust, sums, losses, recent, _, correction, doubt,
    ) = state  # fmt: skip
    for part in (
        t, rounds, W.reshape(W.size), calm, mean, spread, centre, units, prior, absurd, last,
        labels, past, V.reshape(V.size), sums, losses, recent, correction,
        doubt.reshape(doubt.size),
    ):  # fmt: skip
        scale(0.0, part, part)
    for k in range(W.shape[0]):
        reset(1.0, S[k])
    for i in range(trust.size):
        reset(PRIOR, T[i])
        trust[i] = 1.0 / trust.size


@kernel
def issue_ticket(state, x, u, given, tidy, ticket):
    """Predict a row; write the prediction, and all else known before the label, to ``ticket``."""
    (
        t, _, W, _, _, mean, spread, centre, units, _, absurd, last, seen, labels, past, V, _,
        trust, _, _, _, _, _, _,
    ) = state  # fmt: skip
    d, experts, F = x.size, W.shape[0], V.shape[1]
    f, numbers = ticket[d : d + F], ticket[d + F :]
    scale(1.0, x, ticket[:d])
    clean(x, t[0], mean, spread, seen, absurd, last, False, tidy)
    express(tidy, centre, units, 1, u)
    given[0] = 1.0
    scale(1.0, tidy, given[1:])
    low, high = allowed_range(labels, t[0])
    foresee(W, u, given, f)
    total = f[experts] = labels[MEAN]
    for k in range(experts):
        f[k] = min(max(f[k], low), high)
        total += f[k]
    middle = total / (experts + 1)
    for k in range(experts + 1):
        f[k] -= middle
    for i in range(past.size // 2):
        known = i < t[0]
        f[experts + 1 + 2 * i] = past[2 * i] - middle if known else 0.0
        f[experts + 2 + 2 * i] = past[2 * i + 1] if known else 0.0
    numbers[MIDDLE], numbers[FROM], numbers[TO] = middle, low, high
    numbers[GUESS] = combine(V, trust, f, middle, low, high)
    numbers[ORIGIN], numbers[KNOWN], numbers[WIDTH] = labels[FIRST], t[0] > 0.0, d


@kernel(inline="always")
def predicted(state, ticket, room):
    """Return the prediction of a row, from its ticket."""
    t, labels, v, doubt = state[0], state[LABELS], state[CORRECTION], state[DOUBT]
    if t[0] == 0.0:
        return 0.0
    d, F = state[MEANS].size, state[RIDGES].shape[1]
    f, numbers = ticket[d : d + F], ticket[d + F :]
    guess = numbers[GUESS]
    if v.size > 0:
        guess += _correction(v, doubt, f, numbers, room)
    return labels[FIRST] + guess


@kernel
def _correction(v, doubt, f, numbers, room):
    """Return the correction of a row's prediction, with ``guaranteed=True``."""
    z = room[-1][: v.size]
    differences(f, numbers[MIDDLE], numbers[GUESS], z)
    return corrected(v, doubt, z, room[5][: v.size])


@kernel
def _learn_row(state, params, x, n, tidy, room):
    """Learn from a row's features: replace and count outliers, and update the scaling of columns.

    The row without outliers is then written to two scratch arrays in ``room``: standardized to
    ``u``, and unscaled to ``given``, each after a leading 1.
    """
    (
        t, _, W, S, _, mean, spread, centre, units, prior, absurd, last, seen, labels, _, _, _, _,
        _, _, _, _, _, _,
    ) = state  # fmt: skip
    u, given, column, new_mean, new_spread, _, _, work, _ = room
    clean(x, t[0], mean, spread, seen, absurd, last, True, tidy)
    for j in range(x.size):
        absurd[j] = absurd[j] * (1.0 - FADES) + (tidy[j] != x[j])
        last[j] = abs(x[j] - mean[j]) if tidy[j] != x[j] else last[j]
        labels[CUT_ENTRIES] += tidy[j] != x[j]
    given[0] = 1.0
    scale(1.0, tidy, given[1:])
    widen(tidy, n == 1.0, seen)
    measure(tidy, n, mean, spread, 1, new_mean, new_spread)
    scale(1.0, new_mean, mean)
    scale(1.0, new_spread, spread)
    if moved(mean, spread, centre, units):
        change_units((t, W, S), params, 1.0, mean, spread, (centre, units, prior), 1, column, work)
    express(tidy, centre, units, 1, u)


@kernel
def _learn_ticket(state, params, ticket, y, tidy, room):
    """Learn the label of a row from its ticket; this cannot fail.

    Return the label minus y₁, clipped if it is an outlier, and the label minus the prediction, or
    NaN if the label was not learnt.
    """
    (
        t, rounds, W, S, calm, mean, _, centre, _, _, _, _, _, labels, past, V, T, trust, sums,
        losses, recent, _, _, _,
    ) = state  # fmt: skip
    _, c, drifts, _ = params
    d, F = mean.size, V.shape[1]
    x, f, numbers = ticket[:d], ticket[d : d + F], ticket[d + F :]
    u, given, column, _, _, h, h2, work, _ = room
    n = t[0] + 1.0
    if n == 1.0:
        labels[FIRST] = y
        scale(1.0, x, centre)
    y -= labels[FIRST]
    since = numbers[ORIGIN] - labels[FIRST] if numbers[KNOWN] else 0.0  # 0 unless delayed
    middle, guess = numbers[MIDDLE] + since, numbers[GUESS] + since
    low, high = numbers[FROM] + since, numbers[TO] + since
    y, believed = judge(labels, n, y, guess)
    _learn_row(state, params, x, n, tidy, room)
    if believed:
        follow(rounds, W, S, calm, c, u, given, y, work)
        if n > 1.0:
            compare_experts(labels, losses, recent, n, y, guess, middle, f)
    noise = noise_of(labels)
    if noise > 0.0 and believed:
        learn_to_combine(
            V, T, trust, drifts, SHARE, f, middle, low, high, y, noise, sums, (h, h2, column)
        )
    shift_past(past, y, y - guess)
    extend_range(labels, n, y)
    t[0] = n
    return y, y - guess if believed else math.nan


@kernel(inline="always")
def learn_label(state, params, ticket, y, tidy, values, room):
    """Learn a label; after the tenth label, relearn the first ten rows if they have outliers."""
    t, labels, early = state[0], state[LABELS], state[FIRST_ROWS]
    d = early.shape[1] - 1
    if t[0] < EARLY:
        early[int(t[0]), 0] = y
        scale(1.0, ticket[:d], early[int(t[0]), 1:])
    i = rows = entries = 0  # rows: how many of the first rows are relearnt
    odd = -1
    while True:  # one call of a long function in the code: so it is inlined
        y, left = _learn_ticket(state, params, ticket, y, tidy, room)
        if rows == 0 and t[0] == EARLY and labels[DROPPED] == 0.0:
            entries, odd = _settle_early(early, values)
            if entries > 0 or odd >= 0:
                begin(state)
                rows = EARLY - (odd >= 0)
        if i == rows:
            break
        issue_ticket(state, early[i, 1:], room[0], room[1], tidy, ticket)
        y = early[i, 0]
        i += 1
    if rows > 0:
        labels[CUT_ENTRIES] = entries
        labels[CUT] = labels[DROPPED] = labels[LEFT_OUT] = odd >= 0
    if state[CORRECTION].size > 0:
        _learn_correction(state, ticket, y, left, room)


@kernel
def _learn_correction(state, ticket, y, left, room):
    """Learn to correct predictions, given what :func:`_learn_ticket` returned."""
    t, labels, early = state[0], state[LABELS], state[FIRST_ROWS]
    v, doubt = state[CORRECTION], state[DOUBT]
    d, F, K = state[MEANS].size, state[RIDGES].shape[1], v.size
    f, numbers = ticket[d : d + F], ticket[d + F :]
    h, h2, z = room[5][:K], room[6][:K], room[8][:K]
    if not math.isnan(left):
        differences(f, numbers[MIDDLE], numbers[GUESS], z)
        learn_to_correct(v, doubt, z, left, h, h2)
    begin_to_correct(t[0], labels, early, y, v, doubt)


@kernel
def _settle_early(early, values):
    """Replace outliers in the first rows; move a row with an outlying label behind the others.

    Return how many entries of x were replaced, and the index of the row with the outlying label,
    or −1 if there is none.
    """
    rows, columns = early.shape
    entries, odd = 0, -1
    for j in range(columns):
        for i in range(rows):
            values[i] = early[i, j]
        i, middle = odd_one_out(values[:rows], values[rows:])
        if j == 0:
            odd = i
        elif i >= 0:
            early[i, j] = middle
            entries += 1
    if odd >= 0:
        for i in range(odd, rows - 1):
            for j in range(columns):
                early[i, j], early[i + 1, j] = early[i + 1, j], early[i, j]
    return entries, odd
