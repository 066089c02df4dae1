"""Read the next blocks of rows in a thread while earlier blocks are learnt."""

import threading
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from typing import Any, TypeVar

__all__ = ["ahead"]

Item = TypeVar("Item")
DEPTH = 2  # blocks read ahead
WAIT = 0.2  # seconds between calls of ``idle``


def ahead(
    items: Iterable[Item], idle: Callable[[], None], last: Callable[[], bool] = lambda: False
) -> Iterator[Item]:
    """Yield ``items``, which a thread produces in advance; while waiting for one, call ``idle``.

    ``idle`` is called every 0.2 seconds of waiting. Once ``last`` returns true, the thread produces
    no more items; the items already produced are still yielded.

    An exception from ``idle`` ends the iteration and is passed on to the caller. The thread is a
    daemon, so the process can end while the thread waits for standard input.
    """
    queue: Queue[tuple[str, Any]] = Queue(DEPTH)
    ended = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not ended.is_set():
            try:
                queue.put((kind, value), timeout=WAIT)
            except Full:  # check whether the consumer is still there
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    return
                if last():
                    break
            put("end", None)
        except BaseException as error:
            put("error", error)

    threading.Thread(target=work, daemon=True, name="reading ahead").start()
    try:
        while True:
            try:
                kind, value = queue.get(timeout=WAIT)
            except Empty:
                idle()
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        ended.set()
