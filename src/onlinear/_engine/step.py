"""The loops over data: one definition of a step, compiled into every way of running it.

A step is a plain function of one round,

    value, rule = step(state, params, x, y, work)

where ``state`` is a tuple of float64 arrays changed in place, ``params`` a tuple of numbers (or
arrays), ``work`` scratch rows of the width of x. With ``y = nan`` there is no label yet: predict,
touch nothing. ``rule`` is FINE and ``value`` the prediction, or ``rule`` says which rule the row
breaks and ``value`` the offending number; a step decides that before it writes anything.

Rounds that can be taken in blocks of rows have their loop in :mod:`onlinear._engine.bulk`.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from types import FunctionType
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._engine import bulk as _bulk
from onlinear._engine.bulk import SHORTEST, Bulk
from onlinear._engine.record_block import at
from onlinear._engine.segments import ask_for, copied, moved, numbers_at, where
from onlinear._engine.status import BAD_INPUT, BAD_LABEL, DOMAIN, FINE, FULL, OVERFLOW
from onlinear._engine.tables import Rows, to_read
from onlinear._engine.threads import blas_threads
from onlinear._numerics import blas
from onlinear._numerics.jit import compiled, fingerprint
from onlinear._numerics.linalg import finite, kernel, short

__all__ = [
    "BAD_INPUT",
    "BAD_LABEL",
    "DOMAIN",
    "FINE",
    "FULL",
    "OVERFLOW",
    "InTurn",
    "Outcome",
    "Prepared",
    "Step",
    "Tally",
    "next_block",
]

FIRST_BLOCK = 16  # rows; doubled while they take less than BLOCK_SECONDS
BLOCK_SECONDS = 0.05
WRITTEN_OUT = 1 << 15  # numbers of sparse rows at a time
ENGINES = ("auto", "rank-one", "bulk")


# what a record of a keyed model begins with: the run that came to it last (0: none), the number of
# its last event, rows learnt and skipped, the sum of squared errors, its key if a whole number
STAMP, LAST, LEARNT, SKIPPED, LOSS, KEY, HEAD = range(7)


class Run(NamedTuple):
    """How :func:`grouped` runs: its number, the number of event 0, whether it skips, where to end.

    Records are asked for ``ahead`` events before.
    """

    stamp: float
    clock: float
    skip: bool
    before: int
    ahead: int


class Outcome(NamedTuple):
    """Where a chunk stopped: after the last row, or at the row that broke a rule."""

    row: int
    rule: int
    value: float


def step(state, params, x, y, work):
    """Stand for the learner's step in the templates below."""
    raise NotImplementedError


def settle(state, work):
    """Finish what a step has put off for the next round; nothing, unless the step says what."""


def one(state, params, x, y, work, labelled):
    """One round: predict x, and learn y if it is labelled."""
    if not finite(x):
        for j in range(x.size):
            if not math.isfinite(x[j]):
                return float(j), BAD_INPUT
    if labelled and not math.isfinite(y):
        return y, BAD_LABEL
    value, rule = step(state, params, x, y, work)
    if rule == FINE and not math.isfinite(value):
        return value, OVERFLOW
    return value, rule


def keep(out, i, value, state):
    """Put down what a round gave: the prediction."""
    out[i] = value


def keep_tally(out, i, value, state):
    """Put down what a round gave: the first array of the state."""
    tally = state[0]
    for j in range(tally.size):
        out[j, i] = tally[j]


def single(state, params, x, y, work, labelled):
    """One round by itself."""
    value, rule = one(state, params, x, y, work, labelled)
    settle(state, work)
    return value, rule


def chunk(state, params, X, y, work, labelled, out, start, stop):
    """Rounds start..stop of an array, outcomes into ``out``, until a row breaks a rule."""
    for i in range(start, stop):
        label = y[i] if labelled else math.nan
        value, rule = one(state, params, X[i], label, work, labelled)
        if rule != FINE:
            settle(state, work)
            return i, rule, value
        keep(out, i, value, state)
    settle(state, work)
    return stop, FINE, 0.0


