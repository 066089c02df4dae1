"""The report of a run: what was predicted, what was lost, what it could not have lost, what moved.

A page for one learner on one stream, made from its :class:`~onlinear._story.Story`.
"""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinear import _checks
from onlinear._charts import line, scaled
from onlinear._effects import Effects, effects, speeds
from onlinear._model import Learner
from onlinear._page import Chart, Figures, Page, Panels, Part, Table, Text, Words
from onlinear._problems import Problem, odd_columns
from onlinear._replay import Replay
from onlinear._story import (
    CEILING,
    COMPARATOR,
    COMPARED,
    FIXED,
    LEARNT,
    LOSS,
    LOST,
    MEAN,
    MEAN_LOST,
    Story,
    has_intercept,
)
from onlinear.algorithms import Auto

__all__ = ["figure", "page", "report", "share"]

STRETCHES = 100
SHOWN = 6  # columns whose weights are drawn
READING = (
    "The learner predicts each row before it sees the label, so every error here is one it would "
    "have made live. The best fixed predictor is chosen with the whole stream known: a loss below "
    "it means that the truth moved and the learner followed.\n\n"
    "Full lines are the learner, dotted ones what it is compared with, dashed ones what a theorem "
    "allows at most. A regret that grows ever more slowly means the learner is nearly as good as "
    "hindsight; one that falls, that it is better. Click a name above a chart to hide its line."
)


def report(model: Learner, X: Any, y: Any, path: str | os.PathLike[str]) -> Replay:
    """Replay a stream with a learner and write what happened as one HTML page.

    The page needs no network: prediction against truth, loss beside the best in hindsight and the
    theorem's ceiling, weights over time, problems of the data. It costs a few times the replay,
    and is of some five megabytes however long the stream, nearly all of them the code of the
    charts.

    Parameters
    ----------
    model : Learner
        A learner that has learnt nothing yet; it learns, as in :func:`onlinear.replay`.
    X : array, list of rows or DataFrame
        One row per round; the names of columns are kept.
    y : array or Series
        One label per row.
    path : str or path
        Where the page goes.

    Returns
    -------
    Replay
        The predictions, as of ``replay(model, X, y, engine="rank-one")``.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=3, degrees=0.5)
    >>> ol.report(ol.LASER(c=30.0, shrink=False), X, y, "report.html")
    <Replay of 2000 rows: mean squared error 0.0187562>
    """
    table, names = _checks.table(X)
    target = getattr(y, "name", None)
    story = Story(
        model,
        names or [f"column {j}" for j in range(table.shape[1])],
        target if isinstance(target, str) else "y",
    )
    run = story.replay(table, y, 0)
    write(story, path)
    return run


def write(
    story: Story,
    path: str | os.PathLike[str],
    problems: Sequence[tuple[str, int, Sequence[int]]] = (),
) -> None:
    """Write the page of a story; ``problems`` are words, a number of rows and the first of them."""
    page(story, problems).write(path)


def page(story: Story, problems: Sequence[tuple[str, int, Sequence[int]]] = ()) -> Page:
    """Return the page of a story."""
    model = repr(story.model)
    if len(model) > 300:
        model = model[:299] + "…"
    lead = f"{model} predicts {story.target}"
    parts: list[Part] = [_figures(story), *_truth(story), *_errors(story), *_losses(story)]
    told = effects(story) if story.weighed else None
    parts += _weights(story, told)
    if isinstance(story.model, Auto) and story.model._state is not None:
        parts += _experts(story, story.model)
    parts += [_problems(story, problems), Words("How to read this", READING)]
    return Page(f"{story.target}, predicted by {type(story.model).__name__}", lead + ".", parts)


