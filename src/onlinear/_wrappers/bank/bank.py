"""A bank: many learners on the same rows, in one pass."""

import contextlib
import copy
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import Any

import numpy as np
from numpy import ascontiguousarray, empty, ndarray

from onlinear._engine.step import FINE, Outcome
from onlinear._engine.tables import Rows
from onlinear._engine.threads import usable_cores
from onlinear._learner.base import FLOAT, Learner, _full_name, _no_progress
from onlinear._learner.kernel_base import check_fixed
from onlinear._state_files import file_format, model_codec
from onlinear._validation import checks
from onlinear._wrappers.bank.journal import Journal
from onlinear._wrappers.bank.stacked_models import Team, assembled, run

__all__ = ["Bank"]

INTEGER = np.dtype(np.int64)


class Bank:
    """Many learners that see the same rows, each giving the same bits as if it were alone.

    A row is checked once, and learners of one class are run by one compiled call: row by row, ten
    small learners in a bank cost a few of them apart. A replay uses several threads where it pays.
    Costs what the learners cost.

    The bank takes copies of the learners, with what they have learnt; ``bank[k]`` is a copy too, a
    learner by itself. A row that one of them refuses (``on_bad="raise"``) is learnt by none; a
    learner with ``on_bad="skip"`` leaves a bad row out and the others learn it.

    Parameters
    ----------
    models : sequence of Learner
        Any learners but those with a kernel, whose state grows. Those that have learnt something
        must have begun with the same columns.
    threads : int or None, default None
        How many threads a replay, or ``predict``, may use, threads ≥ 1; None means as many as there
        are cores.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=3000, d=5, degrees=0.5)
    >>> bank = ol.Bank([ol.LASER(c=c, shrink=False) for c in (1.0, 10.0, 100.0, 1e5)])
    >>> run = ol.replay(bank, X, y)
    >>> run.predictions.shape
    (3000, 4)
    >>> best = int(run.cumulative_loss[-1].argmin())
    >>> bank[best]  # a learner by itself, with what it has learnt
    LASER(c=10.0, shrink=False)
    """

    def __init__(self, models: Iterable[Learner], threads: int | None = None) -> None:
        if not isinstance(models, Iterable):
            raise TypeError(f"Bank needs a sequence of learners, got {type(models).__name__}")
        given = list(models)
        if not given:
            raise ValueError("Bank needs at least one learner, got none")
        for model in given:
            check_fixed("Bank needs learners", model)
        self.threads = threads
        self._cores()
        self._models = [copy.deepcopy(model) for model in given]
        self._count = len(given)
        self._outcomes = empty(self._count), empty(self._count, INTEGER)  # of learning a row
        self._skips = np.array([model.on_bad == "skip" for model in given])
        self._skipped = np.array([model.n_skipped_ for model in given])
        self._fresh = np.array([model._state is None for model in given])  # have learnt no row
        self._any_fresh = bool(self._fresh.any())
        self._shape: tuple[int] | None = None
        self._names: list[str] | None = None
        self._teams: list[Team] = []
        self._calls: list[tuple[Any, ...]] = []  # of the teams, for one row
        self._journal: Journal | None = None
        begun = [model for model in given if model._state is not None]
        for model in begun:
            _check_columns(begun[0], model)
        if begun:
            self._begin(begun[0].n_features_in_, begun[0]._names)

    def _cores(self) -> int:
        """Return how many threads to use at most."""
        if self.threads is None:
            return usable_cores()
        return checks.whole(checks.asked("Bank", threads=self.threads), "threads", least=1)

    # --- the learners -------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._models)

    def __getitem__(self, k: int) -> Learner:
        """Return learner k with what it has learnt, a copy: to change it leaves the bank alone."""
        try:
            k = range(len(self))[operator.index(k)]
        except IndexError:
            raise IndexError(f"the bank has {len(self)} learners, got number {k}") from None
        model = copy.deepcopy(self._models[k])
        if self._fresh[k]:
            model._forget()
        if self._skipped[k]:
            model.n_skipped_ = int(self._skipped[k])
        return model

    def __iter__(self) -> Iterator[Learner]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        """Show how many learners of which class there are."""
        kinds = Counter(type(model).__name__ for model in self._models)
        shown = ", ".join(f"{count} {name}" for name, count in kinds.items())
        return f"<Bank of {len(self)} learners: {shown}>"

    # --- state --------------------------------------------------------------------------------

    def _begin(self, d: int, names: list[str] | None) -> None:
        """Take rows of width d: lay the learners' states side by side."""
        matrices = sum(model._matrices() for model in self._models)
        checks.fits(f"Bank of {len(self)} learners", d, matrices, "fewer learners, or NLMS")
        models = [copy.deepcopy(model) if model._state is None else model for model in self._models]
        for model in models:
            if model._state is None:
                model._begin(d)
                model._name_columns(names)
        self._teams = assembled(models)
        self._calls = [
            (step.each, states.arrays, params.arrays, step.work(d), where)
            for step, states, params, where in self._teams
        ]
        self._models, self._shape, self._names = models, (d,), names
        self._journal = None

    def _forget(self) -> None:
        """Have no width: bad rows do not say how wide the next will be."""
        for model in self._models:
            model._forget()
        self._shape = self._names = self._journal = None
        self._teams, self._calls = [], []

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if the block fails or is interrupted."""
        attributes = self.__dict__.copy()
        copies = [team.states.memory.copy() for team in self._teams]
        try:
            yield
        except BaseException:
            self.__dict__.update(attributes)
            for team, memory in zip(self._teams, copies, strict=True):
                team.states.memory[:] = memory
            raise

    def __getstate__(self) -> dict[str, Any]:
        """Return the learners: what pickle, copy and deepcopy keep."""
        return {"models": list(self), "threads": self.threads}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take the learners back."""
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
        header: dict[str, Any] = {"bank": [], "threads": self.threads}
        arrays: dict[str, np.ndarray] = {}
        for k, model in enumerate(self):
            about, own = model_codec.described(model, _full_name(type(model)))
            header["bank"].append(about)
            arrays |= {f"{name} {k}": array for name, array in own.items()}
        file_format.write(path, header, arrays)

    @staticmethod
    def _rebuilt(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Bank":
        """Return the bank that a header and arrays describe."""
        models = []
        for k, about in enumerate(header["bank"]):
            own = {"state": arrays[f"state {k}"]} if f"state {k}" in arrays else {}
            models.append(model_codec.rebuilt(about, own, Learner._classes))
        return Bank(models, header["threads"])

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict the label of one row by every learner; never changes the bank.

        >>> import onlinear as ol
        >>> ol.Bank([ol.LASER(), ol.NLMS()]).predict_one([1.0, 2.0])  # nothing learnt yet
        array([0., 0.])
        """
        if self._shape is None:
            fresh = copy.copy(self)
            fresh._begin(checks.width(x), None)
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

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, by every learner.

        >>> import onlinear as ol
        >>> bank = ol.Bank([ol.Ridge(), ol.NLMS()])
        >>> bank.learn_one([1.0, 2.0], 3.0)
        >>> bank[0].coef_
        array([0.5, 1. ])
        """
        if self._shape is None:
            with self._all_or_nothing():
                self._begin(checks.width(x), checks.row_names(x))
                self.learn_one(x, y)
                if self._fresh.all():
                    self._forget()
            return
        if x.__class__ is not ndarray or x.dtype is not FLOAT or x.shape != self._shape:
            x = self._row(x)
            if x.__class__ is Rows:
                label = checks.label(y)
                with self._all_or_nothing():
                    self._learnt(self._one_sparse(x, label, learn=True)[1])
                    self._journal = None
                return
        if y.__class__ is not float:
            y = checks.label(y)
        x = ascontiguousarray(x)
        if self._journal is None:
            self._journal = Journal([team.states.memory for team in self._teams])
        values, rules = self._outcomes
        try:
            refused = self._each(x, y, True, values, rules)
            if refused:
                self._refuse(values, rules, x)
            self._journal.enter(x, y)
        except BaseException:
            self._journal.go_back(lambda x, y: self._each(x, y, True, values, rules))
            raise
        if refused or self._any_fresh:
            self._learnt((rules != FINE)[:, None])

    def _one_sparse(self, x: Rows, y: float, *, learn: bool) -> tuple[np.ndarray, np.ndarray]:
        """One round of a sparse row."""
        return self._apart(x, np.array([y]), [False] * len(self), learn=learn, in_table=False)

    def _each(
        self, x: np.ndarray, y: float, labelled: bool, values: np.ndarray, rules: np.ndarray
    ) -> int:
        """One round of every learner, what they give into values and rules; how many refuse."""
        refused = 0
        for each, state, params, work, where in self._calls:
            refused += each(state, params, x, y, work, labelled, where, values, rules)
        return refused

    def _learnt(self, bad: np.ndarray) -> None:
        """Take note of rows that were learnt, or skipped where ``bad`` (a row for each learner)."""
        self._skipped = self._skipped + bad.sum(axis=1)
        self._fresh = self._fresh & bad.all(axis=1)
        self._any_fresh = bool(self._fresh.any())

    def _row(self, x: Any) -> np.ndarray | Rows:
        d = self._shape[0] if self._shape else None
        if checks.sparse(x):
            return checks.sparse_row(x, d)
        return checks.row(x, d, self._names)

    def _refuse(self, values: np.ndarray, rules: np.ndarray, x: np.ndarray) -> None:
        """Raise what the first learner that does not skip the row has to say of it."""
        for k in np.flatnonzero((rules != FINE) & ~self._skips):
            outcome = Outcome(0, int(rules[k]), float(values[k]))
            raise self._refusal(int(k), outcome, x, in_table=False)

    def _refusal(self, k: int, outcome: Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
        error = self._models[k]._refusal(outcome, x, in_table=in_table, whole="the bank")
        return ValueError(f"learner {k} of the bank: {error}")

    # --- tables -------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Predict every row with what is known now, a column for each learner, learning nothing."""
        if self._shape is None:
            raise checks.not_fitted("Bank")
        return self._run(X, None, learn=False)[0]

    def _run(
        self,
        X: Any,
        y: Any,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = _no_progress,
        engine: str = "rank-one",
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict every row and, if asked, learn it; return predictions, labels, bad rows."""
        X, names = checks.any_table(X)
        y = checks.labels(y, X.shape[0]) if learn else np.full(X.shape[0], nan)
        with self._all_or_nothing() if learn else contextlib.nullcontext():
            began = self._shape is None
            if self._shape is None:
                self._begin(X.shape[1], names)
            else:
                checks.same_columns("Bank", self._shape[0], self._names, X, names)
            in_bulk = [
                learn and model._step.takes_bulk(X, engine, type(model).__name__)
                for model in self._models
            ]
            if isinstance(X, Rows) or any(in_bulk):
                predictions, bad = self._apart(X, y, in_bulk, learn=learn, progress=progress)
            else:
                predictions, bad = self._dense(X, y, learn=learn, progress=progress)
            if learn:
                self._learnt(bad)
                self._journal = None
            if began and self._fresh.all():
                self._forget()
        return predictions.T, y, bad.T

    def _dense(
        self, X: np.ndarray, y: np.ndarray, *, learn: bool, progress: Callable[[int, int], None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run the rounds of an array; return predictions and bad rows, a row for each learner."""

        def refused(k: int, outcome: Outcome) -> None:
            raise self._refusal(k, outcome, X[outcome.row], in_table=True)

        return run(
            self._teams,
            X,
            y,
            labelled=learn,
            skips=self._skips,
            refused=refused,
            progress=progress,
            threads=min(self._cores(), len(self)),
        )

    def _apart(
        self,
        X: np.ndarray | Rows,
        y: np.ndarray,
        in_bulk: Sequence[bool],
        *,
        learn: bool,
        progress: Callable[[int, int], None] = _no_progress,
        in_table: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run the rounds of sparse rows, or in bulk, by each learner as it does alone."""
        rows, models = len(X), len(self)
        predictions = np.empty((models, rows))
        bad = np.zeros((models, rows), dtype=np.bool_)
        refusals: list[tuple[int, int, ValueError]] = []
        for k, model in enumerate(self._models):

            def refusal(outcome: Outcome, x: np.ndarray, k: int = k, **_: bool) -> ValueError:
                error = self._refusal(k, outcome, x, in_table=in_table)
                refusals.append((outcome.row, k, error))
                return error

            def advance(row: int, rows: int, k: int = k) -> None:
                progress(k * rows + row, models * rows)

            try:
                predictions[k], skipped = model._rounds(
                    model._step, X, y, learn, refusal, advance, in_bulk=in_bulk[k]
                )
            except ValueError:
                if not refusals or refusals[-1][1] != k:
                    raise
                continue  # another learner may refuse an earlier row
            bad[k, skipped] = True
        if refusals:
            raise min(refusals, key=lambda refusal: refusal[:2])[2]
        return predictions, bad


def _check_columns(first: Learner, model: Learner) -> None:
    """Refuse learners that have begun with other columns than each other."""
    one, other = ((m.n_features_in_, m._names) for m in (first, model))
    if one != other:
        raise ValueError(
            "Bank needs learners that began with the same columns, got "
            + " and ".join(
                f"{d} features" + (f" {names}" if names else "") for d, names in (one, other)
            )
        )


model_codec.register_reader("bank", Bank._rebuilt)
