"""When a model was used too long ago: counted in events, or in time."""

import math
from collections import deque
from collections.abc import Callable
from datetime import timedelta

from onlinear._validation import checks

__all__ = ["Ages"]

LOOKS = 8  # at what is old, in the span of an age


class Ages:
    """Tells events that are older than ``after``: so many events, or so much time, or never."""

    def __init__(self, after: int | timedelta | None) -> None:
        self._seconds = self._events = math.inf
        if isinstance(after, timedelta):
            if after <= timedelta(0):
                raise ValueError(f"Keyed needs max_age > 0, got max_age={after!r}")
            self._seconds = after.total_seconds()
        elif after is not None:
            asked = checks.asked("Keyed", max_age=after)
            also = " (of events), or a timedelta"
            self._events = checks.whole(asked, "max_age", least=1, else_=also)
        self._looked = 0.0  # when, in events or seconds
        self._marks: deque[tuple[float, int]] = deque()  # times, and how many events there had been

    def old(self, events: int, clock: Callable[[], float]) -> int:
        """Return the number of the first event that is not old, if it is time to look; else 0."""
        if self._events < math.inf:
            if events < self._looked + self._events / LOOKS:
                return 0
            self._looked = events
            return max(0, events - int(self._events))
        if self._seconds == math.inf:
            return 0
        now = clock()
        if now < self._looked + self._seconds / LOOKS:
            return 0
        self._looked, old = now, 0
        while self._marks and self._marks[0][0] <= now - self._seconds:
            old = self._marks.popleft()[1]
        self._marks.append((now, events))
        return old
