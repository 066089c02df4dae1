"""Where the records of keys are: in memory, or on disk if memory has a limit.

Without a limit everything stays in memory. With one, at most ``capacity`` records do; the least
recently used go to disk in bulk, and come back when one of their events does. What is on disk and
has come back is written again only if it was changed.
"""

import math
from collections.abc import Hashable, Iterator

import numpy as np

from onlinear._engine.segments import Segments
from onlinear._wrappers.keyed.key_index import FREE, NONE, OTHER, Batch, Keys
from onlinear._wrappers.keyed.record_header import KEY, LAST, STAMP
from onlinear._wrappers.keyed.spill_store import Store

__all__ = ["AT_LEAST", "OVERHEAD", "Residence", "numbered"]

AT_LEAST = 4224  # bytes of tables without a key
OVERHEAD = 48  # bytes a key takes in the tables at most, if it is a whole number
EVICTED = 8  # at least one in so many goes when there is no room
ROWS = 4096  # handed out at a time


class _Count:
    """Numbers in place of slots."""

    used = 0

    def claim(self, count: int) -> np.ndarray:
        self.used += count
        return np.arange(self.used - count, self.used)

    def release(self, slots: np.ndarray) -> None:
        self.used -= slots.size


def numbered(keys: Batch) -> tuple[np.ndarray, int]:
    """Return numbers 0, 1, … for keys, the same for the same key, and how many there are."""
    count, numbers = _Count(), np.full(keys.rows, FREE)
    Keys().enter(keys, numbers, count)
    return numbers, count.used


