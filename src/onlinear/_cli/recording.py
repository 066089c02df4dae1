"""The two ways in which ``onlinear run`` learns rows: with or without recording for a report."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from onlinear._cli.classifiers import classifier_in
from onlinear._cli.moved_weights import WeightSamples
from onlinear._engine.transaction import all_or_nothing, alone
from onlinear._learner.base import Learner
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.replay_result import Replay

__all__ = ["Plain", "Telling", "replayed"]


def replayed(
    model: Learner, predictions: np.ndarray, y: np.ndarray, bad_rows: np.ndarray
) -> Replay | ClassReplay:
    """Return predictions, in a column for each class if there are several, and labels."""
    if predictions.ndim == 1:
        return Replay(predictions, y, bad_rows, model._loss)
    classifier = classifier_in(model)
    assert classifier is not None
    return ClassReplay(predictions, y, bad_rows, classifier.classes_, False)


class Telling(Protocol):
    """The protocol of an object that predicts and learns rows, and may record them for a report.

    The class that records is :class:`onlinear._evaluation.report.resumable_recorder.Story`.
    """

    def replay(self, X: np.ndarray, y: np.ndarray, start: int) -> Replay | ClassReplay:
        """Predict and learn a table: the rows ``start``, ``start + 1``, … of the stream."""
        ...

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the recorded data for a state file, or None if nothing is recorded."""
        ...


class Plain(NamedTuple):
    """Predicts and learns rows without recording them for a report; only samples the weights."""

    model: Learner
    names: list[str]
    samples: WeightSamples

    def replay(self, X: np.ndarray, y: np.ndarray, start: int) -> Replay | ClassReplay:
        """Predict and learn all rows, or none if an error occurs."""
        if y.size <= self.samples.ahead():
            return self._piece(X, y, start)
        nested = self.model._lock._is_owned()
        with self.model._lock, alone(self.model, nested), all_or_nothing(self.model, self.samples):
            pieces, begin = list[Replay | ClassReplay](), 0
            while begin < y.size:
                piece = slice(begin, min(y.size, begin + self.samples.ahead()))
                pieces.append(self._piece(X[piece], y[piece], start + begin))
                pieces[-1].bad_rows[:] += begin
                begin = piece.stop
        predictions, bad = (
            np.concatenate([getattr(run, part) for run in pieces])
            for part in ("predictions", "bad_rows")
        )
        return replayed(self.model, predictions, y, bad)

    def _piece(self, X: np.ndarray, y: np.ndarray, start: int) -> Replay | ClassReplay:
        predictions, bad = self.model._run_table(X, self.names, y, learn=True, first=start)
        self.samples.pass_rows(y.size, start + y.size - 1, self.model)
        return replayed(self.model, predictions, y, np.array(bad, dtype=np.intp))

    def described(self) -> None:
        """Return None, since nothing is recorded for a report."""
