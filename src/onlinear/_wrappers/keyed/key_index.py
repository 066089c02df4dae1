"""Which record belongs to which key.

Keys that are whole numbers stand in a compiled table (open addressing, a key and its slot side by
side), others in a dict. Both are Python's notion of equal: 1, 1.0 and True are one key.
"""

import contextlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from onlinear._engine.segments import ask_for
from onlinear._numerics.jit import Kept
from onlinear._numerics.linalg import inner
from onlinear._state_files.key_codec import LARGEST, SMALLEST, MissingKeyError, canonical, encoded

__all__ = ["FREE", "NONE", "OTHER", "Batch", "Keys", "batch", "is_whole", "one_key", "whole_batch"]

FIRST_ROOM = 1 << 8  # entries of the table, a power of two
AHEAD = 8  # keys whose place in the table is asked for before it is looked at
FREE = -1  # the slot of an entry that is none
MANY = 1 << 16  # keys entered at a time
OTHER = 200  # bytes that a key which is no whole number takes, about


@inner(inline="always")
def _home(key, room):
    """Return where in a table of 2ⁿ entries the search for a key begins."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64((mixed * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(20)) & (room - 1)


@inner
def _find(table, key):
    """Return the entry that is, or would be, the key's."""
    last = table.shape[0] - 1
    entry = _home(key, table.shape[0])
    while table[entry, 1] != FREE and table[entry, 0] != key:
        entry = (entry + 1) & last
    return entry


@Kept
def _locate(table, keys, slots):
    """Write the slot of every key, or FREE; return how many have none."""
    room, missing, base = table.shape[0], 0, table.ctypes.data
    for k in range(keys.size):
        if k + AHEAD < keys.size:
            ask_for(base + 16 * _home(keys[k + AHEAD], room), 1)
        slots[k] = table[_find(table, keys[k]), 1]
        missing += slots[k] == FREE
    return missing


@Kept
def _one(table, key):
    """Return the slot of one key, or FREE."""
    return table[_find(table, key), 1]


@Kept
def _enter(table, keys, slots, missing, free, new):
    """Give the keys at ``missing`` slots: new ones from ``free`` in order of their appearance.

    Write the new keys; return how many there are.
    """
    taken = 0
    for k in range(missing.size):
        key = keys[missing[k]]
        entry = _find(table, key)
        if table[entry, 1] == FREE:
            table[entry, 0], table[entry, 1] = key, free[taken]
            new[taken] = key
            taken += 1
        slots[missing[k]] = table[entry, 1]
    return taken


@Kept
def _copy(table, larger):
    """Enter all of a table into a larger one."""
    for k in range(table.shape[0]):
        if table[k, 1] != FREE:
            entry = _find(larger, table[k, 0])
            larger[entry, 0], larger[entry, 1] = table[k, 0], table[k, 1]


@Kept
def _remove(table, keys):
    """Take keys out; those behind move up so that each is still found from its home."""
    last = table.shape[0] - 1
    for k in range(keys.size):
        hole = _find(table, keys[k])
        if table[hole, 1] == FREE:
            continue
        entry = (hole + 1) & last
        while table[entry, 1] != FREE:
            home = _home(table[entry, 0], table.shape[0])
            if (entry - home) & last >= (entry - hole) & last:
                table[hole, 0], table[hole, 1] = table[entry, 0], table[entry, 1]
                hole = entry
            entry = (entry + 1) & last
        table[hole, 1] = FREE


class Batch(NamedTuple):
    """The keys of some rows: the whole numbers, the others, and in which rows they stand."""

    whole: np.ndarray
    whole_rows: np.ndarray
    others: list[Hashable]
    other_rows: np.ndarray
    rows: int
    missing: np.ndarray  # rows that have no key

    def key(self, row: int) -> Hashable:
        """Return the key of a row."""
        (where,) = np.nonzero(self.whole_rows == row)
        if where.size:
            return int(self.whole[where[0]])
        return self.others[int(np.flatnonzero(self.other_rows == row)[0])]

    def take(self, rows: np.ndarray) -> "Batch":
        """Return the keys of some rows, in their order."""
        if not self.missing.size and np.array_equal(rows, np.arange(self.rows)):
            return self
        if self.whole.size == self.rows:
            return whole_batch(self.whole[rows])
        place = np.full(self.rows, FREE)
        place[self.whole_rows] = np.arange(self.whole.size)
        whole = place[rows] != FREE
        place[self.other_rows] = np.arange(len(self.others))
        return Batch(
            self.whole[place[rows[whole]]],
            np.flatnonzero(whole),
            [self.others[k] for k in place[rows[~whole]].tolist()],
            np.flatnonzero(~whole),
            rows.size,
            NONE,
        )


