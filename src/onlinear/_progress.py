"""A progress bar for long work on a terminal, and none in a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["bar"]

PATIENCE = 2.0  # seconds before a progress bar appears


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to be told the row reached: draws a bar on a terminal, after a while."""
    if not sys.stderr.isatty():
        yield lambda row, rows: None
        return
    began = time.monotonic()
    shown: list[Any] = []

    def advance(row: int, rows: int) -> None:
        if not shown and time.monotonic() - began > PATIENCE:
            from rich.console import Console
            from rich.progress import Progress

            shown_bar = Progress(console=Console(stderr=True), transient=True)
            shown.extend((shown_bar, shown_bar.add_task(what, total=rows)))
            shown_bar.start()
        if shown:
            shown_bar, task = shown
            shown_bar.update(task, completed=row)

    try:
        yield advance
    finally:
        if shown:
            shown[0].stop()
