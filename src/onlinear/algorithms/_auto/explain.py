"""The text of ``Auto.explain``: the speed of drift, the leading expert, outliers, a table."""

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Beliefs", "explained"]

FEW = 100  # fewer rows are not enough to judge the drift
ALIKE = 1.05  # errors within this factor of the least count as equal


class Beliefs(NamedTuple):
    """The numbers to explain: each expert's name, memory, error and weight, and counts of outliers.

    Errors are recent root mean squares. ``weights`` are those of the experts in the prediction,
    ``past`` those of past labels and errors: label, error, label, error.
    """

    rows: int
    columns: int
    names: list[str]
    memories: list[float]
    errors: np.ndarray
    weights: np.ndarray
    past: np.ndarray
    leader: int
    since: int
    error: float
    cut_labels: int
    cut_entries: int
    inert: int


def _longest(memories: list[float], errors: np.ndarray, leader: int) -> float:
    """Return the leader's memory, or the longest of an expert that is about as good."""
    if memories[leader] == 0:
        return 0.0
    alike = [m for m, e in zip(memories, errors, strict=True) if e <= ALIKE * errors[leader]]
    return max([memories[leader], *(m for m in alike if m > memories[leader])])


def _pace(memory: float) -> str:
    if memory == 0:
        return "no expert did better than the mean of y: x does not help"
    if math.isnan(memory):
        return "an expert in given units did best"
    if memory < 3:
        return "the relationship changed all the time: only the last rows count"
    if memory < 100:
        return f"the relationship changed fast: about the last {memory:.0f} rows count"
    if memory < 3000:
        return f"the relationship changed slowly: about the last {memory:,.0f} rows count"
    return "the relationship hardly changed: all rows count"


def explained(beliefs: Beliefs) -> str:
    """Return the text."""
    rows, columns, names, memories, errors, weights, past, leader, since, error, *rest = beliefs
    cut_labels, cut_entries, inert = rest
    lines = [f"Auto has learnt {rows:,} rows of {columns} columns."]
    if rows > 1 and error == 0.0:
        lines.append("There is nothing left to learn: its recent error is 0.")
    elif rows > 1:
        if rows >= FEW:
            lines.append(f"Recently, {_pace(_longest(memories, errors, leader))}.")
        switch = f"since row {since:,}" if since else "from the beginning"
        lines.append(f"{names[leader]} leads {switch}; Auto's own error is {error:.4g}.")
    if past.size and rows > 1:
        lines.append(f"The last label counts {past[0]:+.2f}, the last error {past[1]:+.2f}.")
    if cut_labels + cut_entries:
        lines.append(f"Outliers cut: labels {cut_labels:,}, entries of x {cut_entries:,}.")
    if inert and rows > 1:
        lines.append(f"{inert:,} of the columns never changed, and are not used.")
    wide = max(len(name) for name in names)
    lines += ["", f"{'expert':{wide}}   recent error  weight"]
    for name, miss, weight in zip(names, errors, weights, strict=True):
        shown = f"{miss:13.4g}" if math.isfinite(miss) else " " * 13
        lines.append(f"{name:{wide}}  {shown}  {weight:+6.2f}")
    return "\n".join(lines)
