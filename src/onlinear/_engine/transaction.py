"""Transactions: if a block fails or is interrupted, the previous state is restored."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["Restorable", "all_or_nothing", "uninterrupted"]


class Restorable(Protocol):
    """An object whose state can be restored."""

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state; it may be called twice."""
        ...


class _AllOrNothing:
    """The context manager of :func:`all_or_nothing`.

    It is a class, as a generator that an interrupt leaves unfinished would restore much later, when
    it is collected.
    """

    def __init__(self, parts: tuple[Restorable, ...]) -> None:
        self._parts = parts

    def __enter__(self) -> None:
        self._restorers = [part._snapshot() for part in self._parts]

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            uninterrupted(self._restore)

    def _restore(self) -> None:
        for restore in self._restorers:
            restore()


def all_or_nothing(*parts: Restorable) -> AbstractContextManager[None]:
    """Restore the parts if the block raises, also on Ctrl-C.

    >>> import contextlib
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
    return _AllOrNothing(parts)


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