NONE = np.empty(0, dtype=np.int64)


def whole_batch(whole: np.ndarray) -> Batch:
    """Return keys that are whole numbers."""
    return Batch(whole, np.arange(whole.size), [], NONE, whole.size, NONE)


def one_key(key: Hashable) -> Batch:
    """Return one canonical key."""
    if is_whole(key):
        return whole_batch(np.array([key]))
    return Batch(NONE, NONE, [key], np.zeros(1, dtype=np.int64), 1, NONE)


def batch(keys: Any) -> Batch:
    """Return the keys of a table: an array, a list, a Series or column of any DataFrame."""
    keys = _native(keys)
    if isinstance(keys, np.ndarray) and keys.ndim != 1:
        raise ValueError(f"keys need to be one a row (1-D), got shape {keys.shape}")
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "biu" and not _too_large(keys):
        whole = np.ascontiguousarray(keys, dtype=np.int64)
        return whole_batch(whole)
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"keys need to be a sequence, one a row, got {keys!r:.60}")
    if isinstance(keys, np.ndarray) and keys.dtype.kind not in "mM":  # times are to stay times
        keys = keys.tolist()
    given = list(keys)
    if set(map(type, given)) == {str}:
        return Batch(NONE, NONE, given, np.arange(len(given)), len(given), NONE)
    whole_list, whole_rows, others, other_rows, missing = [], [], [], [], []
    for row, key in enumerate(given):
        try:
            key = canonical(key)
        except MissingKeyError:
            missing.append(row)
            continue
        if is_whole(key):
            whole_list.append(key)
            whole_rows.append(row)
        else:
            others.append(key)
            other_rows.append(row)
    return Batch(
        np.array(whole_list, dtype=np.int64),
        np.array(whole_rows, dtype=np.int64),
        others,
        np.array(other_rows, dtype=np.int64),
        len(given),
        np.array(missing, dtype=np.int64),
    )


def _too_large(keys: np.ndarray) -> bool:
    """Whether there may be numbers beyond 64 bits with a sign."""
    return keys.dtype.kind == "u" and keys.dtype.itemsize == 8


def _native(keys: Any) -> Any:
    """Return a column as an array of whole numbers if it is one, else as a list, nulls as None."""
    if isinstance(keys, np.ma.MaskedArray):
        return keys.tolist()
    if isinstance(keys, np.ndarray) or not hasattr(keys, "to_numpy"):
        return keys
    with contextlib.suppress(ValueError, TypeError):  # pyarrow makes none of nulls
        array = keys.to_numpy()
        if array.dtype.kind in "biu":
            return array
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(keys, name):
            return getattr(keys, name)()
    return keys.to_numpy()


def is_whole(key: Hashable) -> bool:
    """Whether a canonical key stands in the table of whole numbers."""
    return type(key) is int and SMALLEST <= key <= LARGEST


class New(NamedTuple):
    """Slots given to new keys; the first of them are whole numbers, namely these."""

    slots: np.ndarray
    whole: np.ndarray


class Room(Protocol):
    """What gives out slots, such as Segments."""

    def claim(self, count: int) -> np.ndarray:
        """Return so many."""

    def release(self, slots: np.ndarray) -> None:
        """Take some back."""


