"""The learner's base class: the round, save and load.

A learner adds no loop of its own: it holds parameters, one flat record of numbers (its state) and
hands both to the compiled forms of its step.
"""

import contextlib
import dataclasses
import math
import os
from collections.abc import Callable, Iterator
from math import nan
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
from numpy import ascontiguousarray, ndarray

from onlinear._engine import step as _engine
from onlinear._engine.record import joined, views
from onlinear._engine.tables import Rows
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.sklearn_api import Estimator
from onlinear._state_files import model_codec
from onlinear._updates.units import Follows
from onlinear._validation import checks

__all__ = ["Algorithm", "Learner", "SecondOrder", "load"]

FLOAT = np.dtype(np.float64)
LEARNT = (  # the attributes of a learner that has begun
    "_begun_with",
    "_call",
    "_names",
    "_one",
    "_record",
    "_shape",
    "_state",
    "_work",
    "feature_names_in_",
    "n_features_in_",
    "n_skipped_",
)


class Algorithm(NamedTuple):
    """What a paper's box gives: how to begin, one step, the rules a row may break."""

    init: Callable[..., tuple[np.ndarray, ...]]
    step: _engine.Step
    rules: tuple[str, ...] = ()
    follows: Follows | None = None  # how its state follows a change of units


def _full_name(cls: type) -> str:
    """Return the name of a learner in state files: those of this package need no module."""
    own = cls.__module__.startswith("onlinear.")
    return cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"


def _no_progress(row: int, rows: int) -> None:
    """Take no notice."""


