"""The progress bar of ``onlinear run`` and ``onlinear compare``; shown only on a terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from onlinear._cli.run_figures import RunFigures
from onlinear._cli.source import Place, Source
from onlinear._numerics import native

__all__ = ["meter"]

COMPILED = " (compiled once, about 20 s)"  # shown unless compiled code came with the package


@contextlib.contextmanager
def meter(
    source: Source, who: str, *, loss: bool = True
) -> Iterator[Callable[[Place, RunFigures], None]]:
    """Show a progress bar, and yield the function that updates it.

    This function takes the place reached in the source, and the figures so far (such as the number
    of rows and the mean loss). Until the first call, the bar shows that ``who`` (a text
    such as the learner's name) is starting, which includes compiling. With ``loss=False``, as for
    several learners, the loss is not shown.
    """
    if not sys.stderr.isatty():
        yield lambda place, tally: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    sizes = [0 if path == "-" else Path(path).stat().st_size for path in source.paths]
    began: list[tuple[float, int]] = []
    columns = (
        TextColumn("{task.fields[rows]}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[loss]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = source.size if any(sizes) else None
        note = "" if native.there() else COMPILED
        task = progress.add_task("run", total=total, rows=f"starting {who}{note}", loss="")

        def advance(place: Place, tally: RunFigures) -> None:
            now, speed = progress.get_time(), ""
            if began:  # the first block includes compiling
                per_second = (tally.rows - began[0][1]) / max(now - began[0][0], 1e-3)
                speed = f", {per_second:,.0f} a second"
            else:
                began.append((now, tally.rows))
            done = sum(sizes[: place.file]) + place.byte
            progress.update(
                task,
                completed=done if total else None,
                rows=f"{tally.rows:,} rows{speed}",
                loss=tally.progress if loss else "",
            )

        yield advance
