"""``ClassReplay``, the result of replaying a classifier of more than two classes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlinear._learner.replay_result import several

__all__ = ["ClassReplay"]


@dataclass(frozen=True, eq=False)
class ClassReplay:
    """The result of replaying a classifier of more than two classes.

    Measures leave out bad rows that were skipped; a measure is NaN if no row is left. ``run[rows]``
    is the replay of some rows only, as of :class:`onlinear.Replay`.

    Attributes
    ----------
    predictions : array
        The predictions of each row, made before its label was learnt, in one column per class:
        probabilities that sum to 1 (LogisticLASER), or margins (AROW).
    labels : array
        The number of each row's class, counted from 0 as in ``classes``.
    bad_rows : array of int
        Rows that were skipped (only with ``on_bad="skip"``).
    classes : array
        The classes.
    probabilities : bool
        Whether the predictions are probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> run = ol.replay(ol.LogisticLASER(), X, np.array(["a", "b", "c"])[X.argmax(axis=1)])
    >>> run.predictions.shape, bool(run.accuracy > 0.9)
    ((1000, 3), True)
    """

    predictions: np.ndarray
    labels: np.ndarray
    bad_rows: np.ndarray
    classes: np.ndarray
    probabilities: bool

    def __post_init__(self) -> None:
        for name in ("predictions", "labels"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        count, shape = len(self.classes), self.predictions.shape
        if self.labels.ndim != 1 or shape != (self.labels.size, count):
            raise ValueError(
                f"ClassReplay needs a row of predictions for each label, in {count} columns, one "
                f"for each class, got arrays of the shapes {shape} and {self.labels.shape}"
            )
        strange = np.isfinite(self.labels) & ~np.isin(self.labels, range(count))
        if strange.any():
            raise ValueError(
                f"ClassReplay needs the numbers of classes, 0 to {count - 1}, as labels, got "
                f"{self.labels[strange][0]:g}"
            )

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, rows: Any) -> "ClassReplay":
        """Return the replay of some rows: a slice, a mask or an array of row numbers."""
        rows = several(rows, "rows, as in run[100:]; run.predictions[i] is one row's predictions")
        skipped = np.zeros(len(self), dtype=bool)
        skipped[self.bad_rows] = True
        bad = np.flatnonzero(skipped[rows])
        return ClassReplay(
            *(self.predictions[rows], self.labels[rows], bad, self.classes, self.probabilities)
        )

    @cached_property
    def _scored(self) -> tuple[np.ndarray, np.ndarray]:
        """The class numbers and predictions that the measures use."""
        good = np.isfinite(self.labels) & np.isfinite(self.predictions).all(axis=1)
        good[self.bad_rows] = False
        return self.labels[good].astype(np.intp), self.predictions[good]

    @cached_property
    def accuracy(self) -> float:
        """The share of rows whose class had the largest prediction."""
        labels, predictions = self._scored
        right = predictions.argmax(axis=1) == labels
        return float(right.mean()) if right.size else float("nan")

    @cached_property
    def log_loss(self) -> float:
        """The mean of −ln of the probability predicted for the class; NaN if there are margins."""
        labels, predictions = self._scored
        if not self.probabilities or not labels.size:
            return float("nan")
        return float(-np.log(predictions[np.arange(labels.size), labels]).mean())

    @property
    def measures(self) -> dict[str, float]:
        """The accuracy and, if the predictions are probabilities, the log loss, by name."""
        found = {"accuracy": self.accuracy}
        return found | ({"log_loss": self.log_loss} if self.probabilities else {})

    def __repr__(self) -> str:
        """Show the number of rows, the accuracy and the log loss, if there is one."""
        note = f", {self.bad_rows.size} skipped" if self.bad_rows.size else ""
        shown = f"accuracy {self.accuracy:.6g}"
        if self.probabilities:
            shown += f", log loss {self.log_loss:.6g}"
        return f"<ClassReplay of {len(self)} rows, {len(self.classes)} classes{note}: {shown}>"
