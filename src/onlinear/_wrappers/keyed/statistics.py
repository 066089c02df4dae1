"""Statistics of each key's model, read from the key's record.

A record is one array: counters of a key, then the state of its model. An event is a row to be
learnt, with its key; events are numbered over all keys.
"""

from collections.abc import Iterable
from math import nan
from typing import Any, NamedTuple

import numpy as np

from onlinear._wrappers.keyed.key_batch import KeyBatch
from onlinear._wrappers.keyed.record_header import LAST, LEARNT, LOSS, SKIPPED

__all__ = ["KeyStatistics", "statistics_columns", "statistics_of"]


class KeyStatistics(NamedTuple):
    """How many rows a key's model learnt and skipped, its error, and its last event's number."""

    rounds: int
    skipped: int
    mean_squared_error: float
    last_event: int


def statistics_of(record: Any) -> KeyStatistics:
    """Return the statistics in the record of one key."""
    return KeyStatistics(*(column[0].item() for column in _columns(record[None])))


def statistics_columns(chunks: Iterable[tuple[KeyBatch, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the statistics in all records as columns, in the order of the records."""
    parts = [_columns(rows) for _, rows in chunks]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    columns = columns or [np.empty(0)] * len(KeyStatistics._fields)
    return dict(zip(KeyStatistics._fields, columns, strict=True))


def _columns(rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return, for the records of some keys, a column for each field of the statistics."""
    rounds = rows[:, LEARNT]
    errors = np.divide(rows[:, LOSS], rounds, out=np.full(len(rows), nan), where=rounds > 0)
    return (
        rounds.astype(np.int64),
        rows[:, SKIPPED].astype(np.int64),
        errors,
        rows[:, LAST].astype(np.int64),
    )