class Residence:
    """Records of ``size`` numbers by key, at most ``capacity`` of them in memory."""

    def __init__(
        self, size: int, capacity: int | None = None, folder: str | None = None, before: int = 0
    ) -> None:
        self.size, self.capacity, self._before = size, capacity, before
        self._clear()
        self.store = None if capacity is None else Store(size, folder)
        self._clean = np.zeros(capacity or 0, dtype=np.bool_)  # by slot: as on disk
        self._more = OTHER / (self.segments.stride + OVERHEAD)  # records another key counts as
        self.count = 0  # keys, wherever they are
        self.committed = True  # whether nothing is to be undone any more

    def _clear(self) -> None:
        self.keys = Keys()
        self.segments = Segments(self.size, self.capacity, self._before)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self.segments.nbytes + self.keys.nbytes

    # --- what a run needs -----------------------------------------------------------------------

    def portions(self, keys: Batch, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Divide rows, in their order, so that the keys of a portion have room in memory.

        The keys used last are in the last portion, and so in memory afterwards.
        """
        if self.capacity is None or rows.size * (1.0 + self._more) <= self.capacity:
            yield rows
            return
        numbers, count = numbered(keys.take(rows))
        last = np.zeros(count, dtype=np.int64)
        last[numbers] = np.arange(rows.size)
        rank = np.empty(count, dtype=np.int64)
        rank[np.argsort(-last)] = np.arange(count)
        most = int(self.capacity / (1.0 + self._more)) if keys.others else self.capacity
        portion = -(rank[numbers] // max(1, most))
        order = np.argsort(portion, kind="stable")
        yield from np.split(rows[order], np.flatnonzero(np.diff(portion[order])) + 1)

    def bring(self, keys: Batch, rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Have the keys of some rows in memory, new ones entered; write the slots of these rows.

        Return the new slots, whose records have no stamp yet.
        """
        some = keys.take(rows)
        found = self.keys.locate(some)
        if self.store is None:
            new = self._enter(some, found)
            self.count += new.size
        else:
            new = self._fetch(some, found)
            self._clean[found] = False
        slots[rows] = found
        return new

    def _enter(self, keys: Batch, slots: np.ndarray) -> np.ndarray:
        """Give slots to keys that have none; what stands there has no stamp yet."""
        new, whole = self.keys.enter(keys, slots, self.segments)
        numbers = np.zeros(new.size)
        numbers[: whole.size] = whole.view(np.float64)
        self.segments.put_number(new, KEY, numbers)
        return new

    def _fetch(self, keys: Batch, slots: np.ndarray) -> np.ndarray:
        """Bring keys from disk, or enter them, after room was made."""
        assert self.store is not None
        assert self.capacity is not None
        (missing,) = np.nonzero(slots == FREE)
        if not missing.size:
            return NONE
        numbers, count = numbered(keys.take(missing))
        _, first = np.unique(numbers, return_index=True)  # a row for each key
        rows = missing[first]
        assert rows.size == count
        wanted = keys.take(rows)
        self._make_room(count + self._more * len(wanted.others), slots[slots != FREE])
        here, records = self.store.get(wanted)
        own = np.full(count, FREE)
        self._enter(wanted, own)
        if here.size:
            self.segments.put(own[here], records)
        new = np.delete(own, here)
        self.count += new.size
        slots[missing] = own[numbers]
        return new

    def touch(self, slot: int) -> None:
        """Take note that a record in memory was changed."""
        if self.store is not None:
            self._clean[slot] = False

    def first_of_new(self, keys: Batch) -> np.ndarray:
        """Return the rows in which keys appear that are not there yet, in order."""
        numbers, count = numbered(keys)
        _, first = np.unique(numbers, return_index=True)
        known = np.zeros(count, dtype=np.bool_)
        for some in range(0, count, ROWS):
            part = keys.take(first[some : some + ROWS])
            known[some : some + ROWS] = self.get(part)[1]
        return np.sort(first[~known])

    def copies(
        self, keys: Batch, rows: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Segments, np.ndarray]]:
        """Return rows whose keys are on disk, some at a time, with copies of their records.

        The slots of all rows in the copies are returned too; FREE if the key is not known.
        """
        if not rows.size:
            return
        numbers, count = numbered(keys.take(rows))
        _, first = np.unique(numbers, return_index=True)
        for start in range(0, count, ROWS):
            some = np.arange(start, min(count, start + ROWS))
            records, known = self.get(keys.take(rows[first[some]]))
            segments = Segments(self.size, before=self._before)
            places = np.where(known, segments.claim(some.size), FREE)
            segments.put(np.flatnonzero(known), records[known])
            mine = np.flatnonzero((numbers >= start) & (numbers < start + some.size))
            slots = np.full(keys.rows, FREE)
            slots[rows[mine]] = places[numbers[mine] - start]
            yield rows[mine], segments, slots

    # --- eviction -------------------------------------------------------------------------------

    def _make_room(self, count: float, needed: np.ndarray) -> None:
        """Send the least recently used to disk until there is room for so many, but not these."""
        assert self.capacity is not None
        surplus = len(self.keys) + self._more * self.keys.others + count - self.capacity
        if surplus <= 0:
            return
        others = np.setdiff1d(self.keys.slots(), needed)
        some = min(others.size, max(math.ceil(surplus), self.capacity // EVICTED))
        if some == others.size:
            self.evict(others)
        else:
            last = self.column(others, LAST)
            self.evict(others[np.argpartition(last, some - 1)[:some]])

    def evict_before(self, event: float) -> int:
        """Send to disk what was last used before an event; return how many."""
        slots = self.keys.slots()
        old = slots[self.column(slots, LAST) < event]
        self.evict(old)
        return int(old.size)

    def evict(self, slots: np.ndarray) -> None:
        """Send records to disk."""
        self.flush(slots)
        self.keys.remove(self._of(slots))
        self._release(slots)

    def flush(self, slots: np.ndarray) -> None:
        """Write to disk what is not there as it is."""
        assert self.store is not None
        changed = slots[~self._clean[slots]]
        for first in range(0, changed.size, ROWS):
            some = changed[first : first + ROWS]
            self.store.put(self._of(some), self.segments.rows(some))
        self._clean[changed] = True

    def _of(self, slots: np.ndarray) -> Batch:
        return self.keys.of(slots, self.column(slots, KEY).view(np.int64))

    def column(self, slots: np.ndarray, j: int) -> np.ndarray:
        """Return number j of records."""
        return self.segments.column(slots, j)

    # --- all or nothing -------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin what may be undone, where there is a disk: what is on it then is what counts."""
        if self.store is not None:
            self.flush(self.keys.slots())  # before all of it is there, nothing is to be undone
        self.committed = False
        if self.store is not None:
            self.store.begin()

    def commit(self) -> None:
        """Keep what was done since."""
        if self.store is not None:
            self.flush(self.keys.slots())
            self.store.commit()
        self.committed = True

    def kept(self) -> bool:
        """Whether nothing is to be undone, after an error or interrupt anywhere."""
        while not self.committed:
            try:
                if self.store is None or not self.store.committed:
                    return False
                self.committed = True
            except KeyboardInterrupt:  # there is an error on its way already
                continue
        return True

    def rollback(self, count: int) -> None:
        """Have on disk what was there before, and nothing in memory."""
        assert self.store is not None
        while True:
            try:
                self.store.rollback()
                self._clear()
                self._clean[:] = False
                self.count, self.committed = count, True
                return
            except KeyboardInterrupt:  # there is an error on its way already
                continue

    def recover(self, count: int) -> None:
        """Be whole again, wherever an interrupt fell; keys without a stamp are forgotten."""
        while True:
            try:
                self.keys.without(lambda slots: self.column(slots, STAMP) == 0.0)
                self.segments.recover(self.keys.slots())
                self.count, self.committed = count, True
                return
            except KeyboardInterrupt:  # there is an error on its way already
                continue

    def forget(self, keys: Batch) -> None:
        """Take out keys for good."""
        slots = self.keys.locate(keys)
        (here,) = np.nonzero(slots != FREE)
        self.keys.remove(keys.take(here))
        self._release(slots[here])
        if self.store is not None:
            self.store.remove(keys)
        self.count -= keys.rows

    def _release(self, slots: np.ndarray) -> None:
        self.segments.put_number(slots, STAMP, np.zeros(slots.size))
        self.segments.release(slots)

    # --- all records ----------------------------------------------------------------------------

    def pieces(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Return all keys and records in the order of keys, some at a time."""
        if self.store is not None:
            self.flush(self.keys.slots())
            yield from self.store.pieces()
            return
        slots = self.keys.in_order()
        for first in range(0, slots.size, ROWS):
            some = slots[first : first + ROWS]
            yield self._of(some), self.segments.rows(some)

    def names(self) -> tuple[np.ndarray, list[Hashable]]:
        """Return all keys in the same order: those that are whole numbers, and the others."""
        if self.store is not None:
            self.flush(self.keys.slots())
            return self.store.names()
        keys = self._of(self.keys.in_order())
        return keys.whole, keys.others

    def add(self, keys: Batch, rows: np.ndarray) -> None:
        """Put in records of keys that are not there."""
        for portion in self.portions(keys, np.arange(keys.rows)):
            slots = np.full(keys.rows, FREE)
            new = self.bring(keys, portion, slots)
            if new.size != portion.size:
                raise ValueError("it has a key more than once")
            own = np.array(rows[portion])
            own[:, KEY] = self.column(slots[portion], KEY)
            self.segments.put(slots[portion], own)

    def get(self, keys: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Return copies of the records of keys, and which of them there are; move nothing."""
        slots = self.keys.locate(keys)
        rows = np.zeros((keys.rows, self.size))
        (here,) = np.nonzero(slots != FREE)
        rows[here] = self.segments.rows(slots[here])
        if self.store is not None and here.size < keys.rows:
            (away,) = np.nonzero(slots == FREE)
            found, records = self.store.get(keys.take(away))
            rows[away[found]] = records
        return rows, rows[:, STAMP] != 0.0
