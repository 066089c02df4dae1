"""The HTML page that compares learners on one or more streams.

Curves are cumulative losses, by default squared ones, downsampled by :func:`thinned`. All curves of
one stream have their points at the same rows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onlinear._evaluation.html.charts import GREY, figure, line, scaled, share
from onlinear._evaluation.html.page import Chart, Page, Part, Table, Words
from onlinear._evaluation.report.downsampling import ends_of_windows, spaced

__all__ = [
    "LOG_LOSS",
    "MISTAKES",
    "SQUARED_LOSS",
    "Contest",
    "Entry",
    "Measure",
    "comparison",
    "standings",
    "thinned",
]

MOST_DRAWN = 12  # learners in a chart; the table lists all learners
WINDOWS = 60
READING = (
    "Every learner predicts a row before it sees the label. The best predictors in hindsight know "
    "the whole stream beforehand. Regret is the loss minus theirs; below 0 the learner was better. "
    "The relative error is the squared error divided by that of predicting the mean of the labels "
    "so far; a relative log loss is the log loss divided by that of predicting the shares of the "
    "classes so far.\n\n"
    "Solid lines are learners (dash-dotted when colours repeat), dotted lines the best predictors "
    "in hindsight. A learner has the same colour in all charts. Click a name to hide its line."
)


class Measure(NamedTuple):
    """What the losses are, in words, and the figures that a table derives from a total loss.

    Each figure has a name, and a function of the total loss and its contest.
    """

    loss: str
    column: str
    figures: tuple[tuple[str, Callable[[float, "Contest"], float]], ...]
    whole: bool = False  # whether losses are counts, which a table shows without rounding

    def shown(self, loss: float) -> str:
        """Return a total loss as a table shows it."""
        if not self.whole or not math.isfinite(loss):
            return figure(loss)
        return f"{loss:,.0f}".replace("-", "−")


SQUARED_LOSS = Measure(
    "squared loss",
    "loss",
    (("relative error", lambda loss, contest: share(loss, contest.mean)),),
)
MISTAKES = Measure(
    "mistakes",
    "mistakes",
    (("accuracy", lambda loss, contest: 1.0 - share(loss, float(contest.rows[-1]))),),
    whole=True,
)
LOG_LOSS = Measure(
    "log loss",
    "total",
    (
        ("log loss", lambda loss, contest: share(loss, float(contest.rows[-1]))),
        ("relative log loss", lambda loss, contest: share(loss, contest.mean)),
    ),
)


@dataclass(frozen=True, eq=False)
class Entry:
    """A learner in a comparison: its name, its loss curve, and an upper bound on its final loss.

    ``ceiling`` is the upper bound, or NaN if no bound applies; ``note`` is a remark for the table.
    """

    name: str
    loss: np.ndarray
    ceiling: float = math.nan
    note: str = ""


@dataclass(frozen=True, eq=False)
class Contest:
    """The results of several learners on one stream.

    ``title`` and ``words`` are the heading and the caption of the table. ``rows`` has the number of
    rows seen at each point of the curves; ``best`` has the loss curves of the best predictors in
    hindsight, by name; ``mean`` is the final loss of predicting the mean of the labels so far, or
    their shares if they are classes.
    """

    title: str
    words: str
    rows: np.ndarray
    entries: Sequence[Entry]
    best: dict[str, np.ndarray]
    mean: float = math.nan
    measure: Measure = SQUARED_LOSS


def thinned(curve: np.ndarray, most: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Downsample a long curve; return the number of rows seen and the value at each kept point.

    >>> rows, loss = thinned(np.arange(100_000.0))
    >>> int(rows[0]), int(rows[-1]), float(loss[-1]), rows.size <= 1000
    (1, 100000, 99999.0, True)
    """
    chosen = spaced(len(curve), most)
    return chosen + 1, np.asarray(curve)[chosen]


