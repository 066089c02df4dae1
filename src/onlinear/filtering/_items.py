"""The rows (dense or sparse) and the labels (−1 or +1) that filters take."""

import hashlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.tables import Rows
from onlinear._validation import checks

__all__ = [
    "Look",
    "Row",
    "Task",
    "dense",
    "entries",
    "finite_entries",
    "mark_of",
    "restorer",
    "rows_of",
    "signs",
]

Row = np.ndarray | tuple[np.ndarray, np.ndarray]  # dense, or (columns, values)


def rows_of(owner: str, X: Any) -> tuple[list[Row], int, list[str] | None]:
    """Return the rows of a table, dense or sparse, how many columns it has, and their names."""
    table, names = checks.any_table(X)
    if isinstance(table, np.ndarray):
        checks.finite_rows(owner, table, np.zeros(len(table)), names)
        return list(table), table.shape[1], names
    finite_entries(owner, table)
    parts = itertools.pairwise(table.indptr)
    return [(table.indices[i:j], table.data[i:j]) for i, j in parts], table.shape[1], None


def finite_entries(owner: str, table: Rows) -> None:
    """Refuse sparse rows with a value that is not finite."""
    bad = np.flatnonzero(~np.isfinite(table.data))
    if bad.size:
        row = int(np.searchsorted(table.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"{owner} needs finite input: X contains {table.data[bad[0]]} in row {row}, "
            f"column {table.indices[bad[0]]}"
        )


def dense(row: Row, d: int) -> np.ndarray:
    """Return a dense or sparse row as a vector of length d."""
    if not isinstance(row, tuple):
        return row
    x = np.zeros(d)
    x[row[0]] = row[1]
    return x


def entries(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the values of a row's nonzero entries."""
    columns, values = row if isinstance(row, tuple) else (np.arange(row.size), row)
    some = values != 0
    return (columns, values) if some.all() else (columns[some], values[some])


def signs(owner: str, y: Any) -> np.ndarray:
    """Return the labels as floats −1 and +1; they may be given as False and True."""
    labels = np.asarray(y)
    if labels.dtype == bool:
        return np.where(labels, 1.0, -1.0)
    if labels.ndim == 2:  # one column per topic
        return np.column_stack([signs(owner, topic) for topic in labels.T])
    labels = checks.labels(y, len(labels))
    bad = np.flatnonzero(np.abs(labels) != 1.0)
    if bad.size:
        place = f" in row {bad[0]}" if labels.size > 1 else ""
        raise ValueError(
            f"{owner} needs labels −1 or +1 (or False and True), got {labels[bad[0]]:g}{place}"
        )
    return labels


def mark_of(row: Row) -> str:
    """Return a hash of a row's values, by which a label is matched to its row."""
    digest = hashlib.blake2b(digest_size=12)
    for part in entries(row):
        digest.update(part.tobytes())
    return digest.hexdigest()


class Look(NamedTuple):
    """The decision on a row: whether to forward it, and whether this is only to see its label."""

    forward: bool
    trial: bool = False


class Task(NamedTuple):
    """Rows to decide on, their labels, an array for decisions, and a function to show progress."""

    rows: list[Row]
    labels: np.ndarray
    decisions: np.ndarray
    advance: Callable[[int, int], None]


def restorer(waiting: dict[str, list[bool]], mark: str) -> Callable[[], None]:
    """Return a function that sets ``waiting[mark]`` back to what it is now.

    ``waiting`` has the rows that wait for a label, by their hash (:func:`mark_of`).
    """
    kept = list(waiting[mark]) if mark in waiting else None

    def restore() -> None:
        waiting.pop(mark, None)
        if kept is not None:
            waiting[mark] = list(kept)

    return restore
