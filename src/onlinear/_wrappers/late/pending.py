"""Rows that wait for their label: found by id, given up in the order they came, in bounded memory.

What is kept of the rows lies in blocks of arrays; a row has a slot in them, and a slot that is free
is used again. The ids that wait are in many small dicts by their hash, so that none of them is ever
copied as a whole for long; slots are linked by age, slot 0 being both ends.
"""

import math
import time
from array import array
from collections.abc import Callable, Hashable, Iterable
from datetime import timedelta
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._state_files import key_codec, model_codec
from onlinear._validation import checks

__all__ = ["MOST", "LateCounts", "Pending", "WaitingRow"]

BITS = 10
ROWS = 1 << BITS  # of a block
SHARDS = 64
MOST = 2**31  # slots fit 32 bits
PARTS = 4  # of the ids that were settled
LEARNT, EXPIRED = 1, 2  # how a row was settled
MICROSECOND = timedelta(microseconds=1)


class LateCounts(NamedTuple):
    """What became of rows and labels.

    ``waiting``, ``learnt``, ``expired``
        How many rows that were remembered wait for their label, were learnt, and were given up: for
        their age, or for want of room. Every row is one of the three.
    ``too_late``
        How many labels came for rows that had expired.
    ``duplicate_labels``, ``duplicate_rows``
        How many labels came for rows that had been learnt; how many rows came with an id that was
        waiting, or had been settled. Neither is learnt.
    ``unknown``
        How many labels came with an id that no row had, as far as is remembered.
    ``left_out``
        How many rows could not be predicted (``on_bad="skip"``), so not be learnt later either.
    """

    waiting: int
    learnt: int
    expired: int
    too_late: int
    duplicate_labels: int
    duplicate_rows: int
    unknown: int
    left_out: int


class WaitingRow(NamedTuple):
    """What was kept of a row, and the key of the model it is for, if it has one."""

    ticket: np.ndarray
    key: Any


class KeptRows(NamedTuple):
    """All that is known of rows, oldest first, and of those settled: for copies and files."""

    ids: list[Any]
    keys: list[Any]
    tickets: np.ndarray
    numbers: np.ndarray
    times: np.ndarray
    settled: list[Any]
    how: np.ndarray


