"""Sections of a report: the weights over time, their speed of drift, and Auto's experts.

``Auto`` predicts with a weighted mean of models, its experts.
"""

from onlinear._evaluation.html.charts import line, scaled
from onlinear._evaluation.html.page import Chart, Panels, Part, Text, Words
from onlinear._evaluation.report.effects import Effects, effects, speeds
from onlinear._evaluation.report.recorder import MOST_WEIGHED, Recorder
from onlinear.algorithms import Auto
from onlinear.losses._formulas import LOGISTIC, POISSON

__all__ = ["weight_parts"]

SHOWN = 6  # columns whose weights are drawn


def weight_parts(story: Recorder) -> list[Part]:
    """Return the sections with charts of the weights, the speed of drift and Auto's experts."""
    parts = _weights(story, effects(story) if story.weighed else None)
    if isinstance(story.model, Auto) and story.model._state is not None:
        parts += _experts(story, story.model)
    return parts


def _weights(story: Recorder, told: Effects | None) -> list[Part]:
    if told is None or told.rows.size == 0:
        few = len(story.names) <= MOST_WEIGHED
        why = (
            f"{story.name} has no weight for each column."
            if few
            else f"Shown for up to {MOST_WEIGHED} columns only; there are {len(story.names):,}."
        )
        return [Words("Weights", why)]
    chosen = told.order[:SHOWN]
    if chosen.size == 0:
        return [Words("Weights", "No column has had an effect.")]
    charts = []
    for k, j in enumerate(chosen.tolist()):
        traces = [line(story.name, told.rows, told.effects[:, j], k)]
        if told.path is not None:
            traces.append(
                line("in hindsight", told.path.rows, told.path.effects[:, j], k, "comparator")
            )
        charts.append(Chart(story.names[j], "", traces, scaled(traces, "", "", height=210)))
    shown, columns = len(charts), len(story.names)
    some = "" if columns == shown else f", for {shown} of {columns} columns"
    linked = story.model._loss.kind in (LOGISTIC, POISSON)  # the prediction is not linear in x
    sum_ = "activation" if linked else "prediction"
    words = (
        f"What one standard deviation of a column adds to the {sum_}{some}, the most important "
        "first."
    )
    every = f"one row in {story.sample.stride:,}" if story.sample.stride > 1 else "all rows"
    if told.path is not None:
        words += (
            f" Dotted: the best drifting predictor in hindsight on {every}, with penalty "
            f"c = {told.path.price:,g} on drift, the value that would have predicted best."
        )
    else:
        words += f" The best drifting predictor on {every} is left out: {told.why}."
    if told.path is not None and isinstance(story.model, Auto) and story.model.lags:
        words += " It does not use earlier labels; Auto does, so Auto's weights may be smaller."
    parts: list[Part] = [Panels("Weights over time", words, charts)]
    return parts + _speed(story, told)


def _speed(story: Recorder, told: Effects) -> list[Part]:
    rows, own, path = speeds(told)
    if rows.size < 2 or not (own > 0).any():
        return []
    traces = [line(story.name, rows, own, 0)]
    if path is not None and (path > 0).any():
        traces.append(line("best drifting predictor in hindsight", rows, path, 0, "comparator"))
    return [
        Chart(
            "Speed of drift",
            "The norm of the change of all effects per row, on average between two points. A "
            "learner far above the best drifting predictor follows noise; one far below it adapts "
            "too slowly.",
            traces,
            scaled(traces, "row", "‖Δ effects‖ per row", log="y", height=320),
            scales=True,
        )
    ]


def _experts(story: Recorder, model: Auto) -> list[Part]:
    names, first = model._names_of_experts(), story.weighed
    rows, table = story.records.rows, story.records.table[:, first:]
    weights = [line(name, rows, table[:, k], k) for k, name in enumerate(names[:-1])]
    weights.append(line(names[-1], rows, table[:, len(names) - 1], kind="other", grey=True))
    weighted, combination, ceiling = table[:, len(names) :].T
    excess = [
        line("Auto", rows, weighted - combination, 0),
        line("upper bound", rows, ceiling - combination, 2, "ceiling"),
    ]
    parts: list[Part] = []
    if rows.size:
        parts.append(
            Chart(
                "Auto's experts",
                "The weight of each expert in the prediction; together with the weights of "
                "previous labels they sum to 1. An expert with a small c adapts fast, one with a "
                "large c hardly moves.",
                weights,
                scaled(weights, "row", "weight", height=320),
            )
        )
        parts.append(
            Chart(
                "Auto's regret bound",
                "The loss of Auto minus that of the best fixed combination of all experts and past "
                "labels, with each row weighted by 1/2σ², and the upper bound on this difference.",
                excess,
                scaled(excess, "row", "weighted loss over the best", height=300),
            )
        )
    return [*parts, Text("Auto's state", model.explain())]
