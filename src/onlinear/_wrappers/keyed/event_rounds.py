"""Rounds of the models of many keys: in blocks, in threads, with a way back.

The loop over events is compiled (``event_loop``). Models share nothing but their parameters,
and a key's events stay in their order in one thread, so that one thread or several give the same
bits.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine import step as engine
from onlinear._engine.record import LINE, before_matrix, views
from onlinear._engine.segments import Segments
from onlinear._engine.status import FINE, Outcome
from onlinear._engine.tables import to_read
from onlinear._engine.threads import Crew
from onlinear._learner.base import Learner
from onlinear._numerics.jit import Kept
from onlinear._wrappers.keyed.event_loop import EventRun, event_loop
from onlinear._wrappers.keyed.key_index import FREE
from onlinear._wrappers.keyed.record_header import HEAD
from onlinear._wrappers.keyed.undo_log import Undo

__all__ = ["AHEAD", "Bench", "EventTable", "run"]

AHEAD = 8  # events before its own that a record is asked for
LARGEST_BLOCK = 1 << 13  # events: there is room to log a record for each
THREADS_PAY = 4096  # events from which several threads are used
SAMPLE = 512  # events by which keys are divided
MOST = 2**62  # there is no such slot


class Bench:
    """Where a thread works on a record: its memory, the state in it, scratch, and a way back."""

    def __init__(self, model: Learner, folder: str | None = None) -> None:
        state = model._state
        size = HEAD + sum(array.size for array in state)
        memory = np.zeros(size + LINE // 8)
        first = -(memory.ctypes.data + 8 * (HEAD + before_matrix(state))) % LINE // 8
        self.record = memory[first : first + size]
        self.state = tuple(views(self.record[HEAD:], state))
        self.work = model._scratch()
        self.undo = Undo(folder)


class EventTable(NamedTuple):
    """Rows and labels, and what the rounds give."""

    X: np.ndarray
    y: np.ndarray
    out: np.ndarray
    bad: np.ndarray


@Kept
def _chosen(slots, events, low, high, chosen):
    """Write the events whose slots are low, …, high − 1, in their order; return how many."""
    count = 0
    for k in range(events.size):
        chosen[count] = events[k]
        count += low <= slots[events[k]] < high
    return count


class _Range(NamedTuple):
    """The part of a thread: events of the slots low, …, high − 1."""

    low: int
    high: int

    def of(self, slots: np.ndarray, events: np.ndarray) -> np.ndarray:
        """Return them, in their order."""
        chosen = np.empty_like(events)
        return chosen[: _chosen(slots, events, *self, chosen)]


def _ranges(slots: np.ndarray, events: np.ndarray, threads: int) -> list[_Range]:
    """Divide slots, with about the same number of events in each range."""
    if threads == 1 or events.size < THREADS_PAY:
        return []
    sample = np.sort(slots[events[:: max(1, events.size // SAMPLE)]])
    bounds = sample[np.arange(1, threads) * sample.size // threads].tolist()
    return [_Range(*ends) for ends in pairwise([FREE, *bounds, MOST])]


class _Shared:
    """What the threads of a run know of each other."""

    def __init__(self, before: int) -> None:
        self.before = before  # the earliest row that broke a rule
        self.stopped = False
        self.moved = 0

    def stop(self) -> None:
        """Have all end soon."""
        self.stopped = True


def run(
    step: engine.Step,
    benches: list[Bench],
    start: np.ndarray,
    params: tuple[Any, ...],
    table: EventTable,
    segments: Segments,
    slots: np.ndarray,
    events: np.ndarray,
    how: EventRun,
    *,
    labelled: bool,
    undone: bool,
    progress: Callable[[int], None],
) -> Outcome:
    """EventRun events; return the earliest that broke a rule (FINE if none), having stopped there.

    ``benches`` are as many as there may be threads. If the run may have to be ``undone``, each
    keeps records as they were.
    """
    X, y, out, bad = to_read(table.X), to_read(table.y), table.out, table.bad
    shared, rounds = _Shared(how.before), step.around(event_loop)

    def work(bench: Bench, part: np.ndarray, progress: Callable[[int], None]) -> Outcome:
        room = min(LARGEST_BLOCK, part.size)
        log = bench.undo.log(room if undone else 0, segments.size)
        first, block = 0, engine.FIRST_BLOCK
        while first < part.size and not shared.stopped:
            began = time.perf_counter()
            some = part[first : first + min(block, room)]
            if some[0] >= shared.before:
                break
            *ended, _ = rounds(
                *(bench.record, bench.state, start, params, X, y, bench.work, labelled),
                *(segments.place, slots, some, (*how[:3], shared.before, AHEAD)),
                (out, bad, *log),
            )
            if undone:
                bench.undo.keep()
            if ended[1] != FINE:
                shared.before = min(shared.before, ended[0])
                return Outcome(*ended)
            first += some.size
            block = engine.next_block(block, time.perf_counter() - began)
            progress(some.size)
        return Outcome(how.before, FINE, 0.0)

    def count(events: int) -> None:
        shared.moved += events

    def meanwhile() -> None:
        moved, shared.moved = shared.moved, 0
        progress(moved)

    def own(bench: Bench, part: _Range) -> Outcome:
        return work(bench, part.of(slots, events), count)

    ranges = _ranges(slots, events, len(benches))
    if not ranges:
        return work(benches[0], events, progress)
    calls = [partial(own, *pair) for pair in zip(benches, ranges, strict=True)]
    with Crew(len(calls)) as crew:
        ended = crew.run(calls, meanwhile=meanwhile, stop=shared.stop)
    broken = [outcome for outcome in ended if outcome.rule != FINE]
    return min(broken) if broken else ended[0]