def spread(chunk, room, state, params, X, y, work, labelled, out, start, stop):
    """Rounds start..stop of sparse rows, written out some at a time: as many as there is room for.

    It is not compiled; ``chunk`` is.
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
    """The same of a local step: it is given the row's entries, and the state in their columns.

    The state is t and one vector of the width of x, or two.
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
        value, rule = one(few, params, data[first : first + n], label, work, labelled)
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
    """One round of every model of a team; return how many refuse the row.

    What model k gives, a prediction or what breaks a rule, goes to place where[k].
    """
    refused = 0
    for k in range(where.size):
        value, rule = one(at(state, k), at(params, k), x, y, work, labelled)
        values[where[k]] = value
        rules[where[k]] = rule
        if rule != FINE:
            refused += 1
    return refused


def banked(state, params, X, y, work, labelled, where, skips, out, bad, first, last, start, stop):
    """Rounds start..stop of the models first..last of a team, model by model.

    Model k writes its predictions in row where[k] of ``out``. If it skips a row that breaks a rule,
    that is marked in ``bad`` and the row predicted all the same if it can be, else its prediction
    is NaN. If not, the models after it stop before that row. Return row, model, rule and value of
    the earliest such row.
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


def grouped(bench, own, start, params, X, y, work, labelled, place, slots, events, run, kept):
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


def _inlined(function: Callable[..., Any]) -> Any:
    return kernel(function, inline="always")


def _bound(template: Callable[..., Any], **names: Callable[..., Any]) -> Callable[..., Any]:
    """Return a template with some of the functions it calls put in."""
    names = {name: _inlined(function) for name, function in names.items()}
    return FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)


class Step:
    """A learner's step; ``one`` and ``chunk`` are its compiled forms, made on first use.

    ``scratch`` is the number of scratch rows the step needs, or a function of the dimension.
    """

    _keep: Callable[..., Any] = staticmethod(keep)

    def __init__(
        self,
        function: Callable[..., Any],
        scratch: int | Callable[[int], int] = 2,
        bulk: Bulk | None = None,
        settle: Callable[..., None] = settle,
        keep: Callable[..., None] | None = None,
    ) -> None:
        self.function = function
        self.scratch = scratch
        self.in_bulk = bulk
        self.settle = settle
        if keep is not None:
            self._keep = keep
        self.__doc__ = function.__doc__

    @classmethod
    def with_scratch(
        cls, scratch: int | Callable[[int], int], bulk: Bulk | None = None
    ) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step that needs another amount of scratch."""
        return lambda function: cls(function, scratch, bulk)

    @classmethod
    def with_bulk(
        cls, bulk: Bulk, settle: Callable[..., None] = settle
    ) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step whose rounds can be taken in bulk; ``settle`` does what it puts off."""
        return lambda function: cls(function, 3, bulk, settle)

    def work(self, d: int) -> np.ndarray:
        """Return scratch for rows of width d."""
        rows = self.scratch(d) if callable(self.scratch) else self.scratch
        return np.zeros((rows, d))

    def _compiled(self, template: Callable[..., Any], options: dict[str, Any], **names: Any) -> Any:
        """Compile a template of this module with some of its global names bound anew."""
        module = str(self.function.__module__).replace(".", "_")
        name = f"{template.__name__}_{module}_{self.function.__name__}"
        with_it = [self.settle, self._keep, *filter(callable, self.in_bulk or ())]
        mark = fingerprint(self.function, *with_it)
        return compiled(template, name, mark, __name__, options, **names)

    @cached_property
    def one(self) -> Any:
        """The compiled round: ``one(state, params, x, y, work, labelled) -> (value, rule)``.

        It is short and keeps Python's lock, so threads may share its scratch.
        """
        inner = _bound(one, step=self.function)
        return self._compiled(single, {}, one=_inlined(inner), settle=_inlined(self.settle))

    def _rounds(self, template: Callable[..., Any], **names: Any) -> Any:
        inner = _bound(one, step=self.function)
        return self._compiled(
            template,
            {"nogil": True},
            one=_inlined(inner),
            keep=_inlined(self._keep),
            settle=_inlined(self.settle),
            **names,
        )

    @cached_property
    def bulk(self) -> Any:
        """The compiled rounds in blocks; see :mod:`onlinear._engine.bulk`."""
        assert self.in_bulk is not None
        blas.load()
        names = self.in_bulk._asdict()
        names["drift_of"] = names.pop("drift")
        del names["crossover"]
        if self.in_bulk.others is _bulk.none_beside:
            names["others"] = _bound(_bulk.none_beside, belief=self.in_bulk.belief)
        names["block"] = _bound(_bulk.block, keep=self._keep, **names)
        return self._rounds(_bulk.bulk, **{name: _inlined(each) for name, each in names.items()})

    @cached_property
    def chunk(self) -> Any:
        """The compiled rounds over an array; see :func:`chunk`."""
        return self._rounds(chunk)

    @cached_property
    def gathered(self) -> Any:
        """The compiled rounds of a local step over sparse rows; see :func:`gathered`."""
        return self._rounds(gathered)

    @cached_property
    def each(self) -> Any:
        """The compiled round of a team; see :func:`each`. It keeps Python's lock, as ``one``."""
        return self._compiled(each, {}, one=self.one)

    @cached_property
    def banked(self) -> Any:
        """The rounds of a team over an array, compiled for each model; see :func:`banked`."""
        return FunctionType(banked.__code__, {**globals(), "chunk": self.chunk})

    @cached_property
    def grouped(self) -> Any:
        """The compiled rounds of many keys; see :func:`grouped`.

        LLVM makes rounds that can be taken in bulk, which are brief, a part of it, a tenth faster
        than Numba does.
        """
        inner = _bound(one, step=self.function)
        return self._compiled(
            grouped,
            {"nogil": True},
            one=short(inner) if self.in_bulk else _inlined(inner),
            settle=_inlined(self.settle),
        )

    def _over(self, X: np.ndarray | Rows, local: bool, in_bulk: bool = False) -> tuple[Any, Any]:
        """Return the compiled rounds for such a table, and the table as they take it."""
        if isinstance(X, np.ndarray):
            X = to_read(X)
            if in_bulk and self.in_bulk is not None:
                space = _bulk.space(X.shape[1])
                return self.bulk, (X, tuple(space), np.array([0, SHORTEST, len(space.X)]))
            return self.chunk, X
        rows, d = X.shape
        if local:
            arrays = map(to_read, (X.data, X.indices, X.indptr))
            return self.gathered, (*arrays, np.empty((2, X.longest)))
        return partial(spread, self.chunk, np.empty((max(1, min(rows, WRITTEN_OUT // d)), d))), X

    def takes_bulk(self, X: np.ndarray | Rows, engine: str, owner: str) -> bool:
        """Whether to take the rows of a table in bulk; ``engine`` may ask for either way."""
        if engine not in ENGINES:
            raise ValueError(f"replay needs engine to be one of {ENGINES}, got {engine!r}")
        if self.in_bulk is None or not isinstance(X, np.ndarray):
            if engine == "bulk":
                rows = "sparse rows" if self.in_bulk else "its rounds"
                raise ValueError(f'{owner} does not take {rows} in bulk: use engine="auto"')
            return False
        rows, d = X.shape
        pays = d >= self.in_bulk.crossover and rows >= _bulk.grain(d)
        return engine == "bulk" or (engine == "auto" and pays)

    def outcomes(self, state: tuple[np.ndarray, ...], rows: int) -> np.ndarray:
        """Return room for what the rounds give."""
        return np.empty(rows)

    def compile(
        self,
        state: tuple[np.ndarray, ...],
        params: tuple[Any, ...],
        X: np.ndarray,
        y: np.ndarray,
        work: np.ndarray,
        *,
        in_bulk: bool,
    ) -> None:
        """Compile the rounds of such a table, by running none of them."""
        rounds, table = self._over(X, local=False, in_bulk=in_bulk)
        rounds(state, params, table, to_read(y), work, True, self.outcomes(state, 0), 0, 0)

    def run(
        self,
        state: tuple[np.ndarray, ...],
        params: tuple[Any, ...],
        X: np.ndarray | Rows,
        y: np.ndarray,
        work: np.ndarray,
        *,
        labelled: bool,
        refused: Callable[[Outcome], None],
        progress: Callable[[int, int], None],
        local: bool = False,
        in_bulk: bool = False,
        room: Callable[[], tuple[Any, np.ndarray]] | None = None,
    ) -> np.ndarray:
        """Run the rounds of a table in blocks short enough that Ctrl-C is answered at once.

        ``refused`` is told of a row that broke a rule and raises, or returns to have it skipped:
        it is then predicted all the same if it can be, else its prediction is NaN. A step is
        ``local`` if it only reads and writes the state in the columns where x is not zero. With
        ``in_bulk``, rows of a dense table are taken in blocks. ``room`` is asked for a state with
        more room, and scratch to it, when there is none left.
        """
        rows = X.shape[0]
        (rounds, table), y = self._over(X, local, in_bulk), to_read(y)
        out = self.outcomes(state, rows)
        row, block = 0, FIRST_BLOCK
        with blas_threads(X.shape[1]) if in_bulk else nullcontext():
            while row < rows:
                began = time.perf_counter()
                stop = min(rows, row + block)
                outcome = Outcome(*rounds(state, params, table, y, work, labelled, out, row, stop))
                row = outcome.row
                if outcome.rule == FULL and room is not None:
                    state, work = room()
                elif outcome.rule != FINE:
                    refused(outcome)
                    if rounds(state, params, table, y, work, False, out, row, row + 1)[1] != FINE:
                        out[row] = math.nan
                    row += 1
                else:
                    block = next_block(block, time.perf_counter() - began)
                progress(row, rows)
        return out


def next_block(block: int, seconds: float) -> int:
    """Return how many rows to run next, after a block that took so long."""
    if seconds < BLOCK_SECONDS:
        return block * 2
    return max(FIRST_BLOCK, block // 2)  # rounds grow longer with the examples a learner keeps


class Tally(Step):
    """A step that keeps accounts: what counts is the first array of its state, after every row."""

    _keep = staticmethod(keep_tally)

    def outcomes(self, state: tuple[np.ndarray, ...], rows: int) -> np.ndarray:
        """Return room for the first array of the state after each of the rounds, a column each."""
        return np.empty((state[0].size, rows))


class InTurn(Tally):
    """Accounts in parts, each of which takes all rows in bulk before the next does.

    So the blocks of one do not end where those of another do. The parts share the state and each
    keeps its own figures; row by row the step does what they do one after the other.
    """

    def __init__(self, function: Callable[..., Any], parts: Sequence[Tally]) -> None:
        super().__init__(function, lambda d: max(len(part.work(d)) for part in parts))
        self.parts = parts
        self.in_bulk = parts[0].in_bulk

    @classmethod
    def of(cls, *parts: Tally) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step that is made of these."""
        return lambda function: cls(function, parts)

    def _over(self, X: np.ndarray | Rows, local: bool, in_bulk: bool = False) -> tuple[Any, Any]:
        if not in_bulk:
            return super()._over(X, local)
        calls, tables = zip(*(part._over(X, local, in_bulk) for part in self.parts), strict=True)
        reached = [0] * len(calls)

        def rounds(state, params, X, y, work, labelled, out, start, stop):
            for k, (call, table) in enumerate(zip(calls, tables, strict=True)):
                if reached[k] <= stop:  # a block may have gone beyond it
                    reached[k], rule, value = call(
                        state, params, table, y, work, labelled, out, reached[k], stop
                    )
                    if rule != FINE:
                        return reached[k], rule, value
            return min(reached), FINE, 0.0

        return rounds, X


class Prepared(Step):
    """A step told something by a Python function before every round, which itself is compiled.

    ``before(state, x, work)`` puts it into the scratch; it is not called with a bad row.
    """

    def __init__(self, step: Step, before: Callable[..., None]) -> None:
        super().__init__(step.function, step.scratch)
        self.before = before
        self.compiled = step.one

    def one(self, state, params, x, y, work, labelled):
        """One round; see :func:`one`."""
        work = np.zeros_like(work)  # its own: Python may let another thread in
        if finite(x):
            self.before(state, x, work)
        return self.compiled(state, params, x, y, work, labelled)

    def _rounds(self, template: Callable[..., Any], **names: Any) -> Any:
        names = {"one": self.one, "keep": self._keep, **names}
        return FunctionType(template.__code__, {**globals(), **names})