def comparison(title: str, lead: str, contests: Sequence[Contest]) -> Page:
    """Return a page with a table and charts for each stream."""
    parts: list[Part] = []
    for contest in contests:
        parts += [standings(contest), _losses(contest), *_windows(contest)]
    return Page(title, lead, [*parts, Words("How to read this", READING)])


def _ranked(contest: Contest) -> list[Entry]:
    """Return the learners by increasing loss; learners stopped by an error come last."""
    last = {entry: float(entry.loss[-1]) for entry in contest.entries}
    return sorted(contest.entries, key=lambda e: (not math.isfinite(last[e]), last[e]))


def standings(contest: Contest) -> Table:
    """Return a table of learners' losses, lowest first, and of the best losses in hindsight."""
    ends = {name: float(curve[-1]) for name, curve in contest.best.items()}
    bounded = any(math.isfinite(entry.ceiling) for entry in contest.entries)
    noted = any(entry.note for entry in contest.entries)
    measure = contest.measure
    figures = [name for name, _ in measure.figures]
    columns = ["learner", measure.column, *figures, *(f"over {name}" for name in ends)]
    rows = []
    for entry in _ranked(contest):
        loss = float(entry.loss[-1])
        cells = [entry.name, measure.shown(loss), *_figures(contest, loss)]
        cells += [_signed(measure, loss - end) for end in ends.values()]
        cells += [figure(entry.ceiling)] * bounded + [entry.note] * noted
        rows.append(cells)
    blank = [""] * (len(ends) + bounded + noted)
    for name, end in ends.items():
        rows.append([f"{name}, in hindsight", measure.shown(end), *_figures(contest, end), *blank])
    columns += ["ceiling"] * bounded + ["note"] * noted
    return Table(contest.title, columns, rows, contest.words)


def _figures(contest: Contest, loss: float) -> list[str]:
    return [figure(derive(loss, contest)) for _, derive in contest.measure.figures]


def _signed(measure: Measure, value: float) -> str:
    return f"+{measure.shown(value)}" if value > 0 else measure.shown(value)


def _line(contest: Contest, entry: Entry, rows: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """Return the line of a learner in a chart; a learner has the same colour on every stream."""
    place = list(contest.entries).index(entry)
    return line(entry.name, rows, values, place, "loss" if place < GREY else "other")


def _losses(contest: Contest) -> Chart:
    traces = [
        _line(contest, entry, contest.rows, entry.loss) for entry in _ranked(contest)[:MOST_DRAWN]
    ]
    traces += [
        line(f"{name}, in hindsight", contest.rows, curve, GREY - k, "comparator", grey=k == 0)
        for k, (name, curve) in enumerate(contest.best.items())
    ]
    rows, loss = int(contest.rows[-1]) if contest.rows.size else 0, contest.measure.loss
    return Chart(
        f"Loss so far: {contest.title}",
        f"Cumulative {loss} over {rows:,} rows; lower is better.",
        traces,
        scaled(traces, "rows so far", f"cumulative {loss}", log="xy", height=430),
        scales=True,
    )


def _windows(contest: Contest) -> list[Chart]:
    """Return a chart of the learners' losses in windows of rows, relative to the lowest loss.

    The list is empty if there are fewer than five windows or two learners.
    """
    entries, rows = _ranked(contest)[:MOST_DRAWN], contest.rows
    ends = ends_of_windows(rows, 0, WINDOWS)
    if ends.size < 5 or len(entries) < 2:
        return []
    lost = np.array([np.diff(entry.loss[ends], prepend=0.0) for entry in entries])
    least = np.where(lost > 0, lost, np.inf).min(axis=0)
    times = np.where(np.isfinite(least), lost / least, np.nan)
    traces = [_line(contest, entry, rows[ends], times[k]) for k, entry in enumerate(entries)]
    return [
        Chart(
            f"Who is ahead: {contest.title}",
            f"Loss in each of {ends.size} windows, divided by that of the window's best learner, "
            "which is at 1.",
            traces,
            scaled(traces, "rows so far", "loss / lowest in the window", log="y", height=340),
            scales=True,
        )
    ]
