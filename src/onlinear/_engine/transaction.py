"""Transactions: if a block fails or is interrupted, the previous state is restored."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

__all__ = ["Restorable", "all_or_nothing", "uninterrupted"]


class Restorable(Protocol):
    """An object whose state can be restored."""

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state; it may be called twice."""
        ...


@contextlib.contextmanager
def all_or_nothing(*parts: Restorable) -> Iterator[None]:
    """Restore the parts if the block raises, also on Ctrl-C.

    >>> class Counter:
    ...     n = 0
    ...
    ...     def _snapshot(self):
    ...         n = self.n
    ...         return lambda: setattr(self, "n", n)
    >>> counter = Counter()
    >>> with contextlib.suppress(ValueError), all_or_nothing(counter):
    ...     counter.n = 7
    ...     raise ValueError("a bad row")
    >>> counter.n
    0
    """
    restorers = [part._snapshot() for part in parts]
    try:
        yield
    except BaseException:
        uninterrupted(lambda: [restore() for restore in restorers])
        raise


def uninterrupted(work: Callable[[], object]) -> None:
    """Do work that restores something, from the start again whenever Ctrl-C interrupts it.

    It is called while an error propagates to the caller, so no interrupt is lost.
    """
    while True:
        try:
            work()
            return
        except KeyboardInterrupt:
            continue
