"""``Pending``: rows that wait for their delayed labels; used by ``Late`` and ``Keyed``."""

import math
import time
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Any, NamedTuple, Self

import numpy as np

from onlinear._state_files import key_codec, model_codec
from onlinear._validation import checks
from onlinear._wrappers.late import state_file
from onlinear._wrappers.late.settled_ids import EXPIRED, LEARNT, SettledIds
from onlinear._wrappers.late.state_file import PendingContents
from onlinear._wrappers.late.waiting_rows import MOST_ROWS, SHARDS, WaitingRow, WaitingRows

__all__ = ["LateCounts", "Pending"]


class LateCounts(NamedTuple):
    """Counts of waiting rows and delayed labels.

    ``waiting``, ``learnt``, ``expired``
        How many remembered rows still wait for their label, were learnt, or expired (because of
        their age, or to make room). Every remembered row is counted in exactly one of ``waiting``,
        ``learnt`` and ``expired``.
    ``too_late``
        How many labels arrived for rows that had expired.
    ``duplicate_labels``, ``duplicate_rows``
        How many labels arrived for rows that had already been learnt; how many rows arrived with
        the id of a row that waited, was learnt or had expired. Duplicate labels and duplicate rows
        are not learnt.
    ``unknown``
        How many labels arrived with an id that belongs to no known row.
    ``left_out``
        How many rows could not be predicted (``on_bad="skip"``) and so were not remembered.
    """

    waiting: int
    learnt: int
    expired: int
    too_late: int
    duplicate_labels: int
    duplicate_rows: int
    unknown: int
    left_out: int


LABELS_IN_VAIN = {LEARNT: "duplicate_labels", EXPIRED: "too_late", None: "unknown"}


