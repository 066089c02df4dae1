"""The functions that run on Spark workers: predict and learn the rows of a key or partition."""

import copy
import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinear._learner.base import Learner
from onlinear.spark._columns import Columns
from onlinear.spark._state import StateForm
from onlinear.spark._transport import SentColumn

__all__ = ["KeyTask", "over_partition", "over_stream", "over_table", "run_rounds"]


@dataclass(frozen=True)
class KeyTask:
    """A task for Spark's workers: predict and learn the rows of one key at a time."""

    form: StateForm
    columns: Columns
    places: dict[str, SentColumn]

    def round(self, key: tuple[Any, ...], table: Any, kept: bytes | None) -> tuple[Any, Learner]:
        """Predict and learn the rows in order; return the rows with predictions, and the learner.

        ``kept`` is the learner's state from earlier batches, or None for a new key.
        """
        if self.columns.order:
            by = [each for name in self.columns.order for each in self.places[name][::-1] if each]
            table = table.sort_values(by, kind="stable", ignore_index=True)
        X = np.column_stack([self._numbers(table, name) for name in self.columns.features])
        try:
            y = self.form.start._labels(self._targets(table), len(table))
            learner = copy.copy(self.form.start) if kept is None else self.form.unpack(kept)
            rounds = _refuse_rows if any(map(_null, key)) else run_rounds
            predictions = rounds(learner, X, y)
        except ValueError as error:
            pairs = zip(self.columns.key, key, strict=True)
            whose = ", ".join(f"{name}={_shown(value)}" for name, value in pairs)
            raise ValueError(f"key {whose}: {error}") from None
        return table.assign(prediction=predictions), learner

    def _targets(self, table: Any) -> np.ndarray:
        """Return the column of labels: as float64, or as it is if it holds text."""
        column = table[self.places[self.columns.target].name]
        if _pandas().api.types.is_numeric_dtype(column):  # or of booleans
            return self._numbers(table, self.columns.target)
        return np.asarray(column.to_numpy(dtype=object, na_value=None))

    def _numbers(self, table: Any, name: str) -> np.ndarray:
        """Return a column as float64, with NaN in place of null."""
        place = self.places[name]
        values = np.array(table[place.name].to_numpy(dtype=np.float64, na_value=np.nan))
        if place.nulls is not None:
            values[table[place.nulls].to_numpy(dtype=bool)] = np.nan
        return values


def run_rounds(learner: Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predict every row and learn those with a label; return the predictions."""
    predictions = np.empty(len(y))
    labelled = ~np.isnan(y)
    edges = [0, *(np.flatnonzero(labelled[1:] != labelled[:-1]) + 1).tolist(), len(y)]
    for first, last in itertools.pairwise(edges):
        rows = slice(first, last)
        learn = bool(labelled[first])
        predictions[rows], _ = learner._run_table(
            X[rows], learner._names, y[rows], learn=learn, first=first
        )
    return predictions


def _refuse_rows(learner: Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Refuse rows without a key, or skip and count them, as ``on_bad`` says."""
    if learner.on_bad == "raise":
        raise ValueError('a row needs a key: fill it, filter such rows, or use on_bad="skip"')
    learner.n_skipped_ += int(np.count_nonzero(~np.isnan(y)))
    return np.full(len(y), np.nan)


def _pandas() -> Any:
    return importlib.import_module("pandas")


def _null(value: Any) -> bool:
    return bool(_pandas().isna(value))


def _shown(value: Any) -> str:
    if _null(value):
        return "null"
    return repr(value.item() if isinstance(value, np.generic) else value)


def over_stream(task: KeyTask) -> Callable[..., Any]:
    """Return the function that Spark calls with the rows of a key in a micro-batch."""

    def rounds(key: Any, tables: Any, state: Any) -> Iterator[Any]:
        kept = bytes(state.get[0]) if state.exists else None
        table, learner = task.round(key, _pandas().concat(list(tables), ignore_index=True), kept)
        packed = task.form.pack(learner)
        if packed != kept:
            state.update((packed,))
        yield table

    return rounds


def over_table(task: KeyTask) -> Callable[..., Any]:
    """Return the function that Spark calls with all rows of a key."""

    def rounds(key: Any, table: Any) -> Any:
        return task.round(key, table, None)[0]

    return rounds


def over_partition(form: StateForm) -> Callable[..., Any]:
    """Return the function that Spark calls with a partition; it yields the state learnt from it."""

    def rounds(tables: Any) -> Iterator[Any]:
        learner, first = form.fresh(), 0
        for table in tables:
            rows = np.ascontiguousarray(table.to_numpy(dtype=np.float64, na_value=np.nan))
            X, y = np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])
            learner._run_table(X, learner._names, y, learn=True, engine="auto", first=first)
            first += len(table)
        if first:
            yield _pandas().DataFrame({"learner": [form.pack(learner)]})

    return rounds
