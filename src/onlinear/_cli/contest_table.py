"""Print a comparison of learners as a table."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onlinear._cli.errors import printable
from onlinear._evaluation.report.comparison import Contest, standings

__all__ = ["show"]


def show(contest: Contest) -> None:
    """Print a table with the loss of each learner, lowest loss first."""
    made = standings(contest)
    table = Table(title=_shown(made.heading), caption=_shown(made.caption), box=SIMPLE_HEAD)
    learner, *figures = map(_shown, made.columns)
    table.add_column(learner, min_width=20, overflow="fold")
    for column in figures:
        table.add_column(column.replace(" ", "\n"), justify="right", no_wrap=True)
    for k, row in enumerate(made.rows):
        if k == len(contest.entries):
            table.add_section()
        table.add_row(*map(_shown, row))
    Console().print(table)


def _shown(text: str) -> str:
    return escape(printable(text))
