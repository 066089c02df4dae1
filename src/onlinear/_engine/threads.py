"""Run compiled calls in threads, and limit the threads of BLAS."""

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

BLAS_THREADS_PAY = 768  # columns from which BLAS's own threads speed up blocks

PAUSE = 0.1  # seconds between two polls of running calls

T = TypeVar("T")


def usable_cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every platform
        return os.cpu_count() or 1


class Crew:
    """A thread pool, started when first needed; its ``with`` block ends when all threads have."""

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
        """Run calls and return their results; no call still runs when ``run`` returns or raises.

        ``meanwhile`` is called from time to time while the calls run. After an error, ``stop`` is
        called to end the other calls early.
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
    """Return a controller of the threads of SciPy's own BLAS, or of any BLAS if SciPy has none."""
    load()
    libraries = ThreadpoolController().select(user_api="blas")
    own = [each.filepath for each in libraries.lib_controllers if "scipy.libs" in each.filepath]
    return libraries.select(filepath=own) if own else libraries


_held = False  # whether BLAS is limited to one thread


@contextlib.contextmanager
def blas_threads(d: int) -> Iterator[None]:
    """Limit BLAS to one thread for rows of d columns, if more threads would be slower.

    In any thread but the main thread, this context manager does nothing, since OpenBLAS does not
    always obey other threads. Inside its ``with`` block, the limit holds for all threads. (It is
    written as a generator, so that the limit is removed after any interrupt.)
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
    """Run ``call`` in another thread while the ``with`` block runs; yield its ``Future``.

    ``call`` is given a function with which it reports, from time to time, the row that it has
    reached. If the ``with`` block ends first, the next report raises an error, which ends ``call``.
    """
    ended = threading.Event()

    def advance(row: int, rows: int) -> None:
        if ended.is_set():
            raise RuntimeError("the result is no longer needed")

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
    """Cancel calls not yet begun, and wait for the others, even after Ctrl-C.

    No call may go on running when this function returns, because calls write to shared memory.
    """
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        with contextlib.suppress(KeyboardInterrupt):
            wait(futures)