class Keys:
    """Slots by key."""

    def __init__(self) -> None:
        self._table = _room(FIRST_ROOM)
        self._whole = 0
        self._slots: dict[Hashable, int] = {}
        self._others: dict[int, Hashable] = {}

    def __len__(self) -> int:
        return self._whole + len(self._slots)

    @property
    def nbytes(self) -> int:
        """How much memory the tables take, but for keys that are objects."""
        return self._table.nbytes + OTHER * len(self._slots)

    @property
    def others(self) -> int:
        """How many keys are no whole numbers."""
        return len(self._slots)

    def slot(self, key: Hashable) -> int:
        """Return the slot of one key, or FREE."""
        if is_whole(key):
            return _one(self._table, key)  # type: ignore[no-any-return]
        return self._slots.get(key, FREE)

    def locate(self, keys: Batch) -> np.ndarray:
        """Return the slots of keys; FREE for those that have none."""
        slots = np.full(keys.rows, FREE)
        if keys.whole.size:
            if keys.whole.size == keys.rows:
                _locate(self._table, keys.whole, slots)
            else:
                found = np.empty(keys.whole.size, dtype=np.int64)
                _locate(self._table, keys.whole, found)
                slots[keys.whole_rows] = found
        if keys.others:
            get = self._slots.get
            slots[keys.other_rows] = np.fromiter(
                (get(key, FREE) for key in keys.others), dtype=np.int64, count=len(keys.others)
            )
        return slots

    def enter(self, keys: Batch, slots: np.ndarray, room: Room) -> New:
        """Give keys without a slot one, writing it to ``slots``; return the new ones."""
        whole = self._enter_whole(keys, slots, room)
        fresh = [
            (row, key)
            for row, key in zip(keys.other_rows.tolist(), keys.others, strict=True)
            if slots[row] == FREE
        ]
        if not fresh:
            return whole
        first = dict.fromkeys(key for _, key in fresh)
        taken = room.claim(len(first))
        for key, slot in zip(first, taken.tolist(), strict=True):
            self._slots[key] = slot
            self._others[slot] = key
        for row, key in fresh:
            slots[row] = self._slots[key]
        return New(np.concatenate([whole.slots, taken]), whole.whole)

    def _enter_whole(self, keys: Batch, slots: np.ndarray, room: Room) -> New:
        all_whole = keys.whole.size == keys.rows
        found = slots if all_whole else slots[keys.whole_rows]
        missing = np.flatnonzero(found == FREE)
        new, whole = [NONE], [NONE]
        while missing.size:
            some = missing[: min(MANY, len(self._table) // 4)]
            if self._whole + some.size > 3 * len(self._table) // 4:
                larger = _room(2 * len(self._table))
                _copy(self._table, larger)
                self._table = larger
                continue
            free = room.claim(some.size)
            names = np.empty(some.size, dtype=np.int64)
            taken = _enter(self._table, keys.whole, found, some, free, names)
            room.release(free[taken:])
            self._whole += taken
            new.append(free[:taken])
            whole.append(names[:taken])
            missing = missing[some.size :]
        if not all_whole:
            slots[keys.whole_rows] = found
        return New(np.concatenate(new), np.concatenate(whole))

    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys that are whole numbers, and their slots."""
        taken = self._table[self._table[:, 1] != FREE]
        return np.ascontiguousarray(taken[:, 0]), np.ascontiguousarray(taken[:, 1])

    def without(self, unused: Callable[[np.ndarray], np.ndarray]) -> None:
        """Be whole again after an interrupt, and take out the keys whose slots are unused."""
        whole, slots = self.entries()
        self._whole = whole.size
        others = np.array(list(self._slots.values()), dtype=np.int64)
        names = [key for key, gone in zip(self._slots, unused(others), strict=True) if gone]
        self._others = {slot: key for key, slot in self._slots.items()}
        self.remove(whole_batch(whole[unused(slots)]))
        self.remove(Batch(NONE, NONE, names, np.arange(len(names)), len(names), NONE))

    def remove(self, keys: Batch) -> None:
        """Take keys that have a slot out."""
        _remove(self._table, keys.whole)
        self._whole -= keys.whole.size
        for key in keys.others:
            self._others.pop(self._slots.pop(key), None)

    def of(self, slots: np.ndarray, whole: np.ndarray) -> Batch:
        """Return the keys in some slots, given what those that are whole numbers are."""
        if not self._others:
            return whole_batch(whole)
        get = self._others.get
        names = [get(slot, FREE) for slot in slots.tolist()]
        other = np.array([slot in self._others for slot in slots.tolist()], dtype=np.bool_)
        (rows,) = np.nonzero(other)
        return Batch(
            whole[~other],
            np.flatnonzero(~other),
            [names[row] for row in rows],
            rows,
            slots.size,
            NONE,
        )

    def slots(self) -> np.ndarray:
        """Return the slots of all keys."""
        whole = self._table[:, 1]
        return np.concatenate([whole[whole != FREE], np.fromiter(self._others, dtype=np.int64)])

    def in_order(self) -> np.ndarray:
        """Return the slots of all keys in the order of keys: whole numbers, then others' bytes.

        Keys that no file can hold come last, as they were entered.
        """
        column = self._table[:, 1]
        slots = column[column != FREE]
        whole = slots[np.argsort(self._table[column != FREE, 0])]
        others = sorted(self._slots.items(), key=lambda item: _bytes(item[0]))
        return np.concatenate([whole, np.array([slot for _, slot in others], dtype=np.int64)])


def _bytes(key: Hashable) -> tuple[int, bytes]:
    try:
        return 0, encoded(key)
    except TypeError:
        return 1, b""


def _room(entries: int) -> np.ndarray:
    table = np.empty((entries, 2), dtype=np.int64)
    table[:, 1] = FREE
    return table
