"""``Study``: repeats, seeds, data folder and processes for reproducing a figure or table."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import TypeVar

from threadpoolctl import threadpool_limits

from onlinear._numerics import blas
from onlinear._validation.checks import whole

__all__ = ["Study"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def _nothing(done: int, of: int) -> None:
    """Do not show any progress."""


@dataclass
class Study:
    """The settings with which a figure or table of a paper is reproduced.

    Parameters
    ----------
    repeats : int, default 100
        How many random streams are averaged over.
    seed : int, default 0
        The seed of the first stream. Parameters are tuned on a separate stream.
    quick : bool, default False
        Whether to run for seconds only. With ``quick=True``, figures and tables that take long use
        less data, so their numbers differ from those of a full run.
    folder : Path, optional
        The folder of real data sets; see :func:`onlinear.streams.load`.
    download : bool, default True
        Whether real data sets may be fetched from their public sources.
    advance : callable, optional
        Function that is called with the number of finished tasks and the number of all tasks.
    """

    repeats: int = 100
    seed: int = 0
    quick: bool = False
    folder: Path | None = None
    download: bool = True
    advance: Callable[[int, int], None] = _nothing
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        whole(self, "repeats", least=2)
        whole(self, "seed", least=0)

    @property
    def tuning_seed(self) -> int:
        """The seed of the stream for tuning, which differs from the seeds of the repeats."""
        return self.seed + 1_000_000

    @property
    def seeds(self) -> range:
        """The seeds of the repeats."""
        return range(self.seed, self.seed + self.repeats)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results of ``work`` for all items, in order; :meth:`hands` makes it parallel.

        ``work`` is a module-level function or a partial of one; items are pickled, so keep them
        small.
        """
        items = list(items)
        if self._pool is None:
            results = []
            for done, item in enumerate(items, 1):
                results.append(work(item))
                self.advance(done, len(items))
            return results
        futures = [self._pool.submit(work, item) for item in items]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()  # raises an error of the work immediately
            self.advance(done, len(items))
        return [future.result() for future in futures]

    @contextmanager
    def hands(self, processes: int) -> Iterator[None]:
        """Let :meth:`map` use several processes in the ``with`` block; end them after the block."""
        if processes < 2:
            yield
            return
        self._pool = ProcessPoolExecutor(
            processes, mp_context=get_context("spawn"), initializer=_serve
        )
        workers = self._pool._processes
        try:
            yield
        except BaseException:
            for worker in list(workers.values()):
                worker.terminate()
            raise
        finally:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
            gc.collect()  # frees the pool's semaphores: the command exits without cleanup


def _serve() -> None:
    """Prepare a worker process: ignore Ctrl-C, end with the parent process, use one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent.sentinel,), daemon=True).start()
    blas.load()
    threadpool_limits(1, user_api="blas")


def _outlive(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