class Pending:
    """Rows that wait for their label, found by id; the oldest expire first.

    To learn a row, :meth:`find` it, learn it and :meth:`settle` it. If learning fails, the row
    keeps waiting. If a call is interrupted, :meth:`mend` must be called before the next call.

    Parameters
    ----------
    limit : int
        How many rows can wait, limit ≥ 1: when one more arrives, the oldest expires. The ids of the
        last ``limit`` settled rows (learnt or expired) are remembered too.
    expire_after : int, timedelta or None
        The age at which a row expires: once more than this many rows have arrived after it, or once
        it is older than this time by the clock. With ``expire_after=None``, rows do not expire by
        age. Rows expire in the order in which they arrived.
    clock : callable
        Returns the time in seconds. Times must be comparable after a restart, so ``time.monotonic``
        cannot be used.
    owner : str
        The name of the class to put into error messages.
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
        self.limit = checks.whole(asked, "limit", least=1, most=MOST_ROWS)
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
        self._counts = dict.fromkeys(LateCounts._fields[3:], 0)
        self._recent = SettledIds(self.limit)
        self._rows = WaitingRows(timed=self._timed)
        self._change: tuple[Any, ...] | None = None  # what :meth:`mend` has to finish or undo

    def __len__(self) -> int:
        return self._rows.count

    def __contains__(self, id: Any) -> bool:
        return self._rows.slot(key_codec.canonical(id)) is not None

    # --- adding and settling rows ---------------------------------------------------------------

    def add(self, id: Any, ticket: np.ndarray, key: Any = None) -> bool:
        """Remember a row until its label arrives; return whether its id is new.

        If a row with the same id already waits, was learnt or has expired, the new row is not
        remembered. ``ticket`` has the numbers that the learner needs to learn the row later.
        """
        id = key_codec.canonical(id)
        now = self._expire_by_time() if self._timed else 0.0
        rows = self._rows
        slot = rows.slots[hash(id) % SHARDS].get(id)
        if slot is not None or self._recent.how(id) is not None:
            if slot is not None and rows.keys[slot] != key:
                raise ValueError(
                    f"{self._owner} needs ids that no two keys share, such as (key, number): "
                    f"{id!r:.60} waits for key {rows.keys[slot]!r:.60}, got it for {key!r:.60}"
                )
            self._counts["duplicate_rows"] += 1
            return False
        if ticket.shape != (rows.width,):
            self._set_width(ticket)
        number = rows.count + self._settled[LEARNT] + self._settled[EXPIRED] + 1
        self._change = ()
        rows.add(id, ticket, key, number, now)
        self._change = None
        self._expire_surplus()
        return True

    def find(self, id: Any) -> WaitingRow | None:
        """Return the waiting row with this id; it keeps waiting until :meth:`settle` is called.

        If no row waits under the id, return None and count the label as a duplicate, too late or
        unknown.
        """
        id = key_codec.canonical(id)
        self._expire_by_time()
        slot = self._rows.slot(id)
        if slot is not None:
            return self._rows.row(slot)
        self._counts[LABELS_IN_VAIN[self._recent.how(id)]] += 1
        return None

    def settle(self, id: Any) -> None:
        """Mark a waiting row as learnt and remove it."""
        id = key_codec.canonical(id)
        slot = self._rows.slot(id)
        if slot is None:
            raise ValueError(f"only a row that waits can be settled, got id={id!r:.60}")
        self._remove(id, slot, LEARNT)

    def expire(self) -> int:
        """Expire the rows that are too old; return how many rows expired."""
        before = self._settled[EXPIRED]
        self._expire_by_time()
        return self._settled[EXPIRED] - before

    def expire_key(self, key: Hashable) -> int:
        """Expire all waiting rows of a key; return how many rows expired."""
        pairs = enumerate(zip(self._rows.ids, self._rows.keys, strict=True))
        rows = [(id, slot) for slot, (id, own) in pairs if own == key and id is not None]
        for row in rows:
            self._remove(*row, EXPIRED)
        return len(rows)

    def leave_out(self) -> None:
        """Count a row that could not be predicted, and so is not remembered."""
        self._counts["left_out"] += 1

    def absorb(self, other: "Pending") -> None:
        """Add the counts and settled ids of another ``Pending``, in which no row waits."""
        both = [id for id, _ in other._recent.items() if id in self or self._recent.how(id)]
        if both:
            raise ValueError(
                f"merge needs shards that share no id of late labels, got {both[0]!r:.60} in two"
            )
        gone, rows = sum(other._settled.values()), self._rows
        for slot in (slot for shard in rows.slots for slot in shard.values()):
            rows.numbers[slot] += gone  # as if the other rows had arrived before
        for how in self._settled:
            self._settled[how] += other._settled[how]
        for name in self._counts:
            self._counts[name] += other._counts[name]
        for id, how in other._recent.items():
            self._recent.add(id, how)

    @property
    def counts(self) -> LateCounts:
        """Counts of waiting rows and delayed labels."""
        settled = self._settled[LEARNT], self._settled[EXPIRED]
        return LateCounts(self._rows.count, *settled, **self._counts)

    # --- helpers --------------------------------------------------------------------------------

    def _expire_by_time(self) -> float:
        """Expire the rows that are too old; return the time, or 0 if no clock is used."""
        if not self._timed:
            return 0.0
        now = float(self.clock())
        if not math.isfinite(now):
            raise ValueError(f"{self._owner} needs a clock that gives a finite time, got {now}")
        rows = self._rows
        while rows.count and now - rows.times[rows.oldest] > self._most_seconds:
            self._expire_oldest()
        return now

    def _expire_surplus(self) -> None:
        """Expire the oldest row while too many rows wait, or too many arrived after the oldest."""
        rows = self._rows
        last = rows.count + self._settled[LEARNT] + self._settled[EXPIRED]  # youngest row's number
        while rows.count > self.limit or (
            rows.count and last - rows.numbers[rows.oldest] > self._most_rows
        ):
            self._expire_oldest()

    def _expire_oldest(self) -> None:
        slot = self._rows.oldest
        self._remove(self._rows.ids[slot], slot, EXPIRED)

    def _set_width(self, ticket: np.ndarray) -> None:
        """Set the length of all tickets to that of ``ticket``; refuse if any row still waits."""
        if self._rows.count or ticket.ndim != 1:
            raise ValueError(
                f"{self._owner} stores {self._rows.width} numbers per row, as for the rows that "
                f"already wait, got {ticket.shape}"
            )
        self._change = ()
        self._rows.clear()
        self._rows.width = ticket.size
        self._change = None

    def _remove(self, id: Hashable, slot: int, how: int) -> None:
        """Remove a row, and record its id as settled: ``how`` is LEARNT or EXPIRED.

        After an interrupt, :meth:`mend` finishes the removal if the id was already recorded.
        """
        self._change = id, how, self._settled[how]
        self._recent.add(id, how)
        self._settled[how] += 1
        self._rows.remove(id, slot)
        self._change = None

    def mend(self) -> None:
        """Make the data consistent after an interrupt: rows with a settled id no longer wait."""
        if self._change is None:
            self._expire_surplus()
            return
        self._recent.trim()
        self._rows.mend(lambda id: self._recent.how(id) is not None)
        if self._change:
            id, how, settled = self._change
            self._settled[how] = settled + (self._recent.how(id) is not None)
        self._change = None
        self._expire_surplus()

    # --- copies and files -----------------------------------------------------------------------

    def _contents(self) -> PendingContents:
        settled = list(self._recent.items())
        how = np.array([how for _, how in settled], dtype=np.uint8)
        return PendingContents(self._rows.columns(), [id for id, _ in settled], how)

    def _fill(self, counts: dict[str, int], contents: PendingContents) -> None:
        """Fill an empty ``Pending`` object with counts, waiting rows and settled ids."""
        rows, settled, how = contents
        self._settled = {LEARNT: counts["learnt"], EXPIRED: counts["expired"]}
        self._counts = {name: counts[name] for name in self._counts}
        for id, kind in zip(settled, how.tolist(), strict=True):
            self._recent.add(id, kind)
        if rows.ids:
            self._set_width(rows.tickets[0])
        times = rows.times.tolist() if self._timed else [0.0] * len(rows.ids)
        numbers = rows.numbers.tolist()
        for row in zip(rows.ids, rows.tickets, rows.keys, numbers, times, strict=True):
            self._rows.add(*row)

    def __getstate__(self) -> dict[str, Any]:
        """Return parameters, counts and rows, for pickle and deepcopy."""
        names = ("limit", "expire_after", "clock")
        params = {**{name: getattr(self, name) for name in names}, "owner": self._owner}
        return {"params": params, "counts": self.counts._asdict(), "contents": self._contents()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore parameters, counts and rows; rehash ids, whose hashes depend on the process."""
        Pending.__init__(self, **kept["params"])
        self._fill(kept["counts"], kept["contents"])

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return a header and arrays that describe rows, ids and counts in a state file."""
        header = {
            "limit": self.limit,
            "expire_after": state_file.plain_age(self.expire_after),
            "counts": self.counts._asdict(),
        }
        return header, state_file.to_arrays(self._contents(), timed=self._timed)

    @classmethod
    def rebuilt(
        cls, header: dict[str, Any], arrays: dict[str, np.ndarray], *, owner: str = "Late"
    ) -> Self:
        """Return the ``Pending`` object that a header and arrays describe; refuse bad arrays."""
        table = cls(header["limit"], state_file.read_age(header["expire_after"]), owner=owner)
        counts = {name: model_codec.count(header["counts"][name]) for name in LateCounts._fields}
        contents = state_file.from_arrays(arrays, timed=table._timed)
        state_file.check(table.limit, counts, contents)
        table._fill(counts, contents)
        return table
