"""The keys of a table's rows: integer keys, other keys, and rows without a key.

Keys are equal if they are equal in Python: 1, 1.0 and True are the same key.
"""

import contextlib
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from onlinear._state_files.key_codec import LARGEST, SMALLEST, MissingKeyError, canonical

__all__ = [
    "NO_ROWS",
    "KeyBatch",
    "integer_batch",
    "is_integer",
    "key_batch",
    "one_key",
    "other_batch",
]

NO_ROWS = np.empty(0, dtype=np.int64)


class KeyBatch(NamedTuple):
    """The keys of some rows of a table: integer keys, other keys, and the row of each key."""

    integers: np.ndarray
    integer_rows: np.ndarray
    others: list[Hashable]
    other_rows: np.ndarray
    rows: int
    missing: np.ndarray  # rows without a key

    def key(self, row: int) -> Hashable:
        """Return the key of a row."""
        (where,) = np.nonzero(self.integer_rows == row)
        if where.size:
            return int(self.integers[where[0]])
        return self.others[int(np.flatnonzero(self.other_rows == row)[0])]

    def take(self, rows: np.ndarray) -> "KeyBatch":
        """Return the keys of the rows in ``rows``, in the same order, as a new batch."""
        if not self.missing.size and np.array_equal(rows, np.arange(self.rows)):
            return self
        if self.integers.size == self.rows:
            return integer_batch(self.integers[rows])
        place = np.full(self.rows, -1)
        place[self.integer_rows] = np.arange(self.integers.size)
        integer = place[rows] != -1
        place[self.other_rows] = np.arange(len(self.others))
        return KeyBatch(
            self.integers[place[rows[integer]]],
            np.flatnonzero(integer),
            [self.others[k] for k in place[rows[~integer]].tolist()],
            np.flatnonzero(~integer),
            rows.size,
            NO_ROWS,
        )


def integer_batch(integers: np.ndarray) -> KeyBatch:
    """Return a batch of integer keys."""
    return KeyBatch(integers, np.arange(integers.size), [], NO_ROWS, integers.size, NO_ROWS)


def other_batch(others: list[Any]) -> KeyBatch:
    """Return a batch of keys that are not integers and that :func:`canonical` has returned."""
    rows = len(others)
    return KeyBatch(NO_ROWS, NO_ROWS, others, np.arange(rows), rows, NO_ROWS)


def one_key(key: Hashable) -> KeyBatch:
    """Return a batch of one key, which :func:`canonical` has returned."""
    if is_integer(key):
        return integer_batch(np.array([key]))
    return KeyBatch(NO_ROWS, NO_ROWS, [key], np.zeros(1, dtype=np.int64), 1, NO_ROWS)


def key_batch(keys: Any) -> KeyBatch:
    """Return the keys of a table as a batch, given an array, a list or a DataFrame's column."""
    keys = _array_or_list(keys)
    if isinstance(keys, np.ndarray) and keys.ndim != 1:
        raise ValueError(f"keys need to be one per row (1-D), got shape {keys.shape}")
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "biu" and keys.dtype.str[1:] != "u8":
        return integer_batch(np.require(keys, np.int64, ["C", "A", "W"]))  # pandas' are read-only
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"keys need to be a sequence, one per row, got {keys!r:.60}")
    if isinstance(keys, np.ndarray) and keys.dtype.kind not in "mM":  # times must stay times
        keys = keys.tolist()
    given = list(keys)
    if set(map(type, given)) == {str}:
        return other_batch(given)
    integers, integer_rows, others, other_rows, missing = [], [], [], [], []
    for row, key in enumerate(given):
        try:
            key = canonical(key)
        except MissingKeyError:
            missing.append(row)
            continue
        if is_integer(key):
            integers.append(key)
            integer_rows.append(row)
        else:
            others.append(key)
            other_rows.append(row)
    return KeyBatch(
        np.array(integers, dtype=np.int64),
        np.array(integer_rows, dtype=np.int64),
        others,
        np.array(other_rows, dtype=np.int64),
        len(given),
        np.array(missing, dtype=np.int64),
    )


def _array_or_list(keys: Any) -> Any:
    """Return a DataFrame's column of keys as an array if all are integers, else usually as a list.

    Arrays and lists are returned as they are, and masked arrays as lists.
    """
    if isinstance(keys, np.ma.MaskedArray):
        return keys.tolist()
    if isinstance(keys, np.ndarray) or not hasattr(keys, "to_numpy"):
        return keys
    with contextlib.suppress(ValueError, TypeError):  # pyarrow refuses columns with nulls
        array = keys.to_numpy()
        if array.dtype.kind in "biu":
            return array
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(keys, name):
            return getattr(keys, name)()
    return keys.to_numpy()


def is_integer(key: Hashable) -> bool:
    """Whether a key that :func:`canonical` has returned is a 64-bit integer."""
    return type(key) is int and SMALLEST <= key <= LARGEST
