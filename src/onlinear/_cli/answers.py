"""What a learner answers for a row, as columns of the file of predictions: a number, or a class."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from onlinear._cli.arrow_numbers import array_of
from onlinear._cli.errors import UsageError
from onlinear._cli.target_classes import Classes
from onlinear._learner.base import Learner
from onlinear._learner.class_measures import TwoClasses, classes_of, has_probabilities

__all__ = ["Answers", "ClassAnswers", "NumberAnswers", "answers_of"]


SPECIAL = ',"\r\n'  # a name with one of these is quoted in a CSV


class Answers(Protocol):
    """How labels are given to a learner, and how its predictions are written."""

    @property
    def header(self) -> list[str]:
        """The names of the columns that :meth:`columns` returns."""
        ...

    @property
    def quoting(self) -> str:
        """Which texts pyarrow's ``write_csv`` quotes."""
        ...

    @property
    def unknown(self) -> float:
        """The prediction of a learner that knows nothing."""
        ...

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels as the learner takes them."""
        ...

    def columns(self, predictions: np.ndarray, y: np.ndarray) -> list[pa.Array]:
        """Return predictions and labels as columns; NaNs become nulls."""
        ...


class NumberAnswers:
    """The answers of a learner that predicts numbers."""

    @property
    def header(self) -> list[str]:
        """The names of the columns that :meth:`columns` returns."""
        return ["prediction", "label"]

    @property
    def quoting(self) -> str:
        """Which texts pyarrow's ``write_csv`` quotes: none, since there are none."""
        return "none"

    @property
    def unknown(self) -> float:
        """The prediction of a learner that knows nothing."""
        return 0.0

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels as the learner takes them."""
        return y

    def columns(self, predictions: np.ndarray, y: np.ndarray) -> list[pa.Array]:
        """Return predictions and labels as columns; NaNs become nulls."""
        return [array_of(predictions), array_of(y)]


@dataclass(frozen=True)
class ClassAnswers:
    """The answers of a learner that predicts one of two classes, by a probability or a margin."""

    names: tuple[str, ...]
    two: TwoClasses
    probable: bool

    @property
    def header(self) -> list[str]:
        """The names of the columns that :meth:`columns` returns."""
        score = f"P({self.names[1]})" if self.probable else "margin"
        return ["prediction", score, "label"]

    @property
    def quoting(self) -> str:
        """Which texts pyarrow's ``write_csv`` quotes: all, if one of the names needs quotes."""
        return "needed" if any(c in name for name in self.names for c in SPECIAL) else "none"

    @property
    def unknown(self) -> float:
        """The prediction of a learner that knows nothing."""
        return self.two.boundary

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return numbers of classes as the labels that the learner's loss has."""
        labels = np.where(y == 1.0, self.two.positive, self.two.negative)
        return np.where(np.isnan(y), np.nan, labels)

    def chosen(self, predictions: np.ndarray) -> np.ndarray:
        """Return the numbers of the predicted classes; NaN where nothing was predicted."""
        return np.where(np.isnan(predictions), np.nan, predictions > self.two.boundary)

    def columns(self, predictions: np.ndarray, y: np.ndarray) -> list[pa.Array]:
        """Return classes by name, and probabilities or margins, as columns; NaNs become nulls."""
        chosen, labels = (self._named(places) for places in (self.chosen(predictions), y))
        return [chosen, array_of(predictions), labels]

    def _named(self, places: np.ndarray) -> pa.Array:
        missing = np.isnan(places)
        return pa.array(self.names, pa.string()).take(
            pa.array(np.where(missing, 0, places).astype(np.int64), mask=missing)
        )


def answers_of(model: Learner, classes: Classes) -> Answers:
    """Return how a learner answers; refuse one that cannot tell these classes apart."""
    if not classes.names:
        return NumberAnswers()
    two = classes_of(model._loss)
    if two is None:
        raise UsageError(
            f"--task classify needs a learner of classes, got {model!r}: use --model logisticlaser "
            "or arow, or give the learner a loss of classes, as in gd:loss=logistic"
        )
    if len(classes.names) > 2:
        listed = ", ".join(classes.names)
        raise UsageError(
            f"{model!r} tells two classes apart, but the target has {len(classes.names)}: {listed}"
        )
    return ClassAnswers(classes.names, two, has_probabilities(model._loss))
