"""Learn either all given rows or none; the first rows learnt fix the number of columns.

Learners, banks of learners, and learners that get their rows from a feature map share this module.
"""

import contextlib
from collections.abc import Callable, Iterator
from math import nan
from typing import Any, Protocol

import numpy as np

from onlinear._engine.tables import Rows
from onlinear._engine.transaction import Restorable, all_or_nothing
from onlinear._validation import checks

__all__ = ["Begins", "Columns", "no_progress", "rows_taken", "run"]

Columns = tuple[int, list[str] | None]  # their number, and their names if any


def no_progress(row: int, rows: int) -> None:
    """Do nothing: a progress callback that shows no progress."""


class Begins(Restorable, Protocol):
    """A model whose number of columns is fixed by the first row it learns."""

    _skips: Any  # how many rows were skipped: a number, or an array with one for each learner

    def _has_begun(self) -> bool:
        """Return whether the number of columns is fixed."""
        ...

    def _columns(self) -> Columns | None:
        """Return the columns that rows must have, or None if they are not fixed yet."""
        ...

    def _start(self, d: int, names: list[str] | None) -> None:
        """Set the initial state for rows of d columns."""
        ...

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        """Return the labels of a table as the numbers that the step takes."""
        ...

    def _run_table(
        self,
        X: np.ndarray | Rows,
        names: list[str] | None,
        y: np.ndarray,
        *,
        learn: bool,
        progress: Callable[[int, int], None],
        engine: str,
    ) -> tuple[np.ndarray, Any]:
        """Predict a table's rows and, if ``learn``, learn them; return predictions and bad rows."""
        ...


@contextlib.contextmanager
def rows_taken(
    model: Begins, d: int, names: list[str] | None, rows: int = 1, *, learn: bool = True
) -> Iterator[None]:
    """Set the model's initial state if it has none; if the ``with`` block fails, undo everything.

    If all the first rows are skipped, the initial state is dropped again: bad rows do not fix the
    number of columns.
    """
    fresh, before = not model._has_begun(), model._skips
    forget = model._snapshot() if fresh else None
    with all_or_nothing(model) if learn else contextlib.nullcontext():
        if fresh:
            model._start(d, names)
        yield
        skips = model._skips
        if forget is not None and np.all(skips - before == rows):
            forget()
            model._skips = skips


def run(
    model: Begins,
    X: Any,
    y: Any,
    *,
    learn: bool,
    progress: Callable[[int, int], None],
    engine: str,
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Predict each row and, if ``learn``, learn it; return predictions, labels and bad rows."""
    checks.same_index(X, y=y)
    X, names = checks.any_table(X)
    y = model._labels(y, X.shape[0]) if learn else np.full(X.shape[0], nan)
    columns = model._columns()
    if columns is not None:
        checks.same_columns(type(model).__name__, *columns, X, names)
    predictions, bad = model._run_table(X, names, y, learn=learn, progress=progress, engine=engine)
    return predictions, y, bad
