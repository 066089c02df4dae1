"""Compiled calls side by side in a few threads."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Self, TypeVar

from threadpoolctl import ThreadpoolController

from onlinear._numerics.blas import load

__all__ = ["BLAS_THREADS_PAY", "Crew", "beside", "blas_threads", "usable_cores"]

BLAS_THREADS_PAY = 768  # columns from which blocks of rows gain by BLAS's own threads

PAUSE = 0.1  # seconds between two looks at what runs

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

    def run(
        self,
        calls: Sequence[Callable[[], T]],
        *,
        meanwhile: Callable[[], None] | None = None,
        stop: Callable[[], None] | None = None,
    ) -> list[T]:
        """Return what the calls return; none of them still runs when this ends, or fails.

        ``meanwhile`` is called now and then as long as they run, ``stop`` if they are to end.
        """
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        futures: list[Future[T]] = []
        try:
            for call in calls:
                futures.append(self._pool.submit(call))
            while meanwhile is not None:
                done, others = wait(futures, PAUSE, FIRST_EXCEPTION)
                meanwhile()
                if not others:
                    break
                for future in done:
                    future.result()  # raises, if it failed
            return [future.result() for future in futures]
        except BaseException:
            if stop is not None:
                stop()
            raise
        finally:
            _settle(futures)


@cache
def _blas() -> Any:
    """Return what controls the threads of SciPy's BLAS, and of no other if it has one to itself."""
    load()
    libraries = ThreadpoolController().select(user_api="blas")
    own = [each.filepath for each in libraries.lib_controllers if "scipy.libs" in each.filepath]
    return libraries.select(filepath=own) if own else libraries


_held = False  # whether BLAS is


@contextlib.contextmanager
def blas_threads(d: int) -> Iterator[None]:
    """Hold BLAS to one thread for blocks of rows of width d, if more would slow it down.

    From the main thread only: OpenBLAS does not always heed the others. Within the context they
    have one thread too. (A generator, so that its end comes however an interrupt falls.)
    """
    global _held
    if d >= BLAS_THREADS_PAY or _held or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _blas().limit(limits=1):
        try:
            _held = True
            yield
        finally:
            _held = False


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

    def begin() -> T:
        advance(0, 0)
        return call(advance)

    futures: list[Future[T]] = []
    with ThreadPoolExecutor(1) as pool:
        try:
            futures.append(pool.submit(begin))
            yield futures[0]
        finally:
            ended.set()
            _settle(futures)


def _settle(futures: Sequence[Future[Any]]) -> None:
    """Wait for what was begun, whatever is pressed meanwhile: it writes to memory of ours."""
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        with contextlib.suppress(KeyboardInterrupt):
            wait(futures)
