"""Records by key, in memory and, if memory is limited, on disk: a least-recently-used cache.

A record is one array: counters of a key (such as how many rows were learnt), then the state of its
model. The place of a record in memory is called its slot. An event is a row to be learnt, with its
key; events are numbered. Without a limit, all records stay in memory. With a limit, at most
``capacity`` records stay in memory: the least recently used are moved to disk in bulk, and come
back with the next event of their key. A record that was loaded from disk is written to disk again
only if it has changed.
"""

import math
from collections.abc import Callable, Hashable, Iterator

import numpy as np

from onlinear._engine.segments import Segments
from onlinear._wrappers.keyed.integer_table import FREE
from onlinear._wrappers.keyed.key_batch import NO_ROWS, KeyBatch
from onlinear._wrappers.keyed.key_index import OTHER_BYTES, KeyIndex, numbered
from onlinear._wrappers.keyed.record_header import KEY, LAST, STAMP
from onlinear._wrappers.keyed.spill_store import SpillStore

__all__ = ["AT_LEAST", "OVERHEAD", "RecordCache"]

AT_LEAST = 4224  # bytes that the tables of keys take when empty
OVERHEAD = 48  # most bytes that an integer key takes in the tables
EVICTED = 8  # when memory is full, at least one in this many records is evicted
ROWS = 4096  # how many records are handled at a time


