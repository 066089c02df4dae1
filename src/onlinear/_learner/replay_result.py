"""``Replay`` and ``BankReplay``, the results of a replay: predictions, labels, error measures."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from onlinear._learner import measures, notebook
from onlinear._learner.class_measures import ClassMeasures
from onlinear._learner.measures import Calibration
from onlinear.losses import SQUARED, Loss

__all__ = ["BankReplay", "Replay"]

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
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        if self.predictions.ndim != 1 or self.predictions.shape != self.labels.shape:
            raise ValueError(
                "Replay needs as many predictions as labels, in one dimension, got arrays of the "
                f"shapes {self.predictions.shape} and {self.labels.shape}"
            )

    def __len__(self) -> int:
        return int(self.predictions.size)

    def __getitem__(self, rows: Any) -> "Replay":
        """Return the replay of some rows: a slice, a mask or an array of row numbers."""
        rows = _several(rows, "rows, as in run[100:]; run.predictions[i] is one prediction")
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
        """All measures of Jamil & Bouchachia's tables, and R², by name.

        >>> import onlinear as ol
        >>> run = ol.Replay([1.0, 2.0, 4.0], [1.0, 3.0, 5.0])
        >>> {name: round(value, 3) for name, value in run.measures.items()}
        {'mse': 0.667, 'rmse': 0.816, 'mae': 0.667, 'r2': 0.75, 'correlation2': 0.964,
         'lower_quartile': 0.5, 'median': 1.0, 'upper_quartile': 1.0}
        """
        found = {name: float(getattr(self, name)) for name in MEASURES}
        return found | dict(zip(OF_ERROR, self.error_quartiles.tolist(), strict=True))

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


@dataclass(frozen=True, eq=False)
class BankReplay:
    """The result of replaying a ``Bank`` of learners: predictions, labels and error measures.

    Measures are arrays with one entry for each learner; rows that a learner skipped are left out of
    its entry. ``run[rows]`` is the replay of some rows only, ``run[rows, k]`` the :class:`Replay`
    of learner k in these rows, and ``run[rows, some]`` the replay of several learners, chosen by a
    slice, mask or array.

    Attributes
    ----------
    predictions : array
        The predictions of each row, made before its label was learnt, in one column per learner;
        NaN where a learner skipped a bad row that it could not predict.
    labels : array
        The labels, one per row; one column per learner if the learners code labels differently.
    skipped : array of bool
        True where a learner with ``on_bad="skip"`` skipped a row; one column per learner.
    learners : tuple of str
        The learners with their parameters, as text.
    loss : tuple of onlinear.losses.Loss
        The learners' losses; empty if each of them is the square loss.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=1000, d=3, degrees=0.1)
    >>> bank = ol.Bank([ol.LASER(c=c, shrink=False) for c in (10.0, 1000.0)])
    >>> run = ol.replay(bank, X, y)
    >>> run[100:].rmse.round(3)
    array([0.122, 0.103])
    >>> run[100:, 1]
    <Replay of 900 rows: mean squared error 0.0106369>
    """

    predictions: np.ndarray
    labels: np.ndarray
    skipped: np.ndarray
    learners: tuple[str, ...] = ()
    loss: tuple[Loss, ...] = ()

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, where: Any) -> Any:
        """Return the replay of some rows; with a second index, of one learner or of several."""
        some: Any
        rows, some = where if isinstance(where, tuple) and len(where) == 2 else (where, slice(None))
        rows = _several(rows, "rows, as in run[100:]; run[:, k] is the replay of learner k")
        try:
            one = operator.index(some)
        except TypeError:
            some = _several(some, "learners, as in run[:, 1:3]")
            names = np.array(self.learners, dtype=object)
            chosen = np.arange(self.predictions.shape[1])[some]
            return BankReplay(
                self.predictions[rows][:, some],
                self.labels[rows] if self.labels.ndim == 1 else self.labels[rows][:, some],
                self.skipped[rows][:, some],
                tuple(names[some]) if self.learners else (),
                tuple(self.loss[k] for k in chosen) if self.loss else (),
            )
        return self.learner(one)[rows]

    def learner(self, k: int) -> Replay:
        """Return the replay of learner k, as if it had been replayed alone."""
        loss = self.loss[k] if self.loss else SQUARED
        bad = np.flatnonzero(self.skipped[:, k])
        labels = self.labels if self.labels.ndim == 1 else self.labels[:, k]
        return Replay(self.predictions[:, k], labels, bad, loss)

    def _each(self, what: Callable[[Replay], Any]) -> list[Any]:
        return [what(self.learner(k)) for k in range(self.predictions.shape[1])]

    @cached_property
    def losses(self) -> np.ndarray:
        """Loss of each row, one column per learner; NaN where a bad row was skipped."""
        return np.column_stack(self._each(lambda run: run.losses))

    @cached_property
    def cumulative_loss(self) -> np.ndarray:
        """Each learner's sum of losses up to and including each row; skipped rows count as 0."""
        return np.column_stack(self._each(lambda run: run.cumulative_loss))

    @cached_property
    def mse(self) -> np.ndarray:
        """Mean squared error of each learner."""
        return np.array(self._each(lambda run: run.mse))

    @cached_property
    def rmse(self) -> np.ndarray:
        """Root of the mean squared error of each learner."""
        return np.array(self._each(lambda run: run.rmse))

    @cached_property
    def mae(self) -> np.ndarray:
        """Mean absolute error of each learner."""
        return np.array(self._each(lambda run: run.mae))

    @cached_property
    def accuracy(self) -> np.ndarray:
        """Share of the rows whose class each learner predicted; only for losses of classes."""
        return np.array(self._each(lambda run: run.accuracy))

    @cached_property
    def log_loss(self) -> np.ndarray:
        """Each learner's mean of −ln of the probability predicted for the label, 0 or 1."""
        return np.array(self._each(lambda run: run.log_loss))

    def calibration(self, bins: int = 10) -> list[Calibration]:
        """Return each learner's predicted probabilities beside observed frequencies, in bins."""
        return self._each(lambda run: run.calibration(bins))

    @cached_property
    def r2(self) -> np.ndarray:
        """R² of each learner; see :attr:`Replay.r2`."""
        return np.array(self._each(lambda run: run.r2))

    @cached_property
    def correlation2(self) -> np.ndarray:
        """Squared correlation of each learner's predictions with the labels."""
        return np.array(self._each(lambda run: run.correlation2))

    @cached_property
    def error_quartiles(self) -> np.ndarray:
        """Quartiles of the errors y − ŷ, a row for each learner: lower, median, upper."""
        return np.array(self._each(lambda run: run.error_quartiles)).reshape(-1, 3)

    @property
    def measures(self) -> dict[str, np.ndarray]:
        """All measures of Jamil & Bouchachia's tables, and R², by name: arrays over the learners.

        ``pandas.DataFrame(run.measures, index=run.learners)`` is a table of them.
        """
        found = {name: np.asarray(getattr(self, name)) for name in MEASURES}
        return found | dict(zip(OF_ERROR, self.error_quartiles.T, strict=True))

    def __repr__(self) -> str:
        """Show the numbers of rows and learners, and the least error of a learner."""
        (rows, learners), skipped = self.predictions.shape, int(self.skipped.sum())
        note = f", {skipped} skipped" if skipped else ""
        name, errors = next(iter(self._shown.items()))
        least = "of no row"
        if not np.isnan(errors).all():
            best = int(np.nanargmin(errors))
            least = f"{errors[best]:.6g}, of learner {best}"
        return f"<BankReplay of {rows} rows by {learners} learners{note}: least {name} {least}>"

    @cached_property
    def _shown(self) -> dict[str, np.ndarray]:
        """The measures to show, the first of which ranks the learners: the least is the best."""
        classified = self._each(lambda run: run._classified)
        if classified and all(classified):
            shown = {"share of mistakes": 1.0 - self.accuracy}
            if all("log loss" in each for each in classified):
                shown["log loss"] = self.log_loss
            return shown
        shown = {"mean squared error": self.mse, "RMSE": self.rmse, "MAE": self.mae}
        return {**shown, "R²": self.r2, "correlation²": self.correlation2}

    def _repr_html_(self) -> str:
        """Show the measures of each learner, in a notebook."""
        count = self.predictions.shape[1]
        learners = self.learners or [f"learner {k}" for k in range(count)]
        shown = {name: each for name, each in self._shown.items() if name != "mean squared error"}
        return notebook.bank_page(len(self), learners, self.skipped.sum(axis=0), shown)


def _several(index: Any, what: str) -> Any:
    """Return the index as a slice or array; raise an error if it does not select several items."""
    if isinstance(index, slice):
        return index
    array = np.asarray(index)
    whole = array.dtype.kind in "biu" or array.size == 0
    if isinstance(index, tuple) or array.ndim != 1 or not whole:
        raise TypeError(f"a replay needs a slice, mask or array of {what}; got {index!r}")
    return array if array.size else array.astype(np.intp)
