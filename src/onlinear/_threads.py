"""Compiled calls side by side in a few threads."""

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Self, TypeVar

__all__ = ["Crew", "usable_cores"]

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


def _settle(futures: Sequence[Future[Any]]) -> None:
    """Wait for what was begun, whatever is pressed meanwhile: it writes to memory of ours."""
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        with contextlib.suppress(KeyboardInterrupt):
            wait(futures)
