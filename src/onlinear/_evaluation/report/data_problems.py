"""Data problems for the report: skipped rows, constant columns, outliers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinear._engine.status import BAD_INPUT, BAD_LABEL
from onlinear._state_files.model_codec import count

__all__ = ["Problem", "Skipped", "odd_columns"]

FIRST = 5  # how many rows are listed for a problem
MOST_KINDS = 50
FAR = 50.0  # a value more than so many interquartile ranges from the median is an outlier
MOST_NAMED = 20  # columns listed for one problem


@dataclass(frozen=True)
class Problem:
    """A problem of the data, how many rows have it, and the row numbers of the first of them.

    ``rows`` is None for a problem of a whole column, such as a constant one.
    """

    words: str
    rows: int | None = None
    first: Sequence[int] = ()


class Skipped:
    """Counts of the rows that a learner skipped, by broken rule and column of the bad value."""

    def __init__(self, kinds: dict[tuple[int, int], tuple[str, int, list[int]]]) -> None:
        self._kinds = kinds

    def copy(self) -> "Skipped":
        """Return an independent copy of the counts."""
        return Skipped(dict(self._kinds))

    def add(self, rule: int, column: int, row: int, words: str) -> None:
        """Count a skipped row, by the rule that it broke and the column of the bad value.

        Of rows with the same rule and column, only the first one's description ``words`` is
        kept.
        """
        key = (rule, column)
        if key not in self._kinds and len(self._kinds) >= MOST_KINDS:
            key, words = (rule, -2), "the same in other columns"
        words, rows, first = self._kinds.get(key, (words, 0, []))
        self._kinds[key] = (words, rows + 1, [*first, row] if len(first) < FIRST else first)

    def problems(self) -> list[Problem]:
        """Return the problems because of which rows were skipped, the most frequent first."""
        kinds = sorted(self._kinds.values(), key=lambda kind: -kind[1])
        return [Problem(words, rows, first) for words, rows, first in kinds]

    def described(self) -> list[Any]:
        """Return the counts as plain JSON values."""
        return [[*key, *kind] for key, kind in self._kinds.items()]

    @classmethod
    def restored(cls, kept: Any) -> "Skipped":
        """Return the counts that JSON values describe; refuse invalid values."""
        kinds: dict[tuple[int, int], tuple[str, int, list[int]]] = {}
        if type(kept) is not list or len(kept) > 2 * MOST_KINDS:
            raise ValueError(f"it has {kept!r:.60} for kinds of skipped rows")
        for rule, column, words, rows, first in kept:
            ints = [rule, column, rows, *first]
            if (
                type(words) is not str
                or len(words) > 10_000
                or any(type(i) is not int for i in ints)
            ):
                raise ValueError(f"it has {words!r:.60} for a kind of skipped rows")
            if len(first) != min(count(rows), FIRST):
                raise ValueError(f"it names {len(first)} of {rows} skipped rows")
            kinds[rule, column] = (words, rows, list(first))
        return cls(kinds)


def words_of(rule: int, column: int, names: Sequence[str], target: str, refusal: str) -> str:
    """Return in words why a row was skipped; ``refusal`` is the learner's error message."""
    if rule == BAD_INPUT:
        return f"{names[column]}: not a finite number; the learner skipped the row"
    if rule == BAD_LABEL:
        return f"{target}, the label: not a finite number; the learner skipped the row"
    return f"{refusal}; the learner skipped such rows"


def odd_columns(
    names: Sequence[str],
    low: np.ndarray,
    high: np.ndarray,
    sample: np.ndarray,
    target: str,
    classes: Mapping[float, str],
) -> list[Problem]:
    """Return the problems of whole columns: constant values and outliers.

    ``low`` and ``high`` have the smallest and largest value of each column and, last, of the label;
    ``sample`` has some of the rows, each with its label at the end, and ``classes`` the names of
    labels that stand for classes.
    """
    found = []
    still = [name for name, a, b in zip(names, low, high, strict=False) if a == b]
    if still:
        found.append(Problem(f"never changes: {_listed(still)}"))
    if low[-1] == high[-1]:
        only = classes.get(float(low[-1]), f"{low[-1]:.6g}")
        found.append(Problem(f"{target}, the label, never changes: it is always {only}"))
    if len(sample) < 8:
        return found
    quartiles = np.quantile(sample, [0.25, 0.5, 0.75], axis=0)
    for name, (first, median, third), a, b in zip(
        [*names, target], quartiles.T, low, high, strict=True
    ):
        spread = third - first
        for value in (a, b):
            distance = abs(value - median)
            if spread > 0 and math.isfinite(distance) and distance > FAR * spread:
                words = f"{name}: has {value:.6g}, {distance / spread:,.0f} times as far from the "
                found.append(Problem(words + f"median {median:.6g} as the quartiles are apart"))
    return found[: 2 * MOST_NAMED]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
