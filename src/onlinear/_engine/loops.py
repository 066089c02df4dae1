"""The loops over rows, as templates into which a learner's step is compiled.

A step is the function that handles one row: it predicts the label and, if there is one, learns it.
``step``, ``settle``, ``keep``, ``vital``, ``steady`` and the flags ``GUARDED`` and ``WATCHED`` are
placeholders in the templates; :class:`onlinear._engine.step.Step` replaces them by those of a
learner. A number is *of usual size* if it is zero or its absolute value is from 1e-50 to 1e50; a
round in which all numbers are of usual size cannot overflow (see
:mod:`onlinear._engine.number_range`).

The loop that learns rows in blocks is in :mod:`onlinear._engine.bulk`, and the loop over rows of
many keys is in :mod:`onlinear._wrappers.keyed.event_loop`.
"""

import math

from onlinear._engine.number_range import (
    FLOAT_MAX,
    MOST,
    allocated,
    copy_parts,
    flat,
    put_back,
    release,
    same,
    sound,
    usual_label,
    usual_numbers,
    usual_row,
    usual_state,
)
from onlinear._engine.record_block import at
from onlinear._engine.segments import numbers_at
from onlinear._engine.status import (
    BAD_INPUT,
    BAD_LABEL,
    BUSY,
    FINE,
    NOT_ONLY_PREDICTED,
    OVERFLOW,
    UNUSUAL,
)
from onlinear._engine.tables import row_to_read, to_read
from onlinear._numerics.jit import kernel

__all__ = [
    "banked",
    "chunk",
    "each",
    "gathered",
    "keep",
    "keep_tally",
    "one",
    "settle",
    "single",
    "spread",
    "steady",
    "vital",
]

GUARDED = True  # whether a round that writes a number that is not finite is undone
BLOCK = 256  # rows of a chunk between two checks of the state
WORTH_A_COPY = 8  # rows: fewer are run with checks in each round
WATCHED = False  # whether to make sure that the step changes nothing when it only predicts


def step(state, params, x, y, work):
    """Placeholder for a learner's step, which is compiled into the loops of this module."""
    raise NotImplementedError


def settle(state, work):
    """Finish the work that the step has left to the next round; by default, there is none."""


def vital(state):
    """Return the arrays of the state whose numbers are checked for usual size; by default, all."""
    return state


def steady(params):
    """Return whether a chunk may check the state once per block; by default, it may not.

    See :meth:`onlinear._engine.step.Step.checked_per_block`.
    """
    return False


def one(state, params, x, y, work, labelled, checked):
    """Run one round: predict the label of x and, if ``labelled``, learn the label y.

    Before a round with very large or very small numbers, the state is copied. If a number of the
    state is not finite after the round, the round is undone; see
    :mod:`onlinear._engine.number_range`. If ``checked``, the caller checks the parameters and the
    state before the round, and the state again after it; the round then returns UNUSUAL for a row
    or label that is not of usual size, and OVERFLOW for a prediction that is too large to be usual.
    """
    careful = WATCHED
    if checked:
        if not (usual_row(x) and usual_label(y)):
            return y, UNUSUAL
    else:
        usual = usual_row(x)
        if not usual:
            for j in range(x.size):
                if not math.isfinite(x[j]):
                    return float(j), BAD_INPUT
        if labelled and not math.isfinite(y):
            return y, BAD_LABEL
        if labelled and GUARDED:
            usual = usual and usual_label(y) and usual_numbers(params)
            careful = not (usual and usual_state(vital(state)))
    parts, _ = flat(state)
    copy = 0
    if careful:
        settle(state, work)
        copy = allocated(parts)
        if copy == 0:
            return y, OVERFLOW
        copy_parts(parts, copy)
    value, rule = step(state, params, x, y, work)
    if rule == FINE and not abs(value) <= (MOST if checked else FLOAT_MAX):
        rule = OVERFLOW
    if careful:
        settle(state, work)
        rule = judged(parts, copy, rule, labelled)
        release(copy)
    return y if rule == OVERFLOW else value, rule


@kernel
def judged(parts, copy, rule, labelled):
    """Return the rule that a round breaks, or FINE; if it breaks one, put the state's copy back."""
    if not labelled and (rule == OVERFLOW or not same(parts, copy)):
        rule = NOT_ONLY_PREDICTED
    elif not sound(parts):
        rule = OVERFLOW
    if rule != FINE:
        put_back(parts, copy)
    return rule


def keep(out, i, value, state):
    """Write the result of round i, its prediction, to ``out``."""
    out[i] = value


def keep_tally(out, i, value, state):
    """Write the first array of the state after round i to ``out``, as column i.

    This function replaces :func:`keep` for a :class:`onlinear._engine.step.Tally`: a step that
    updates running totals, such as those of a bound, in the first array of its state.
    """
    tally = state[0]
    for j in range(tally.size):
        out[j, i] = tally[j]


def single(state, params, x, y, work, labelled, busy):
    """Run one round outside any loop over rows, unless another call uses the model.

    ``busy`` is the address of a number that is not 0 while another call uses the model, or 0 if the
    caller holds the model's lock. The round holds the GIL, so no other call can begin during it.
    """
    if busy != 0 and numbers_at(busy, 1)[0] != 0.0:
        return y, BUSY
    value, rule = one(state, params, row_to_read(x), y, work, labelled, False)
    settle(state, work)
    return value, rule


