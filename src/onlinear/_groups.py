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
from onlinear._keys import FREE
from onlinear._model import Learner
from onlinear._record import LINE, before_matrix, views
from onlinear._segments import Segments
from onlinear._threads import Crew
from onlinear._undo import Undo

__all__ = ["AHEAD", "Bench", "Table", "run"]

AHEAD = 6  # events before its own that a record is asked for
LARGEST_BLOCK = 1 << 15  # events: there is room to log a record for each
THREADS_PAY = 4096  # events from which several threads are used
SAMPLE = 512  # events by which keys are divided


class Bench:
    """Where a record is worked on: its memory, the state in it, and scratch."""

    def __init__(self, model: Learner) -> None:
        state = model._state
        size = HEAD + sum(array.size for array in state)
        memory = np.zeros(size + LINE // 8)
        first = -(memory.ctypes.data + 8 * (HEAD + before_matrix(state))) % LINE // 8
        self.record = memory[first : first + size]
        self.state = tuple(views(self.record[HEAD:], state))
        self.work = model._scratch()


class Table(NamedTuple):
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


def run(
    step: _engine.Step,
    benches: list[Bench],
    start: np.ndarray,
    params: tuple[Any, ...],
    table: Table,
    segments: Segments,
    slots: np.ndarray,
    events: np.ndarray,
    how: Run,
    *,
    labelled: bool,
    undo: Undo | None,
    crew: Crew,
    progress: Callable[[int], None],
) -> Outcome:
    """Run events; return the earliest that broke a rule (FINE if none), having stopped there.

    ``benches`` are as many as there may be threads. With ``undo``, records are kept there.
    """
    X, y, out, bad = table
    room = min(LARGEST_BLOCK, events.size)
    log, logged = np.empty((room if undo else 0, segments.size)), np.full(room, FREE)
    if undo is not None:
        undo.watch(log, logged)
    first, block = 0, _engine.FIRST_BLOCK
    while first < events.size:
        began = time.perf_counter()
        some = events[first : first + min(block, room)]
        calls, at = [], 0
        for bench, part in zip(benches, _parts(slots, some, len(benches)), strict=False):
            own = slice(at, at + part.size)
            at += part.size
            calls.append(
                partial(
                    step.grouped,
                    *(bench.record, bench.state, start, params, X, y, bench.work, labelled),
                    *(segments.place, slots, part, tuple(how), (out, bad, log[own], logged[own])),
                )
            )
        results = crew.run(calls) if len(calls) > 1 else [calls[0]()]
        if undo is not None:
            undo.keep()
        broken = [Outcome(*result[:3]) for result in results if result[1] != FINE]
        if broken:
            return min(broken)
        first += some.size
        block = _engine.next_block(block, time.perf_counter() - began)
        progress(some.size)
    return Outcome(how.before, FINE, 0.0)
