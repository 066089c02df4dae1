"""The report's sections on loss: error over time, cumulative loss, regret."""

import numpy as np

from onlinear._evaluation.html.charts import line, scaled
from onlinear._evaluation.html.page import Chart, Part
from onlinear._evaluation.report.class_parts import calibration_parts, right_parts
from onlinear._evaluation.report.downsampling import ends_of_windows
from onlinear._evaluation.report.loss_words import averaged, words_for
from onlinear._evaluation.report.recorder import (
    CEILING,
    COMPARATOR,
    COMPARED,
    FIXED,
    LEARNT,
    LOSS,
    MEAN,
    Recorder,
)
from onlinear.losses import SQUARED

__all__ = ["loss_parts"]

STRETCHES = 100


def loss_parts(story: Recorder) -> list[Part]:
    """Return the charts of the error over time, the cumulative loss and the regret."""
    rows = story.curves.rows - story.first + 1
    above = [*right_parts(story), *_errors(story), *calibration_parts(story)]
    return [*above, _losses(story, rows), *_regret(story, rows)]


def _errors(story: Recorder) -> list[Part]:
    """Return a chart of the error in each window of the stream, or no chart for a short stream."""
    rows, table = story.curves.rows, story.curves.table
    if rows.size < STRETCHES:
        return []
    ends = ends_of_windows(rows, story.first - 1, STRETCHES)
    known = np.isfinite(table[:, LEARNT])  # releases before 0.11 did not record it
    counts = np.diff(np.where(known, table[:, LEARNT], rows - story.first + 1)[ends], prepend=0.0)
    words, traces = words_for(story.model), []
    for name, column, kind in (
        (story.name, LOSS, "loss"),
        (words.plain, MEAN, "other"),
    ):
        lost = np.diff(table[ends, column], prepend=0.0)
        error = averaged(story, lost, counts)
        traces.append(line(name, rows[ends], error, kind=kind, grey=kind == "other"))
    title = words.average[0].upper() + words.average[1:]
    square = story.model._loss == SQUARED
    axis = f"error of {story.target}" if square else words.average
    return [
        Chart(
            "Error over time" if square else f"{title} over time",
            f"{title} in each of {ends.size} windows of the stream.",
            traces,
            scaled(traces, "row", axis, log="y", height=320),
            scales=True,
        )
    ]


def _losses(story: Recorder, rows: np.ndarray) -> Chart:
    table, named = story.curves.table, words_for(story.model)
    name = story.name
    traces = [
        line(name, rows, table[:, LOSS], 0),
        line(named.plain, rows, table[:, MEAN], kind="other", grey=True),
    ]
    if np.isfinite(table[:, FIXED]).any():
        traces.append(line("best fixed predictor", rows, table[:, FIXED], 1, "comparator"))
    words = [f"Cumulative {named.loss} over {story.seen:,} rows."]
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
    return Chart(
        "Loss so far",
        " ".join(words),
        traces,
        scaled(traces, "rows so far", f"cumulative {named.loss}", log="xy"),
        scales=True,
    )


def _no_bound(story: Recorder) -> str:
    guarantee = story.model._guarantee(search=False)
    if guarantee.known and guarantee.account.growing is not None:
        return "A report has no certificate of a kernel learner: onlinear.certificate computes it."
    if guarantee.known:
        return f"There is no certificate for more than {COMPARED} columns."
    statement = guarantee.statement
    return statement[0].upper() + statement[1:] + "."


def _regret(story: Recorder, rows: np.ndarray) -> list[Part]:
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
            "The loss minus that of the comparator; below 0 the learner is better than the "
            "comparator.",
            traces,
            scaled(traces, "rows so far", "loss − comparator", height=320),
        )
    ]
