"""``Bank``: run many learners on the same rows, in one pass."""

import copy
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import nan
from typing import Any

import numpy as np
from numpy import ascontiguousarray, empty, ndarray

from onlinear._engine.status import FINE, Outcome
from onlinear._engine.tables import Rows
from onlinear._engine.threads import usable_cores
from onlinear._engine.transaction import Guarded, Transaction, all_or_nothing, atomic, check_idle
from onlinear._learner import notebook
from onlinear._learner.base import FLOAT, Learner
from onlinear._learner.kernel_base import check_fixed
from onlinear._learner.rounds import Columns, no_progress, rows_taken, run
from onlinear._state_files import model_codec
from onlinear._validation import checks
from onlinear._wrappers.bank import separate_models, stacked_models, state_file
from onlinear._wrappers.bank.coding import Coding
from onlinear._wrappers.bank.journal import Journal

__all__ = ["Bank"]

INTEGER = np.dtype(np.int64)


class Bank(Guarded):
    """Run many learners on the same rows; each gives bit for bit the results it would give alone.

    A row is checked once, and one compiled call runs all learners of a class. So, row by row, ten
    small learners in a bank take as long as a few separate learners. In one thread, a replay takes
    as long as separate replays of all its learners take together; several threads are used where
    that is faster.

    The bank copies the learners, including what they have learnt; ``bank[k]`` is a copy too. If one
    learner refuses a row (``on_bad="raise"``), no learner learns the row; a learner with
    ``on_bad="skip"`` skips a bad row, and the others learn it.

    Parameters
    ----------
    models : sequence of Learner
        Any learners except kernel learners, whose state grows. Learners that have learnt something
        must have learnt from the same columns.
    threads : int or None, default None
        How many threads ``replay`` and ``predict`` may use, threads ≥ 1; None means one per core.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=3000, d=5, degrees=0.5)
    >>> bank = ol.Bank([ol.LASER(c=c, shrink=False) for c in (1.0, 10.0, 100.0, 1e5)])
    >>> run = ol.replay(bank, X, y)
    >>> run.predictions.shape
    (3000, 4)
    >>> best = int(run.cumulative_loss[-1].argmin())
    >>> bank[best]  # an independent copy, including what it has learnt
    LASER(c=10.0, shrink=False)
    """

    def __init__(self, models: Iterable[Learner], threads: int | None = None) -> None:
        if not isinstance(models, Iterable):
            raise TypeError(f"Bank needs a sequence of learners, got {checks.described(models)}")
        if not (given := list(models)):
            raise ValueError("Bank needs at least one learner, got none")
        for model in given:
            check_fixed("Bank needs learners", model)
        self.threads = threads
        self._cores()  # checks threads
        self._models = [copy.deepcopy(model) for model in given]
        self._count = len(given)
        self._coding = Coding(given)  # how labels become numbers
        self._outcomes = empty(self._count), empty(self._count, INTEGER)  # results for a row
        self._who_skips = np.array([model.on_bad == "skip" for model in given])
        self._skips = np.array([model.n_skipped_ for model in given])  # rows skipped by each
        self._fresh = np.array([model._state is None for model in given])  # no row learnt yet
        self._any_fresh = bool(self._fresh.any())
        self._shape: tuple[int] | None = None
        self._names: list[str] | None = None
        self._stacks: list[stacked_models.Stack] = []
        self._calls: list[tuple[Any, ...]] = []  # each stack's loop for one row, and its arguments
        self._journal: Journal | None = None
        stacked_models.check_columns(begun := [each for each in given if each._state is not None])
        if begun:
            self._start(begun[0].n_features_in_, begun[0]._names)

    def _cores(self) -> int:
        """Return how many threads to use at most."""
        asked = checks.asked("Bank", threads=self.threads)
        return usable_cores() if self.threads is None else checks.whole(asked, "threads", least=1)

    # --- the learners -------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._models)

    @atomic
    def __getitem__(self, k: int) -> Learner:
        """Return a copy of learner k with what it has learnt."""
        try:
            k = range(len(self))[operator.index(k)]
        except IndexError:
            raise IndexError(f"the bank has {len(self)} learners, got number {k}") from None
        model = copy.deepcopy(self._models[k])
        if self._fresh[k]:
            model._forget()
        if self._skips[k]:
            model.n_skipped_ = int(self._skips[k])
        return model

    def __iter__(self) -> Iterator[Learner]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        """Show how many learners of each class there are."""
        kinds = Counter(type(model).__name__ for model in self._models)
        shown = ", ".join(f"{count} {name}" for name, count in kinds.items())
        return f"<Bank of {len(self)} learners: {shown}>"

    _repr_html_ = notebook.models_page

    # --- state --------------------------------------------------------------------------------

    def _has_begun(self) -> bool:
        return self._shape is not None

    def _columns(self) -> Columns | None:
        return None if self._shape is None else (self._shape[0], self._names)

    def _start(self, d: int, names: list[str] | None) -> None:
        """Start with rows of width d: allocate the learners' states side by side."""
        matrices = sum(model._matrices() for model in self._models)
        checks.fits(f"Bank of {len(self)} learners", d, matrices, "fewer learners, or NLMS")
        models = [copy.deepcopy(model) if model._state is None else model for model in self._models]
        for model in models:
            if model._state is None:
                model._start(d, names)
        self._stacks = stacked_models.stacked(models)
        self._calls = [
            (step.each, states.arrays, params.arrays, step.work(d), where)
            for step, states, params, where in self._stacks
        ]
        self._models, self._shape, self._names, self._journal = models, (d,), names, None

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the bank as it is now."""
        attributes = self.__dict__.copy()
        copies = [stack.states.memory.copy() for stack in self._stacks]

        def restore() -> None:
            self.__dict__.update(attributes)
            for stack, memory in zip(self._stacks, copies, strict=True):
                stack.states.memory[:] = memory

        return restore

    @atomic
    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the learners and the settings, for pickle, copy and deepcopy."""
        return {"models": list(self), "threads": self.threads}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore the bank from the learners and settings that ``__getstate__`` returned."""
        Bank.__init__(self, **kept)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all learners to one file, as :meth:`onlinear.Learner.save` does.

        >>> import onlinear as ol
        >>> bank = ol.Bank([ol.Ridge(b=1.0), ol.Ridge(b=2.0)])
        >>> bank.learn_one([1.0, 0.0], 3.0)
        >>> bank.save("bank.onl")
        >>> ol.load("bank.onl").predict_one([1.0, 0.0])
        array([1.5, 1. ])
        """
        check_idle(self, "save")
        state_file.save(copy.copy(self), path)

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        return self._coding.table(self._models, y, rows)

    # --- the round ----------------------------------------------------------------------------

    @atomic
    def predict_one(self, x: Any) -> np.ndarray:
        """Predict the label of one row with every learner; never changes the bank.

        >>> import onlinear as ol
        >>> ol.Bank([ol.LASER(), ol.NLMS()]).predict_one([1.0, 2.0])  # nothing learnt yet
        array([0., 0.])
        """
        if self._shape is None:
            fresh = copy.copy(self)
            fresh._start(checks.width(x), None)
            return fresh.predict_one(x)
        if x.__class__ is not ndarray or x.dtype is not FLOAT or x.shape != self._shape:
            x = self._row(x)
            if x.__class__ is Rows:
                return self._one_sparse(x, nan, learn=False)[0][:, 0]
        x = ascontiguousarray(x)
        values, rules = empty(self._count), empty(self._count, INTEGER)
        if self._each(x, nan, False, values, rules):
            self._refuse(values, rules, x)
            values[rules != FINE] = nan
        return values

    @atomic
    def learn_one(self, x: Any, y: Any) -> None:
        """Let every learner learn the label of one row.

        >>> import onlinear as ol
        >>> bank = ol.Bank([ol.Ridge(), ol.NLMS()])
        >>> bank.learn_one([1.0, 2.0], 3.0)
        >>> bank[0].coef_
        array([0.5, 1. ])
        """
        if self._shape is None:
            with rows_taken(self, checks.width(x), checks.row_names(x)):
                self.learn_one(x, y)
            return
        if x.__class__ is not ndarray or x.dtype is not FLOAT or x.shape != self._shape:
            x = self._row(x)
            if x.__class__ is Rows:
                with all_or_nothing(self):
                    self._learnt(
                        self._one_sparse(x, self._coding.one(self._models, y), learn=True)[1]
                    )
                    self._journal = None
                return
        y, x = self._coding.one(self._models, y), ascontiguousarray(x)
        if self._journal is None:
            self._journal = Journal([stack.states.memory for stack in self._stacks])
        journal, (values, rules) = self._journal, self._outcomes
        counts = {name: self.__dict__[name] for name in ("_skips", "_fresh", "_any_fresh")}
        recover = journal.recovery(
            lambda x, y: self._each(x, y, True, values, rules), lambda: self.__dict__.update(counts)
        )
        with Transaction(self._guards(), recover):
            refused = self._each(x, y, True, values, rules)
            if refused:
                self._refuse(values, rules, x)
            if refused or self._any_fresh:
                self._learnt((rules != FINE)[:, None])
            journal.enter(x, y)

    def _one_sparse(self, x: Rows, y: Any, *, learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """Run a round of all learners on a sparse row; return predictions and who skips it."""
        return separate_models.run(
            *(self._models, x, np.array([y]) if y.__class__ is float else y, [False] * len(self)),
            learn=learn,
            refusal=lambda k, outcome, x: self._refusal(k, outcome, x, in_table=False),
            progress=no_progress,
        )

    def _each(
        self, x: np.ndarray, y: Any, labelled: bool, values: np.ndarray, rules: np.ndarray
    ) -> int:
        """Run one round of every learner; return how many learners refuse the row.

        The result of learner k goes to ``values[k]``: its prediction, or the value that broke a
        rule. The rule that learner k broke, or FINE, goes to ``rules[k]``.
        """
        refused = 0
        for each, state, params, work, where in self._calls:
            own = y if y.__class__ is float else y[where[0], 0]
            refused += each(state, params, x, own, work, labelled, where, values, rules)
        return refused

    def _learnt(self, bad: np.ndarray) -> None:
        """Count learnt and skipped rows; learner k skipped row i if ``bad[k, i]`` is true."""
        self._skips = self._skips + bad.sum(axis=1)
        self._fresh = self._fresh & bad.all(axis=1)
        self._any_fresh = bool(self._fresh.any())

    def _row(self, x: Any) -> np.ndarray | Rows:
        d = self._shape[0] if self._shape else None
        if checks.sparse(x):
            return checks.sparse_row(x, d)
        return checks.row(x, d, self._names)

    def _refuse(self, values: np.ndarray, rules: np.ndarray, x: np.ndarray) -> None:
        """Raise the error of the first learner that refuses the row and cannot skip it, if any."""
        for k in np.flatnonzero((rules != FINE) & ~self._who_skips):
            outcome = Outcome(0, int(rules[k]), float(values[k]))
            raise self._refusal(int(k), outcome, x, in_table=False)

    def _refusal(self, k: int, outcome: Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
        error = self._models[k]._refusal(outcome, x, in_table=in_table, whole="the bank")
        return ValueError(f"learner {k} of the bank: {error}")

    @atomic
    def predict(self, X: Any) -> np.ndarray:
        """Predict each row with the current weights; learn nothing; return a column per learner."""
        if self._shape is None:
            raise checks.not_fitted("Bank")
        return self._run(X, None, learn=False)[0]

    @atomic
    def _run(
        self,
        X: Any,
        y: Any,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = no_progress,
        engine: str = "rank-one",
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict all rows and, if ``learn``, learn them; return predictions, labels, bad rows."""
        return run(self, X, y, learn=learn, progress=progress, engine=engine)

    @atomic
    def _run_table(
        self,
        X: np.ndarray | Rows,
        names: list[str] | None,
        y: np.ndarray,
        *,
        learn: bool,
        progress: Callable[[int, int], None],
        engine: str,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict every row and, if ``learn``, learn it; return predictions and skipped rows."""

        def refusal(k: int, outcome: Outcome, x: np.ndarray) -> ValueError:
            return self._refusal(k, outcome, x, in_table=True)

        with rows_taken(self, X.shape[1], names, X.shape[0], learn=learn):
            in_bulk = [
                learn and model._step.takes_bulk(X, engine, type(model).__name__)
                for model in self._models
            ]
            if isinstance(X, Rows) or any(in_bulk):
                predictions, bad = separate_models.run(
                    *(self._models, X, y, in_bulk), learn=learn, refusal=refusal, progress=progress
                )
            else:
                predictions, bad = stacked_models.run(
                    *(self._stacks, X, y),
                    labelled=learn,
                    skips=self._who_skips,
                    refusal=refusal,
                    progress=progress,
                    threads=min(self._cores(), len(self)),
                )
            if learn:
                self._learnt(bad)
                self._journal = None
            else:
                separate_models.predict_again(self._models, X, names, y, predictions)
        return predictions.T, bad.T


model_codec.register_reader("bank", lambda header, arrays: Bank(*state_file.read(header, arrays)))
