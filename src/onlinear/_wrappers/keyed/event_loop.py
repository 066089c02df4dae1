"""The loop over events (rows with a key) of many models, compiled once for each learner's step.

The record of a model is one array: counters of its key
(:mod:`onlinear._wrappers.keyed.record_header`), then the state of the model.
"""

import math
from typing import NamedTuple

from onlinear._engine.loops import one, settle
from onlinear._engine.segments import ask_for, copied, moved, numbers_at, where
from onlinear._engine.status import FINE
from onlinear._wrappers.keyed.record_header import KEY, LAST, LEARNT, LOSS, SKIPPED, STAMP

__all__ = ["EventRun", "event_loop"]


class EventRun(NamedTuple):
    """Settings of a run over the events in a table.

    ``stamp`` is the serial number of the run, and ``clock`` that of the event in row 0. ``skip``
    says whether bad rows are skipped. The run ends before row ``before``. Records are prefetched
    ``ahead`` events before they are needed.
    """

    stamp: float
    clock: float
    skip: bool
    before: int
    ahead: int


def event_loop(spare, own, start, params, X, y, work, labelled, place, slots, events, run, kept):
    """Run the models of many keys on a table; row i is for the model whose record is in slots[i].

    A slot is a position in memory for a record; ``place`` has the numbers from which the address of
    a slot is computed. ``events`` are the rows to run, in order; those before row ``run.before``
    are predicted and, if ``labelled``, learnt. A record that no run has used yet (its stamp is 0)
    is initialized from ``start``. A row without a slot (slots[i] < 0) is predicted with the record
    ``spare``, whose state is ``own``. ``kept`` has the arrays to be filled with the results:
    predictions, bad rows, and the undo log. Before the run first changes a record, the record and
    its slot are copied to the undo log, unless the arrays of the log are empty. A new record is not
    copied, since undoing the run removes its key. Return the fields of an :class:`Outcome`, which
    say where the loop ended and why, and the number of records in the undo log.
    """
    stamp, clock, skip, before, ahead = run
    out, bad, log, logged = kept
    bases, power, stride = place
    origin = spare.ctypes.data
    entries = 0
    for k in range(events.size):
        i = events[k]
        if i >= before:
            break
        if k + ahead < events.size and slots[events[k + ahead]] >= 0:
            ask_for(where(bases, power, stride, slots[events[k + ahead]]), 8 * spare.size)
        record, state, new = spare, own, True
        if slots[i] >= 0:
            address = where(bases, power, stride, slots[i])
            there = numbers_at(address, spare.size)
            new = there[STAMP] == 0.0
            if labelled and not new and there[STAMP] != stamp and log.shape[0] > 0:
                copied(there, log[entries])
                logged[entries] = slots[i]
                entries += 1
            if labelled or not new:
                record, state = there, moved(own, address - origin)
        if new:
            key = record[KEY]
            copied(start, record)
            record[KEY] = key
        learning = labelled
        while True:
            label = y[i] if learning else math.nan
            value, rule = one(state, params, X[i], label, work, learning, False)
            settle(state, work)
            if rule == FINE or not skip:
                break
            bad[i] = True
            if not learning:
                value, rule = math.nan, FINE
                break
            learning = False  # predicted, but not learnt
        if rule != FINE:
            return i, rule, value, entries
        out[i] = value
        if labelled:
            record[STAMP], record[LAST] = stamp, clock + i
            if learning:
                record[LEARNT] += 1.0
                record[LOSS] += (label - value) * (label - value)
            else:
                record[SKIPPED] += 1.0
    return before, FINE, 0.0, entries
