"""How a learner's labels become the numbers that its step takes."""

from typing import Any

import numpy as np

from onlinear._validation import checks

__all__ = ["LabelRules"]


class LabelRules:
    """Labels are numbers, and so is a prediction; classifiers have other rules."""

    def _label(self, y: Any) -> float:
        """Return a label as the number that the step takes."""
        return checks.label(y)

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        """Return the labels of a table as the numbers that the step takes."""
        return checks.labels(y, rows)

    def _coding(self) -> Any:
        """Return how labels become numbers, as a hashable value; None if labels are numbers."""
        return None

    def _find_classes(self, y: Any, classes: Any = None) -> None:
        """Find the classes of a classifier in the labels of its first table."""

    def _outputs(self) -> int:
        """Return how many numbers a prediction has."""
        return 1

    def _check_one(self, what: str) -> None:
        """Refuse a learner whose prediction has more than one number; ``what`` needs one."""
        if (count := self._outputs()) > 1:
            raise ValueError(
                f"{what} needs a learner whose prediction is one number, got "
                f"{type(self).__name__} of {count} classes: use a classifier of two classes, a "
                "class and the rest, for each class"
            )
