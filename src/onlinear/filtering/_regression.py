"""A learner behind a filter: its predictions are the margins, the labels −1 and +1."""

from typing import Any, Self

import numpy as np

from onlinear import _saving
from onlinear._model import Learner
from onlinear.filtering._filter import Row, dense

__all__ = ["Regression"]


class Regression:
    """A learner that takes the rows of a filter."""

    def __init__(self, learner: Learner, d: int) -> None:
        self.learner = learner
        self.d = d

    def margin(self, x: Row) -> float:
        """Return the prediction."""
        return self.learner.predict_one(dense(x, self.d))

    def reaches(self, x: Row, threshold: float) -> bool:
        """Whether the prediction is at least the threshold."""
        return self.margin(x) >= threshold

    def learn(self, x: Row, y: float) -> None:
        """Learn the label of a row."""
        self.learner.learn_one(dense(x, self.d), y)

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the learner."""
        header, arrays = _saving.described(self.learner, type(self.learner).__name__)
        return {"form": "learner", **header}, arrays

    @classmethod
    def restored(cls, header: Any, arrays: dict[str, np.ndarray], d: int, a: float) -> Self:
        """Return what a header and arrays describe."""
        return cls(_saving.rebuilt(header, arrays, Learner._classes), d)
