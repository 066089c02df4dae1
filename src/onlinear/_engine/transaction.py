"""Methods that several threads may call at once, and that no signal leaves half done.

A guarded object has a lock, which each call of its methods holds, and an *undo*: before a call
changes several things, it stores a function that restores them. If the call fails, this undo runs
at once. If further signals, such as a second Ctrl-C, interrupt the undo, the next call begins by
running the undo. So callers see the state before a call or after it, never a state in between.

A compiled round (one row predicted and learnt) holds the GIL, so no other thread runs during it. It
takes no lock, but checks a mark, :class:`Busy`, which calls that hold the lock set while they work.
"""

import ctypes
import functools
import gc
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

__all__ = [
    "Busy",
    "Guarded",
    "GuardedBy",
    "Restorable",
    "Transaction",
    "all_or_nothing",
    "alone",
    "atomic",
    "check_idle",
    "exclusive",
    "mend",
    "put_back",
    "renew",
    "share_lock",
    "uninterrupted",
]

P = ParamSpec("P")
R = TypeVar("R")
G = TypeVar("G", bound="Guarded | GuardedBy")


class Busy(bytearray):
    """Eight bytes that compiled rounds read; byte 7 is 1 while a call holds the object's lock."""

    __slots__ = ("address",)

    def __init__(self) -> None:
        super().__init__(8)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self))


class Guarded:
    """An object whose method calls are atomic for other threads and for signals such as Ctrl-C.

    A method that is called from outside the class begins with these lines, or is decorated with
    :func:`atomic`:

        if self._undo is not None:
            mend(self)
        nested = self._lock._is_owned()
        with self._lock, alone(self, nested):

    The lock is taken by compiled code, so no signal can arrive between taking it and entering the
    block. ``_busy``, ``_lock`` and ``_undo`` are slots, which are not copied, saved or restored.
    """

    __slots__ = ("_busy", "_lock", "_undo")

    _busy: Any
    _lock: Any
    _undo: "Transaction | None"

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create the object's lock; a copy or an unpickled object has a lock of its own."""
        self = super().__new__(cls)
        _set_busy(self, Busy())
        _set_lock(self, threading.RLock())
        _set_undo(self, None)
        return self

    def __getstate__(self) -> Any:
        """Return the attributes to copy or pickle, without the lock and the undo."""
        return self.__dict__.copy()

    def _guards(self) -> "tuple[Guarded, ...]":
        """Return the guarded objects that a snapshot of this object restores."""
        return (self,)


class GuardedBy:
    """An object that uses the lock and the undo of a guarded object in it, such as a learner.

    So a call of either object waits for calls of the other, and first runs an undo that was
    interrupted.
    """

    @property
    def _guard(self) -> Guarded:
        """The guarded object."""
        raise NotImplementedError

    @property
    def _busy(self) -> Any:
        return self._guard._busy

    @property
    def _lock(self) -> Any:
        return self._guard._lock

    @property
    def _undo(self) -> "Transaction | None":
        return self._guard._undo

    @_undo.setter
    def _undo(self, undo: "Transaction | None") -> None:
        self._guard._undo = undo

    def _guards(self) -> tuple[Guarded, ...]:
        """Return the guarded objects that a snapshot of this object restores."""
        return self._guard._guards()


_set_busy, _set_lock, _set_undo = (Guarded.__dict__[slot].__set__ for slot in Guarded.__slots__)
_others_ran = False  # whether there were other threads when this process was forked


def _before_fork() -> None:
    global _others_ran
    _others_ran = threading.active_count() > 1


def _free_locks() -> None:
    """Replace all locks in a forked process, which lacks the threads that may hold them."""
    if _others_ran:
        frozen = gc.get_freeze_count() > 0
        if frozen:
            gc.unfreeze()  # else get_objects would leave out the frozen objects
        for thing in gc.get_objects():
            if issubclass(type(thing), Guarded):
                _set_lock(thing, threading.RLock())
        if frozen:
            gc.freeze()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_free_locks)


def share_lock(first: Guarded, second: Guarded) -> None:
    """Make two objects share one lock: the second object gets the lock of the first."""
    _set_lock(second, first._lock)


def mend(guarded: Guarded | GuardedBy) -> None:
    """Recover from an interrupted call, unless that call is still running in this thread."""
    if not guarded._lock._is_owned():
        with guarded._lock:
            while guarded._undo is not None:
                guarded._undo()
            guarded._busy[7] = 0


def check_idle(guarded: Guarded | GuardedBy, to: str) -> None:
    """Raise an error if this thread is inside a call of the object, as a signal handler may be."""
    if guarded._undo is not None:
        mend(guarded)
        if guarded._undo is not None and guarded._lock._is_owned():
            raise _in_the_middle(guarded, to)


