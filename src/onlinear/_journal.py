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

    def __init__(self, memories: list[np.ndarray], d: int) -> None:
        self._memories = memories
        self._copies = [memory.copy() for memory in memories]
        self._rows, self._labels = np.empty((ROWS, d)), np.empty(ROWS)
        self._n = 0

    def enter(self, x: np.ndarray, y: float) -> None:
        """Enter a row that was learnt."""
        n = self._n
        self._rows[n] = x
        self._labels[n] = y
        if n + 1 == ROWS:
            self._copy()
        else:
            self._n = n + 1

    def go_back(self, learn: Callable[[np.ndarray, float], object]) -> None:
        """Make the states what they were after the last row entered, ``learn`` learning a row."""
        for memory, copy in zip(self._memories, self._copies, strict=True):
            memory[:] = copy
        for x, y in zip(self._rows[: self._n], self._labels[: self._n].tolist(), strict=True):
            learn(x, y)
        self._copy()

    def _copy(self) -> None:
        for memory, copy in zip(self._memories, self._copies, strict=True):
            copy[:] = memory
        self._n = 0
