"""``BankReplay``, the result of a replay of a ``Bank``: predictions, labels and error measures."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlinear._learner import notebook
from onlinear._learner.measures import Calibration
from onlinear._learner.replay_result import MEASURES, OF_ERROR, Replay, several
from onlinear.losses import SQUARED, Loss

__all__ = ["BankReplay"]


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
        rows = several(rows, "rows, as in run[100:]; run[:, k] is the replay of learner k")
        try:
            one = operator.index(some)
        except TypeError:
            some = several(some, "learners, as in run[:, 1:3]")
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

        There are also ``accuracy``, ``log_loss`` and ``loss``, as in :attr:`Replay.measures`, if
        every learner has them.

        ``pandas.DataFrame(run.measures, index=run.learners)`` is a table of them.
        """
        found = {name: np.asarray(getattr(self, name)) for name in MEASURES}
        found |= dict(zip(OF_ERROR, self.error_quartiles.T, strict=True))
        others = self._each(lambda run: run._of_loss())
        common = [name for name in (others or [{}])[0] if all(name in each for each in others)]
        return found | {name: np.array([each[name] for each in others]) for name in common}

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
