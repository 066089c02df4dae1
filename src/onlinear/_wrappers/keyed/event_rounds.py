"""Run events of many keys in blocks, in several threads, with an undo log.

An event is a row of a key, which the key's model predicts and, in a replay, learns. A record is
one array: counters of a key (:mod:`onlinear._wrappers.keyed.record_header`), then the state of its
model. A slot is the position of a record in memory.

The loop over events is compiled (``event_loop``). Models share only their parameters, and all
events of a key run in order in the same thread. So the results of a run are the same to the bit for
any number of threads.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine import step as engine
from onlinear._engine.record import before_aligned, views
from onlinear._engine.segments import Segments
from onlinear._engine.status import FINE, Outcome
from onlinear._engine.tables import to_read
from onlinear._engine.threads import Crew
from onlinear._learner.base import Learner
from onlinear._numerics import aligned
from onlinear._numerics.jit import CompiledFunction
from onlinear._wrappers.keyed.event_loop import EventRun, event_loop
from onlinear._wrappers.keyed.integer_table import FREE
from onlinear._wrappers.keyed.record_header import HEAD
from onlinear._wrappers.keyed.undo_log import UndoLog

__all__ = ["AHEAD", "EventTable", "Events", "WorkRecord", "run_events"]

AHEAD = 8  # how many events ahead a record is prefetched
LARGEST_BLOCK = 1 << 13  # most events in a block; each may add a record to the undo log
THREADS_PAY = 4096  # events from which several threads are used
SAMPLE = 512  # events sampled to divide the keys among threads
NO_SLOT = 2**62  # larger than any slot


class WorkRecord:
    """The working memory of a thread: a spare record and its state, scratch arrays, an undo log.

    The spare record serves to predict rows of keys that have no record of their own.
    """

    def __init__(self, model: Learner, folder: str | None = None) -> None:
        state = model._state
        size = HEAD + sum(array.size for array in state)
        self.record = aligned.zeros(size, HEAD + before_aligned(state))
        self.state = tuple(views(self.record[HEAD:], state))
        self.scratch = model._scratch()
        self.undo_log = UndoLog(folder)


class EventTable(NamedTuple):
    """Rows, labels, and arrays for the results: the predictions, and whether each row was bad."""

    X: np.ndarray
    y: np.ndarray
    out: np.ndarray
    bad: np.ndarray


class Events(NamedTuple):
    """Which rows of a table to run, and the slot of the record that belongs to each row's key."""

    segments: Segments
    slots: np.ndarray
    rows: np.ndarray


@CompiledFunction
def _select(slots, events, low, high, chosen):
    """Write the events with slots low, …, high − 1 to ``chosen``, in order; return how many."""
    count = 0
    for k in range(events.size):
        chosen[count] = events[k]
        count += low <= slots[events[k]] < high
    return count


class _SlotRange(NamedTuple):
    """The share of a thread in a run: the events whose records are in slots low, …, high − 1."""

    low: int
    high: int

    def select(self, slots: np.ndarray, events: np.ndarray) -> np.ndarray:
        """Return the events whose records are in the range of slots, in order."""
        chosen = np.empty_like(events)
        return chosen[: _select(slots, events, *self, chosen)]


def _divide(slots: np.ndarray, events: np.ndarray, threads: int) -> list[_SlotRange]:
    """Return a range of slots for each thread, with about equally many events in each range.

    The list is empty if a single thread is faster.
    """
    if threads == 1 or events.size < THREADS_PAY:
        return []
    sample = np.sort(slots[events[:: max(1, events.size // SAMPLE)]])
    bounds = sample[np.arange(1, threads) * sample.size // threads].tolist()
    return [_SlotRange(*ends) for ends in pairwise([FREE, *bounds, NO_SLOT])]


class _Rounds:
    """One run over events: its arguments, and what its threads share."""

    def __init__(
        self,
        step: engine.Step,
        start: np.ndarray,
        params: tuple[Any, ...],
        table: EventTable,
        events: Events,
        how: EventRun,
        *,
        labelled: bool,
        undoable: bool,
    ) -> None:
        self._rounds = step.around(event_loop)
        self._X, self._y = to_read(table.X), to_read(table.y)
        self._results = table.out, table.bad
        self._start, self._params, self._events, self._how = start, params, events, how
        self._labelled, self._undoable = labelled, undoable
        self._before = how.before  # the earliest row known to break a rule, or the end
        self._stopped = False
        self.done = 0  # events done but not yet shown as progress

    def stop(self) -> None:
        """Make all threads end after their present block of events."""
        self._stopped = True

    def run(self, worker: WorkRecord, rows: np.ndarray, progress: Callable[[int], None]) -> Outcome:
        """Run the events of the given rows in one thread; return where the run ended, and why."""
        segments, slots, _ = self._events
        most = min(LARGEST_BLOCK, rows.size)
        log = worker.undo_log.buffers(most if self._undoable else 0, segments.size)
        first, block = 0, engine.FIRST_BLOCK
        while first < rows.size and not self._stopped:
            began = time.perf_counter()
            some = rows[first : first + min(block, most)]
            if some[0] >= self._before:
                break
            *ended, _ = self._rounds(
                *(worker.record, worker.state, self._start, self._params, self._X, self._y),
                *(worker.scratch, self._labelled, segments.place, slots, some),
                (*self._how[:3], self._before, AHEAD),
                (*self._results, *log),
            )
            if self._undoable:
                worker.undo_log.save_buffers()
            if ended[1] != FINE:
                self._before = min(self._before, ended[0])
                return Outcome(*ended)
            first += some.size
            block = engine.next_block(block, time.perf_counter() - began)
            progress(some.size)
        return Outcome(self._how.before, FINE, 0.0)

    def run_range(self, worker: WorkRecord, share: _SlotRange) -> Outcome:
        """Run the events of a range of slots in one thread; return where the run ended, and why."""
        return self.run(worker, share.select(*self._events[1:]), self._count)

    def _count(self, events: int) -> None:
        self.done += events


def run_events(
    step: engine.Step,
    workers: list[WorkRecord],
    start: np.ndarray,
    params: tuple[Any, ...],
    table: EventTable,
    events: Events,
    how: EventRun,
    *,
    labelled: bool,
    undoable: bool,
    progress: Callable[[int], None],
) -> Outcome:
    """Run events; return an :class:`Outcome`: FINE, or the first row that broke a rule, and which.

    ``workers`` has the working memory of each thread. If the run is ``undoable``, each thread
    copies every record to its undo log before the record is first changed.
    """
    rounds = _Rounds(step, start, params, table, events, how, labelled=labelled, undoable=undoable)

    def show_progress() -> None:
        done, rounds.done = rounds.done, 0
        progress(done)

    ranges = _divide(events.slots, events.rows, len(workers))
    if not ranges:
        return rounds.run(workers[0], events.rows, progress)
    calls = [partial(rounds.run_range, *pair) for pair in zip(workers, ranges, strict=True)]
    with Crew(len(calls)) as crew:
        ended = crew.run(calls, meanwhile=show_progress, stop=rounds.stop)
    broken = [outcome for outcome in ended if outcome.rule != FINE]
    return min(broken) if broken else ended[0]
