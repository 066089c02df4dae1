"""The only loops over data: one definition of a step, compiled into every way of running it.

A step is a plain function of one round,

    value, rule = step(state, params, x, y, work)

where ``state`` is a tuple of float64 arrays changed in place, ``params`` a tuple of numbers (or
arrays), ``work`` scratch rows of the width of x. With ``y = nan`` there is no label yet: predict,
touch nothing. ``rule`` is FINE and ``value`` the prediction, or ``rule`` says which rule the row
breaks and ``value`` the offending number; a step decides that before it writes anything.
"""

import hashlib
import inspect
import math
import time
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from onlinear._kernels import finite, kernel

__all__ = ["BAD_INPUT", "BAD_LABEL", "DOMAIN", "FINE", "OVERFLOW", "Outcome", "Step"]

FINE = 0
BAD_INPUT = 1  # x has a value that is not finite; the value returned is its column
BAD_LABEL = 2  # y is not finite
OVERFLOW = 3  # finite numbers so large that the arithmetic would overflow
DOMAIN = 4  # DOMAIN + k: the k-th rule of the learner

FIRST_BLOCK = 256  # rows; doubled while a block takes less than BLOCK_SECONDS
BLOCK_SECONDS = 0.05


class Outcome(NamedTuple):
    """Where a chunk stopped: after the last row, or at the row that broke a rule."""

    row: int
    rule: int
    value: float


def step(state, params, x, y, work):
    """Stand for the learner's step in the templates below."""
    raise NotImplementedError


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


def chunk(state, params, X, y, work, labelled, out, start, stop):
    """Rounds start..stop of an array, predictions into ``out``, until a row breaks a rule."""
    for i in range(start, stop):
        value, rule = one(state, params, X[i], y[i], work, labelled)
        if rule != FINE:
            return i, rule, value
        out[i] = value
    return stop, FINE, 0.0


@cache
def _fingerprint(source: str | None) -> str:
    """Hash the sources a compiled step depends on.

    Numba's disk cache looks only at the file of the compiled function; with the hash in the name,
    an edit of a kernel or of a learner can never be answered with the code from before it.
    """
    package = Path(__file__).parent
    files = {*package.rglob("*.py"), *([Path(source)] if source else [])}
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _inlined(function: Callable[..., Any]) -> Any:
    return kernel(function, inline="always")


class Step:
    """A learner's step; ``one`` and ``chunk`` are its compiled forms, made on first use.

    ``scratch`` is the number of scratch rows the step needs, or a function of the dimension.
    """

    def __init__(
        self, function: Callable[..., Any], scratch: int | Callable[[int], int] = 2
    ) -> None:
        self.function = function
        self.scratch = scratch
        self.__doc__ = function.__doc__

    @classmethod
    def with_scratch(
        cls, scratch: int | Callable[[int], int]
    ) -> Callable[[Callable[..., Any]], "Step"]:
        """Decorate a step that needs another amount of scratch."""
        return lambda function: cls(function, scratch)

    def work(self, d: int) -> np.ndarray:
        """Return scratch for rows of width d."""
        rows = self.scratch(d) if callable(self.scratch) else self.scratch
        return np.zeros((rows, d))

    def _compiled(self, template: Callable[..., Any], **names: Any) -> Any:
        """Compile a template of this module with some of its global names bound anew.

        Numba keeps the result on disk under the template's file and the name given here, so the
        name carries the learner and the fingerprint. A step typed at a prompt has no file and is
        compiled anew in each process.
        """
        source = inspect.getsourcefile(self.function)
        on_disk = source is not None and Path(source).is_file()
        name = "_".join(
            [
                template.__name__,
                self.function.__module__.replace(".", "_"),
                self.function.__name__,
                _fingerprint(source if on_disk else None),
            ]
        )
        function = FunctionType(template.__code__, {**globals(), **names}, name)
        function.__qualname__ = name
        function.__module__ = __name__
        return kernel(function, cache=on_disk, nogil=True)

    @cached_property
    def one(self) -> Any:
        """The compiled round: ``one(state, params, x, y, work, labelled) -> (value, rule)``."""
        return self._compiled(one, step=_inlined(self.function))

    @cached_property
    def chunk(self) -> Any:
        """The compiled rounds over an array; see :func:`chunk`."""
        inner = FunctionType(one.__code__, {**globals(), "step": _inlined(self.function)}, "one")
        return self._compiled(chunk, one=_inlined(inner))

    def run(
        self,
        state: tuple[np.ndarray, ...],
        params: tuple[Any, ...],
        X: np.ndarray,
        y: np.ndarray,
        work: np.ndarray,
        *,
        labelled: bool,
        refused: Callable[[Outcome], None],
        progress: Callable[[int, int], None],
    ) -> np.ndarray:
        """Run the rounds of an array in blocks short enough that Ctrl-C is answered at once.

        ``refused`` is told of a row that broke a rule and raises, or returns to have it skipped:
        its prediction is NaN, or the prediction itself where only the label was bad.
        """
        rows = X.shape[0]
        out = np.empty(rows)
        row, block = 0, FIRST_BLOCK
        while row < rows:
            began = time.perf_counter()
            stop = min(rows, row + block)
            outcome = Outcome(*self.chunk(state, params, X, y, work, labelled, out, row, stop))
            row = outcome.row
            if outcome.rule != FINE:
                refused(outcome)
                only_label = outcome.rule == BAD_LABEL
                value, rule = self.one(state, params, X[row], math.nan, work, False)
                out[row] = value if only_label and rule == FINE else math.nan
                row += 1
            elif time.perf_counter() - began < BLOCK_SECONDS:
                block *= 2
            progress(row, rows)
        return out
