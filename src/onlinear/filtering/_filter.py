"""The base class of filters: decide on a row, then learn its label if it was forwarded."""

import copy
import inspect
import os
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from onlinear._engine.transaction import (
    Guarded,
    Transaction,
    atomic,
    check_idle,
    exclusive,
    put_back,
)
from onlinear._numerics.linalg import finite
from onlinear._state_files import file_format, model_codec
from onlinear._validation import checks
from onlinear.filtering._items import Look, Row, Task, finite_entries, mark_of, restorer, signs

__all__ = ["TIE", "Feedback", "Filter", "Look", "Task"]

Feedback = Literal["forwarded", "full"]
TIE = 1e-12  # a margin this close to the threshold reaches it, so that rounding does not decide


class Filter(Guarded):
    """Decide row by row which rows to forward; only forwarded rows reveal their label, −1 or +1.

    ``decide`` says whether to forward a row, and counts it; ``feedback`` learns the label of a
    forwarded row, at once or later; ``margin`` says how relevant a row seems.

    Attributes
    ----------
    seen_, forwarded_, labels_ : int
        How many rows were decided on, how many were forwarded, and how many labels were learnt.
    """

    _classes: ClassVar[dict[str, type["Filter"]]] = {}
    _counts: ClassVar[tuple[str, ...]] = ("seen_", "forwarded_", "labels_")
    _sees: Feedback = "forwarded"

    seen_ = 0
    forwarded_ = 0
    labels_ = 0
    n_features_in_: int

    def __init__(self, **params: Any) -> None:
        self._params = params
        self._names: list[str] | None = None
        # for the hash of each row without a label: whether each decision on it was a trial
        self._waiting: dict[str, list[bool]] = {}

    def __init_subclass__(cls, *, base: bool = False) -> None:
        """Register the class by its name for ``onlinear.load``, unless it is a base class."""
        super().__init_subclass__()
        if not base:
            Filter._classes[cls.__name__] = cls

    # --- what a subclass defines ----------------------------------------------------------------

    def _begin(self, d: int) -> None:
        """Prepare the filter for rows of d columns."""

    def _margin(self, x: Row, t: int) -> float:
        """Return how relevant a row seems if it is row number t; change nothing."""
        raise NotImplementedError

    def _threshold(self) -> float:
        """Return the least margin with which row number ``seen_`` counts as relevant."""
        return 0.0

    def _relevant(self, x: Row) -> bool:
        """Return whether the margin of a row reaches the threshold, up to rounding."""
        return self._margin(x, self.seen_) >= self._threshold() - TIE

    def _look(self, x: Row) -> Look:
        """Return the decision on row number ``seen_``; change nothing."""
        return Look(self._relevant(x))

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        """Learn a row's label; ``trial`` is true if it was forwarded only to see the label."""
        raise NotImplementedError

    # --- the round ------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return dict(self._params)

    def __getattr__(self, name: str) -> Any:
        """Return a parameter of the filter as an attribute."""
        params = self.__dict__.get("_params", {})
        if name in params:
            return params[name]
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute that is not a parameter; parameters cannot be changed."""
        if name in self.__dict__.get("_params", {}):
            raise AttributeError(
                f"{type(self).__name__} keeps the {name} it was made with, got {name}={value!r}: "
                "make a new filter"
            )
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        shown = [f"{k}={v!r}" for k, v in self._params.items() if v != defaults[k].default]
        return f"{type(self).__name__}({', '.join(shown)})"

    @exclusive
    def margin(self, x: Any) -> float:
        """Return how relevant a row seems if it comes next; change nothing.

        The margin is positive if the row seems relevant, else negative.
        """
        row, d, _ = self._row(x)
        if hasattr(self, "n_features_in_"):
            return self._margin(row, self.seen_ + 1)
        fresh = copy.deepcopy(self)
        fresh._start(d, None)
        return fresh._margin(row, 1)

    @exclusive
    def decide(self, x: Any) -> bool:
        """Return whether to forward a row; the row counts as seen."""
        row, d, names = self._row(x)
        before, wait = self.__dict__.copy(), restorer(self._waiting, mark_of(row))

        def recover() -> None:
            put_back(self, before)
            wait()

        with Transaction(self._guards(), recover):
            self._start(d, names)
            look = self._decide(row)
            if look.forward or self._sees == "full":
                self._waiting.setdefault(mark_of(row), []).append(look.trial)
        return look.forward

    @exclusive
    def feedback(self, x: Any, y: Any) -> None:
        """Learn the label, −1 or +1, of a row that was forwarded, at once or later.

        Pass the very row that ``decide`` was given: labels are matched to rows by value.
        """
        row, _, _ = self._row(x)
        mark, label = mark_of(row), float(signs(type(self).__name__, [y])[0])
        if not self._waiting.get(mark):
            raise ValueError(
                f"{type(self).__name__} needs feedback on a row that decide() forwarded and that "
                "has no label yet, but this row is not waiting for one (rows are matched by "
                "value); the filter is unchanged"
            )
        labels, trial, wait = self.labels_, self._waiting[mark][0], restorer(self._waiting, mark)
        undo = self._undo_learning(row, label, trial)

        def recover() -> None:
            wait()
            learnt = undo()
            self.labels_ = labels
            if learnt:  # an interrupt came after the label was learnt
                self._settle(mark)

        with Transaction(self._guards(), recover):
            self._learn(row, label, trial)
            self._settle(mark)

    def _undo_learning(self, x: Row, y: float, trial: bool) -> Callable[[], bool]:
        """Return a function that undoes the learning of the label y, and then returns False.

        If compiled code has already learnt the label, this cannot be undone, and the function
        returns True.
        """
        attributes, known = self.__dict__.copy(), self._known()

        def undo() -> bool:
            if self._known() != known:
                return True
            put_back(self, attributes)
            return False

        return undo

    def _settle(self, mark: str) -> None:
        """Count a label that was learnt, and stop waiting for it."""
        self.labels_ += 1
        del self._waiting[mark][0]
        if not self._waiting[mark]:
            del self._waiting[mark]

    @property
    @atomic
    def waiting_(self) -> int:
        """How many forwarded rows have no label yet."""
        return sum(map(len, self._waiting.values()))

    @exclusive
    def stop_waiting(self) -> None:
        """Stop waiting for labels that have not arrived."""
        self._waiting = {}

    def _known(self) -> Any:
        """Return a value that changes with every label that compiled code learns.

        After an interrupt, it shows whether compiled code had already learnt the label.
        """
        return None

    def _start(self, d: int, names: list[str] | None) -> None:
        if not hasattr(self, "n_features_in_"):
            self._begin(d)
            self._names = names
            self.n_features_in_ = d

    def _decide(self, row: Row) -> Look:
        """Count a row, and return the decision on it."""
        self.seen_ += 1
        look = self._look(row)
        self.forwarded_ += int(look.forward)
        return look

    def _run(self, task: Task) -> None:
        """Decide on every row; look at a label only after its row was forwarded."""
        for i, row in enumerate(task.rows):
            look = self._decide(row)
            task.decisions[i] = look.forward
            if look.forward or self._sees == "full":
                self._answer(row, float(task.labels[i]), look.trial)
            if i % 64 == 0:
                task.advance(i, len(task.rows))

    def _run_topics(self, task: Task) -> None:
        """Run a copy of the filter for each topic; the labels of a topic are one column."""
        for labels, decisions in zip(task.labels.T, task.decisions.T, strict=True):
            copy.deepcopy(self)._run(task._replace(labels=labels, decisions=decisions))

    def _answer(self, row: Row, label: float, trial: bool) -> None:
        self._learn(row, label, trial)
        self.labels_ += 1

    def _row(self, x: Any) -> tuple[Row, int, list[str] | None]:
        names = checks.row_names(x)
        if checks.sparse(x):
            table = checks.sparse_row(x, None)
            finite_entries(type(self).__name__, table)
            row: Row = (table.indices, table.data)
            d = table.shape[1]
        else:
            row = checks.row(x, None)
            d = row.size
            if not finite(row):
                checks.finite_rows(type(self).__name__, row[None], np.zeros(1), None)
        self._fits(d, names)
        return row, d, names

    def _fits(self, d: int, names: list[str] | None) -> None:
        if self._names is not None and names is not None:
            checks.same_names(self._names, names)
        if d != getattr(self, "n_features_in_", d):
            raise ValueError(
                f"{type(self).__name__} needs {self.n_features_in_} features, as the first row "
                f"had, got {d}"
            )

    # --- state files ----------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the filter atomically to a versioned file with a checksum; no pickle is used.

        ``onlinear.load`` restores the filter, with the rows that are still waiting for a label.
        """
        check_idle(self, "save")
        file_format.write(path, *self._described())

    @atomic
    def _described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the filter."""
        inner, arrays = self._inner_described() if hasattr(self, "n_features_in_") else (None, {})
        header = {
            "filter": type(self).__name__,
            "params": {name: model_codec.plain(v) for name, v in self._plain_params().items()},
            "counts": {name: getattr(self, name) for name in self._counts},
            "features": getattr(self, "n_features_in_", None),
            "names": self._names,
            "waiting": {mark: list(trials) for mark, trials in self._waiting.items()},
            "inner": inner,
        }
        return header, arrays

    @classmethod
    def _rebuilt(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Filter":
        """Return the filter that a header and arrays describe."""
        kind = Filter._classes[header["filter"]]
        made = kind(**kind._from_plain(header["params"]))
        for name in kind._counts:
            setattr(made, name, model_codec.count(header["counts"][name]))
        made._waiting = header["waiting"]
        made._check_counts()
        if header["features"] is not None:
            d, names = model_codec.count(header["features"]), header["names"]
            checks.within_half(f"it says {d} features", 8.0 * d, "it does not fit in memory")
            model_codec.check_names(d, names)
            made._names, made.n_features_in_ = names, d
            made._restore(header["inner"], arrays)
        return made

    def _check_counts(self) -> None:
        """Refuse counts and waiting rows that no sequence of rows and labels can produce."""
        for marks in self._waiting.values():
            if type(marks) is not list or not all(type(trial) is bool for trial in marks):
                raise ValueError("its waiting rows are not marked true or false")
        seen, labels = self.seen_, self.labels_
        if not (labels + self.waiting_ <= seen >= self.forwarded_):
            raise ValueError(
                f"it has {labels} labels, and waits for {self.waiting_}, of {seen} rows"
            )
        for name in self._counts:
            if name not in Filter._counts and getattr(self, name) > labels:
                raise ValueError(f"it has {name} = {getattr(self, name)} of {labels} labels")

    def _plain_params(self) -> dict[str, Any]:
        """Return the parameters in a form that JSON can hold."""
        return self.get_params()

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters, given the result of :meth:`_plain_params`."""
        return params

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        """Return the learnt state as a header and arrays, for a state file."""
        raise NotImplementedError

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        """Restore the learnt state from the header and arrays of a state file."""
        raise NotImplementedError

    @exclusive
    def copy(self) -> Self:
        """Return an independent copy of the filter, in the same state."""
        return copy.deepcopy(self)


model_codec.register_reader("filter", Filter._rebuilt)
