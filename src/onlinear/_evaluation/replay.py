"""Predict-then-learn over a whole array or DataFrame, compiled."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from onlinear._engine.progress import bar
from onlinear._learner.base import Learner
from onlinear._wrappers.bank.bank import Bank
from onlinear.features import Mapped

__all__ = ["BankReplay", "Engine", "Replay", "replay"]

Engine = Literal["auto", "rank-one", "bulk"]


@dataclass(frozen=True, eq=False)
class Replay:
    """What happened in a replay, round by round.

    Attributes
    ----------
    predictions : array
        The prediction of each row, made before its label was learnt; NaN for a bad row that was
        skipped and could not be predicted.
    labels : array
        The labels.
    bad_rows : array of int
        Rows that were skipped (only with ``on_bad="skip"``).
    """

    predictions: np.ndarray
    labels: np.ndarray
    bad_rows: np.ndarray

    @cached_property
    def losses(self) -> np.ndarray:
        """Squared error of each row; NaN where a bad row was skipped."""
        losses = np.asarray((self.labels - self.predictions) ** 2)
        losses[self.bad_rows] = np.nan
        return losses

    @cached_property
    def cumulative_loss(self) -> np.ndarray:
        """Sum of the losses up to and with each row; skipped rows count as 0."""
        return np.cumsum(np.nan_to_num(self.losses, nan=0.0))

    def __repr__(self) -> str:
        """Show the size and the loss."""
        rows, skipped = self.predictions.size, self.bad_rows.size
        scored = int(np.isfinite(self.losses).sum())
        note = f", {skipped} skipped" if skipped else ""
        mean = f"{self.cumulative_loss[-1] / scored:.6g}" if scored else "of no row"
        return f"<Replay of {rows} rows{note}: mean squared error {mean}>"


@dataclass(frozen=True, eq=False)
class BankReplay:
    """What happened in the replay of a bank, round by round: a column for each learner.

    Attributes
    ----------
    predictions : array
        The predictions of each row, made before its label was learnt; NaN where a learner skipped a
        bad row that it could not predict.
    labels : array
        The labels, one a row.
    skipped : array of bool
        Where a learner skipped a row (only with its ``on_bad="skip"``).
    """

    predictions: np.ndarray
    labels: np.ndarray
    skipped: np.ndarray

    def learner(self, k: int) -> Replay:
        """Return what happened to learner k, as if it had been replayed alone."""
        return Replay(self.predictions[:, k], self.labels, np.flatnonzero(self.skipped[:, k]))

    def _columns(self, what: str) -> np.ndarray:
        learners = range(self.predictions.shape[1])
        return np.column_stack([getattr(self.learner(k), what) for k in learners])

    @cached_property
    def losses(self) -> np.ndarray:
        """Squared errors of each row; NaN where a bad row was skipped."""
        return self._columns("losses")

    @cached_property
    def cumulative_loss(self) -> np.ndarray:
        """Sums of the losses up to and with each row; skipped rows count as 0."""
        return self._columns("cumulative_loss")

    def __repr__(self) -> str:
        """Show the size and the least loss."""
        (rows, learners), skipped = self.predictions.shape, int(self.skipped.sum())
        note = f", {skipped} skipped" if skipped else ""
        scored = np.isfinite(self.losses).sum(axis=0)
        means = self.cumulative_loss[-1] / np.where(scored, scored, np.nan)
        least = "of no row"
        if scored.any():
            best = int(np.nanargmin(means))
            least = f"{means[best]:.6g}, of learner {best}"
        return (
            f"<BankReplay of {rows} rows by {learners} learners{note}: least mean squared error "
            f"{least}>"
        )


@overload
def replay(model: Bank, X: Any, y: Any, *, engine: Engine = "auto") -> BankReplay: ...
@overload
def replay(model: Learner | Mapped, X: Any, y: Any, *, engine: Engine = "auto") -> Replay: ...
def replay(
    model: Learner | Mapped | Bank, X: Any, y: Any, *, engine: Engine = "auto"
) -> Replay | BankReplay:
    """Predict each row, then learn its label, in order; the model is changed in place.

    The replay goes on from the model's present state, and gives what calling ``predict_one`` and
    ``learn_one`` row by row gives: the same bits, or to rounding (see ``engine``). It is all or
    nothing: if a row breaks a rule, or on Ctrl-C, the model is as it was before the call (with
    ``on_bad="skip"`` such a row is left out and counted instead). On a terminal, a replay of more
    than two seconds shows a progress bar.

    Parameters
    ----------
    model : Learner, features.Mapped or Bank
        Any learner, or one behind a map, or a bank of them, whose result is a
        :class:`BankReplay`.
    X : array, list of rows, DataFrame, or sparse matrix
        One row per round; any DataFrame that narwhals knows, column names are kept and checked; any
        matrix or array of ``scipy.sparse``.
    y : array or Series
        One label per row.
    engine : {"auto", "rank-one", "bulk"}, default "auto"
        "rank-one" takes row by row: the same bits as calls one by one. "bulk" takes blocks of rows
        by matrix products, for second-order learners and dense rows: the same to 1e-10 of the
        largest prediction, unless the last bits of the rows matter more. "auto" is "bulk" where
        that is faster, from 64 columns, else "rank-one".

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.array([[1.0], [1.0], [1.0]])
    >>> run = ol.replay(ol.Ridge(), X, [1.0, 1.0, 1.0])
    >>> run.predictions
    array([0.        , 0.5       , 0.66666667])
    """
    if isinstance(model, Bank):
        with bar("replay") as advance:
            columns, labels, skipped = model._run(X, y, learn=True, progress=advance, engine=engine)
        return BankReplay(columns, labels.copy(), skipped)
    if not isinstance(model, (Learner, Mapped)):
        own = "; it has a replay of its own" if hasattr(model, "replay") else ""
        raise TypeError(f"replay needs a learner, got {type(model).__name__}{own}")
    with bar("replay") as advance:
        predictions, labels, bad = model._run(X, y, learn=True, progress=advance, engine=engine)
    return Replay(predictions, labels.copy(), np.array(bad, dtype=np.intp))
