"""The base class of classifiers that predict probabilities."""

from typing import Any

import numpy as np

from onlinear._learner import class_labels
from onlinear._learner.class_replay import ClassReplay
from onlinear._learner.classifier import Classifier

__all__ = ["ProbabilityClassifier"]


class ProbabilityClassifier(Classifier):
    """A classifier that predicts probabilities."""

    _codes = (0.0, 1.0)
    _boundary = 0.5
    _soft = True

    def _activations(self, X: Any) -> np.ndarray:
        p = super()._activations(X)
        return np.asarray(np.log(p / (1.0 - p)))  # no p is 0 or 1

    def _replayed(
        self, predictions: np.ndarray, labels: np.ndarray, bad_rows: np.ndarray
    ) -> ClassReplay:
        shares = self._probabilities(predictions)
        return ClassReplay(shares, labels, bad_rows, self.classes_, True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for every row; the columns are as in ``classes_``.

        With more than two classes, the probabilities of the binary learners are divided by their
        sum.

        >>> import onlinear as ol
        >>> model = ol.LogisticLASER().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
        >>> model.predict_proba([[1.0, 0.0], [0.0, 0.0]]).round(2)
        array([[0.55, 0.45],
               [0.5 , 0.5 ]])
        """
        return self._probabilities(self._fitted()._run(X, None, learn=False)[0])

    @staticmethod
    def _probabilities(numbers: np.ndarray) -> np.ndarray:
        """Return the probability of each class, given the predictions of the step."""
        if numbers.ndim == 1:
            return np.column_stack([1.0 - numbers, numbers])
        return np.asarray(numbers / numbers.sum(axis=1, keepdims=True))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class for one row, as a dict; change nothing.

        >>> import onlinear as ol
        >>> model = ol.LogisticLASER(classes=("ham", "spam"))
        >>> model.predict_proba_one([1.0, 2.0])
        {'ham': 0.5, 'spam': 0.5}
        """
        listed = self._listed() or class_labels.ZERO_ONE
        one = self._numbers_one(x) if len(listed) > 2 else self._number_one(x)
        numbers = np.array([one])
        return dict(zip(listed, self._probabilities(numbers)[0].tolist(), strict=True))