class Learner(Estimator):
    """A linear predictor learnt one round at a time: predict, see the label, learn, next row.

    A subclass declares its parameters as fields, its ``algorithm``, and how the fields become the
    numbers its step takes (``_params``, which also checks them: at the first use, so that
    scikit-learn's tools may set parameters one by one).
    """

    on_bad: Literal["raise", "skip"] = dataclasses.field(default="raise", kw_only=True)

    algorithm: ClassVar[Algorithm]
    _one: ClassVar[Callable[..., tuple[float, int]]]
    _classes: ClassVar[dict[str, type["Learner"]]] = {}
    _square: ClassVar[int] = 0  # how many d × d matrices it holds by default

    # not parameters, so without annotation; what a learner has before it begins
    _record = cast("np.ndarray | None", None)  # the state, flat
    _state = cast("Any", None)  # the same, as views by name
    _names = cast("list[str] | None", None)
    n_skipped_ = 0
    _call = cast("tuple[Any, ...] | None", None)  # what the compiled step is called with

    def __init_subclass__(cls) -> None:
        """Let :func:`load` know the learner by its name; the newest of a name counts."""
        super().__init_subclass__()
        if hasattr(cls, "algorithm"):
            Learner._classes[_full_name(cls)] = cls

    def _params(self) -> tuple[Any, ...]:
        """Return the checked parameters as the step takes them."""
        raise NotImplementedError

    def _guarantee(self, search: bool = True) -> Guarantee:
        """Return what is guaranteed; without ``search``, no comparator is looked for."""
        return unknown(type(self).__name__, type(self).__name__)

    def _to_plain(self) -> dict[str, Any]:
        """Return the parameters as a state file can hold them."""
        return self.get_params(deep=False)

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Return parameters as they were before a state file held them."""
        return params

    def _local(self) -> bool:
        """Whether a round reads and writes the state only in the columns where x is not zero.

        The state is then t and one vector of weights, or two: sparse rows are learnt in O(nnz).
        """
        return False

    def _numbers(self) -> tuple[Any, ...]:
        checks.choice(self, "on_bad", ("raise", "skip"))
        return tuple(self._params())

    # --- state --------------------------------------------------------------------------------

    def _initial(self, d: int, record: np.ndarray | None) -> Any:
        """Return the initial state of dimension d, of the size of ``record`` if it can vary."""
        return self.algorithm.init(self._params(), d)

    @property
    def _step(self) -> _engine.Step:
        return self.algorithm.step

    def _matrices(self) -> int:
        """Return how many d × d matrices the state and the scratch hold."""
        return self._square

    def _scratch(self) -> np.ndarray:
        """Return scratch for the step, for the present state."""
        return self._step.work(self.n_features_in_)

    def _expect(self, rows: int) -> None:
        """Refuse now, not after hours, more rows to learn than a state that grows can take."""

    def _make_room(self) -> None:
        """Give a state that grows more room."""

    def _begin(self, d: int, record: np.ndarray | None = None, *, own: bool = False) -> None:
        """Take the initial state of dimension d, or ``record``: a copy of it if not ``own``."""
        checks.fits(type(self).__name__, d, self._matrices())
        arrays = self._initial(d, record)
        size = sum(array.size for array in arrays)
        if record is not None and record.shape != (size,):
            raise ValueError(
                f"the state of {self} at {d} features is {size} numbers, got {record.shape}"
            )
        if record is None:
            record = joined(arrays)
        elif not own:
            record = joined(views(record, arrays))
        self._record = record
        self._state = type(arrays)(*views(record, arrays))
        self._shape = (d,)
        self.n_features_in_ = d
        self._work = self._scratch()
        self._call = None

    def _settle(self) -> None:
        """Make the state whole after columns were added to it."""

    def _forget(self) -> None:
        """Be as if nothing had been learnt."""
        for name in LEARNT:
            self.__dict__.pop(name, None)

    def _prepare(self) -> tuple[Any, ...]:
        """Return what the compiled step is called with; kept until a parameter changes.

        The step itself is kept by the class: it is not the learner's to be copied or measured.
        """
        type(self)._one = staticmethod(self._step.one)
        call = (tuple(self._state), self._numbers(), self._work)
        self._call = call
        return call

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if the block fails or is interrupted."""
        attributes = self.__dict__.copy()
        record = None if self._record is None else self._record.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(attributes)
            if self._record is not None:
                self._record[:] = record
            raise

    def __getstate__(self) -> dict[str, Any]:
        """Return parameters and state: what pickle and deepcopy keep."""
        kept: dict[str, Any] = {"params": self.get_params(deep=False), "skipped": self.n_skipped_}
        if self._record is not None:
            kept["state"] = (self.n_features_in_, self._record.copy(), self._names)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Take parameters and state back."""
        for name, value in kept["params"].items():
            setattr(self, name, value)
        if kept["skipped"]:
            self.n_skipped_ = kept["skipped"]
        if "state" in kept:
            d, record, names = kept["state"]
            self._begin(d, record)
            self._name_columns(names)

    def _check_state(self) -> None:
        """Refuse a state no sequence of rounds leads to."""
        t = self._state.t[0]
        if t < 0 or t != int(t):
            raise ValueError(f"it says {t} rounds were learnt")

    def _name_columns(self, names: list[str] | None) -> None:
        self._names = names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file: versioned, checksummed, no pickle, all or nothing.

        >>> import onlinear as ol
        >>> model = ol.Ridge(b=2.0)
        >>> model.learn_one([1.0, 0.0], 3.0)
        >>> model.save("model.onl")
        >>> ol.load("model.onl").predict_one([1.0, 0.0])
        1.0
        """
        model_codec.save(self, _full_name(type(self)), path)

    # --- the round ----------------------------------------------------------------------------

    def predict_one(self, x: Any) -> float:
        """Predict the label of one row (a vector, or a sparse 1 × d); never changes the learner.

        >>> import onlinear as ol
        >>> ol.LASER().predict_one([1.0, 2.0])  # nothing learnt yet
        0.0
        """
        if self._state is None:
            fresh = type(self)(**self.get_params(deep=False))
            fresh._begin(checks.width(x))
            return fresh.predict_one(x)
        if x.__class__ is not ndarray or x.dtype is not FLOAT or x.shape != self._shape:
            x = self._row(x)
            if x.__class__ is Rows:
                return self._sparse_round(x, nan, labelled=False)
        state, params, work = self._call or self._prepare()
        x = ascontiguousarray(x)
        value, rule = self._one(state, params, x, nan, work, False)
        if rule:
            if self.on_bad == "raise":
                raise self._refusal(_engine.Outcome(0, rule, value), x, in_table=False)
            return nan
        return value

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row (a vector, or a sparse 1 × d).

        >>> import onlinear as ol
        >>> model = ol.Ridge()
        >>> model.learn_one([1.0, 2.0], 3.0)
        >>> model.coef_
        array([0.5, 1. ])
        """
        if self._state is None:
            skipped = self.n_skipped_
            with self._all_or_nothing():
                self._begin(checks.width(x))
                self._name_columns(checks.row_names(x))
                self.learn_one(x, y)
                if self.n_skipped_ > skipped:  # a bad row does not say how wide the next will be
                    self._forget()
                    self.n_skipped_ = skipped + 1
            return
        if x.__class__ is not ndarray or x.dtype is not FLOAT or x.shape != self._shape:
            x = self._row(x)
            if x.__class__ is Rows:
                self._sparse_round(x, checks.label(y), labelled=True)
                return
        if y.__class__ is not float:
            y = checks.label(y)
        state, params, work = self._call or self._prepare()
        x = ascontiguousarray(x)
        value, rule = self._one(state, params, x, y, work, True)
        if rule:
            if rule == _engine.FULL:
                self._make_room()
                self.learn_one(x, y)
                return
            if self.on_bad == "raise":
                raise self._refusal(_engine.Outcome(0, rule, value), x, in_table=False)
            self.n_skipped_ += 1

    def remember(self, x: Any) -> np.ndarray:
        """Return what to keep of a row until its label comes: see :meth:`learn_late`.

        >>> import onlinear as ol
        >>> model = ol.Ridge()
        >>> model.learn_one([1.0, 2.0], 3.0)
        >>> kept = model.remember([1.0, 0.0])
        >>> model.learn_one([0.0, 1.0], 1.0)  # labels may come in another order
        >>> model.learn_late(kept, 2.0)
        >>> model.rounds_
        3
        """
        if math.isnan(self.predict_one(x)):
            raise ValueError(
                f"{type(self).__name__} cannot predict this row, so not learn it later"
            )
        return self._ticket(x)

    def _ticket(self, x: Any) -> np.ndarray:
        """Return what to keep of a row that can be predicted."""
        if checks.sparse(x):
            return np.array(checks.sparse_row(x, None)[0])
        return np.array(checks.row(x, None, self._names))

    def learn_late(self, kept: Any, y: Any) -> None:
        """Learn a label that comes after those of later rows, by what :meth:`remember` gave.

        A learner whose prediction depends on the last labels learns from what it knew then; if
        nothing was learnt in between, it is as :meth:`learn_one`, to the bit.
        """
        self.learn_one(kept, y)

    def _row(self, x: Any) -> np.ndarray | Rows:
        """Return x as a vector, or as a sparse row if the learner makes use of that."""
        if not checks.sparse(x):
            return checks.row(x, self._shape[0], self._names)
        row = checks.sparse_row(x, self._shape[0])
        return row if self._local() else row[0]

    def _sparse_round(self, x: Rows, y: float, *, labelled: bool) -> float:
        """One round of a local learner, as in a replay; return the prediction, or NaN."""

        def refused(outcome: _engine.Outcome) -> None:
            if self.on_bad == "raise":
                raise self._refusal(outcome, x[0], in_table=False)
            self.n_skipped_ += labelled

        state, params, _ = self._call or self._prepare()
        step = self.algorithm.step
        predictions = step.run(
            state,
            params,
            x,
            np.array([y]),
            step.work(x.longest),
            labelled=labelled,
            refused=refused,
            progress=_no_progress,
            local=True,
        )
        return float(predictions[0])

    def _refusal(
        self, outcome: _engine.Outcome, x: np.ndarray, *, in_table: bool, whole: str = "the model"
    ) -> ValueError:
        return ValueError(f"{self._why(outcome, x, in_table=in_table)}; {whole} is unchanged")

    def _why(self, outcome: _engine.Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
        """Return which rule a row broke, where, and by what value."""
        return checks.refusal(
            type(self).__name__,
            self.algorithm.rules,
            outcome,
            x,
            in_table=in_table,
            names=self._names,
            params=self.get_params(deep=False),
        )

    def _run(
        self,
        X: Any,
        y: Any,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = _no_progress,
        engine: str = "rank-one",
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Predict every row and, if asked, learn it; return predictions, labels, bad rows."""
        X, names = checks.any_table(X)
        y = checks.labels(y, X.shape[0]) if learn else np.full(X.shape[0], nan)
        if self._state is not None:
            checks.same_columns(type(self).__name__, self.n_features_in_, self._names, X, names)
        predictions, bad = self._run_table(
            X, names, y, learn=learn, progress=progress, engine=engine
        )
        return predictions, y, bad

    def _run_table(
        self,
        X: Any,
        names: list[str] | None,
        y: np.ndarray,
        *,
        learn: bool,
        progress: Callable[[int, int], None] = _no_progress,
        engine: str = "rank-one",
        first: int = 0,
        noticed: Callable[[_engine.Outcome], None] | None = None,
    ) -> tuple[np.ndarray, list[int]]:
        """Predict the rows of a table and, if asked, learn them; return predictions, bad rows.

        Errors call its rows ``first``, ``first + 1``, …; ``noticed`` is told why a row was skipped.
        """
        fresh, skipped = self._state is None, self.n_skipped_

        def refusal(outcome: _engine.Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
            outcome = outcome._replace(row=first + outcome.row)
            return self._refusal(outcome, x, in_table=in_table)

        with self._all_or_nothing() if learn else contextlib.nullcontext():
            if fresh:
                self._begin(X.shape[1])
                self._name_columns(names)
            if learn:
                self._expect(X.shape[0])
            in_bulk = learn and self._step.takes_bulk(X, engine, type(self).__name__)
            predictions, bad = self._rounds(
                self._step, X, y, learn, refusal, progress, in_bulk=in_bulk, noticed=noticed
            )
            if fresh and len(bad) == len(X):  # bad rows do not say how wide the next will be
                self._forget()
            if learn:
                self.n_skipped_ = skipped + len(bad)
        return predictions, bad

    def _rounds(
        self,
        step: _engine.Step,
        X: np.ndarray | Rows,
        y: np.ndarray,
        learn: bool,
        refusal: Callable[..., ValueError],
        progress: Callable[[int, int], None],
        *,
        in_bulk: bool = False,
        noticed: Callable[[_engine.Outcome], None] | None = None,
    ) -> tuple[np.ndarray, list[int]]:
        """Run the rounds of a table by a step; return predictions, and bad rows skipped."""
        bad: list[int] = []

        def refused(outcome: _engine.Outcome) -> None:
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
            self._scratch(),  # not the learner's own: threads may predict side by side
            labelled=learn,
            refused=refused,
            progress=progress,
            room=room,
            local=self._local(),
            in_bulk=in_bulk,
        )
        return predictions, bad

    # --- what was learnt ----------------------------------------------------------------------

    def _learnt(self) -> Any:
        if self._state is None:
            raise checks.not_fitted(type(self).__name__)
        return self._state

    @property
    def coef_(self) -> np.ndarray:
        """The weights w, a copy."""
        return self._learnt().w.copy()  # type: ignore[no-any-return]

    @property
    def rounds_(self) -> int:
        """How many rows were learnt."""
        return int(self._learnt().t[0])


class SecondOrder(Learner):
    """A learner that keeps a matrix Σ: how uncertain the weights are, direction by direction."""

    _square = 1
    _sums_only: ClassVar[bool] = False  # whether it is its sums Σ xxᵀ and Σ yx, in any order

    def _check_state(self) -> None:
        super()._check_state()
        S = self._state.S
        if not (np.array_equal(S, S.T) and np.all(np.diag(S) > 0)):
            raise ValueError("its Σ is not symmetric and positive")

    @property
    def covariance_(self) -> np.ndarray:
        """The matrix Σ, a copy."""
        return self._learnt().S.copy()  # type: ignore[no-any-return]


def load(path: str | os.PathLike[str]) -> Any:
    """Return the learner (behind its map, if any) or filter of a state file, exactly as saved.

    A file that is truncated, altered or not a state file is refused with a
    :class:`onlinear.StateFileError`; nothing in it is ever executed. A learner of your own is found
    by the name of its module and class, so import or define it first.
    """
    return model_codec.load(path, Learner._classes)
