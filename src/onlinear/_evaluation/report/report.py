"""``report``: an HTML page on one learner and one stream.

The page shows predictions, losses, an upper bound on the loss, and the weights over time, as
recorded during the run.
"""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinear._evaluation.html.charts import figure, share
from onlinear._evaluation.html.page import Figures, Page, Part, Table, Words
from onlinear._evaluation.report.class_parts import usual_share
from onlinear._evaluation.report.data_problems import Problem, odd_columns
from onlinear._evaluation.report.loss_words import class_names, words_for
from onlinear._evaluation.report.losses import loss_parts
from onlinear._evaluation.report.predictions import prediction_parts
from onlinear._evaluation.report.recorder import FIXED, has_intercept
from onlinear._evaluation.report.resumable_recorder import Found, Story
from onlinear._evaluation.report.weights import weight_parts
from onlinear._learner.base import Learner
from onlinear._learner.replay_result import Replay
from onlinear._validation import checks
from onlinear.algorithms import Auto
from onlinear.losses import SQUARED

__all__ = ["page", "report"]

ROUNDING = 1e-12  # a loss below this share of the running mean's loss counts as 0
READING = (
    "The learner predicts each row before it sees the label, so every error shown here is one that "
    "it would have made in live use.",
    " The best fixed predictor is chosen with the whole stream known: a loss below its loss means "
    "that the relationship drifted and the learner followed.",
    "\n\nSolid lines are the learner, dotted lines what it is compared with, dashed lines the "
    "upper bound of a theorem. If the regret flattens, the learner is nearly as good as the best "
    "predictor in hindsight; if the regret falls, it is better. Click a name above a chart to hide "
    "its line.",
)


def report(model: Learner, X: Any, y: Any, path: str | os.PathLike[str]) -> Replay:
    """Replay a stream with a learner and write an HTML report of the run.

    The page works without a network. It shows predictions and labels, the loss compared with the
    best loss in hindsight and with a theorem's upper bound, the weights over time, and problems in
    the data. Making the report takes a few times as long as a replay. The HTML file has about five
    megabytes however long the stream is; nearly all of it is Plotly's code.

    Parameters
    ----------
    model : Learner
        A learner that has not learnt any row yet; it is changed in place.
    X : array, list of rows or DataFrame
        One row per round; column names are shown in the report.
    y : array or Series
        One label per row.
    path : str or path
        The file to write.

    Returns
    -------
    Replay
        The result of ``replay(model, X, y, engine="rank-one")``.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=3, degrees=0.5)
    >>> ol.report(ol.LASER(c=30.0, shrink=False), X, y, "report.html")
    <Replay of 2000 rows: mean squared error 0.0148964>
    """
    checks.same_index(X, y=y)
    table, names = checks.table(X)
    target = getattr(y, "name", None)
    story = Story(
        model,
        names or [f"column {j}" for j in range(table.shape[1])],
        target if isinstance(target, str) else "y",
    )
    model._find_classes(y)
    model._check_one("a report")
    run = story.replay(table, model._labels(y, len(table)), 0)
    story.write(path)
    return run


def page(story: Story, problems: Sequence[Found] | None = None) -> Page:
    """Return a recorded run's report as a page; ``problems`` may say why rows were skipped."""
    model = repr(story.model)
    if len(model) > 300:
        model = model[:299] + "…"
    lead = f"{model} predicts {story.target}"
    with np.errstate(all="ignore"):  # values that are not finite are not drawn
        parts: list[Part] = [_figures(story), *prediction_parts(story), *loss_parts(story)]
        parts += weight_parts(story)
        first, fixed, lines = READING
    reading = first + (fixed if story.model._loss == SQUARED else "") + lines
    parts += [_problems(story, problems), Words("How to read this", reading)]
    return Page(f"{story.target}, predicted by {story.name}", lead + ".", parts)


def _figures(story: Story) -> Figures:
    learnt, lost, mean_lost = story.sums[:3]
    skipped = story.seen - int(learnt)
    figures = [
        (
            "rows",
            f"{story.seen:,}",
            f"row {story.first:,} to row {story.last:,}" if story.seen else "no row had a label",
        ),
        (
            "columns",
            f"{len(story.names):,}",
            "and an intercept" if has_intercept(story.model) else "no intercept is added",
        ),
        *_measures(story),
    ]
    if skipped:
        figures.append(("rows skipped", f"{skipped:,}", "see data problems"))
    if story.curves.rows.size:
        fixed = float(story.curves.table[-1, FIXED])
        if fixed > ROUNDING * mean_lost:
            against, note = share(lost, fixed), "below 1: better than any fixed predictor"
            figures.append(("loss / best fixed", figure(against), note))
    return Figures(figures)


def _measures(story: Story) -> list[tuple[str, str, str]]:
    """Return the figures on how good the predictions are."""
    learnt, lost, mean_lost = story.sums[:3]
    error, words = share(lost, learnt), words_for(story.model)
    relative = figure(share(lost, mean_lost))
    if story.model._loss == SQUARED:
        root = math.sqrt(error) if error >= 0 else math.nan
        note = "squared error divided by that of the mean of y so far"
        return [
            ("mean squared error", figure(error), f"root mean squared error {figure(root)}"),
            ("relative error", relative, note),
        ]
    shown = []
    if not math.isnan(story.right):
        note = f"the most frequent label has a share of {figure(usual_share(story))}"
        shown.append(("accuracy", figure(share(story.right, learnt)), note))
    note = f"{relative} times that of the {words.plain}"
    return [*shown, (words.average, figure(error), note)]


def _problems(story: Story, given: Sequence[Found] | None) -> Part:
    found = story.skipped.problems() if given is None else [Problem(*each) for each in given]
    if story.seen:
        low, high = story.range
        found += odd_columns(
            story.names, low, high, story.sample.table, story.target, class_names(story.model)
        )
    model = story.model
    if isinstance(model, Auto) and model._state is not None and model.regret_.left_out:
        found.append(
            Problem("labels that Auto took for errors and did not learn", model.regret_.left_out)
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
    return Table(heading, ("problem", "rows", "first rows"), rows)
