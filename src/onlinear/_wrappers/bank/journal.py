"""Undo the learning of one row by a bank of learners, without copying all states at every row.

If one learner refuses a row, the learners that have already learnt this row must be restored.
Copying all states at every row would cost as much as learning the row. So the states are copied
every 64 rows, and the rows learnt since the last copy are kept. To undo a row, the copy is restored
and the kept rows are learnt again, which gives the same states to the bit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Journal"]

ROWS = 64  # rows between two copies of the states


class Journal:
    """A recent copy of the learners' states, and the rows learnt since the copy was made."""

    def __init__(self, memories: list[np.ndarray]) -> None:
        self._memories = memories
        self._copy()

    def _copy(self) -> None:
        since: list[tuple[np.ndarray, Any]] = []
        # both parts in one assignment, so that an interrupt cannot separate them
        self._kept = [memory.copy() for memory in self._memories], since

    def enter(self, x: np.ndarray, y: Any) -> None:
        """Keep a row that was learnt; after 64 rows, copy the states and drop the kept rows."""
        since = self._kept[1]
        since.append((x.copy(), y))
        if len(since) >= ROWS:
            self._copy()

    def recovery(
        self, learn: Callable[[np.ndarray, Any], object], restore: Callable[[], object]
    ) -> Callable[[], None]:
        """Return a function that undoes the current row, by ``restore`` and :meth:`go_back`.

        ``restore`` resets the caller's own counters. If :meth:`enter` has kept the row before the
        returned function is called, the row stays learnt, and ``restore`` is not called.
        """
        kept, rows = self._kept, len(self._kept[1])

        def recover() -> None:
            if self._kept is kept and len(kept[1]) == rows:
                restore()
            self.go_back(learn)

        return recover

    def go_back(self, learn: Callable[[np.ndarray, Any], object]) -> None:
        """Restore the states after the last row that :meth:`enter` kept; ``learn`` learns one row.

        If ``go_back`` is interrupted, it can be called again.
        """
        copies, since = self._kept
        for memory, copy in zip(self._memories, copies, strict=True):
            memory[:] = copy
        for x, y in since:
            learn(x, y)
        self._copy()
