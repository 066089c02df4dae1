"""``Replay``, the result of a replay of one learner: predictions, labels and error measures."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from onlinear._learner import measures, notebook
from onlinear._learner.class_measures import ClassMeasures, has_probabilities
from onlinear.losses import SQUARED, Loss

__all__ = ["MEASURES", "OF_ERROR", "QUARTILES", "Replay", "several"]

QUARTILES = ("lower quartile of y − ŷ", "median", "upper quartile")
MEASURES = ("mse", "rmse", "mae", "r2", "correlation2")
OF_ERROR = ("lower_quartile", "median", "upper_quartile")


def _no_rows() -> np.ndarray:
    return np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Replay(ClassMeasures):
    """The result of a replay: predictions and labels row by row, and error measures.

    Measures leave out bad rows that were skipped; a measure is NaN if no row is left. ``run[rows]``
    is the replay of some rows only, ``rows`` being a slice, a mask or an array of row numbers:
    ``run[100:].rmse`` is the error after the first hundred rows. ``Replay(predictions, labels)``
    has the measures of any other predictions.

    Attributes
    ----------
    predictions : array
        The prediction of each row, made before its label was learnt; NaN for a bad row that was
        skipped and could not be predicted.
    labels : array
        The labels.
    bad_rows : array of int
        Rows that were skipped (only with ``on_bad="skip"``).
    loss : onlinear.losses.Loss
        The learner's loss; :attr:`losses` are in terms of it, the other measures are not.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=1000, d=3, degrees=0.1)
    >>> run = ol.replay(ol.LASER(c=1000.0, shrink=False), X, y)
    >>> run
    <Replay of 1000 rows: mean squared error 0.0136471>
    >>> round(run.rmse, 3), round(run[100:].rmse, 3)
    (0.117, 0.103)
    """

    predictions: np.ndarray
    labels: np.ndarray
    bad_rows: np.ndarray = field(default_factory=_no_rows)
    loss: Loss = SQUARED

    def __post_init__(self) -> None:
        for name in ("predictions", "labels"):
            object.__setattr__(self, name, _numbers(getattr(self, name), name))
        if not isinstance(self.loss, Loss):
            raise ValueError(
                f"Replay needs a loss such as onlinear.losses.Logistic(), got loss={self.loss!r}"
            )
        if self.predictions.ndim != 1 or self.predictions.shape != self.labels.shape:
            raise ValueError(
                "Replay needs as many predictions as labels, in one dimension, got arrays of the "
                f"shapes {self.predictions.shape} and {self.labels.shape}"
            )

    def __len__(self) -> int:
        return int(self.predictions.size)

    def __getitem__(self, rows: Any) -> "Replay":
        """Return the replay of some rows: a slice, a mask or an array of row numbers."""
        rows = several(rows, "rows, as in run[100:]; run.predictions[i] is one prediction")
        skipped = np.zeros(len(self), dtype=bool)
        skipped[self.bad_rows] = True
        bad = np.flatnonzero(skipped[rows])
        return Replay(self.predictions[rows], self.labels[rows], bad, self.loss)

    @cached_property
    def _scored(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels and predictions that the measures use."""
        missing = np.isnan(self.labels) | np.isnan(self.predictions)
        missing[self.bad_rows] = True
        if not missing.any():
            return self.labels, self.predictions
        return self.labels[~missing], self.predictions[~missing]

    @cached_property
    def losses(self) -> np.ndarray:
        """Loss of each row, by default the squared error; NaN where a bad row was skipped."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.loss == SQUARED:
                losses = np.asarray((self.labels - self.predictions) ** 2)
            else:
                losses = self.loss.of_predictions(self.predictions, self.labels)
        losses[self.bad_rows] = np.nan
        return losses

    @cached_property
    def cumulative_loss(self) -> np.ndarray:
        """Sum of the losses up to and including each row; skipped rows count as 0."""
        with np.errstate(over="ignore"):
            return np.cumsum(np.nan_to_num(self.losses, nan=0.0, posinf=np.inf))

    @cached_property
    def mean_loss(self) -> float:
        """Mean of :attr:`losses` over the rows that were not skipped."""
        known = self.losses[~np.isnan(self.losses)]
        return float(known.mean()) if known.size else float("nan")

    @cached_property
    def mse(self) -> float:
        """Mean squared error."""
        return measures.mean_squared_error(*self._scored)

    @cached_property
    def rmse(self) -> float:
        """Root of the mean squared error, in the units of the labels."""
        return measures.root_mean_squared_error(*self._scored)

    @cached_property
    def mae(self) -> float:
        """Mean absolute error."""
        return measures.mean_absolute_error(*self._scored)

    @cached_property
    def r2(self) -> float:
        """R² = 1 − SSE/SST: 1 is perfect, 0 is as good as the mean of the labels.

        If the labels are all the same, R² is 1 if every prediction is exact and otherwise 0, as in
        scikit-learn and in ``score``. The R² of Jamil & Bouchachia is a different measure,
        ``correlation2``: it forgives predictions that are off by a constant or a factor.
        """
        return measures.r_squared(*self._scored)

    @cached_property
    def correlation2(self) -> float:
        """Squared correlation of predictions and labels: the R² of Jamil & Bouchachia's tables.

        The squared correlation is NaN if the predictions or the labels are all the same.
        """
        return measures.squared_correlation(*self._scored)

    @cached_property
    def error_quartiles(self) -> np.ndarray:
        """Quartiles of the errors y − ŷ, with their sign: lower, median, upper.

        The three quartiles are the LQE, MQE and UQE of Jamil & Bouchachia's tables.
        """
        return measures.quartiles_of_error(*self._scored)

    @property
    def measures(self) -> dict[str, float]:
        """All measures of Jamil & Bouchachia's tables, R², and those of the loss, by name.

        Labels that are classes add ``accuracy`` and, if probabilities are predicted, ``log_loss``.
        A loss other than the square adds its mean over the rows, ``loss``.

        >>> import onlinear as ol
        >>> run = ol.Replay([1.0, 2.0, 4.0], [1.0, 3.0, 5.0])
        >>> {name: round(value, 3) for name, value in run.measures.items()}
        {'mse': 0.667, 'rmse': 0.816, 'mae': 0.667, 'r2': 0.75, 'correlation2': 0.964,
         'lower_quartile': 0.5, 'median': 1.0, 'upper_quartile': 1.0}
        """
        found = {name: float(getattr(self, name)) for name in MEASURES}
        found |= dict(zip(OF_ERROR, self.error_quartiles.tolist(), strict=True))
        return found | self._of_loss()

    def _of_loss(self) -> dict[str, float]:
        """The measures that belong to the loss, by name; none for the square loss."""
        if self.loss == SQUARED:
            return {}
        found = {"accuracy": self.accuracy} if self._classified else {}
        if found and has_probabilities(self.loss):
            found["log_loss"] = self.log_loss
        return found | {"loss": self.mean_loss}

    @property
    def _headline(self) -> dict[str, float]:
        """The measures that ``repr`` shows."""
        if self.loss == SQUARED:
            return {"mean squared error": self.mse}
        return self._classified or {f"mean loss by {self.loss!r}": self.mean_loss}

    def __repr__(self) -> str:
        """Show the number of rows and the mean loss; for classes, also the accuracy."""
        skipped = self.bad_rows.size
        note = f", {skipped} skipped" if skipped else ""
        shown = ", ".join(
            f"{name} " + ("of no row" if np.isnan(value) else f"{value:.6g}")
            for name, value in self._headline.items()
        )
        return f"<Replay of {len(self)} rows{note}: {shown}>"

    def _repr_html_(self) -> str:
        """Show the measures and the error over time, in a notebook."""
        skipped, square = len(self.bad_rows), self.loss == SQUARED
        if self._classified:
            return notebook.run_page(self.losses, skipped, self._classified, square=False)
        shown = {} if square else self._headline
        shown |= {"RMSE": self.rmse, "MAE": self.mae, "R²": self.r2}
        shown |= {"correlation²": self.correlation2}
        shown |= dict(zip(QUARTILES, self.error_quartiles.tolist(), strict=True))
        return notebook.run_page(self.losses, skipped, shown, square=square)


def _numbers(values: Any, name: str) -> np.ndarray:
    """Return predictions or labels as an array of floats; refuse what is not a number."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"Replay needs {name} that are numbers, such as 0 and 1 for two classes, got "
            f"{name}={values!r:.60}"
        ) from None


def several(index: Any, what: str) -> Any:
    """Return the index as a slice or array; raise an error if it does not select several items."""
    if isinstance(index, slice):
        return index
    array = np.asarray(index)
    whole = array.dtype.kind in "biu" or array.size == 0
    if isinstance(index, tuple) or array.ndim != 1 or not whole:
        raise TypeError(f"a replay needs a slice, mask or array of {what}; got {index!r}")
    return array if array.size else array.astype(np.intp)