def chunk(state, params, X, y, work, labelled, out, start, stop):
    """Run rounds start..stop of a table until a row breaks a rule; write results to ``out``.

    Labelled rows are run in blocks. If the state is of usual size before a block, and ``steady``
    allows it, the state is checked again only after the block. If the state or a prediction is then
    not of usual size, the block is undone and run again with checks in each round. A row that is
    not of usual size ends its block, and is run with checks as well.
    """
    parts, _ = flat(state)
    worth_it = GUARDED and not WATCHED and labelled and stop - start >= WORTH_A_COPY
    copy = allocated(parts) if worth_it and steady(params) and usual_numbers(params) else 0
    i, rule, value, doubtful = start, FINE, 0.0, start
    while i < stop and rule == FINE:
        first, end = i, min(stop, doubtful if i < doubtful else i + BLOCK)
        settle(state, work)
        checked = copy != 0 and first >= doubtful and usual_state(vital(state))
        if checked:
            copy_parts(parts, copy)
        while i < end:
            label = y[i] if labelled else math.nan
            value, rule = one(state, params, X[i], label, work, labelled, checked)
            if rule != FINE:
                break
            keep(out, i, value, state)
            i += 1
        settle(state, work)
        if checked:
            if rule == OVERFLOW or not usual_state(vital(state)):
                put_back(parts, copy)
                i, rule, doubtful = first, FINE, end
            elif rule == UNUSUAL:
                rule, doubtful = FINE, i + 1
    release(copy)
    return i, rule, value


def spread(chunk, room, state, params, X, y, work, labelled, out, start, stop):
    """Run rounds start..stop of sparse rows; write them as dense rows to ``room``, some at a time.

    This loop is not compiled, but the function ``chunk`` that it calls is.
    """
    while start < stop:
        end = min(stop, start + len(room))
        X.write(start, end, room)
        row, rule, value = chunk(
            *(state, params, to_read(room), y[start:end], work, labelled, out[start:end]),
            *(0, end - start),
        )
        if rule != FINE:
            return start + row, rule, value
        start = end
    return stop, FINE, 0.0


def gathered(state, params, X, y, work, labelled, out, start, stop):
    """Run rounds start..stop of sparse rows by a local step, on the nonzero columns only.

    A local step reads and writes its state only in the columns where x is not 0. Its state is the
    number of rounds t and one or two vectors as wide as x.
    """
    data, indices, indptr, parts = X
    for i in range(start, stop):
        first, n = indptr[i], indptr[i + 1] - indptr[i]
        columns = indices[first : first + n]
        for k in range(len(state) - 1):
            vector = state[k + 1]
            for j in range(n):
                parts[k, j] = vector[columns[j]]
        few = (state[0], parts[0, :n], parts[1, :n])[: len(state)]
        label = y[i] if labelled else math.nan
        value, rule = one(few, params, data[first : first + n], label, work, labelled, False)
        if rule == BAD_INPUT:
            value = float(columns[int(value)])
        if rule != FINE:
            return i, rule, value
        if labelled:
            for k in range(len(state) - 1):
                vector = state[k + 1]
                for j in range(n):
                    vector[columns[j]] = parts[k, j]
        keep(out, i, value, state)
    return stop, FINE, 0.0


def each(state, params, x, y, work, labelled, where, values, rules):
    """Run one round of several models that have the same step; return how many refuse the row.

    ``state`` and ``params`` are those of all models; model k has entry k of each array. The result
    of model k, a prediction or the value that breaks a rule, goes to index where[k].
    """
    refused = 0
    for k in range(where.size):
        value, rule = single(at(state, k), at(params, k), x, y, work, labelled, 0)
        values[where[k]] = value
        rules[where[k]] = rule
        if rule != FINE:
            refused += 1
    return refused


def banked(state, params, X, y, work, labelled, where, skips, out, bad, first, last, start, stop):
    """Run rounds start..stop of a table with the models first..last, one model after another.

    The models have the same step; entry k of each array in ``state`` and ``params`` belongs to
    model k, which writes its predictions in row where[k] of ``out``. If a model that skips bad rows
    refuses a row, the row is marked in ``bad``, and still predicted if possible; otherwise its
    prediction is NaN. If a model that does not skip bad rows refuses a row, the models after it
    stop before that row. Return the earliest row that was refused and not skipped, the model that
    refused it, the rule broken, and the value that broke the rule.
    """
    who, broken, by = 0, FINE, 0.0
    for k in range(first, last):
        own, numbers, place = at(state, k), at(params, k), where[k]
        row = start
        while row < stop:
            row, rule, value = chunk(own, numbers, X, y, work, labelled, out[place], row, stop)
            if rule == FINE:
                break
            if not skips[place]:
                stop, who, broken, by = row, k, rule, value
                break
            bad[place, row] = True
            again = chunk(own, numbers, X, y, work, False, out[place], row, row + 1)
            if again[1] != FINE:
                out[place, row] = math.nan
            row += 1
    return stop, who, broken, by
