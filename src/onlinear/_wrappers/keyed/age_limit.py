"""Find models that have been unused for a number of events (rows of any key), or for a time."""

import math
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta

from onlinear._validation import checks

__all__ = ["AgeLimit"]

CHECKS = 8  # how many times per ``max_age`` to search for old models


class AgeLimit:
    """Tells which events are too old: more than ``after`` (events, or a timedelta) ago."""

    def __init__(
        self, after: int | timedelta | None, clock: Callable[[], float] = time.time
    ) -> None:
        self.clock = clock
        self._seconds = self._events = math.inf
        if isinstance(after, timedelta):
            if after <= timedelta(0):
                raise ValueError(f"Keyed needs max_age > 0, got max_age={after!r}")
            self._seconds = after.total_seconds()
        elif after is not None:
            asked = checks.asked("Keyed", max_age=after)
            also = " (of events), or a timedelta"
            self._events = checks.whole(asked, "max_age", least=1, else_=also)
        self._checked = 0.0  # when the last check was, in events or seconds
        self._marks: deque[tuple[float, int]] = deque()  # times, with the events so far

    def first_recent(self, events: int) -> int:
        """Return the serial number of the first event that is not too old; 0 if no check is due.

        ``events`` is the number of events so far.
        """
        if self._events < math.inf:
            if events < self._checked + self._events / CHECKS:
                return 0
            self._checked = events
            return max(0, events - int(self._events))
        if self._seconds == math.inf:
            return 0
        now = self.clock()
        if now < self._checked + self._seconds / CHECKS:
            return 0
        self._checked, first = now, 0
        while self._marks and self._marks[0][0] <= now - self._seconds:
            first = self._marks.popleft()[1]
        self._marks.append((now, events))
        return first
