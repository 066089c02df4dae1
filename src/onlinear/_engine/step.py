"""A step: one definition of a round, compiled into every way of running it.

A step is a plain function of one round,

    value, rule = step(state, params, x, y, work)

where ``state`` is a tuple of float64 arrays changed in place, ``params`` a tuple of numbers (or
arrays), ``work`` scratch rows of the width of x. With ``y = nan`` there is no label yet: predict,
touch nothing. ``rule`` is FINE and ``value`` the prediction, or ``rule`` says which rule the row
breaks and ``value`` the offending number; a step decides that before it writes anything.

The loops it is compiled into are in :mod:`onlinear._engine.loops`, those over blocks of rows in
:mod:`onlinear._engine.bulk`.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from types import FunctionType
from typing import Any, Self

import numpy as np

from onlinear._engine import bulk as _bulk
from onlinear._engine import loops
from onlinear._engine.bulk import SHORTEST, Bulk
from onlinear._engine.status import BAD_INPUT, BAD_LABEL, DOMAIN, FINE, FULL, OVERFLOW, Outcome
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

    _keep: Callable[..., Any] = staticmethod(loops.keep)

    def __init__(
        self,
        function: Callable[..., Any],
        scratch: int | Callable[[int], int] = 2,
        bulk: Bulk | None = None,
        settle: Callable[..., None] = loops.settle,
        keep: Callable[..., None] | None = None,
    ) -> None:
        self.function = function
        self.scratch = scratch
        self.in_bulk = bulk
        self.settle = settle
        if keep is not None:
            self._keep = keep
        self._around: dict[Callable[..., Any], Any] = {}
        self.__doc__ = function.__doc__

    @classmethod
    def with_scratch(
        cls, scratch: int | Callable[[int], int], bulk: Bulk | None = None
    ) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step that needs another amount of scratch."""
        return lambda function: cls(function, scratch, bulk)

    @classmethod
    def with_bulk(
        cls, bulk: Bulk, settle: Callable[..., None] = loops.settle
    ) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step whose rounds can be taken in bulk; ``settle`` does what it puts off."""
        return lambda function: cls(function, 3, bulk, settle)

    def work(self, d: int) -> np.ndarray:
        """Return scratch for rows of width d."""
        rows = self.scratch(d) if callable(self.scratch) else self.scratch
        return np.zeros((rows, d))

    def _compiled(self, template: Callable[..., Any], options: dict[str, Any], **names: Any) -> Any:
        """Compile a loop with some of its global names bound anew."""
        module = str(self.function.__module__).replace(".", "_")
        name = f"{template.__name__}_{module}_{self.function.__name__}"
        with_it = [template, self.settle, self._keep, *filter(callable, self.in_bulk or ())]
        mark = fingerprint(self.function, *with_it)
        return compiled(template, name, mark, template.__module__, options, **names)

    @cached_property
    def one(self) -> Any:
        """The compiled round: ``one(state, params, x, y, work, labelled) -> (value, rule)``.

        It is short and keeps Python's lock, so threads may share its scratch.
        """
        inner = _bound(loops.one, step=self.function)
        return self._compiled(loops.single, {}, one=_inlined(inner), settle=_inlined(self.settle))

    def _rounds(self, template: Callable[..., Any], **names: Any) -> Any:
        inner = _bound(loops.one, step=self.function)
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
        """The compiled rounds over an array; see :func:`loops.chunk`."""
        return self._rounds(loops.chunk)

    @cached_property
    def gathered(self) -> Any:
        """The compiled rounds of a local step over sparse rows; see :func:`loops.gathered`."""
        return self._rounds(loops.gathered)

    @cached_property
    def each(self) -> Any:
        """The compiled round of stacked models; see :func:`loops.each`.

        It keeps Python's lock, as ``one``.
        """
        return self._compiled(loops.each, {}, one=self.one)

    @cached_property
    def banked(self) -> Any:
        """The rounds of stacked models over an array; see :func:`loops.banked`."""
        banked = loops.banked
        return FunctionType(banked.__code__, {**banked.__globals__, "chunk": self.chunk})

    def around(self, loop: Callable[..., Any]) -> Any:
        """Compile a loop of another module, which calls ``one`` and ``settle``, with this step.

        LLVM makes rounds that can be taken in bulk, which are brief, a part of it, a tenth faster
        than Numba does.
        """
        if loop not in self._around:
            inner = _bound(loops.one, step=self.function)
            self._around[loop] = self._compiled(
                loop,
                {"nogil": True},
                one=short(inner) if self.in_bulk else _inlined(inner),
                settle=_inlined(self.settle),
            )
        return self._around[loop]

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
        return partial(
            loops.spread, self.chunk, np.empty((max(1, min(rows, WRITTEN_OUT // d)), d))
        ), X

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

    _keep = staticmethod(loops.keep_tally)

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
        """One round; see :func:`loops.one`."""
        work = np.zeros_like(work)  # its own: Python may let another thread in
        if finite(x):
            self.before(state, x, work)
        return self.compiled(state, params, x, y, work, labelled)

    def _rounds(self, template: Callable[..., Any], **names: Any) -> Any:
        names = {"one": self.one, "keep": self._keep, **names}
        return FunctionType(template.__code__, {**template.__globals__, **names})