def atomic(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """Decorate a method so that it holds the lock of its object while it runs."""

    @functools.wraps(method)
    def call(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            undo = self._undo
        except AttributeError:
            raise _called_on_class(method, self) from None
        if undo is not None:
            mend(self)
        nested = self._lock._is_owned()
        with self._lock, alone(self, nested):
            return method(self, *args, **kwargs)

    return call


class alone:  # noqa: N801 (used like a function)
    """A ``with`` block during which rounds of other threads wait; the caller holds the lock.

    ``nested`` says whether the thread already held the lock in an outer call. The block sets the
    :class:`Busy` mark and resets it at the end, unless the block is nested or an undo is still to
    run. If an interrupt prevents the reset, the next round takes the lock and resets the mark.
    """

    __slots__ = ("_guarded", "_nested")

    def __init__(self, guarded: Guarded | GuardedBy, nested: bool) -> None:
        self._guarded, self._nested = guarded, nested

    def __enter__(self) -> None:
        self._guarded._busy[7] = 1

    def __exit__(self, *_: object) -> None:
        self._guarded._busy[7] = self._nested or self._guarded._undo is not None


def renew(guarded: Guarded) -> None:
    """Give an object a new :class:`Busy` mark, and leave the old mark set.

    So a round that another thread is about to run with the old arrays or parameters is refused. The
    caller is in an :class:`alone` block.
    """
    busy = Busy()
    busy[7] = 1
    _set_busy(guarded, busy)


def exclusive(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """Decorate like :func:`atomic`, but refuse calls by a signal handler during another call."""
    locked = atomic(method)

    @functools.wraps(method)
    def call(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._lock._is_owned():
            raise _in_the_middle(self, "call")
        return locked(self, *args, **kwargs)

    return call


def _in_the_middle(guarded: object, do: str) -> RuntimeError:
    return RuntimeError(
        f"{type(guarded).__name__} is in the middle of a call, which a signal handler has "
        f"interrupted: {do} it when the call has returned"
    )


def _called_on_class(method: Callable[..., Any], given: object) -> Exception:
    """Return the error for ``Auto.fit(X, y)`` in place of ``Auto().fit(X, y)``."""
    if isinstance(given, (Guarded, GuardedBy)):
        return AttributeError(f"{type(given).__name__} was not initialized")
    return TypeError(
        f"{method.__name__} needs an object of the class, got {type(given).__name__} in its place: "
        f"write ClassName().{method.__name__}(...)"
    )


class Restorable(Protocol):
    """An object whose state can be restored."""

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state; it may be called twice."""
        ...


class Transaction:
    """A ``with`` block; if it fails, ``recover`` runs at once or, if interrupted, in the next call.

    ``recover`` undoes what the block has done, or does the rest of it; calling ``recover`` twice
    does no more than calling it once. The caller holds the locks of the guarded objects ``guards``.
    If two ``Transaction`` blocks of the same object are nested, the inner block recovers first.
    """

    __slots__ = ("_before", "_done", "_guards", "_recover")

    def __init__(self, guards: tuple[Guarded, ...], recover: Callable[[], object]) -> None:
        self._guards, self._recover, self._done = guards, recover, False
        self._before = [guarded._undo for guarded in guards]

    def __enter__(self) -> None:
        for guarded in self._guards:
            assert guarded._lock._is_owned(), f"{guarded!r} is changed without its lock"
            guarded._undo = self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            uninterrupted(self._recover_once)
        self._leave()

    def __call__(self) -> None:
        """Recover in a later call, because signals prevented a recovery in the failed call."""
        self._recover_once()
        self._leave()

    def _recover_once(self) -> None:
        if not self._done:
            for guarded, before in zip(self._guards, self._before, strict=True):
                while guarded._undo not in (None, self, before):
                    guarded._undo()  # a block within this one, which an interrupt has left
            self._recover()
            self._done = True

    def _leave(self) -> None:
        self._done = True  # from here on, the block has finished
        for guarded, before in zip(self._guards, self._before, strict=True):
            if guarded._undo is self:
                guarded._undo = before


def all_or_nothing(*parts: Restorable) -> AbstractContextManager[None]:
    """Restore objects if the ``with`` block fails, also on Ctrl-C; the caller holds their locks.

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
    guarded = [part._guards() for part in parts if isinstance(part, (Guarded, GuardedBy))]
    restorers = [part._snapshot() for part in parts]

    def restore() -> None:
        for each in restorers:
            each()

    return Transaction(tuple(chain.from_iterable(guarded)), restore)


def put_back(thing: Any, attributes: dict[str, Any]) -> None:
    """Make ``attributes`` the only attributes of an object; can be called again if interrupted."""
    present = thing.__dict__
    present.update(attributes)
    for name in [name for name in present if name not in attributes]:
        del present[name]


def uninterrupted(work: Callable[[], object]) -> None:
    """Do work that restores something; start again whenever Ctrl-C interrupts it.

    An error is already propagating to the caller, so the interrupt need not be raised again.
    """
    while True:
        try:
            work()
            return
        except KeyboardInterrupt:
            continue
