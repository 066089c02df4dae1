"""``onlinear paper``: reproduce the papers' figures and tables, and write a page on each."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from onlinear._cli.errors import DataError, UsageError, printable
from onlinear._engine.progress import hushed
from onlinear._engine.threads import usable_cores
from onlinear.papers import NAMES, Study, script
from onlinear.papers._harness.pages import write, write_index, write_not_run
from onlinear.papers._harness.scripts import known, words
from onlinear.streams import DataNotFoundError
from onlinear.streams._published import DamagedDataError

__all__ = ["chosen", "listed", "run"]

MOST_PROCESSES = 8  # each holds its own copy of the data

Tell = Callable[[int, int], None]


def listed() -> str:
    """Return a text with one line for each figure or table that can be reproduced."""
    longest = max(map(len, NAMES))
    return "\n".join(f"{name:<{longest}}  {words(script(name)).title}" for name in NAMES)


def chosen(names: Sequence[str], *, everything: bool) -> Sequence[str]:
    """Return the names of the figures and tables to run, each once, spelled as in ``NAMES``."""
    if everything and names:
        raise UsageError(f"use either --all or names, got --all and {' '.join(names)}")
    try:
        return NAMES if everything else tuple(dict.fromkeys(map(known, names)))
    except ValueError as error:
        raise UsageError(str(error)) from None


def run(names: Sequence[str], study: Study, folder: Path) -> None:
    """Reproduce figures and tables; print a verdict on each, write a page on each, and an index.

    If the data of a figure or table are missing or damaged, a message is printed, and the next name
    follows; if ``names`` has only one name, an error is raised instead.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _progress(names) as begin, study.hands(min(usable_cores(), MOST_PROCESSES)):
        for name in names:
            study.advance = begin(name)
            try:
                outcome = script(name).run(study)
            except BrokenProcessPool:
                raise DataError(f"{name}: a worker process was killed (out of memory?)") from None
            except (DataNotFoundError, DamagedDataError) as error:
                if len(names) == 1:
                    raise DataError(str(error)) from None
                write_not_run(folder, name, str(error))
                print(printable(f"{name}: not run. {error}"))
            else:
                write(folder, name, outcome, study)
                held, of = outcome.count
                print(f"{name}: {outcome.verdict} ({held} of {of} claims hold)")
            sys.stdout.flush()
            index = write_index(folder)
    print(printable(f"index: {index}"))


@contextmanager
def _progress(names: Sequence[str]) -> Iterator[Callable[[str], Tell]]:
    """Show progress bars on a terminal; yield a function to call as each figure begins.

    This function takes the figure's name, and returns another function, which takes the number of
    steps done and their total, and updates the figure's bar.
    """
    if not sys.stderr.isatty():
        yield lambda name: lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    with hushed(), shown as progress:
        pages = progress.add_task("pages", total=len(names))
        now = progress.add_task("", total=None)

        def begin(name: str) -> Tell:
            nonlocal now
            progress.update(pages, completed=names.index(name))
            progress.remove_task(now)
            now = progress.add_task(name, total=None)
            return lambda done, of: progress.update(now, completed=done, total=of)

        yield begin
