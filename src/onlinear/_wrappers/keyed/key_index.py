"""Look up the slot of each key: the place in memory of its record.

The record of a key is an array of numbers that holds the key's model. Integer keys are in a
compiled hash table, other keys in a dict.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

import numpy as np

from onlinear._state_files.key_codec import encoded
from onlinear._wrappers.keyed.integer_table import (
    FREE,
    copy_entries,
    empty_table,
    enter_keys,
    find_slot,
    find_slots,
    remove_keys,
)
from onlinear._wrappers.keyed.key_batch import (
    NO_ROWS,
    KeyBatch,
    integer_batch,
    is_integer,
    other_batch,
)

__all__ = ["OTHER_BYTES", "KeyIndex", "numbered"]

FIRST_ENTRIES = 1 << 8  # entries of the first table, a power of two
AT_ONCE = 1 << 16  # how many keys are entered at a time
OTHER_BYTES = 200  # approximate memory of a key that is not an integer


class NewSlots(NamedTuple):
    """The slots given to new keys, those of integer keys first, and the new integer keys."""

    slots: np.ndarray
    integers: np.ndarray


class SlotSource(Protocol):
    """An object that gives out slots for records, as ``Segments`` does."""

    def claim(self, count: int) -> np.ndarray:
        """Return ``count`` unused slots."""

    def release(self, slots: np.ndarray) -> None:
        """Take slots back for reuse."""


class KeyIndex:
    """Finds the slot of each key: the place in memory of its record."""

    def __init__(self) -> None:
        self._table = empty_table(FIRST_ENTRIES)
        self._integers = 0  # how many keys are integers
        self._slots: dict[Hashable, int] = {}  # slots of the other keys
        self._others: dict[int, Hashable] = {}  # the other keys by slot

    def __len__(self) -> int:
        return self._integers + len(self._slots)

    @property
    def nbytes(self) -> int:
        """Approximate memory of the tables and keys, in bytes."""
        return self._table.nbytes + OTHER_BYTES * len(self._slots)

    @property
    def others(self) -> int:
        """How many keys are not integers."""
        return len(self._slots)

    def slot(self, key: Hashable) -> int:
        """Return the slot of one key, or FREE if the key is unknown."""
        if is_integer(key):
            return find_slot(self._table, key)  # type: ignore[no-any-return]
        return self._slots.get(key, FREE)

    def slots_of(self, keys: KeyBatch) -> np.ndarray:
        """Return the slots of keys, FREE for unknown keys."""
        slots = np.full(keys.rows, FREE)
        if keys.integers.size:
            if keys.integers.size == keys.rows:
                find_slots(self._table, keys.integers, slots)
            else:
                found = np.empty(keys.integers.size, dtype=np.int64)
                find_slots(self._table, keys.integers, found)
                slots[keys.integer_rows] = found
        if keys.others:
            get = self._slots.get
            slots[keys.other_rows] = np.fromiter(
                (get(key, FREE) for key in keys.others), dtype=np.int64, count=len(keys.others)
            )
        return slots

    def enter(self, keys: KeyBatch, slots: np.ndarray, source: SlotSource) -> NewSlots:
        """Enter the new keys, those with FREE in ``slots``; replace FREE by slots from ``source``.

        Return the new slots and the new integer keys.
        """
        integers = self._enter_integers(keys, slots, source)
        fresh = [
            (row, key)
            for row, key in zip(keys.other_rows.tolist(), keys.others, strict=True)
            if slots[row] == FREE
        ]
        if not fresh:
            return integers
        first = dict.fromkeys(key for _, key in fresh)
        taken = source.claim(len(first))
        for key, slot in zip(first, taken.tolist(), strict=True):
            self._slots[key] = slot
            self._others[slot] = key
        for row, key in fresh:
            slots[row] = self._slots[key]
        return NewSlots(np.concatenate([integers.slots, taken]), integers.integers)

    def _enter_integers(self, keys: KeyBatch, slots: np.ndarray, source: SlotSource) -> NewSlots:
        only_integers = keys.integers.size == keys.rows
        found = slots if only_integers else slots[keys.integer_rows]
        missing = np.flatnonzero(found == FREE)
        new, names = [NO_ROWS], [NO_ROWS]
        while missing.size:
            some = missing[: min(AT_ONCE, len(self._table) // 4)]
            if self._integers + some.size > 3 * len(self._table) // 4:
                larger = empty_table(2 * len(self._table))
                copy_entries(self._table, larger)
                self._table = larger
                continue
            free = source.claim(some.size)
            entered = np.empty(some.size, dtype=np.int64)
            taken = enter_keys(self._table, keys.integers, found, some, free, entered)
            source.release(free[taken:])
            self._integers += taken
            new.append(free[:taken])
            names.append(entered[:taken])
            missing = missing[some.size :]
        if not only_integers:
            slots[keys.integer_rows] = found
        return NewSlots(np.concatenate(new), np.concatenate(names))

    def remove(self, keys: KeyBatch) -> None:
        """Remove keys, each of which has a slot."""
        remove_keys(self._table, keys.integers)
        self._integers -= keys.integers.size
        for key in keys.others:
            self._others.pop(self._slots.pop(key), None)

    def remove_unused(self, unused: Callable[[np.ndarray], np.ndarray]) -> None:
        """Repair the index after an interrupt, and remove the keys whose slots are unused.

        ``unused`` is a function that says for each of some slots whether it is unused.
        """
        taken = self._table[self._table[:, 1] != FREE]
        integers, slots = np.ascontiguousarray(taken[:, 0]), np.ascontiguousarray(taken[:, 1])
        self._integers = integers.size
        others = np.array(list(self._slots.values()), dtype=np.int64)
        names = [key for key, gone in zip(self._slots, unused(others), strict=True) if gone]
        self._others = {slot: key for key, slot in self._slots.items()}
        self.remove(integer_batch(integers[unused(slots)]))
        self.remove(other_batch(names))

    def keys_in(self, slots: np.ndarray, integers: np.ndarray) -> KeyBatch:
        """Return the keys in the given slots; ``integers`` has each slot's integer key, if any."""
        if not self._others:
            return integer_batch(integers)
        other = np.array([slot in self._others for slot in slots.tolist()], dtype=np.bool_)
        (rows,) = np.nonzero(other)
        return KeyBatch(
            integers[~other],
            np.flatnonzero(~other),
            [self._others[slot] for slot in slots[rows].tolist()],
            rows,
            slots.size,
            NO_ROWS,
        )

    def all_slots(self) -> np.ndarray:
        """Return the slots of all keys."""
        column = self._table[:, 1]
        return np.concatenate([column[column != FREE], np.fromiter(self._others, dtype=np.int64)])

    def sorted_slots(self) -> np.ndarray:
        """Return the slots of all keys, sorted: integers, then other keys by their encoded bytes.

        Keys that cannot be encoded come last, in the order of their insertion.
        """
        column = self._table[:, 1]
        slots = column[column != FREE]
        integers = slots[np.argsort(self._table[column != FREE, 0])]
        others = sorted(self._slots.items(), key=lambda item: _sort_key(item[0]))
        return np.concatenate([integers, np.array([slot for _, slot in others], dtype=np.int64)])


def _sort_key(key: Hashable) -> tuple[int, bytes]:
    try:
        return 0, encoded(key)
    except TypeError:
        return 1, b""


class _Counter:
    """A source of the slots 0, 1, 2, … in order."""

    used = 0

    def claim(self, count: int) -> np.ndarray:
        self.used += count
        return np.arange(self.used - count, self.used)

    def release(self, slots: np.ndarray) -> None:
        self.used -= slots.size


def numbered(keys: KeyBatch) -> tuple[np.ndarray, int]:
    """Number the different keys 0, 1, …; return each row's number, and how many keys there are."""
    counter, numbers = _Counter(), np.full(keys.rows, FREE)
    KeyIndex().enter(keys, numbers, counter)
    return numbers, counter.used
