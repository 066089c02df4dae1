"""The base class of learners: predict and learn single rows and tables, save and load.

A learner has no loop of its own: it passes its parameters and its state
(:mod:`onlinear._learner.state`) to the compiled forms of its step, the function that predicts one
row and learns its label.
"""

import copy
import math
import os
from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np
from numpy import ascontiguousarray, ndarray

from onlinear._engine.status import FULL, Outcome
from onlinear._engine.step import Step
from onlinear._engine.tables import Rows
from onlinear._engine.transaction import all_or_nothing, alone, atomic, check_idle, mend
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.rounds import no_progress, rows_taken, run
from onlinear._learner.state import Algorithm, LearnerState, full_name
from onlinear._state_files import model_codec
from onlinear._validation import checks

__all__ = ["Algorithm", "Learner", "full_name"]

FLOAT = np.dtype(np.float64)
NO_ROW = np.empty((0, 0))
BRIEF = 1 << 20  # a state of up to this many numbers is copied, to predict a table without the lock


class Learner(LearnerState):
    """A predictor that learns online: row by row, it predicts, sees the label and learns.

    A subclass declares its parameters as fields, its ``algorithm`` (the initial state and the
    step), and a method ``_params`` that checks the fields and converts them to the numbers that the
    step takes. Parameters are checked at their first use, not when they are set, so that
    scikit-learn's tools may set them one by one.
    """

    def _guarantee(self, search: bool = True) -> Guarantee:
        """Return the learner's regret bound.

        With ``search=False``, the bound is computed without a search for the best comparator.
        """
        return unknown(type(self).__name__, type(self).__name__)

    def _local(self) -> bool:
        """Return whether a round uses the state only in the columns where x is not zero.

        In such a learner, the state is the number of rounds t and one or two vectors, and a sparse
        row is learnt in time proportional to its number of non-zero entries.
        """
        return False

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner atomically to a versioned file with a checksum; no pickle is used.

        >>> import onlinear as ol
        >>> model = ol.Ridge(b=2.0)
        >>> model.learn_one([1.0, 0.0], 3.0)
        >>> model.save("model.onl")
        >>> ol.load("model.onl").predict_one([1.0, 0.0])
        1.0
        """
        check_idle(self, "save")
        model_codec.save(self, full_name(type(self)), path)

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> float:
        """Predict the label of one row, a vector or a sparse 1 × d matrix; change nothing.

        >>> import onlinear as ol
        >>> ol.LASER().predict_one([1.0, 2.0])  # nothing learnt yet
        0.0
        """
        direct = self._direct
        if direct is not None and not self._busy[7]:
            one, shape, state, params, work, busy = direct
            row = x if x.__class__ is ndarray and x.dtype is FLOAT else self._vector(x, shape)
            if row.shape == shape:
                row = ascontiguousarray(row)
                value, rule = one(state, params, row, nan, work, False, busy.address)
                if not rule:
                    return value  # type: ignore[no-any-return]
        return self._predict_one(x)

    _number_one = predict_one  # what the step returns, also where predict_one returns a class

    @atomic
    def _predict_one(self, x: Any) -> float:
        """Predict the label of any row, dense or sparse, also if nothing was learnt yet.

        A bad row raises an error or, with ``on_bad="skip"``, has the prediction NaN.
        """
        if self._state is None:
            fresh = type(self)(**self.get_params(deep=False))
            fresh._begin(checks.width(x))
            return fresh._number_one(x)
        x = self._row(x)
        if x.__class__ is Rows:
            return self._sparse_round(x, nan, labelled=False)
        state, params, work = self._call or self._prepare()
        value, rule = self._one(state, params, x, nan, work, False, 0)
        if rule:
            if self.on_bad == "raise":
                raise self._refusal(Outcome(0, rule, value), x, in_table=False)
            return nan
        return value

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, a vector or a sparse 1 × d matrix.

        >>> import onlinear as ol
        >>> model = ol.Ridge()
        >>> model.learn_one([1.0, 2.0], 3.0)
        >>> model.coef_
        array([0.5, 1. ])
        """
        direct = self._direct
        if direct is not None and not self._busy[7]:
            one, shape, state, params, work, busy = direct
            row = x if x.__class__ is ndarray and x.dtype is FLOAT else self._vector(x, shape)
            if row.shape == shape:
                if y.__class__ is not float:
                    y = checks.label(y)
                row = ascontiguousarray(row)
                if not one(state, params, row, y, work, True, busy.address)[1]:
                    return
        check_idle(self, "call")
        self._learn_one(x, y)

    @atomic
    def _learn_one(self, x: Any, y: Any) -> None:
        """Learn the label, a number, of any row, dense or sparse, also of the first row.

        A bad row raises an error or, with ``on_bad="skip"``, is counted and left out.
        """
        if self._state is None:
            with rows_taken(self, checks.width(x), checks.row_names(x)):
                self._learn_one(x, y)
            return
        x, y = self._row(x), checks.label(y)
        if x.__class__ is Rows:
            self._sparse_round(x, y, labelled=True)
            return
        state, params, work = self._call or self._prepare()
        value, rule = self._one(state, params, x, y, work, True, 0)
        if rule == FULL:
            with all_or_nothing(self):
                self._make_room()
            self._learn_one(x, y)
        elif rule:
            if self.on_bad == "raise":
                raise self._refusal(Outcome(0, rule, value), x, in_table=False)
            self.n_skipped_ += 1

    @atomic
    def remember(self, x: Any) -> np.ndarray:
        """Return an array to keep until the row's label arrives, for :meth:`learn_late`.

        >>> import onlinear as ol
        >>> model = ol.Ridge()
        >>> model.learn_one([1.0, 2.0], 3.0)
        >>> kept = model.remember([1.0, 0.0])
        >>> model.learn_one([0.0, 1.0], 1.0)  # labels may arrive in another order
        >>> model.learn_late(kept, 2.0)
        >>> model.rounds_
        3
        """
        if math.isnan(self._number_one(x)):
            raise ValueError(
                f"{type(self).__name__} cannot predict this row, so it cannot learn it later"
            )
        return self._ticket(x)

    def _ticket(self, x: Any) -> np.ndarray:
        """Return the array that :meth:`remember` returns, for a row that can be predicted."""
        if checks.sparse(x):
            return np.array(checks.sparse_row(x, None)[0])
        return np.array(checks.row(x, None, self._names))

    def learn_late(self, kept: Any, y: Any) -> None:
        """Learn a delayed label, given the array that :meth:`remember` returned for its row.

        A learner whose predictions depend on the last labels (Auto) uses the last labels as they
        were when :meth:`remember` was called. If no row was learnt between ``remember`` and
        ``learn_late``, the result equals that of :meth:`learn_one`, bit for bit.
        """
        self._learn_one(kept, self._label(y))

    def _vector(self, x: Any, shape: tuple[int]) -> Any:
        """Return x as a vector of this shape, or an empty array if x is sparse; take no lock."""
        row = checks.numeric_row(x, shape, self._names)
        if row is not None:
            return row
        return NO_ROW if checks.sparse(x) else checks.row(x, shape[0], self._names)

    def _row(self, x: Any) -> np.ndarray | Rows:
        """Return x as a vector, or as a sparse row if the learner can use sparse rows."""
        if not checks.sparse(x):
            return checks.row(x, self._shape[0], self._names)
        row = checks.sparse_row(x, self._shape[0])
        return row if self._local() else row[0]

    def _sparse_round(self, x: Rows, y: float, *, labelled: bool) -> float:
        """Run one round on a sparse row without making it dense; return the prediction, or NaN."""

        def refused(outcome: Outcome) -> None:
            if self.on_bad == "raise":
                raise self._refusal(outcome, x[0], in_table=False)
            self.n_skipped_ += labelled

        state, params, _ = self._call or self._prepare()
        step = self.algorithm.step
        predictions = step.run(
            *(state, params, x, np.array([y]), step.work(x.longest)),
            labelled=labelled,
            refused=refused,
            progress=no_progress,
            local=True,
        )
        return float(predictions[0])

    def _refusal(
        self, outcome: Outcome, x: np.ndarray, *, in_table: bool, whole: str = "the model"
    ) -> ValueError:
        return ValueError(f"{self._why(outcome, x, in_table=in_table)}; {whole} is unchanged")

    def _why(self, outcome: Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
        """Return the error for a row that broke a rule; it names row, rule and value."""
        return checks.refusal(
            type(self).__name__,
            self.algorithm.rules,
            outcome,
            x,
            in_table=in_table,
            names=self._names,
            params=self.get_params(deep=False),
        )

    # --- tables -------------------------------------------------------------------------------

    def _run(
        self,
        X: Any,
        y: Any,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = no_progress,
        engine: str = "rank-one",
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Predict each row and, if ``learn``, learn it; return predictions, labels and bad rows."""
        if self._undo is not None:
            mend(self)
        model = self
        nested = self._lock._is_owned()
        with self._lock, alone(self, nested):
            if learn or self._record is None or self._record.size > BRIEF:
                return run(self, X, y, learn=learn, progress=progress, engine=engine)
            self._numbers()  # raises if a parameter was changed that must stay as it was
            model = copy.copy(self)  # so that several threads may predict at once
        return run(model, X, y, learn=False, progress=progress, engine=engine)

    @atomic
    def _run_table(
        self,
        X: Any,
        names: list[str] | None,
        y: np.ndarray,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = no_progress,
        engine: str = "rank-one",
        first: int = 0,
        noticed: Callable[[Outcome], None] | None = None,
    ) -> tuple[np.ndarray, list[int]]:
        """Predict a table's rows and, with ``learn``, learn them; return predictions and bad rows.

        The row numbers in errors start from ``first``. ``noticed`` is called for each skipped row,
        with the row and the rule it broke.
        """

        def refusal(outcome: Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
            outcome = outcome._replace(row=first + outcome.row)
            return self._refusal(outcome, x, in_table=in_table)

        with rows_taken(self, X.shape[1], names, X.shape[0], learn=learn):
            if learn:
                self._expect(X.shape[0])
            in_bulk = learn and self._step.takes_bulk(X, engine, type(self).__name__)
            predictions, bad = self._rounds(
                self._step, X, y, learn, refusal, progress, in_bulk=in_bulk, noticed=noticed
            )
            if learn:
                self.n_skipped_ += len(bad)
        return predictions, bad

    def _rounds(
        self,
        step: Step,
        X: np.ndarray | Rows,
        y: np.ndarray,
        learn: bool,
        refusal: Callable[..., ValueError],
        progress: Callable[[int, int], None],
        *,
        in_bulk: bool = False,
        noticed: Callable[[Outcome], None] | None = None,
    ) -> tuple[np.ndarray, list[int]]:
        """Run a step over a table; return the predictions and the bad rows that were skipped."""
        bad: list[int] = []

        def refused(outcome: Outcome) -> None:
            if self.on_bad == "raise":
                raise refusal(outcome, X[outcome.row], in_table=True)
            bad.append(outcome.row)
            if noticed is not None:
                noticed(outcome)

        def room() -> tuple[Any, np.ndarray]:
            self._make_room()
            return tuple(self._state), self._scratch()

        predictions = step.run(
            tuple(self._state),
            self._numbers(),
            X,
            y,
            self._scratch(),  # not the learner's own: several threads may predict at once
            labelled=learn,
            refused=refused,
            progress=progress,
            room=room,
            local=self._local(),
            in_bulk=in_bulk,
        )
        return predictions, bad
