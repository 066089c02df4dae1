"""What is wrong with the data of a stream: rows that were skipped, columns that stand out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinear._engine.status import BAD_INPUT, BAD_LABEL
from onlinear._state_files.model_codec import count

__all__ = ["Problem", "Skipped", "odd_columns"]

FIRST = 5  # rows that are named
MOST_KINDS = 50
FAR = 50.0  # quartile ranges from the median
MOST_NAMED = 20  # columns of one kind


@dataclass(frozen=True)
class Problem:
    """What is wrong, how often, and the first rows where it is; None if rows do not matter."""

    words: str
    rows: int | None = None
    first: Sequence[int] = ()


class Skipped:
    """The rows a learner has skipped, by the rule they broke and the column."""

    def __init__(self, kinds: dict[tuple[int, int], tuple[str, int, list[int]]]) -> None:
        self._kinds = kinds

    def copy(self) -> "Skipped":
        """Return another one that stands where this does."""
        return Skipped(dict(self._kinds))

    def add(self, rule: int, column: int, row: int, words: str) -> None:
        """Count a row; the words are those of the first row of its kind."""
        key = (rule, column)
        if key not in self._kinds and len(self._kinds) >= MOST_KINDS:
            key, words = (rule, -2), "the same in other columns"
        words, rows, first = self._kinds.get(key, (words, 0, []))
        self._kinds[key] = (words, rows + 1, [*first, row] if len(first) < FIRST else first)

    def problems(self) -> list[Problem]:
        """Return them, the most frequent first."""
        kinds = sorted(self._kinds.values(), key=lambda kind: -kind[1])
        return [Problem(words, rows, first) for words, rows, first in kinds]

    def described(self) -> list[Any]:
        """Return it as JSON can hold it."""
        return [[*key, *kind] for key, kind in self._kinds.items()]

    @classmethod
    def restored(cls, kept: Any) -> "Skipped":
        """Return what JSON describes, or refuse it."""
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
    """Return what is wrong with a skipped row, given what the learner would have refused with."""
    if rule == BAD_INPUT:
        return f"{names[column]}: not a finite number; the learner skipped the row"
    if rule == BAD_LABEL:
        return f"{target}, the label: not a finite number; the learner skipped the row"
    return f"{refusal}; the learner skipped such rows"


def odd_columns(
    names: Sequence[str], low: np.ndarray, high: np.ndarray, sample: np.ndarray, target: str
) -> list[Problem]:
    """Return the columns that never change, and those with values far from all others.

    ``low`` and ``high`` have the least and largest value of each column and, last, of the label;
    ``sample`` some of the rows.
    """
    found = []
    still = [name for name, a, b in zip(names, low, high, strict=False) if a == b]
    if still:
        found.append(Problem(f"never changes: {_listed(still)}"))
    if low[-1] == high[-1]:
        found.append(Problem(f"{target}, the label, never changes: it is always {low[-1]:.6g}"))
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
