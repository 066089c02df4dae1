"""What waits for late labels shows of that: how late they may be, the clock, each label once."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from onlinear._wrappers.late.pending import Pending

__all__ = ["Waits"]


class Waits:
    """Has rows that wait for their label."""

    _pending: Pending

    @property
    def expire_after(self) -> int | timedelta | None:
        """How late a label may be."""
        return self._pending.expire_after

    @property
    def clock(self) -> Callable[[], float]:
        """What says the time; it may be set, say after a load."""
        return self._pending.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._pending.clock = clock

    def expire(self) -> int:
        """Give up the rows whose time has run out, as every row and label does; return how many."""
        return self._pending.expire()

    @contextlib.contextmanager
    def _once(self, id: Any, rounds: Callable[[], float]) -> Iterator[None]:
        """Learn a row and settle it; if Ctrl-C comes between, it is settled all the same."""
        before = rounds()
        try:
            yield
        except BaseException:
            if rounds() > before and id in self._pending:
                self._pending.settle(id)  # it was learnt: not to be learnt again
            raise
