"""A learner in ``onlinear compare``, optionally with the last labels as additional features."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlinear._cli.answers import Answers, ClassAnswers, NumberAnswers
from onlinear._cli.errors import UsageError
from onlinear._cli.model_names import KINDS, learner, words_of
from onlinear._evaluation.report.running_sums import Sums, running
from onlinear._learner.base import Learner
from onlinear._learner.classifier import Classifier
from onlinear._learner.replay_result import Replay
from onlinear.algorithms import Auto
from onlinear.algorithms._auto.rounds import MOST_LAGS
from onlinear.scaling import Standardized

__all__ = ["Runner", "every", "exact", "runner_of"]

LAGS = "lags="


def every(y: np.ndarray) -> np.ndarray:
    """Return a mask that is True for every row."""
    return np.ones(y.size, dtype=bool)


def exact(predictions: np.ndarray, y: np.ndarray) -> Replay:
    """Return a ``Replay`` in which no row was skipped, with the square loss."""
    return Replay(predictions, y)


@dataclass
class Runner:
    """A learner in the comparison, its loss so far, and the error that stopped it, if any.

    With ``lags`` > 0, the last ``lags`` labels are additional features. The first row, which has no
    label before it, is then predicted as 0 (or as the probability ½) and not learnt. In the next
    rows, as long as there are fewer than ``lags`` earlier labels, the first label stands in for the
    missing ones.
    """

    model: Learner
    lags: int = 0
    sums: Sums = field(default_factory=Sums)
    out: str = ""
    past: np.ndarray = field(default_factory=lambda: np.zeros(0))
    answers: Answers = field(default_factory=NumberAnswers)
    wrong: float = 0.0

    @property
    def name(self) -> str:
        """The learner's name in tables, marked "raw" if its features are not standardized."""
        inner = self.model.learner if isinstance(self.model, Standardized) else self.model
        params = {name: _whole(v) for name, v in inner.get_params(deep=False).items()}
        if isinstance(inner, Classifier):  # all have the same classes, which may be many
            params["classes"] = None
        inner = type(inner)(**params)
        lags = f", {self.lags} lag{'s' * (self.lags > 1)}" if self.lags else ""
        raw = "" if isinstance(self.model, Standardized | Auto) else ", raw"
        return f"{inner!r}{lags}{raw}"

    @property
    def sees_labels(self) -> bool:
        """Whether the learner uses past labels to predict."""
        return self.lags > 0 or (isinstance(self.model, Auto) and self.model.lags > 0)

    def replay(self, X: np.ndarray, y: np.ndarray, names: list[str], first: int) -> np.ndarray:
        """Predict and learn rows; return total losses up to each row, or NaNs after an error.

        Numbers have one loss, the squared error. Classes have two, in two columns: the number of
        mistakes, and the log loss, which is NaN if the learner predicts no probabilities.
        """
        classes = isinstance(self.answers, ClassAnswers)
        if not self.out:
            y = self.answers.labels(y)
            try:
                predictions = self._predicted(X, y, names, first)
            except ValueError as error:
                self.out = words_of(error, self.model, classify=classes)
            else:
                return self._losses(predictions, y)
        return np.full((y.size, 1 + classes), np.nan)

    def _losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        if not isinstance(self.answers, ClassAnswers):
            self.sums, loss, _ = self.sums.with_rows(exact(predictions, y), every(y))
            return loss[:, None]
        places = self.answers.places(y)
        wrong = running(self.wrong, self.answers.chosen(predictions) != places)
        loss = running(self.sums.lost, self.answers.log_losses(predictions, places))
        self.wrong, self.sums = float(wrong[-1]), Sums(lost=float(loss[-1]))
        return np.column_stack([wrong, loss])

    def _predicted(self, X: np.ndarray, y: np.ndarray, names: list[str], first: int) -> np.ndarray:
        """Predict and learn rows, with the last ``lags`` labels as features; return predictions."""
        without = int(self.lags > 0 and self.past.size == 0)  # the first row has no lags
        X, names = self._with_lags(X, y), [*names, *(f"y_{{t−{i + 1}}}" for i in range(self.lags))]
        predictions = self.answers.unknown(y.size)
        if y.size > without:
            predictions[without:], _ = self.model._run_table(
                X[without:], names, y[without:], learn=True, first=first + without
            )
            predictions[without:] = self.answers.finished(predictions[without:])
        if self.lags:
            self.past = np.concatenate([self.past, y])[-self.lags :]
        return predictions

    def _with_lags(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        known = np.concatenate([self.past, y])
        now = self.past.size + np.arange(y.size)
        lags = [known[np.maximum(now - 1 - i, 0)] for i in range(self.lags)]
        return np.ascontiguousarray(np.column_stack([X, *lags]))


def runner_of(spec: str, standardize: bool | None) -> Runner:
    """Return the ``Runner`` of the learner that a text such as ``laser:c=10`` describes.

    With ``laser:c=10:lags=2``, the last two labels are additional features.
    """
    name, *params = spec.split(":")
    kind = KINDS.get(name.lower())
    lags = 0
    if kind is not None and "lags" not in kind().get_params(deep=False):
        wanted = [param.removeprefix(LAGS) for param in params if param.startswith(LAGS)]
        params = [param for param in params if not param.startswith(LAGS)]
        lags = _count(spec, wanted[-1]) if wanted else 0
    return Runner(learner(name, params, standardize), lags)


def _whole(value: Any) -> Any:
    """Return 1000 for 1000.0, as a table shows it."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e16
    return int(value) if whole else value


def _count(spec: str, text: str) -> int:
    if not text.isdecimal() or not int(text) <= MOST_LAGS:
        raise UsageError(f"{spec} needs a whole number 0 ≤ lags ≤ {MOST_LAGS}, got lags={text}")
    return int(text)
