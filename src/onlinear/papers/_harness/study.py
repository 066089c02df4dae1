"""What a script is given: how often to repeat, where data are, and hands to work with."""

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
    """Tell nobody."""


@dataclass
class Study:
    """How a figure or table is to be run.

    Parameters
    ----------
    repeats : int, default 100
        How many random streams are averaged over.
    seed : int, default 0
        The first of their seeds. Parameters are tuned on a stream of their own.
    quick : bool, default False
        A look in seconds: less data where a script takes long, so that figures differ.
    folder : Path, optional
        Where real data sets are; see :func:`onlinear.streams.load`.
    download : bool, default True
        Whether real data sets may be fetched from their public sources.
    advance : callable, optional
        Told how many of how many pieces of work are done.
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
        """The seed of the stream that parameters are tuned on: none of the repeats has it."""
        return self.seed + 1_000_000

    @property
    def seeds(self) -> range:
        """The seeds of the repeats."""
        return range(self.seed, self.seed + self.repeats)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the work on each item, in order, in several processes if there are.

        The work is a function of a module (or a partial of one), its items are not too large.
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
            future.result()  # raises what the work raised, at once
            self.advance(done, len(items))
        return [future.result() for future in futures]

    @contextmanager
    def hands(self, processes: int) -> Iterator[None]:
        """Let work be done by so many processes; they end with the context, however it ends."""
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
            gc.collect()  # its semaphores go with it, though the command ends without a goodbye


def _serve() -> None:
    """Leave Ctrl-C to the process that started this one, end when it does, keep to one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent.sentinel,), daemon=True).start()
    blas.load()
    threadpool_limits(1, user_api="blas")


def _outlive(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
