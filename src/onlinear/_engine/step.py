"""``Step``: a learner's round, defined once and compiled into every loop that runs it.

A step is a plain function of one round,

    value, rule = step(state, params, x, y, work)

where ``state`` is a tuple of float64 arrays changed in place, ``params`` a tuple of numbers (or
arrays), and ``work`` holds scratch rows as wide as x. ``y = nan`` means that there is no label yet:
the step predicts and changes nothing. A step returns the prediction and the status FINE, or the
offending number and the status of the rule that the row breaks. Before a step writes anything, it
checks that the row breaks no rule.

The loops over single rows are in :mod:`onlinear._engine.loops`, the loops over blocks of rows in
:mod:`onlinear._engine.bulk`; :mod:`onlinear._engine.compiled_step` compiles the step into them.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from types import FunctionType
from typing import Any, Self

import numpy as np

from onlinear._engine import loops
from onlinear._engine.bulk import SHORTEST, space
from onlinear._engine.compiled_step import CompiledStep
from onlinear._engine.status import BAD_INPUT, BAD_LABEL, DOMAIN, FINE, FULL, OVERFLOW, Outcome
from onlinear._engine.tables import Rows, to_read
from onlinear._engine.threads import blas_threads
from onlinear._numerics.linalg import finite

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

FIRST_BLOCK = 16  # rows; blocks are doubled while they take less than BLOCK_SECONDS
BLOCK_SECONDS = 0.05
WRITTEN_OUT = 1 << 15  # how many numbers of sparse rows are made dense at a time
ENGINES = ("auto", "rank-one", "bulk")


class Step(CompiledStep):
    """A learner's step, compiled when it is first used; :meth:`run` runs it on a table of rows.

    ``scratch`` is the number of scratch rows that the step needs, or a function of the width of x
    that returns this number.
    """

    def _over(self, X: np.ndarray | Rows, local: bool, in_bulk: bool = False) -> tuple[Any, Any]:
        """Return the compiled loop for a table like X, and X in the form that the loop takes."""
        if isinstance(X, np.ndarray):
            X = to_read(X)
            if in_bulk and self.in_bulk is not None:
                d = X.shape[1]
                room = space(self.in_bulk.longest(d), d)
                return self.bulk, (X, tuple(room), np.array([0, SHORTEST, len(room.X)]))
            return self.chunk, X
        rows, d = X.shape
        if local:
            arrays = map(to_read, (X.data, X.indices, X.indptr))
            return self.gathered, (*arrays, np.empty((2, X.longest)))
        return partial(
            loops.spread, self.chunk, np.empty((max(1, min(rows, WRITTEN_OUT // d)), d))
        ), X

    def takes_bulk(self, X: np.ndarray | Rows, engine: str, owner: str) -> bool:
        """Whether to run a table in blocks of rows, which ``engine`` may require or forbid."""
        if engine not in ENGINES:
            raise ValueError(f"replay needs engine to be one of {ENGINES}, got {engine!r}")
        if self.in_bulk is None or not isinstance(X, np.ndarray):
            if engine == "bulk":
                rows = "sparse rows" if self.in_bulk else "rows"
                raise ValueError(f'{owner} cannot learn {rows} in bulk: use engine="auto"')
            return False
        rows, d = X.shape
        pays = d >= self.in_bulk.crossover and rows >= self.in_bulk.longest(d)
        return engine == "bulk" or (engine == "auto" and pays)

    def outcomes(self, state: tuple[np.ndarray, ...], rows: int) -> np.ndarray:
        """Return an empty array, to be filled with the prediction of each round."""
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
        """Compile the loop for a table like X, without running a round."""
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
        """Run the rounds of a table so that Ctrl-C takes effect quickly; return their results.

        ``refused`` is called with the outcome of a row that broke a rule of the learner. It either
        raises an error or returns, so that the row is skipped; a skipped row is still predicted if
        possible, else its prediction is NaN. A step is ``local`` if it reads and writes the state
        only in the columns where x is not zero. With ``in_bulk``, a dense table is run in blocks of
        rows, by matrix products. ``room`` is called when the state is full; it returns a larger
        state, and scratch memory for it.
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
    """Return how many rows to run next, after ``block`` rows that took this many seconds."""
    if seconds < BLOCK_SECONDS:
        return block * 2
    return max(FIRST_BLOCK, block // 2)  # rounds of kernel learners get slower and slower


class Tally(Step):
    """The step of a regret bound; its result for each row is the tally, its state's first array.

    The tally has the numbers that make up the bound.
    """

    _keep = staticmethod(loops.keep_tally)
    _guarded = False  # a tally takes every row: it notes where it leaves the range of floats

    def outcomes(self, state: tuple[np.ndarray, ...], rows: int) -> np.ndarray:
        """Return an empty array, to be filled with the tally after each round, one per column."""
        return np.empty((state[0].size, rows))


class InTurn(Tally):
    """A :class:`Tally` computed in parts; in bulk, each part runs many rows before the next does.

    So a block of rows of one part need not end where a block of another part does. The parts share
    the state, and each part writes its own entries of the tally. If rows are not run in bulk, the
    step itself runs all parts in sequence for each row.
    """

    def __init__(self, function: Callable[..., Any], parts: Sequence[Tally]) -> None:
        super().__init__(function, lambda d: max(len(part.work(d)) for part in parts))
        self.parts = parts
        self.in_bulk = parts[0].in_bulk

    @classmethod
    def of(cls, *parts: Tally) -> Callable[[Callable[..., Any]], Self]:
        """Return a decorator for a step whose tally is computed by the given ``parts``."""
        return lambda function: cls(function, parts)

    def _over(self, X: np.ndarray | Rows, local: bool, in_bulk: bool = False) -> tuple[Any, Any]:
        if not in_bulk:
            return super()._over(X, local)
        calls, tables = zip(*(part._over(X, local, in_bulk) for part in self.parts), strict=True)
        reached = [0] * len(calls)

        def rounds(state, params, X, y, work, labelled, out, start, stop):
            for k, (call, table) in enumerate(zip(calls, tables, strict=True)):
                if reached[k] <= stop:  # a block may have ended after stop
                    reached[k], rule, value = call(
                        state, params, table, y, work, labelled, out, reached[k], stop
                    )
                    if rule != FINE:
                        return reached[k], rule, value
            return min(reached), FINE, 0.0

        return rounds, X


class Prepared(Step):
    """A compiled step with a Python function that is called before every round.

    The function, ``before(state, x, work)``, writes its results to the scratch memory ``work``,
    from which the step reads them. The function is not called if x is not finite.
    """

    def __init__(self, step: Step, before: Callable[..., None]) -> None:
        super().__init__(step.function, step.scratch)
        self.before = before
        self.compiled = step.one

    def one(self, state, params, x, y, work, labelled, busy=0):
        """Run one round; see :func:`loops.single`."""
        work = np.zeros_like(work)  # not shared: the Python function may release the GIL
        if finite(x):
            self.before(state, x, work)
        return self.compiled(state, params, x, y, work, labelled, busy)

    def _one_of_many(self, state, params, x, y, work, labelled, checked):
        return self.one(state, params, x, y, work, labelled)

    def _rounds(self, template: Callable[..., Any], **names: Any) -> Any:
        names |= {"one": self._one_of_many, "keep": self._keep}
        names["GUARDED"] = False  # each round checks the state itself
        return FunctionType(template.__code__, {**template.__globals__, **names})