class RecordCache:
    """Records of ``size`` numbers, one for each key; at most ``capacity`` of them are in memory.

    The other records are on disk, in ``folder``. In each record, the number at index ``before`` is
    aligned to a cache line.
    """

    def __init__(
        self, size: int, capacity: int | None = None, folder: str | None = None, before: int = 0
    ) -> None:
        self.size, self.capacity, self._before = size, capacity, before
        self._clear()
        self.disk = None if capacity is None else SpillStore(size, folder)
        self._clean = np.zeros(capacity or 0, dtype=np.bool_)  # by slot: equals its copy on disk
        self._more = OTHER_BYTES / (
            self.segments.stride + OVERHEAD
        )  # the size of a non-integer key, in records
        self.count = 0  # number of keys, in memory or on disk
        self._committed = True  # whether there is nothing to undo

    def _clear(self) -> None:
        self.keys = KeyIndex()
        self.segments = Segments(self.size, self.capacity, self._before)

    @property
    def nbytes(self) -> int:
        """The memory used, in bytes."""
        return self.segments.nbytes + self.keys.nbytes

    # --- what a run needs -----------------------------------------------------------------------

    def portions(self, keys: KeyBatch, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield rows in portions, so that the records of the keys in a portion fit in memory.

        All rows of a key are in one portion, in their order. The keys whose last rows come latest
        are in the last portion, so their records are in memory afterwards.
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

    def load(self, keys: KeyBatch, rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Bring the records of some rows' keys into memory; write each row's slot to ``slots``.

        New keys are added. Return the slots of the new keys, whose records the caller has to
        initialize.
        """
        some = keys.take(rows)
        found = self.keys.slots_of(some)
        if self.disk is None:
            new = self._enter(some, found)
            self.count += new.size
        else:
            new = self._load_from_disk(self.disk, some, found)
            self._clean[found] = False
        slots[rows] = found
        return new

    def _enter(self, keys: KeyBatch, slots: np.ndarray) -> np.ndarray:
        """Give slots to keys that have none, and return these slots; no record is initialized."""
        new, integers = self.keys.enter(keys, slots, self.segments)
        numbers = np.zeros(new.size)
        numbers[: integers.size] = integers.view(np.float64)
        self.segments.put_number(new, KEY, numbers)
        return new

    def _load_from_disk(self, disk: SpillStore, keys: KeyBatch, slots: np.ndarray) -> np.ndarray:
        """Give slots to keys that have none: load their records, or add the keys if they are new.

        Return the slots of the new keys.
        """
        (missing,) = np.nonzero(slots == FREE)
        if not missing.size:
            return NO_ROWS
        numbers, count = numbered(keys.take(missing))
        _, first = np.unique(numbers, return_index=True)  # one row per key
        rows = missing[first]
        assert rows.size == count
        wanted = keys.take(rows)
        self._make_room(count + self._more * len(wanted.others), slots[slots != FREE])
        here, records = disk.read(wanted)
        own = np.full(count, FREE)
        self._enter(wanted, own)
        if here.size:
            self.segments.put(own[here], records)
        new = np.delete(own, here)
        self.count += new.size
        slots[missing] = own[numbers]
        return new

    def mark_changed(self, slot: int) -> None:
        """Note that the record in a slot differs from its copy on disk."""
        if self.disk is not None:
            self.disk.check_process()
            self._clean[slot] = False

    def first_rows_of_new(self, keys: KeyBatch) -> np.ndarray:
        """Return the rows in which new keys appear for the first time, in order."""
        numbers, count = numbered(keys)
        _, first = np.unique(numbers, return_index=True)
        known = np.zeros(count, dtype=np.bool_)
        for some in range(0, count, ROWS):
            part = keys.take(first[some : some + ROWS])
            known[some : some + ROWS] = self.read(part)[1]
        return np.sort(first[~known])

    def copies(
        self, keys: KeyBatch, rows: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Segments, np.ndarray]]:
        """Yield groups of rows, each with copies of its keys' records and a slot for each row.

        Here, a row's slot is the place of its record among the copies, or FREE if the key is
        unknown. The cache does not change.
        """
        if not rows.size:
            return
        numbers, count = numbered(keys.take(rows))
        _, first = np.unique(numbers, return_index=True)
        for start in range(0, count, ROWS):
            some = np.arange(start, min(count, start + ROWS))
            records, known = self.read(keys.take(rows[first[some]]))
            segments = Segments(self.size, before=self._before)
            places = np.where(known, segments.claim(some.size), FREE)
            segments.put(np.flatnonzero(known), records[known])
            mine = np.flatnonzero((numbers >= start) & (numbers < start + some.size))
            slots = np.full(keys.rows, FREE)
            slots[rows[mine]] = places[numbers[mine] - start]
            yield rows[mine], segments, slots

    # --- eviction -------------------------------------------------------------------------------

    def _make_room(self, count: float, needed: np.ndarray) -> None:
        """Evict the least recently used records, except those in the slots ``needed``.

        Afterwards, there is room for ``count`` more records.
        """
        assert self.capacity is not None
        surplus = len(self.keys) + self._more * self.keys.others + count - self.capacity
        if surplus <= 0:
            return
        others = np.setdiff1d(self.keys.all_slots(), needed)
        some = min(others.size, max(math.ceil(surplus), self.capacity // EVICTED))
        if some == others.size:
            self._evict(others)
        else:
            last = self._column(others, LAST)
            self._evict(others[np.argpartition(last, some - 1)[:some]])

    def evict_before(self, event: float) -> None:
        """Move to disk the records that were last used before the event with number ``event``."""
        slots = self.keys.all_slots()
        self._evict(slots[self._column(slots, LAST) < event])

    def _evict(self, slots: np.ndarray) -> None:
        self.flush(slots)
        self.keys.remove(self._keys_in(slots))
        self._release(slots)

    def flush(self, slots: np.ndarray) -> None:
        """Write to disk the records in ``slots`` that differ from their copies on disk."""
        assert self.disk is not None
        changed = slots[~self._clean[slots]]
        for first in range(0, changed.size, ROWS):
            some = changed[first : first + ROWS]
            self.disk.write(self._keys_in(some), self.segments.rows(some))
        self._clean[changed] = True

    def _keys_in(self, slots: np.ndarray) -> KeyBatch:
        return self.keys.keys_in(slots, self._column(slots, KEY).view(np.int64))

    def _column(self, slots: np.ndarray, j: int) -> np.ndarray:
        return self.segments.column(slots, j)

    # --- all or nothing -------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a run that can be undone; if there is a disk, first write all records to it."""
        if self.disk is not None:
            self.flush(self.keys.all_slots())  # undoing needs all records on disk
        self._committed = False
        if self.disk is not None:
            self.disk.begin()

    def commit(self) -> None:
        """Make the changes since :meth:`begin` permanent."""
        if self.disk is not None:
            self.flush(self.keys.all_slots())
            self.disk.commit()
        self._committed = True

    def committed(self) -> bool:
        """Return whether no run is left to undo; this also works after an interrupted commit."""
        if not self._committed and self.disk is not None and self.disk.committed:
            self._committed = True
        return self._committed

    def roll_back(self, count: int) -> None:
        """Restore the ``count`` records on disk as they were before the run; clear the memory."""
        assert self.disk is not None
        self.disk.rollback()
        self._clear()
        self._clean[:] = False
        self.count, self._committed = count, True

    def recover(self, count: int, run: float = 0.0) -> None:
        """Repair the tables of keys after an interrupt; remove new keys, so that ``count`` remain.

        A key is new if no run has used its record, or only the run with the number ``run``.
        """

        def unused(slots: np.ndarray) -> np.ndarray:
            stamps = self._column(slots, STAMP)
            return np.asarray((stamps == 0.0) | (stamps == run))

        self.keys.remove_unused(unused)
        self.segments.recover(self.keys.all_slots())
        self.count, self._committed = count, True

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that removes the keys added after this call, but changes no record."""
        count = self.count
        return lambda: self.recover(count)

    # --- all records ----------------------------------------------------------------------------

    def chunks(self) -> Iterator[tuple[KeyBatch, np.ndarray]]:
        """Yield all keys and records in the order of the keys, some at a time."""
        if self.disk is not None:
            self.flush(self.keys.all_slots())
            yield from self.disk.chunks()
            return
        slots = self.keys.sorted_slots()
        for first in range(0, slots.size, ROWS):
            some = slots[first : first + ROWS]
            yield self._keys_in(some), self.segments.rows(some)

    def all_keys(self) -> tuple[np.ndarray, list[Hashable]]:
        """Return all keys: the integers, and the others, both in the order of :meth:`chunks`."""
        if self.disk is not None:
            self.flush(self.keys.all_slots())
            return self.disk.all_keys()
        keys = self._keys_in(self.keys.sorted_slots())
        return keys.integers, keys.others

    def add(self, keys: KeyBatch, rows: np.ndarray) -> None:
        """Add new keys, whose records are the rows of ``rows``."""
        for portion in self.portions(keys, np.arange(keys.rows)):
            slots = np.full(keys.rows, FREE)
            new = self.load(keys, portion, slots)
            if new.size != portion.size:
                raise ValueError("it has a key more than once")
            own = np.array(rows[portion])
            own[:, KEY] = self._column(slots[portion], KEY)
            self.segments.put(slots[portion], own)

    def read(self, keys: KeyBatch) -> tuple[np.ndarray, np.ndarray]:
        """Return copies of the records of keys, and which keys are known; move no record."""
        slots = self.keys.slots_of(keys)
        rows = np.zeros((keys.rows, self.size))
        (here,) = np.nonzero(slots != FREE)
        rows[here] = self.segments.rows(slots[here])
        if self.disk is not None and here.size < keys.rows:
            (away,) = np.nonzero(slots == FREE)
            found, records = self.disk.read(keys.take(away))
            rows[away[found]] = records
        return rows, rows[:, STAMP] != 0.0

    def remove(self, keys: KeyBatch) -> None:
        """Remove keys and their records."""
        slots = self.keys.slots_of(keys)
        (here,) = np.nonzero(slots != FREE)
        self.keys.remove(keys.take(here))
        self._release(slots[here])
        if self.disk is not None:
            self.disk.remove(keys)
        self.count -= keys.rows

    def finish_removal(self, keys: KeyBatch, count: int) -> None:
        """Complete an interrupted :meth:`remove` of keys, so that ``count`` keys remain."""
        slots = self.keys.slots_of(keys)
        here = slots[slots != FREE]
        self.segments.put_number(here, STAMP, np.zeros(here.size))
        if self.disk is not None:
            self.disk.remove(keys)
        self.recover(count)

    def _release(self, slots: np.ndarray) -> None:
        self.segments.put_number(slots, STAMP, np.zeros(slots.size))
        self.segments.release(slots)