class Recent:
    """The last ids that were settled, so many of them, and how.

    They are in parts, dicts that are filled and then emptied: one dict in which ids come and go
    would take twice the room.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.parts: list[dict[Hashable, int]] = [{}]
        self.going: list[Hashable] = []  # what is left of the oldest part, oldest last

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def get(self, id: Hashable) -> int | None:
        """Return how an id was settled, or None."""
        for part in self.parts:
            how = part.get(id)
            if how is not None:
                return how
        return None

    def put(self, id: Hashable, how: int) -> None:
        """Enter an id; the oldest goes if there are too many."""
        if len(self.parts[-1]) > self.limit // PARTS:
            self.parts.append({})
        self.parts[-1][id] = how
        self.trim()

    def trim(self) -> None:
        """Let the oldest go while there are too many; what Ctrl-C stops can be begun again."""
        while len(self) > self.limit:
            while not self.parts[0]:
                del self.parts[0]
                self.going = []
            oldest, self.going = self.parts[0], self.going or list(self.parts[0])[::-1]
            oldest.pop(self.going[-1], None)
            del self.going[-1]

    def items(self) -> Iterable[tuple[Hashable, int]]:
        """Return ids and how they were settled, oldest first."""
        return (item for part in self.parts for item in part.items())


class Pending:
    """Rows that wait for their label.

    To learn a row: :meth:`find` it, learn, and :meth:`settle` it. If learning fails, it waits on.

    Parameters
    ----------
    limit : int
        How many rows wait at most, limit ≥ 1: when one more comes, the oldest is given up. Of so
        many rows that were settled the id is remembered.
    expire_after : int, timedelta or None
        The age from which on a row is given up: more than so many rows remembered after it, or more
        than so much time by the clock. None means never. Rows are given up in the order they came.
    clock : callable
        Returns the time in seconds. It has to mean the same after a restart.
    owner : str
        In whose name parameters are refused.
    """

    def __init__(
        self,
        limit: int,
        expire_after: int | timedelta | None = None,
        *,
        clock: Callable[[], float] = time.time,
        owner: str = "Late",
    ) -> None:
        asked = checks.asked(owner, limit=limit, expire_after=expire_after)
        self.limit = checks.whole(asked, "limit", least=1, most=MOST)
        self.expire_after: int | timedelta | None = None
        self.clock = clock
        self._most_rows = self._most_seconds = math.inf
        if isinstance(expire_after, timedelta):
            if expire_after <= timedelta(0):
                raise ValueError(f"{owner} needs expire_after > 0, got {expire_after!r}")
            self.expire_after, self._most_seconds = expire_after, expire_after.total_seconds()
        elif expire_after is not None:
            self.expire_after = checks.whole(
                asked, "expire_after", least=1, else_=" (of rows), or a timedelta"
            )
            self._most_rows = self.expire_after
        self._timed = isinstance(expire_after, timedelta)
        self._owner = owner
        self._settled = {LEARNT: 0, EXPIRED: 0}
        self._tally = dict.fromkeys(LateCounts._fields[3:], 0)
        self._recent = Recent(self.limit)
        self._clear()

    def _clear(self) -> None:
        """Have no row that waits, and no room for one."""
        self._waiting = 0
        self._width = 0
        self._shards: list[dict[Hashable, int]] = [{} for _ in range(SHARDS)]  # slots by id
        self._ids: list[Any] = [None]  # of the slots
        self._keys: list[Any] = [None]
        self._numbers = array("q", [0])  # which row of all it is
        self._times = array("d", [0.0])
        self._before, self._after = array("I", [0]), array("I", [0])  # the slots next in age
        self._free: list[int] = []
        self._blocks: list[np.ndarray | None] = [None]
        self._used = [0]  # slots of the blocks
        self._spare: np.ndarray | None = None

    # --- rows come and go ---------------------------------------------------------------------

    def __len__(self) -> int:
        return self._waiting

    def __contains__(self, id: Any) -> bool:
        id = key_codec.canonical(id)
        return id in self._shard(id)

    def add(self, id: Any, ticket: np.ndarray, key: Any = None) -> bool:
        """Remember a row; False if the id waits already or was settled lately: the first stays."""
        id = key_codec.canonical(id)
        now = self._expire() if self._timed else 0.0
        slot = self._shards[hash(id) % SHARDS].get(id)
        if slot is not None or self._recent.get(id) is not None:
            if slot is not None and self._keys[slot] != key:
                raise ValueError(
                    f"{self._owner} needs ids that no two keys share, such as (key, number): "
                    f"{id!r:.60} waits for key {self._keys[slot]!r:.60}, got it for {key!r:.60}"
                )
            self._tally["duplicate_rows"] += 1
            return False
        if ticket.shape != (self._width,):
            self._fit(ticket)
        while self._waiting >= self.limit:
            self._give_up()
        number = self._waiting + self._settled[LEARNT] + self._settled[EXPIRED] + 1
        self._enter(id, ticket, key, number, now)
        while number - self._numbers[self._after[0]] > self._most_rows:
            self._give_up()
        return True

    def find(self, id: Any) -> WaitingRow | None:
        """Return a row whose label has come, which waits on until it is settled.

        If there is none, None: the label is counted, as a duplicate, as too late or as unknown.
        """
        id = key_codec.canonical(id)
        self._expire()
        slot = self._shard(id).get(id)
        if slot is not None:
            return WaitingRow(self._ticket(slot), self._keys[slot])
        how = self._recent.get(id)
        names = {LEARNT: "duplicate_labels", EXPIRED: "too_late", None: "unknown"}
        self._tally[names[how]] += 1
        return None

    def settle(self, id: Any) -> None:
        """Take note that a row was learnt: it waits no longer."""
        id = key_codec.canonical(id)
        slot = self._shard(id).get(id)
        if slot is None:
            raise ValueError(f"only a row that waits can be settled, got id={id!r:.60}")
        self._leave(id, slot, LEARNT)

    def give_up(self, key: Hashable) -> int:
        """Wait no longer for the labels of a key; return how many rows waited."""
        pairs = enumerate(zip(self._ids, self._keys, strict=True))
        rows = [(id, slot) for slot, (id, own) in pairs if own == key and id is not None]
        for row in rows:
            self._leave(*row, EXPIRED)
        return len(rows)

    def absorb(self, other: "Pending") -> None:
        """Know what another table knows of rows that were settled; none waits in it."""
        both = [id for id, _ in other._recent.items() if id in self or self._recent.get(id)]
        if both:
            raise ValueError(
                f"merge needs shards that share no id of late labels, got {both[0]!r:.60} in two"
            )
        gone = sum(other._settled.values())
        for slot in (slot for shard in self._shards for slot in shard.values()):
            self._numbers[slot] += gone  # as if the rows of the other had come before
        for how in self._settled:
            self._settled[how] += other._settled[how]
        for name in self._tally:
            self._tally[name] += other._tally[name]
        for id, how in other._recent.items():
            self._recent.put(id, how)

    def leave_out(self) -> None:
        """Count a row that could not be predicted, and so is not remembered."""
        self._tally["left_out"] += 1

    def expire(self) -> int:
        """Give up the rows whose time has run out; return how many."""
        before = self._settled[EXPIRED]
        self._expire()
        return self._settled[EXPIRED] - before

    @property
    def counts(self) -> LateCounts:
        """What became of rows and labels."""
        settled = self._settled[LEARNT], self._settled[EXPIRED]
        return LateCounts(self._waiting, *settled, **self._tally)

    # --- how ----------------------------------------------------------------------------------

    def _ticket(self, slot: int) -> np.ndarray:
        """Return a copy of what was kept of a row."""
        block = self._blocks[slot >> BITS]
        assert block is not None
        return block[slot % ROWS].copy()  # type: ignore[no-any-return]

    def _shard(self, id: Hashable) -> dict[Hashable, int]:
        return self._shards[hash(id) % SHARDS]

    def _expire(self) -> float:
        """Give up the rows whose time has run out; return what time it is, if that matters."""
        if not self._timed:
            return 0.0
        now = float(self.clock())
        if not math.isfinite(now):
            raise ValueError(f"{self._owner} needs a clock that gives a finite time, got {now}")
        while self._waiting and now - self._times[self._after[0]] > self._most_seconds:
            self._give_up()
        return now

    def _give_up(self) -> None:
        """Wait no longer for the oldest row."""
        slot = self._after[0]
        self._leave(self._ids[slot], slot, EXPIRED)

    def _fit(self, ticket: np.ndarray) -> None:
        """Be ready for rows as wide as this one."""
        if self._waiting or ticket.ndim != 1:
            raise ValueError(
                f"{self._owner} keeps {self._width} numbers of a row, as of those that wait "
                f"already, got {ticket.shape}"
            )
        self._clear()
        self._width = ticket.size

    def _enter(self, id: Hashable, ticket: np.ndarray, key: Any, number: int, now: float) -> None:
        """Take a row in, as the youngest; it is in when its id is."""
        try:
            slot = self._free.pop() if self._free else self._new_slot()
            which = slot >> BITS
            block = self._blocks[which]
            if block is None:
                block = np.zeros((ROWS, self._width)) if self._spare is None else self._spare
                self._blocks[which], self._spare = block, None
            block[slot % ROWS] = ticket
            self._ids[slot], self._keys[slot], self._numbers[slot] = id, key, number
            if self._timed:
                self._times[slot] = now
            self._used[which] += 1
            self._link(slot)
            self._shards[hash(id) % SHARDS][id] = slot
            self._waiting += 1
        except BaseException:
            self._mend()
            raise

    def _leave(self, id: Hashable, slot: int, how: int) -> None:
        """Let a row go; it is gone when it is among those settled."""
        settled = self._settled[how]
        try:
            self._recent.put(id, how)
            del self._shards[hash(id) % SHARDS][id]
            self._settled[how] += 1
            self._waiting -= 1
            before, after = self._before[slot], self._after[slot]
            self._after[before], self._before[after] = after, before
            self._ids[slot] = self._keys[slot] = None
            self._free.append(slot)
            which = slot >> BITS
            self._used[which] -= 1
            if not self._used[which]:
                self._spare, self._blocks[which] = self._blocks[which], None
            if not self._waiting and len(self._ids) > ROWS:
                self._clear()
        except BaseException:
            self._mend()
            self._settled[how] = settled + (self._recent.get(id) is not None)
            raise

    def _new_slot(self) -> int:
        slot = len(self._ids)
        if slot >> BITS == len(self._blocks):
            self._blocks.append(None)
            self._used.append(0)
        for column in self._columns():
            column.append(column[0])
        return slot

    def _columns(self) -> list[Any]:
        columns = [self._ids, self._keys, self._numbers, self._before, self._after]
        return [*columns, self._times] if self._timed else columns

    def _link(self, slot: int) -> None:
        """Put a slot at the young end."""
        last = self._before[0]
        self._after[slot], self._before[slot] = 0, last
        self._after[last] = self._before[0] = slot

    def _mend(self) -> None:
        """Make whole what Ctrl-C left half done: the ids that wait and are not settled say all."""
        while True:
            try:
                self._recent.trim()
                slots = []
                for shard in self._shards:
                    for id in [id for id in shard if self._recent.get(id) is not None]:
                        del shard[id]
                    slots += list(shard.values())
                slots.sort(key=self._numbers.__getitem__)
                size = min(map(len, self._columns()))
                for column in self._columns():
                    del column[size:]
                blocks = ((size - 1) >> BITS) + 1
                self._used = [0] * blocks
                self._before[0] = self._after[0] = 0
                for slot in slots:
                    self._link(slot)
                    self._used[slot >> BITS] += 1
                kept = [*self._blocks, None][:blocks]
                self._blocks = [b if n else None for b, n in zip(kept, self._used, strict=True)]
                self._free = sorted(set(range(1, size)).difference(slots), reverse=True)
                self._waiting, self._spare = len(slots), None
                return
            except KeyboardInterrupt:  # there is an error on its way already
                continue

    # --- copies and files ---------------------------------------------------------------------

    def _kept(self) -> KeptRows:
        """Return all rows, oldest first, and the ids of those settled."""
        slots, slot = [], self._after[0]
        while slot:
            slots.append(slot)
            slot = self._after[slot]
        tickets = np.empty((len(slots), self._width))
        where = np.array(slots, dtype=np.int64)
        by_block = np.argsort(where, kind="stable")
        ends = np.cumsum(self._used)
        for block, end, used in zip(self._blocks, ends, self._used, strict=True):
            if block is not None:
                rows = by_block[end - used : end]
                tickets[rows] = block[where[rows] % ROWS]
        return KeptRows(
            [self._ids[slot] for slot in slots],
            [self._keys[slot] for slot in slots],
            tickets,
            np.array([self._numbers[slot] for slot in slots], dtype=np.int64),
            np.array([self._times[slot] for slot in slots if self._timed]),
            [id for id, _ in self._recent.items()],
            np.array([how for _, how in self._recent.items()], dtype=np.uint8),
        )

    def _take(self, counts: dict[str, int], kept: KeptRows) -> None:
        """Take rows in, there being none."""
        self._settled = {LEARNT: counts["learnt"], EXPIRED: counts["expired"]}
        self._tally = {name: counts[name] for name in self._tally}
        for id, how in zip(kept.settled, kept.how.tolist(), strict=True):
            self._recent.put(id, how)
        if kept.ids:
            self._fit(kept.tickets[0])
        times = kept.times.tolist() if self._timed else [0.0] * len(kept.ids)
        numbers = kept.numbers.tolist()
        for row in zip(kept.ids, kept.tickets, kept.keys, numbers, times, strict=True):
            self._enter(*row)

    def __getstate__(self) -> dict[str, Any]:
        """Return parameters, counts and rows: what pickle and deepcopy keep."""
        names = ("limit", "expire_after", "clock")
        params = {**{name: getattr(self, name) for name in names}, "owner": self._owner}
        return {"params": params, "counts": self.counts._asdict(), "rows": self._kept()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take parameters, counts and rows back: elsewhere, ids have other hashes."""
        Pending.__init__(self, **kept["params"])
        self._take(kept["counts"], kept["rows"])

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the table in a state file."""
        after: Any = self.expire_after
        if isinstance(after, timedelta):
            after = {"microseconds": after // MICROSECOND}
        header = {"limit": self.limit, "expire_after": after, "counts": self.counts._asdict()}
        kept = self._kept()
        arrays = {"tickets": kept.tickets, "numbers": kept.numbers, "how": kept.how}
        names = {"ids": kept.ids, "settled": kept.settled}
        if self._timed:
            arrays["times"] = kept.times
        if any(key is not None for key in kept.keys):
            names["keys"] = kept.keys
        for name, values in names.items():
            arrays[name], arrays[f"{name} lengths"] = key_codec.joined(values)
        return header, {f"late {name}": values for name, values in arrays.items()}

    @classmethod
    def rebuilt(
        cls, header: dict[str, Any], arrays: dict[str, np.ndarray], *, owner: str = "Late"
    ) -> Self:
        """Return the table that a header and arrays describe, or refuse them."""
        after = header["expire_after"]
        if isinstance(after, dict):
            after = timedelta(microseconds=model_codec.count(after["microseconds"]))
        table = cls(header["limit"], after, owner=owner)
        counts = {name: model_codec.count(header["counts"][name]) for name in LateCounts._fields}
        kept = _from_arrays(arrays, timed=table._timed)
        _check(table.limit, counts, kept)
        table._take(counts, kept)
        return table


def _from_arrays(arrays: dict[str, np.ndarray], *, timed: bool) -> KeptRows:
    """Return the rows of a state file, if their arrays fit each other."""

    def vector(name: str, kind: str) -> np.ndarray:
        values = arrays[f"late {name}"]
        if values.ndim != 1 or values.dtype.str[1:] != kind:
            raise ValueError(f"its {name} are {values.dtype} of shape {values.shape}")
        return values

    def names(name: str) -> list[Any]:
        return key_codec.parted(vector(name, "u1"), vector(f"{name} lengths", "i8"))

    ids, settled, tickets = names("ids"), names("settled"), arrays["late tickets"]
    keys = names("keys") if "late keys" in arrays else [None] * len(ids)
    numbers, how = vector("numbers", "i8"), vector("how", "u1")
    times = vector("times", "f8") if timed else np.zeros(0)
    rows = len(ids)
    sizes = {len(keys), numbers.size, times.size if timed else rows, *tickets.shape[:1]}
    if (
        sizes != {rows}
        or tickets.ndim != 2
        or (rows and not tickets.size)
        or len(how) != len(settled)
    ):
        raise ValueError(f"it has {rows} rows that wait, and {sizes} of what was kept of them")
    if not (np.isfinite(tickets).all() and np.isfinite(times).all()):
        raise ValueError("its rows have numbers that are not finite")
    if tickets.dtype != np.float64:
        raise ValueError(f"its rows are {tickets.dtype}")
    ids, settled = ([key_codec.canonical(id) for id in some] for some in (ids, settled))
    return KeptRows(ids, keys, tickets, numbers, times, settled, how)


def _check(limit: int, counts: dict[str, int], kept: KeptRows) -> None:
    """Refuse rows and counts that no sequence of rows and labels leads to."""
    rows, gone = len(kept.ids), counts["learnt"] + counts["expired"]
    if rows != counts["waiting"] or rows > limit or len(kept.settled) != min(gone, limit):
        raise ValueError(
            f"it has {rows} rows that wait and {len(kept.settled)} that were settled, with "
            f"limit={limit} and {counts}"
        )
    if len({*kept.ids, *kept.settled}) < rows + len(kept.settled):
        raise ValueError("it has an id more than once")
    for how, count in ((LEARNT, counts["learnt"]), (EXPIRED, counts["expired"])):
        if np.sum(kept.how == how) > count:
            raise ValueError(f"it has more rows that were settled than {counts}")
    if not np.isin(kept.how, (LEARNT, EXPIRED)).all():
        raise ValueError("it has rows that were settled in a way there is not")
    bounds = np.concatenate([[0], kept.numbers, [gone + rows + 1]])
    if not np.all(np.diff(bounds) > 0):
        raise ValueError(f"it has rows that wait that are not of the {gone + rows} remembered")
