"""The report's sections on predictions and labels: the whole stream, and its last rows."""

from typing import Any

import numpy as np

from onlinear._evaluation.html.charts import GREY, LIGHT, band, line, scaled
from onlinear._evaluation.html.page import Chart, Part
from onlinear._evaluation.report.downsampling import Extremes, ends_of_windows
from onlinear._evaluation.report.loss_words import class_names
from onlinear._evaluation.report.recorder import LABELS, LEARNT, PREDICTIONS, Recorder
from onlinear._learner.class_measures import classes_of

__all__ = ["prediction_parts"]

MOST_DRAWN = 1200  # a stream of up to so many rows is drawn row by row, a longer one in windows
WINDOWS = 240


def prediction_parts(story: Recorder) -> list[Part]:
    """Return the charts of predictions and labels."""
    if story.seen <= MOST_DRAWN:
        return [_every_row(story)]
    return [_windows(story), _last_rows(story)]


def _every_row(story: Recorder) -> Chart:
    traces = [
        _labels(story, story.truth.rows, story.truth.values),
        line("prediction", story.predicted.rows, story.predicted.values),
    ]
    return Chart(
        "Predictions and labels",
        "Every row is drawn. Each prediction was made before its label was learnt."
        + _numbers_of_classes(story),
        traces,
        scaled(traces, "row", story.target),
    )


def _numbers_of_classes(story: Recorder) -> str:
    """Return a sentence on which number stands for which class, if classes have names."""
    pairs = [(f"{number:g}", name) for number, name in class_names(story.model).items()]
    if all(number == name for number, name in pairs):
        return ""
    return " In the chart, " + " and ".join(f"{number} is {name}" for number, name in pairs) + "."


def _windows(story: Recorder) -> Chart:
    """Return a chart of the range and mean of labels and predictions in windows of the stream."""
    rows, table = story.curves.rows, story.curves.table
    ends = ends_of_windows(rows, story.first - 1, WINDOWS)
    last = rows[ends]
    middle = (np.concatenate([[story.first], last[:-1] + 1]) + last) / 2
    counts, labels, predictions = np.diff(
        table[ends][:, [LEARNT, LABELS, PREDICTIONS]], axis=0, prepend=0.0
    ).T
    classes = classes_of(story.model._loss) is not None
    ranges, means = [], []
    for name, kept, sums, grey in (
        ("labels", story.truth, labels, True),
        ("predictions", story.predicted, predictions, False),
    ):
        low, high = _range(kept, last)
        known = np.isfinite(low)
        if not classes:  # whose range is nearly always the same
            ranges.append(band(f"{name}: range", middle[known], low[known], high[known], grey=grey))
        mean = story.sums.origin + sums / counts
        if np.isfinite(mean).any():
            means.append(line(f"{name}: mean", middle, mean, grey=grey))
    traces = [*ranges, *means]
    both = ", and the range from the smallest to the largest," * (not classes)
    words = f"The mean{both} in each of {ends.size} "
    return Chart(
        "Predictions and labels",
        f"{words}windows of the stream. Each prediction was made before its label was learnt."
        + _numbers_of_classes(story),
        traces,
        scaled(traces, "row", story.target),
    )


def _range(kept: Extremes, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest value in each window, NaN if a window has no value.

    ``last`` has the last row of each window.
    """
    window = np.searchsorted(last, kept.rows)
    low, high = np.full(last.size, np.inf), np.full(last.size, -np.inf)
    np.minimum.at(low, window, kept.values)
    np.maximum.at(high, window, kept.values)
    return np.where(low <= high, low, np.nan), np.where(low <= high, high, np.nan)


def _labels(story: Recorder, rows: np.ndarray, labels: np.ndarray) -> Any:
    """Return labels as a line; as dots if they are classes."""
    if classes_of(story.model._loss) is None:
        return line("label", rows, labels, grey=True)
    dots: dict[str, Any] = {"mode": "markers", "marker": {"color": LIGHT[GREY], "size": 4}}
    return line("label", rows, labels, kind="comparator", grey=True, **dots)


def _last_rows(story: Recorder) -> Chart:
    rows, labels, predictions = story.recent.table.T
    traces = [_labels(story, rows, labels), line("prediction", rows, predictions)]
    return Chart(
        f"The last {rows.size} rows",
        "Every label and prediction at the end of the stream.",
        traces,
        scaled(traces, "row", story.target, height=300),
    )
