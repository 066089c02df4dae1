"""States that grow with the examples they keep: how much room they have, and how it is enlarged.

The arrays of such a state have room for more examples than they hold, so that most rounds copy
nothing. Once there is no room left, the state is copied to new arrays that have room for a quarter
more. How much room there is depends only on the examples so far, not on how the rows were run.

The learners' states and the states of their bounds begin with a few arrays of fixed size (the
*head* of a bound: its tally, its notes and sums), followed by t (how many rounds), n (how many
examples) and others; the last array has the examples.
"""

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["FIRST_ROOM", "Growing", "InSegments"]

FIRST_ROOM = 16  # examples


def _more(room: int) -> int:
    return max(room + FIRST_ROOM, room * 5 // 4)


class Growing:
    """States with room for a number of examples; ``size(d, room)`` is how many numbers they have.

    ``d`` is the width of the examples, and ``head`` has the sizes of the arrays before t, which
    ``size`` does not count.
    """

    first: Any = FIRST_ROOM

    def __init__(self, size: Callable[[int, Any], int], head: Sequence[int] = ()) -> None:
        self._size = size
        self.head = tuple(head)

    def after(self, head: Sequence[int]) -> "Growing":
        """Return the same growth for states that begin with a head of arrays of these sizes."""
        return type(self)(self._size, head)

    def size(self, d: int, room: Any) -> int:
        """Return how many numbers a state has."""
        return sum(self.head) + self._size(d, room)

    def room(self, state: Sequence[np.ndarray]) -> Any:
        """Return the room of a state."""
        return len(state[-1])

    def more(self, state: Sequence[np.ndarray]) -> Any:
        """Return the room that a full state is to get."""
        return _more(len(state[-1]))

    def stored(self, d: int, record: np.ndarray) -> Any:
        """Return the room of the state that a record holds; 0 or another size if it holds none."""
        return bisect.bisect_left(
            range(record.size), record.size, key=lambda room: self.size(d, room)
        )

    @staticmethod
    def examples(room: Any) -> int:
        """Return how many examples there is room for."""
        return int(room)

    def expected(self, state: Sequence[np.ndarray], examples: int) -> Any:
        """Return the least room that a state needs once it holds this many examples."""
        return examples

    def move(self, old: Sequence[np.ndarray], new: Sequence[np.ndarray], room: Any) -> None:
        """Copy a state to new arrays, which begin with the old ones' contents and have ``room``."""
        for array, part in zip(new, old, strict=True):
            array.reshape(-1)[: part.size] = part.reshape(-1)


class InSegments(Growing):
    """States that keep a factor for the examples of the present segment only.

    A room is a pair: how many examples there is room for, and how many rows the factor may have.
    After n, such a state has the arrays ``kept`` (how many examples are in the present segment) and
    ``depth`` (the second number of the pair).
    """

    first = (FIRST_ROOM, FIRST_ROOM)

    def room(self, state: Sequence[np.ndarray]) -> tuple[int, int]:
        """Return the room of a state."""
        return len(state[-1]), int(state[len(self.head) + 3][0])

    def more(self, state: Sequence[np.ndarray]) -> tuple[int, int]:
        """Return the room that a full state is to get: more of what is full."""
        n, kept = (int(state[len(self.head) + k][0]) for k in (1, 2))
        room, depth = self.room(state)
        return _more(room) if n == room else room, _more(depth) if kept == depth else depth

    def stored(self, d: int, record: np.ndarray) -> tuple[int, int]:
        """Return the room of the state that a record holds; (0, 0) if it holds none."""
        depth = record[sum(self.head) + 3] if record.size > sum(self.head) + 3 else 0.0
        whole = depth % 1 == 0 and FIRST_ROOM <= depth <= record.size
        if not whole or self.size(d, (0, int(depth))) > record.size:
            return 0, 0
        room = bisect.bisect_left(
            range(record.size), record.size, key=lambda room: self.size(d, (room, int(depth)))
        )
        return room, int(depth)

    @staticmethod
    def examples(room: Any) -> int:
        """Return how many examples there is room for."""
        return int(room[0])

    def expected(self, state: Sequence[np.ndarray], examples: int) -> tuple[int, int]:
        """Return the least room that a state needs once it holds this many examples."""
        return examples, self.room(state)[1]

    def move(self, old: Sequence[np.ndarray], new: Sequence[np.ndarray], room: Any) -> None:
        """Copy a state to new arrays, which begin with the old ones' contents and have ``room``."""
        super().move(old, new, room)
        new[len(self.head) + 3][0] = room[1]
