"""The ids of rows that were recently settled, that is, learnt or expired."""

from collections.abc import Hashable, Iterable

__all__ = ["EXPIRED", "LEARNT", "SettledIds"]

PARTS = 4  # the ids are divided among about this many dicts
LEARNT, EXPIRED = 1, 2  # how a row was settled


class SettledIds:
    """The ids of the last ``limit`` settled rows, and whether each was learnt or expired.

    The ids are divided among several dicts, each of which is filled and later emptied: a single
    dict, with constant insertions and deletions, would take twice the memory.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._parts: list[dict[Hashable, int]] = [{}]
        self._leaving: list[Hashable] = []  # remaining ids of the oldest part, oldest last

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def how(self, id: Hashable) -> int | None:
        """Return LEARNT or EXPIRED for a settled id; None if the id is unknown or forgotten."""
        for part in self._parts:
            how = part.get(id)
            if how is not None:
                return how
        return None

    def add(self, id: Hashable, how: int) -> None:
        """Add the id of a settled row, and drop the oldest id if there are too many."""
        if len(self._parts[-1]) > self.limit // PARTS:
            self._parts.append({})
        self._parts[-1][id] = how
        self.trim()

    def trim(self) -> None:
        """Drop the oldest ids until ``limit`` are left; call again if Ctrl-C interrupted this."""
        while len(self) > self.limit:
            while not self._parts[0]:
                del self._parts[0]
                self._leaving = []
            oldest, self._leaving = self._parts[0], self._leaving or list(self._parts[0])[::-1]
            oldest.pop(self._leaving[-1], None)
            del self._leaving[-1]

    def items(self) -> Iterable[tuple[Hashable, int]]:
        """Return pairs (id, LEARNT or EXPIRED), oldest id first."""
        return (item for part in self._parts for item in part.items())
