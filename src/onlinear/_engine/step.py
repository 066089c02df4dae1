"""``Step``: one definition of a round, compiled into every loop that runs it.

A step is a plain function of one round,

    value, rule = step(state, params, x, y, work)

where ``state`` is a tuple of float64 arrays changed in place, ``params`` a tuple of numbers (or
arrays), and ``work`` holds scratch rows as wide as x. ``y = nan`` means that there is no label yet:
the step predicts and changes nothing. A step returns the prediction and FINE, or the offending
number and the rule that the row breaks. A step checks that a row breaks no rule before the step
writes anything.

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
from onlinear._engine.bulk import SHORTEST, grain, space
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
    """A learner's step; ``one`` and ``chunk`` are its compiled forms, :meth:`run` runs a table.

    ``scratch`` is the number of scratch rows the step needs, or a function that returns it, given
    the width of x.
    """

    def _over(self, X: np.ndarray | Rows, local: bool, in_bulk: bool = False) -> tuple[Any, Any]:
        """Return the compiled loop for a table like X, and X in the form that the loop takes."""
        if isinstance(X, np.ndarray):
            X = to_read(X)
            if in_bulk and self.in_bulk is not None:
                room = space(X.shape[1])
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
        """Whether to run a table in bulk (in blocks); ``engine`` may require or forbid bulk."""
        if engine not in ENGINES:
            raise ValueError(f"replay needs engine to be one of {ENGINES}, got {engine!r}")
        if self.in_bulk is None or not isinstance(X, np.ndarray):
            if engine == "bulk":
                rows = "sparse rows" if self.in_bulk else "rows"
                raise ValueError(f'{owner} cannot learn {rows} in bulk: use engine="auto"')
            return False
        rows, d = X.shape
        pays = d >= self.in_bulk.crossover and rows >= grain(d)
        return engine == "bulk" or (engine == "auto" and pays)

    def outcomes(self, state: tuple[np.ndarray, ...], rows: int) -> np.ndarray:
        """Return an array for the results of the rounds."""
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
        """Run the rounds of a table, in blocks short enough that Ctrl-C takes effect quickly.

        ``refused`` is called with a row that broke a rule of the learner. It raises an error, or
        returns to have the row skipped; a skipped row is still predicted if possible, else its
        prediction is NaN. A step is ``local`` if it reads and writes the state only in the columns
        where x is not zero. With ``in_bulk``, rows of a dense table are taken in blocks. ``room``
        is called when the state is full; it returns a larger state, and scratch memory for it.
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
    """Return how many rows to run next, after a block that took this many seconds."""
    if seconds < BLOCK_SECONDS:
        return block * 2
    return max(FIRST_BLOCK, block // 2)  # rounds of kernel learners get slower and slower


class Tally(Step):
    """A step whose result for each row is a tally: the first array of its state."""

    _keep = staticmethod(loops.keep_tally)
    _guarded = False  # a tally takes every row: it notes where it leaves the range of floats

    def outcomes(self, state: tuple[np.ndarray, ...], rows: int) -> np.ndarray:
        """Return an array for the tally after each round, one column per round."""
        return np.empty((state[0].size, rows))


class InTurn(Tally):
    """A tally in several parts; in bulk, each part runs all rows before the next part begins.

    So a block of rows of one part need not end where a block of another part does. The parts of a
    tally share the state, and each part records its own entries. Without bulk, the step runs all
    parts in sequence for each row.
    """

    def __init__(self, function: Callable[..., Any], parts: Sequence[Tally]) -> None:
        super().__init__(function, lambda d: max(len(part.work(d)) for part in parts))
        self.parts = parts
        self.in_bulk = parts[0].in_bulk

    @classmethod
    def of(cls, *parts: Tally) -> Callable[[Callable[..., Any]], Self]:
        """Decorate a step whose tally consists of the given ``parts``."""
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
    """A compiled step that needs something from a Python function before every round.

    That function, ``before(state, x, work)``, writes it to the scratch memory ``work``. It is not
    called with a row that is not finite.
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
