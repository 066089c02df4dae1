"""Rounds of the models of many keys: in blocks, in threads, with a way back.

The loop over events is compiled (``_engine.grouped``). Models share nothing but their parameters,
and a key's events stay in their order in one thread, so that one thread or several give the same
bits.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlinear import _engine
from onlinear._engine import FINE, HEAD, Outcome, Run
from onlinear._model import Learner
from onlinear._record import LINE, before_matrix, views
from onlinear._segments import Segments
from onlinear._threads import Crew
from onlinear._undo import Undo

__all__ = ["AHEAD", "Bench", "EventTable", "Run", "run"]

AHEAD = 8  # events before its own that a record is asked for
LARGEST_BLOCK = 1 << 13  # events: there is room to log a record for each
THREADS_PAY = 4096  # events from which several threads are used
SAMPLE = 512  # events by which keys are divided


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


def _parts(slots: np.ndarray, events: np.ndarray, threads: int) -> list[np.ndarray]:
    """Divide events by ranges of slots, about the same number in each."""
    if threads == 1 or events.size < THREADS_PAY:
        return [events]
    used = slots[events]
    sample = np.sort(used[:: max(1, events.size // SAMPLE)])
    bounds = sample[np.arange(1, threads) * sample.size // threads]
    parts = np.searchsorted(bounds, used, side="right") if threads > 2 else used >= bounds[0]
    return [events[parts == part] for part in range(threads)]


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
    step: _engine.Step,
    benches: list[Bench],
    start: np.ndarray,
    params: tuple[Any, ...],
    table: EventTable,
    segments: Segments,
    slots: np.ndarray,
    events: np.ndarray,
    how: Run,
    *,
    labelled: bool,
    undone: bool,
    progress: Callable[[int], None],
) -> Outcome:
    """Run events; return the earliest that broke a rule (FINE if none), having stopped there.

    ``benches`` are as many as there may be threads. If the run may have to be ``undone``, each
    keeps records as they were.
    """
    X, y, out, bad = table
    shared = _Shared(how.before)

    def work(bench: Bench, part: np.ndarray, progress: Callable[[int], None]) -> Outcome:
        room = min(LARGEST_BLOCK, part.size)
        log = bench.undo.log(room if undone else 0, segments.size)
        first, block = 0, _engine.FIRST_BLOCK
        while first < part.size and not shared.stopped:
            began = time.perf_counter()
            some = part[first : first + min(block, room)]
            if some[0] >= shared.before:
                break
            *ended, _ = step.grouped(
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
            block = _engine.next_block(block, time.perf_counter() - began)
            progress(some.size)
        return Outcome(how.before, FINE, 0.0)

    def count(events: int) -> None:
        shared.moved += events

    def meanwhile() -> None:
        moved, shared.moved = shared.moved, 0
        progress(moved)

    parts = _parts(slots, events, len(benches))
    if len(parts) == 1:
        return work(benches[0], parts[0], progress)
    calls = [partial(work, bench, part, count) for bench, part in zip(benches, parts, strict=True)]
    with Crew(len(parts)) as crew:
        ended = crew.run(calls, meanwhile=meanwhile, stop=shared.stop)
    broken = [outcome for outcome in ended if outcome.rule != FINE]
    return min(broken) if broken else ended[0]
