"""The loop over events of many keys, as a template that a learner's step is compiled into."""

import math
from typing import NamedTuple

from onlinear._engine.loops import one, settle
from onlinear._engine.segments import ask_for, copied, moved, numbers_at, where
from onlinear._engine.status import FINE
from onlinear._wrappers.keyed.record_header import KEY, LAST, LEARNT, LOSS, SKIPPED, STAMP

__all__ = ["EventRun", "event_loop"]


class EventRun(NamedTuple):
    """How a run takes its events: its number, that of event 0, whether it skips, where to end.

    Records are asked for ``ahead`` events before.
    """

    stamp: float
    clock: float
    skip: bool
    before: int
    ahead: int


def event_loop(bench, own, start, params, X, y, work, labelled, place, slots, events, run, kept):
    """Rounds of the models of many keys: event i, row i of the table, is of the model in slots[i].

    The ``events`` are taken in their order, those before row ``run.before``; records of events soon
    to come are asked for. A record that no run has come to is as ``start``. A row of no model is
    predicted on the ``bench``, a record of which ``own`` is the state. ``kept`` is where
    predictions, bad rows, and, if there is room, records as they were when this run came to them
    first and their slots are written to. Return where it ended, as :class:`Outcome`, and how many
    records were logged.
    """
    stamp, clock, skip, before, ahead = run
    out, bad, log, logged = kept
    bases, power, stride = place
    desk = bench.ctypes.data
    entries = 0
    for k in range(events.size):
        i = events[k]
        if i >= before:
            break
        if k + ahead < events.size and slots[events[k + ahead]] >= 0:
            ask_for(where(bases, power, stride, slots[events[k + ahead]]), 8 * bench.size)
        record, state, new = bench, own, True
        if slots[i] >= 0:
            address = where(bases, power, stride, slots[i])
            there = numbers_at(address, bench.size)
            new = there[STAMP] == 0.0
            if labelled and there[STAMP] != stamp and log.shape[0] > 0:
                copied(there, log[entries])
                logged[entries] = slots[i]
                entries += 1
            if labelled or not new:
                record, state = there, moved(own, address - desk)
        if new:
            key = record[KEY]
            copied(start, record)
            record[KEY] = key
        learning = labelled
        while True:
            label = y[i] if learning else math.nan
            value, rule = one(state, params, X[i], label, work, learning)
            settle(state, work)
            if rule == FINE or not skip:
                break
            bad[i] = True
            if not learning:
                value, rule = math.nan, FINE
                break
            learning = False  # predict it all the same
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