def figure(value: float) -> str:
    """Return a number in four digits, as people read it.

    >>> figure(12345.678), figure(0.00123456), figure(1.5e-9), figure(float("nan"))
    ('12,346', '0.001235', '1.500e-09', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        return f"{value:,.{digits}f}".replace("-", "−")
    return f"{value:.3e}".replace("-", "−", 1) if value < 0 else f"{value:.3e}"


def share(part: float, whole: float) -> float:
    """Return part/whole, NaN if there is nothing to divide by."""
    return part / whole if whole > 0 else math.nan


def _figures(story: Story) -> Figures:
    learnt, lost, mean_lost = (float(story.sums[k]) for k in (LEARNT, LOST, MEAN_LOST))
    error = share(lost, learnt)
    root = math.sqrt(error) if error >= 0 else math.nan
    skipped = story.seen - int(learnt)
    figures = [
        ("rows", f"{story.seen:,}", f"row {story.first:,} to row {story.last:,}"),
        (
            "columns",
            f"{len(story.names):,}",
            "and an intercept" if has_intercept(story.model) else "no intercept is added",
        ),
        ("mean squared error", figure(error), f"its root, a typical error: {figure(root)}"),
        (
            "relative error",
            figure(share(lost, mean_lost)),
            "of squares; 1 = no better than the mean of y so far",
        ),
    ]
    if skipped:
        figures.append(("rows skipped", f"{skipped:,}", "see data problems"))
    if story.curves.rows.size:
        fixed = float(story.curves.table[-1, FIXED])
        if math.isfinite(fixed):
            against = share(lost, fixed)
            figures.append(("loss / best fixed", figure(against), "below 1: better than hindsight"))
    return Figures(figures)


def _truth(story: Story) -> list[Part]:
    truth, predicted = story.truth, story.predicted
    whole = [
        line("truth", truth.rows, truth.values, 1, grey=True),
        line("prediction", predicted.rows, predicted.values, 0),
    ]
    for trace in whole:
        trace["line"]["width"] = 1
    whole[1]["opacity"] = 0.8
    width = "every row" if story.seen <= truth.rows.size else "the extremes of each stretch of rows"
    parts: list[Part] = [
        Chart(
            "Prediction and truth",
            f"Drawn from {width}, so that no peak is lost; both as they were when the row came.",
            whole,
            scaled(whole, "row", story.target),
        )
    ]
    rows, y, predictions = story.recent.table.T
    if story.seen > rows.size:
        last = [
            line("truth", rows, y, 1, grey=True),
            line("prediction", rows, predictions, 0),
        ]
        for trace in last:
            trace["line"]["width"] = 1.5
        parts.append(
            Chart(
                f"The last {rows.size} rows",
                "The same, close up.",
                last,
                scaled(last, "row", story.target, height=300),
            )
        )
    return parts


def _errors(story: Story) -> list[Part]:
    """Return the error by stretches of the stream, from what was lost between their ends."""
    rows, table = story.curves.rows, story.curves.table
    ends = np.searchsorted(rows, np.linspace(story.first, story.last, STRETCHES + 1)[1:])
    ends = np.unique(ends)
    if ends.size < 3 or rows.size < STRETCHES:
        return []
    before = np.concatenate([[story.first - 1.0], rows[ends[:-1]]])
    traces = []
    for name, column, kind in (
        (type(story.model).__name__, LOSS, "loss"),
        ("mean of y so far", MEAN, "other"),
    ):
        lost = np.diff(table[ends, column], prepend=0.0)
        error = np.sqrt(lost / (rows[ends] - before))
        traces.append(line(name, rows[ends], error, kind=kind, grey=kind == "other"))
    return [
        Chart(
            "Error over time",
            f"The typical error (root mean square) in each of {ends.size} stretches of the stream.",
            traces,
            scaled(traces, "row", f"error of {story.target}", log="y", height=320),
            scales=True,
        )
    ]


def _losses(story: Story) -> list[Part]:
    rows, table = story.curves.rows - story.first + 1, story.curves.table
    name = type(story.model).__name__
    traces = [
        line(name, rows, table[:, LOSS], 0),
        line("mean of y so far", rows, table[:, MEAN], kind="other", grey=True),
    ]
    if np.isfinite(table[:, FIXED]).any():
        traces.append(line("best fixed predictor", rows, table[:, FIXED], 1, "comparator"))
    words = [f"Squared loss added up, over the {story.seen:,} rows."]
    certified = story.certified
    if certified is not None:
        if np.isfinite(table[:, COMPARATOR]).any():
            traces.append(line("theorem's comparator", rows, table[:, COMPARATOR], 2, "comparator"))
        if np.isfinite(table[:, CEILING]).any():
            traces.append(line("theorem's ceiling", rows, table[:, CEILING], 2, "ceiling"))
        words.append(f"Comparator: {certified.against}. Theorem: {certified.theorem}.")
        if certified.failed is not None:
            words.append(f"The ceiling ends: {certified.failed}.")
        else:
            words.append("The bound holds." if certified.holds else "THE BOUND IS BROKEN.")
    else:
        words.append(_no_bound(story))
    loss = Chart(
        "Loss so far",
        " ".join(words),
        traces,
        scaled(traces, "rows so far", "squared loss, added up", log="xy"),
        scales=True,
    )
    return [loss, *_regret(story, rows)]


def _no_bound(story: Story) -> str:
    guarantee = story.model._guarantee(search=False)
    if guarantee.known:
        return f"No certificate is kept for more than {COMPARED} columns."
    statement = guarantee.statement
    return statement[0].upper() + statement[1:] + "."


def _regret(story: Story, rows: np.ndarray) -> list[Part]:
    table = story.curves.table
    traces = []
    for what, column, k in (
        ("over the best fixed predictor", FIXED, 1),
        ("over the theorem's comparator", COMPARATOR, 2),
    ):
        if np.isfinite(table[:, column]).any():
            traces.append(line(what, rows, table[:, LOSS] - table[:, column], k))
    if not traces:
        return []
    return [
        Chart(
            "Regret",
            "How much more was lost than by what it is compared with; below 0 the learner is "
            "better than that.",
            traces,
            scaled(traces, "rows so far", "loss − comparator", height=320),
        )
    ]


def _weights(story: Story, told: Effects | None) -> list[Part]:
    if told is None or told.rows.size == 0:
        few = len(story.names) <= 200
        why = (
            f"{type(story.model).__name__} has no weight for a column."
            if few
            else f"Weights are kept up to 200 columns, and there are {len(story.names):,}."
        )
        return [Words("Weights", why)]
    chosen = told.order[:SHOWN]
    charts = []
    for k, j in enumerate(chosen.tolist()):
        traces = [line(type(story.model).__name__, told.rows, told.effects[:, j], k)]
        if told.path is not None:
            traces.append(
                line("in hindsight", told.path.rows, told.path.effects[:, j], k, "comparator")
            )
        charts.append(Chart(story.names[j], "", traces, scaled(traces, "", "", height=210)))
    some = "" if len(story.names) <= SHOWN else f", for {SHOWN} of {len(story.names)} columns"
    words = (
        f"What one standard deviation of a column adds to the prediction{some}, the most important "
        "first."
    )
    if told.path is not None:
        every = f"every {story.sample.stride}th row" if story.sample.stride > 1 else "all rows"
        words += (
            f" Dotted: the best drifting path in hindsight through {every}, where a step costs "
            f"{told.path.price:,g} times its square in units of the labels' spread: the price at "
            "which it would have predicted best."
        )
    if isinstance(story.model, Auto) and story.model.lags:
        words += " The path knows no earlier labels, and Auto does: its own weights may be smaller."
    parts: list[Part] = [Panels("Weights over time", words, charts)]
    return parts + _speed(story, told)


def _speed(story: Story, told: Effects) -> list[Part]:
    rows, own, path = speeds(told)
    if rows.size < 2 or not (own > 0).any():
        return []
    traces = [line(type(story.model).__name__, rows, own, 0)]
    if path is not None and (path > 0).any():
        traces.append(line("best drifting path in hindsight", rows, path, 0, "comparator"))
    return [
        Chart(
            "Speed of drift",
            "How far all effects together move in a row, on average between two marks. A learner "
            "far above the path follows noise, one far below it is too slow.",
            traces,
            scaled(traces, "row", "‖Δ effects‖ a row", log="y", height=320),
            scales=True,
        )
    ]


def _experts(story: Story, model: Auto) -> list[Part]:
    names, first = model._names_of_experts(), story.weighed
    rows, table = story.records.rows, story.records.table[:, first:]
    weights = [line(name, rows, table[:, k], k) for k, name in enumerate(names[:-1])]
    weights.append(line(names[-1], rows, table[:, len(names) - 1], kind="other", grey=True))
    weighted, combination, ceiling = table[:, len(names) :].T
    excess = [
        line("Auto", rows, weighted - combination, 0),
        line("at most", rows, ceiling - combination, 2, "ceiling"),
    ]
    parts: list[Part] = []
    if rows.size:
        parts.append(
            Chart(
                "Who leads in Auto",
                "The weight of each expert in the prediction; what is missing to 1 is that of the "
                "last labels. A small c follows fast, a large one hardly moves.",
                weights,
                scaled(weights, "row", "weight", height=320),
            )
        )
        parts.append(
            Chart(
                "What Auto guarantees",
                "Loss with each row weighed by 1/2σ² of its time, less that of the best fixed "
                "combination of all experts and past labels; and the most that can be.",
                excess,
                scaled(excess, "row", "weighted loss over the best", height=300),
            )
        )
    return [*parts, Text("What Auto believes", model.explain())]


def _problems(story: Story, given: Sequence[tuple[str, int, Sequence[int]]]) -> Part:
    found = [Problem(*each) for each in given] + story.skipped.problems()
    if story.seen:
        low, high = story.range
        found += odd_columns(story.names, low, high, story.sample.table, story.target)
    model = story.model
    if isinstance(model, Auto) and model._state is not None and model.regret_.left_out:
        found.append(
            Problem("labels Auto did not believe, and did not learn", model.regret_.left_out)
        )
    heading = "Data problems"
    if not found:
        return Words(heading, "None found.")
    rows = [
        (
            each.words,
            "" if each.rows is None else f"{each.rows:,}",
            ", ".join(f"{row:,}" for row in each.first),
        )
        for each in found
    ]
    return Table(heading, ("what", "rows", "the first of them"), rows)
