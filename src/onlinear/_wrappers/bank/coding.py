"""Labels of a bank: one number for all learners or, if they code labels differently, one for each.

Learners code labels differently if some are classifiers, or have other classes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onlinear._learner.base import Learner

__all__ = ["Coding"]


class Coding:
    """How the learners of a bank code labels."""

    def __init__(self, models: Sequence[Learner]) -> None:
        codings = [model._coding() for model in models]
        self._first = [codings.index(each) for each in codings]  # the first with the same coding
        self._alike = len(set(codings)) == 1

    def one(self, models: Sequence[Learner], y: Any) -> Any:
        """Return a label as a number, or as a column with a number for each learner."""
        if self._alike:
            return models[0]._label(y)
        return self._each(models, lambda model: model._label(y))[:, None]

    def table(self, models: Sequence[Learner], y: Any, rows: int) -> np.ndarray:
        """Return the labels of a table as numbers, or as an array with a row for each learner."""
        if self._alike:
            return models[0]._labels(y, rows)
        return self._each(models, lambda model: model._labels(y, rows))

    def _each(self, models: Sequence[Learner], code: Callable[[Learner], Any]) -> np.ndarray:
        own = {k: code(models[k]) for k in set(self._first)}
        return np.array([own[k] for k in self._first])
