"""A progress bar for long work, shown on terminals only."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from typing import Any

__all__ = ["bar", "hushed"]

PATIENCE = 2.0  # seconds before a progress bar appears

_hushed = False  # whether bars are suppressed


@contextmanager
def hushed() -> Iterator[None]:
    """Draw no progress bar inside the ``with`` block: the caller already shows one."""
    global _hushed
    before, _hushed = _hushed, True
    try:
        yield
    finally:
        _hushed = before


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with (rows done, total rows); it draws a bar during long work."""
    if _hushed or not sys.stderr.isatty() or parent_process() is not None:
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
