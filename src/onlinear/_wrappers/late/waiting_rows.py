"""Rows that wait for labels, found by id or by age, in memory that grows and shrinks.

The numbers needed to learn a waiting row, its *ticket*, are stored in a *slot*: one row of an array
called a block. Free slots are reused. Ids are divided among many small dicts by their hash, so that
resizing a dict is quick. The slots form a doubly linked list, ordered by age. Slot 0 holds no
waiting row; it marks both ends of the linked list.
"""

from array import array
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["MOST_ROWS", "RowColumns", "WaitingRow", "WaitingRows"]

BITS = 10
ROWS = 1 << BITS  # rows in a block
SHARDS = 64
MOST_ROWS = 2**31  # slot numbers have 32 bits


class WaitingRow(NamedTuple):
    """The ticket of a row (numbers needed to learn it), and the key of its model, if any."""

    ticket: np.ndarray
    key: Any


class RowColumns(NamedTuple):
    """All waiting rows, oldest first, as columns that have one entry per row."""

    ids: list[Any]
    keys: list[Any]
    tickets: np.ndarray
    numbers: np.ndarray
    times: np.ndarray


class WaitingRows:
    """Rows that wait for a label, each with an id and the data needed to learn it.

    Rows are numbered in the order of their arrival. With ``timed``, arrival times are stored too.
    If :meth:`add` or :meth:`remove` is interrupted, :meth:`mend` must be called.
    """

    def __init__(self, *, timed: bool) -> None:
        self.timed = timed
        self.clear()

    def clear(self) -> None:
        """Drop all rows and free their memory."""
        self.count = 0
        self.width = 0  # how many numbers a ticket has
        self.slots: list[dict[Hashable, int]] = [{} for _ in range(SHARDS)]  # slot numbers by id
        self.ids: list[Any] = [None]  # ids by slot; the lists below are by slot, too
        self.keys: list[Any] = [None]
        self.numbers = array("q", [0])
        self.times = array("d", [0.0])
        self.older, self.younger = array("I", [0]), array("I", [0])  # neighbours by age, by slot
        self.free: list[int] = []
        self.blocks: list[np.ndarray | None] = [None]
        self.used = [0]  # how many slots of each block are in use
        self._spare: np.ndarray | None = None  # an empty block to reuse

    def slot(self, id: Hashable) -> int | None:
        """Return the slot of the row with this id, or None if no such row waits."""
        return self.slots[hash(id) % SHARDS].get(id)

    def row(self, slot: int) -> WaitingRow:
        """Return a copy of the row in a slot."""
        block = self.blocks[slot >> BITS]
        assert block is not None
        return WaitingRow(block[slot % ROWS].copy(), self.keys[slot])

    @property
    def oldest(self) -> int:
        """The slot of the oldest row; 0 if there is none."""
        return self.younger[0]

    def add(self, id: Hashable, ticket: np.ndarray, key: Any, number: int, now: float) -> None:
        """Add a row as the youngest; the row counts as added once its id is in ``slots``."""
        slot = self.free.pop() if self.free else self._new_slot()
        which = slot >> BITS
        block = self.blocks[which]
        if block is None:
            block = np.zeros((ROWS, self.width)) if self._spare is None else self._spare
            self.blocks[which], self._spare = block, None
        block[slot % ROWS] = ticket
        self.ids[slot], self.keys[slot], self.numbers[slot] = id, key, number
        if self.timed:
            self.times[slot] = now
        self.used[which] += 1
        self._link(slot)
        self.slots[hash(id) % SHARDS][id] = slot
        self.count += 1

    def remove(self, id: Hashable, slot: int) -> None:
        """Remove a row and free its slot."""
        del self.slots[hash(id) % SHARDS][id]
        self.count -= 1
        older, younger = self.older[slot], self.younger[slot]
        self.younger[older], self.older[younger] = younger, older
        self.ids[slot] = self.keys[slot] = None
        self.free.append(slot)
        which = slot >> BITS
        self.used[which] -= 1
        if not self.used[which]:
            self._spare, self.blocks[which] = self.blocks[which], None
        if not self.count and len(self.ids) > ROWS:
            self.clear()

    def _new_slot(self) -> int:
        slot = len(self.ids)
        if slot >> BITS == len(self.blocks):
            self.blocks.append(None)
            self.used.append(0)
        for column in self._columns():
            column.append(column[0])
        return slot

    def _columns(self) -> list[Any]:
        columns = [self.ids, self.keys, self.numbers, self.older, self.younger]
        return [*columns, self.times] if self.timed else columns

    def _link(self, slot: int) -> None:
        """Put a slot at the youngest end of the linked list."""
        last = self.older[0]
        self.younger[slot], self.older[slot] = 0, last
        self.younger[last] = self.older[0] = slot

    def mend(self, settled: Callable[[Hashable], bool]) -> None:
        """Repair the lists after an interrupt; drop the rows for which ``settled(id)`` is true."""
        slots = []
        for shard in self.slots:
            for id in [id for id in shard if settled(id)]:
                del shard[id]
            slots += list(shard.values())
        slots.sort(key=self.numbers.__getitem__)
        size = min(map(len, self._columns()))
        for column in self._columns():
            del column[size:]
        blocks = ((size - 1) >> BITS) + 1
        self.used = [0] * blocks
        self.older[0] = self.younger[0] = 0
        for slot in slots:
            self._link(slot)
            self.used[slot >> BITS] += 1
        kept = [*self.blocks, None][:blocks]
        self.blocks = [b if n else None for b, n in zip(kept, self.used, strict=True)]
        self.free = sorted(set(range(1, size)).difference(slots), reverse=True)
        for slot in self.free:
            self.ids[slot] = self.keys[slot] = None
        self.count, self._spare = len(slots), None

    def columns(self) -> RowColumns:
        """Return copies of all rows, oldest first."""
        slots, slot = [], self.oldest
        while slot:
            slots.append(slot)
            slot = self.younger[slot]
        tickets = np.empty((len(slots), self.width))
        where = np.array(slots, dtype=np.int64)
        by_block = np.argsort(where, kind="stable")
        ends = np.cumsum(self.used)
        for block, end, used in zip(self.blocks, ends, self.used, strict=True):
            if block is not None:
                rows = by_block[end - used : end]
                tickets[rows] = block[where[rows] % ROWS]
        return RowColumns(
            [self.ids[slot] for slot in slots],
            [self.keys[slot] for slot in slots],
            tickets,
            np.array([self.numbers[slot] for slot in slots], dtype=np.int64),
            np.array([self.times[slot] for slot in slots if self.timed]),
        )
