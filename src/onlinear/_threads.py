"""Compiled calls side by side in a few threads."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Self, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["BLAS_THREADS_PAY", "Crew", "beside", "blas_threads", "usable_cores"]

BLAS_THREADS_PAY = 768  # columns from which blocks of rows gain by BLAS's own threads

T = TypeVar("T")


def usable_cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        return os.cpu_count() or 1


class Crew:
    """So many threads, started when first needed; as a context it ends with all of them done."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return what the calls return; none of them still runs when this ends, or fails."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        futures: list[Future[T]] = []
        try:
            for call in calls:
                futures.append(self._pool.submit(call))
            return [future.result() for future in futures]
        finally:
            _settle(futures)


@cache
def _blas() -> Any:
    """Return what controls the threads of SciPy's BLAS, and of no other if it has one to itself."""
    libraries = ThreadpoolController().select(user_api="blas")
    own = [each.filepath for each in libraries.lib_controllers if "scipy.libs" in each.filepath]
    return libraries.select(filepath=own) if own else libraries


class _OneThread:
    """BLAS held to one thread for as long as anybody asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._asking += 1
            if self._asking == 1:
                self._limit = _blas().limit(limits=1)

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0:
                self._limit.restore_original_limits()


_one_thread = _OneThread()


def blas_threads(d: int) -> contextlib.AbstractContextManager[None]:
    """Return a context for blocks of rows of width d: narrow ones lose by more than one thread."""
    return _one_thread if d < BLAS_THREADS_PAY else contextlib.nullcontext()


@contextlib.contextmanager
def beside(call: Callable[[Callable[[int, int], None]], T]) -> Iterator[Future[T]]:
    """Run a call in a thread while the block runs.

    The call is to report the row it reached now and then, which ends it once the block has: by then
    its result has been asked for, or is not wanted.
    """
    ended = threading.Event()

    def advance(row: int, rows: int) -> None:
        if ended.is_set():
            raise RuntimeError("the result is not wanted any more")

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, advance)
        try:
            yield future
        finally:
            ended.set()
            _settle([future])


def _settle(futures: Sequence[Future[Any]]) -> None:
    """Wait for what was begun, whatever is pressed meanwhile: it writes to memory of ours."""
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        with contextlib.suppress(KeyboardInterrupt):
            wait(futures)
