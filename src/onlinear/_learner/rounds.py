"""How rows are taken: all or nothing, and the first ones say how wide rows are.

A learner, a bank of learners and a learner behind a feature map share this.
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

Columns = tuple[int, list[str] | None]  # how many there are, and their names


def no_progress(row: int, rows: int) -> None:
    """Show no progress."""


class Begins(Restorable, Protocol):
    """A model that has no width until it has learnt its first row."""

    _skips: Any  # how many rows were skipped: a number, or an array with one for each learner

    def _has_begun(self) -> bool:
        """Whether the width of rows is known."""
        ...

    def _columns(self) -> Columns | None:
        """Return the columns that rows must have, or None if any will do."""
        ...

    def _start(self, d: int, names: list[str] | None) -> None:
        """Take the initial state for rows of width d."""
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
        """Predict the rows of a table and, if asked, learn them; return predictions, bad rows."""
        ...


@contextlib.contextmanager
def rows_taken(
    model: Begins, d: int, names: list[str] | None, rows: int = 1, *, learn: bool = True
) -> Iterator[None]:
    """Let the block take some rows: begin if they are the first; undo everything if it fails.

    If the first rows are all skipped, the model forgets their width: bad rows do not say how wide
    the next one will be.
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
    """Predict every row and, if asked, learn it; return predictions, labels, bad rows."""
    X, names = checks.any_table(X)
    y = checks.labels(y, X.shape[0]) if learn else np.full(X.shape[0], nan)
    columns = model._columns()
    if columns is not None:
        checks.same_columns(type(model).__name__, *columns, X, names)
    predictions, bad = model._run_table(X, names, y, learn=learn, progress=progress, engine=engine)
    return predictions, y, bad
