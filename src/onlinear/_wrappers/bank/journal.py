"""How a bank goes back by one row without a copy of it at every row.

If one learner refuses a row, those that have learnt it already must be as before. To copy all
states at every row would cost as much as to learn it; so they are copied now and then, the rows
since are kept, and to go back is to take the copy and learn those rows again: the same bits.
"""

from collections.abc import Callable

import numpy as np

__all__ = ["Journal"]

ROWS = 64  # between two copies


class Journal:
    """The states of some rows ago, and the rows learnt since."""

    def __init__(self, memories: list[np.ndarray]) -> None:
        self._memories = memories
        self._copy()

    def _copy(self) -> None:
        since: list[tuple[np.ndarray, float]] = []
        self._kept = [memory.copy() for memory in self._memories], since  # in one, or not at all

    def enter(self, x: np.ndarray, y: float) -> None:
        """Enter a row that was learnt."""
        since = self._kept[1]
        since.append((x.copy(), y))
        if len(since) >= ROWS:
            self._copy()

    def go_back(self, learn: Callable[[np.ndarray, float], object]) -> None:
        """Make the states what they were after the last row entered, ``learn`` learning a row."""
        while True:
            try:
                copies, since = self._kept
                for memory, copy in zip(self._memories, copies, strict=True):
                    memory[:] = copy
                for x, y in since:
                    learn(x, y)
                self._copy()
                return
            except KeyboardInterrupt:  # there is an error on its way already
                continue
