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
from onlinear._learner.probability_classifier import ProbabilityClassifier
from onlinear.losses import Logistic

__all__ = ["Answers", "ClassAnswers", "NumberAnswers", "answers_of"]

SPECIAL = ',"\r\n'  # a name with one of these is quoted in a CSV


class Answers(Protocol):
    """How labels are given to a learner, and how its predictions are written."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns that :meth:`columns` returns."""
        ...

    @property
    def quoting(self) -> str:
        """Which texts pyarrow's ``write_csv`` quotes."""
        ...

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels as the learner's step takes them."""
        ...

    def unknown(self, rows: int) -> np.ndarray:
        """Return the predictions of a learner that knows nothing."""
        ...

    def finished(self, predictions: np.ndarray) -> np.ndarray:
        """Return predictions to be written, given those of the learner's step."""
        ...

    def columns(self, predictions: np.ndarray, y: np.ndarray) -> list[pa.Array]:
        """Return predictions and labels as columns; NaNs become nulls."""
        ...


class NumberAnswers:
    """The answers of a learner that predicts numbers."""

    header: tuple[str, ...] = ("prediction", "label")
    quoting = "none"

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels as the learner's step takes them."""
        return y

    def unknown(self, rows: int) -> np.ndarray:
        """Return the predictions of a learner that knows nothing."""
        return np.zeros(rows)

    def finished(self, predictions: np.ndarray) -> np.ndarray:
        """Return predictions to be written, given those of the learner's step."""
        return predictions

    def columns(self, predictions: np.ndarray, y: np.ndarray) -> list[pa.Array]:
        """Return predictions and labels as columns; NaNs become nulls."""
        return [array_of(predictions), array_of(y)]


@dataclass(frozen=True)
class ClassAnswers:
    """The answers of a learner that predicts one of the classes ``names``.

    A class is represented by its place in ``names``. ``probable`` says whether the learner predicts
    probabilities; otherwise it predicts margins.
    """

    names: tuple[str, ...]
    probable: bool

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns that :meth:`columns` returns."""
        return "prediction", *self._scores, "label"

    @property
    def _scores(self) -> list[str]:
        """The names of the columns of probabilities or margins."""
        return [f"P({name})" if self.probable else f"margin({name})" for name in self.names]

    @property
    def quoting(self) -> str:
        """Which texts pyarrow's ``write_csv`` quotes: all, if one of the names needs quotes."""
        return "needed" if any(c in name for name in self.names for c in SPECIAL) else "none"

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels as the learner's step takes them: for several classes, their places."""
        return y

    def places(self, labels: np.ndarray) -> np.ndarray:
        """Return the places of the classes, given the labels that the learner's step takes."""
        return labels

    def unknown(self, rows: int) -> np.ndarray:
        """Return the predictions of a learner that knows nothing."""
        count = len(self.names)
        return np.full((rows, count), 1.0 / count if self.probable else 0.0)

    def finished(self, predictions: np.ndarray) -> np.ndarray:
        """Return predictions to be written, given those of the learner's step."""
        return ProbabilityClassifier._probabilities(predictions) if self.probable else predictions

    def chosen(self, predictions: np.ndarray) -> np.ndarray:
        """Return the places of the predicted classes; NaN where nothing was predicted."""
        missing = np.isnan(predictions).any(axis=1)
        return np.where(missing, np.nan, np.nan_to_num(predictions).argmax(axis=1))

    def log_losses(self, predictions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return −ln of the probability predicted for each class; NaN if there are only margins."""
        if not self.probable:
            return np.full(places.size, np.nan)
        own = predictions[np.arange(places.size), np.nan_to_num(places).astype(np.intp)]
        return np.asarray(-np.log(own))

    def columns(self, predictions: np.ndarray, y: np.ndarray) -> list[pa.Array]:
        """Return classes by name, and probabilities or margins, as columns; NaNs become nulls."""
        chosen, labels = (self._named(places) for places in (self.chosen(predictions), y))
        scores = predictions.reshape(y.size, -1).T
        return [chosen, *map(array_of, scores), labels]

    def _named(self, places: np.ndarray) -> pa.Array:
        missing = np.isnan(places)
        return pa.array(self.names, pa.string()).take(
            pa.array(np.where(missing, 0, places).astype(np.int64), mask=missing)
        )


@dataclass(frozen=True)
class BinaryAnswers(ClassAnswers):
    """The answers of a learner that predicts one of two classes, by one number per row."""

    two: TwoClasses

    @property
    def _scores(self) -> list[str]:
        return [f"P({self.names[1]})" if self.probable else "margin"]

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return labels as the learner's step takes them, such as −1 and 1."""
        labels = np.where(y == 1.0, self.two.positive, self.two.negative)
        return np.where(np.isnan(y), np.nan, labels)

    def places(self, labels: np.ndarray) -> np.ndarray:
        """Return the places of the classes, given the labels that the learner's step takes."""
        return np.where(np.isnan(labels), np.nan, labels > self.two.boundary)

    def unknown(self, rows: int) -> np.ndarray:
        """Return the predictions of a learner that knows nothing."""
        return np.full(rows, self.two.boundary)

    def finished(self, predictions: np.ndarray) -> np.ndarray:
        """Return predictions to be written: they are those of the learner's step."""
        return predictions

    def chosen(self, predictions: np.ndarray) -> np.ndarray:
        """Return the places of the predicted classes; NaN where nothing was predicted."""
        return np.where(np.isnan(predictions), np.nan, predictions > self.two.boundary)

    def log_losses(self, predictions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return −ln of the probability predicted for each class; NaN if there are only margins."""
        if not self.probable:
            return np.full(places.size, np.nan)
        return Logistic().of_predictions(predictions, places)


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
    probable = has_probabilities(model._loss)
    if model._outputs() > 1:
        return ClassAnswers(classes.names, probable)
    if len(classes.names) > 2:
        listed = ", ".join(classes.names)
        raise UsageError(
            f"{model!r} tells two classes apart, but the target has {len(classes.names)} "
            f"({listed}): use --model logisticlaser or arow"
        )
    return BinaryAnswers(classes.names, probable, two)
