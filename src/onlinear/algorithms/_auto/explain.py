"""The text of ``Auto.explain``: speed of drift, leading expert, outliers, table of experts."""

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Beliefs", "explained"]

RECENT = 100  # rows covered by the recent errors, which are running means at the rate 1/100
FEW = 300  # fewer rows are not enough to judge the drift
LITTLE = 0.05  # with at most this total weight of the experts, x adds little to past labels
ROUND = (3, 10, 30, 100, 300, 1000)  # a memory is rounded to one of these
LEVELS = np.linspace(0.25, 0.75, 21)  # quantiles of the ages of rows; their mean is taken
AGES = np.geomspace(0.3, 2e5, 300)  # ages, in rows, among which these quantiles are searched


class Beliefs(NamedTuple):
    """What ``explain`` shows: each expert's name, memory, error and weight; counts of outliers.

    ``memories`` say how many past rows each expert uses, roughly (NaN for experts on unscaled
    columns, 0 for the last expert, the mean of y); ``errors`` are the root mean squares of the
    experts' recent errors; ``losses`` are the experts' sums of squared errors over all rows.
    ``weights`` are the experts' weights in the prediction. ``past`` are the weights of the last
    label, the last error, the label before, the error before, and so on. ``overall`` are the
    experts' weights in the best fixed combination over all rows. ``leader`` is the number of the
    expert that has led since row ``since``, and ``error`` is Auto's own recent error.
    """

    rows: int
    columns: int
    names: list[str]
    memories: list[float]
    errors: np.ndarray
    losses: np.ndarray
    weights: np.ndarray
    overall: np.ndarray
    past: np.ndarray
    leader: int
    since: int
    error: float
    cut_labels: int
    cut_entries: int
    inert: int


def _memory(memories: list[float], overall: np.ndarray) -> float:
    """Return how many rows back a combination of experts looks, given the experts' weights.

    An expert of memory m gives a row of age a the weight e^{−a/m}/m. The combined weights are a
    distribution of ages, and the result is the geometric mean of its quantiles between the first
    and the third quartile. Unlike the memory of the leading expert alone, this mean changes little
    when the experts' weights change a little. The result is NaN if the experts on unscaled columns
    have more weight than the experts of positive, finite memory.
    """
    known = np.isfinite(memories) & (np.array(memories) > 0.0)
    weights, given = overall[known], overall[np.isnan(memories)]
    if given.sum() > weights.sum():
        return math.nan
    within = (1.0 - np.exp(-AGES[:, None] / np.array(memories)[known])) @ (weights / weights.sum())
    places = np.searchsorted(np.maximum.accumulate(within), LEVELS)
    return float(np.exp(np.log(AGES[np.minimum(places, AGES.size - 1)]).mean()))


def _pace(beliefs: Beliefs) -> str:
    """Return a phrase that says how fast the relationship of x and y changed, over all rows."""
    if beliefs.losses[-1] <= beliefs.losses[:-1].min():
        return "no expert did better than the mean of y: x does not help"
    if beliefs.overall[:-1].sum() <= LITTLE:
        return "the last labels explained nearly everything: x added little"
    memory = _memory(beliefs.memories, beliefs.overall)
    if math.isnan(memory):
        return "the experts in given units (on unscaled columns) had the most weight"
    if memory < 3:
        return "the relationship changed all the time: only the last rows count"
    if memory < 2000:
        about = min(ROUND, key=lambda rows: abs(math.log(rows / memory)))
        pace = "fast" if about < 100 else "slowly"
        return f"the relationship changed {pace}: about the last {about:,} rows count"
    return "the relationship hardly changed: all rows count"


def explained(beliefs: Beliefs) -> str:
    """Return the text of ``Auto.explain``."""
    rows, names, past, error = beliefs.rows, beliefs.names, beliefs.past, beliefs.error
    lines = [f"Auto has learnt {rows:,} rows of {beliefs.columns} columns."]
    if rows > 1 and error == 0.0:
        lines.append("There is nothing left to learn: its recent error is 0.")
    elif rows > 1:
        if rows >= FEW:
            lines.append(f"Over all these rows, {_pace(beliefs)}.")
        recent = f"In the last {min(rows, RECENT)} rows or so"
        switch = f"since row {beliefs.since:,}" if beliefs.since else "from the beginning"
        lines.append(f"{recent}, {names[beliefs.leader]} leads, {switch}.")
        lines.append(f"Auto's own error was {error:.4g} then.")
    if past.size and rows > 1:
        lines.append(f"Weight of the last label {past[0]:+.2f}, of the last error {past[1]:+.2f}.")
    if beliefs.cut_labels + beliefs.cut_entries:
        lines.append(
            f"Outliers cut: labels {beliefs.cut_labels:,}, entries of x {beliefs.cut_entries:,}."
        )
    if beliefs.inert and rows > 1:
        lines.append(f"{beliefs.inert:,} of the columns never changed, and are not used.")
    wide = max(len(name) for name in names)
    lines += ["", f"{'expert':{wide}}   recent error  weight"]
    for name, miss, weight in zip(names, beliefs.errors, beliefs.weights, strict=True):
        shown = f"{miss:13.4g}" if math.isfinite(miss) else " " * 13
        lines.append(f"{name:{wide}}  {shown}  {weight:+6.2f}")
    return "\n".join(lines)
