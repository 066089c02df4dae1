"""Measures of replays of classifiers, and the labels of two classes that a loss has."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from onlinear._learner import measures
from onlinear._learner.measures import Calibration
from onlinear.losses import Loss
from onlinear.losses._formulas import HINGE, LOGISTIC, MISTAKES, SQUARED_HINGE

__all__ = ["ClassMeasures", "TwoClasses", "classes_of", "has_probabilities"]


class TwoClasses(NamedTuple):
    """The labels of two classes; a prediction above ``boundary`` is for the positive one."""

    negative: float
    positive: float
    boundary: float

    def known(self, y: np.ndarray) -> np.ndarray:
        """Return which labels are one of the two."""
        return np.asarray((y == self.negative) | (y == self.positive))


SIGNS = TwoClasses(-1.0, 1.0, 0.0)
OF = {
    LOGISTIC: TwoClasses(0.0, 1.0, 0.5),
    HINGE: SIGNS,
    SQUARED_HINGE: SIGNS,
    MISTAKES: SIGNS,
}


def has_probabilities(loss: Loss) -> bool:
    """Whether the predictions of a learner with this loss are probabilities."""
    return loss.kind == LOGISTIC


def classes_of(loss: Loss) -> TwoClasses | None:
    """Return the two classes of a loss; None for a loss of numbers."""
    return OF.get(loss.kind)


def _classes(loss: Loss, measure: str, y: np.ndarray) -> TwoClasses:
    """Return the two classes of a loss; raise an error if it has none, or if y has other labels."""
    found = classes_of(loss)
    if found is None:
        raise AttributeError(
            f"{measure} is a measure of classes: it needs the loss Logistic(), Hinge(), "
            f"SquaredHinge() or Mistakes(), got {loss!r}"
        )
    known = found.known(y)
    if not known.all():
        raise ValueError(
            f"{measure} needs the labels {found.negative:g} and {found.positive:g}, "
            f"got {y[~known][0]:g}"
        )
    return found


class ClassMeasures:
    """The measures of a replay of a learner whose loss is one of two classes."""

    loss: Loss

    @property
    def mean_loss(self) -> float:
        """Mean loss over the rows that were not skipped."""
        raise NotImplementedError

    @property
    def _scored(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels and predictions that the measures use."""
        raise NotImplementedError

    @cached_property
    def accuracy(self) -> float:
        """Share of the rows whose class was predicted; only for losses of classes.

        The positive class, whose label is 1, is predicted by a probability above ½ or a margin
        above 0.

        >>> import onlinear as ol
        >>> X, y = ol.streams.rotating(rows=1000, d=3)
        >>> ol.replay(ol.GD(eta=0.1, loss=ol.losses.Hinge()), X, (y > 0) * 2.0 - 1.0).accuracy
        0.931
        """
        classes = _classes(self.loss, "accuracy", self._scored[0])
        return measures.accuracy(*self._scored, classes.boundary)

    @cached_property
    def log_loss(self) -> float:
        """Mean of −ln of the probability that was predicted for the label, 0 or 1."""
        self._check_probabilities("log_loss")
        return self.mean_loss

    def calibration(self, bins: int = 10) -> Calibration:
        """Return predicted probabilities beside observed frequencies, in bins of equal width."""
        self._check_probabilities("calibration")
        if type(bins) is not int or bins < 1:
            raise ValueError(f"calibration needs a whole number of bins ≥ 1, got bins={bins!r}")
        return measures.calibration(*self._scored, bins)

    def _check_probabilities(self, measure: str) -> None:
        _classes(self.loss, measure, self._scored[0])
        if not has_probabilities(self.loss):
            raise AttributeError(
                f"{measure} needs predicted probabilities, but {self.loss!r} has margins: use "
                "accuracy, or a learner of the loss Logistic()"
            )

    @cached_property
    def _classified(self) -> dict[str, float]:
        """The measures of a learner of classes; none for another learner, or for other labels."""
        classes = classes_of(self.loss)
        if classes is None or not classes.known(self._scored[0]).all():
            return {}
        name = "log loss" if has_probabilities(self.loss) else f"mean loss by {self.loss!r}"
        return {"accuracy": self.accuracy, name: self.mean_loss}
