"""The report's sections for a learner of classes: accuracy over time, and calibration."""

import math

import numpy as np

from onlinear._evaluation.html.charts import band, colour, line, numbers, scaled
from onlinear._evaluation.html.page import Chart, Panels, Part
from onlinear._evaluation.report.downsampling import ends_of_windows
from onlinear._evaluation.report.loss_words import class_names
from onlinear._evaluation.report.recorder import BINS, LABELS, LEARNT, RIGHT, Recorder
from onlinear._learner.class_measures import classes_of

__all__ = ["calibration_parts", "right_parts", "usual_share"]

WINDOWS = 100
CHANCE = 1.96  # standard deviations: 95 % of calibrated frequencies are as near


def right_parts(story: Recorder) -> list[Part]:
    """Return a chart of the share of right predictions in each window of the stream."""
    rows, table = story.curves.rows, story.curves.table
    if rows.size < WINDOWS or math.isnan(story.right):
        return []
    ends = ends_of_windows(rows, story.first - 1, WINDOWS)
    counts, right = np.diff(table[ends][:, [LEARNT, RIGHT]], axis=0, prepend=0.0).T
    positive = np.diff(_positives(story, ends), prepend=0.0)
    usual = positive if _positives(story, ends)[-1] * 2 > table[-1, LEARNT] else counts - positive
    traces = [
        line(story.name, rows[ends], right / counts),
        line("most frequent label", rows[ends], usual / counts, kind="other", grey=True),
    ]
    layout = scaled(traces, "row", "share of right predictions", height=320)
    return [
        Chart(
            "Accuracy over time",
            f"The share of right predictions in each of {ends.size} windows of the stream, and "
            "that of always predicting the label that is the most frequent in the whole stream.",
            traces,
            layout,
        )
    ]


def usual_share(story: Recorder) -> float:
    """Return the share of the most frequent label; NaN before a row is learnt."""
    if not story.sums.learnt:
        return math.nan
    share = float(_positives(story, np.array([-1]))[0]) / story.sums.learnt
    return max(share, 1.0 - share)


def _positives(story: Recorder, at: np.ndarray) -> np.ndarray:
    """Return how many labels were of the positive class, up to some points of the curves."""
    classes = classes_of(story.model._loss)
    assert classes is not None
    learnt, off = story.curves.table[at][:, [LEARNT, LABELS]].T
    total = off + learnt * story.sums.origin  # Σ y
    return np.asarray(
        (total - learnt * classes.negative) / (classes.positive - classes.negative)
    ).round()


def calibration_parts(story: Recorder) -> list[Part]:
    """Return charts of predicted probabilities beside observed frequencies, and of their number."""
    counts, probabilities, labels = story.bins.T
    if not counts.any():
        return []
    there = counts > 0
    predicted = probabilities[there] / counts[there]
    spread = CHANCE * np.sqrt(predicted * (1.0 - predicted) / counts[there])
    low, high = np.maximum(predicted - spread, 0.0), np.minimum(predicted + spread, 1.0)
    traces = [
        band("chance", predicted, low, high, grey=True),
        line("calibrated", [0.0, 1.0], [0.0, 1.0], 1, "comparator", mode="lines"),
        line("observed", predicted, labels[there] / counts[there], mode="lines+markers"),
    ]
    bars = {
        "type": "bar",
        "name": "rows",
        "x": numbers((np.arange(BINS) + 0.5) / BINS),
        "y": numbers(counts),
        "marker": {"color": colour(0)},
        "showlegend": False,
    }
    charts = [
        Chart(
            heading,
            "",
            drawn,
            scaled(drawn, "predicted probability", axis, height=320, whole=False),
        )
        for heading, axis, drawn in (
            ("Observed frequency", "observed frequency", traces),
            ("How often", "rows", [bars]),
        )
    ]
    positive = class_names(story.model)[1.0]
    words = (
        f"Left: how often the label was {positive} among the rows with about the same predicted "
        f"probability of {positive}. "
        "On the dotted line, the two agree; in the grey band, chance explains the difference in "
        "95 % of cases. Right: how many rows had such a probability. Each probability was "
        "predicted before its label was learnt."
    )
    return [Panels("Calibration", words, charts)]
