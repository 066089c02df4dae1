"""Standardized: a second-order learner with running standardization and an intercept."""

import math
from collections import namedtuple
from functools import cache
from typing import Any, ClassVar, Self, cast

import numpy as np

from onlinear._engine.status import FINE, OVERFLOW
from onlinear._engine.step import Step
from onlinear._engine.tables import Rows
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm, Learner, full_name
from onlinear._learner.classifier import Classifier
from onlinear._learner.one_versus_rest import learn_row, predicted, rounds_of_many
from onlinear._learner.parameters import Nested
from onlinear._learner.selection import Selection
from onlinear._numerics.linalg import kernel, scale
from onlinear._updates.units import check_units, copy_back, express, keep_copy, measure, move, moved
from onlinear._validation.checks import choice, described, with_article
from onlinear._validation.states import check_finite
from onlinear.losses import Loss

__all__ = ["Standardized"]

UNITS = ("mean", "spread", "centre", "scale", "prior")


@kernel
def room_for(d):
    """Return how many numbers, at most, a state of d columns and its scaling statistics have."""
    return 2 * d * d + 8 * d + 8


@cache
def _fields(own: type) -> Any:
    """Return the type of Standardized's state: the learner's fields, then scaling statistics."""
    return namedtuple("StandardizedState", [*own._fields, *UNITS])  # type: ignore[attr-defined]


@cache
def _standardized(learner: Any, first: int) -> Step:
    """Return a learner's step on standardized rows; ``first`` is 1 if there is an intercept."""
    inner, follows = learner.algorithm.step, learner.algorithm.follows
    assert follows is not None
    learn, settle = kernel(inner.function), kernel(inner.settle)
    parts, bring = follows.parts, move(follows)

    def scratch(d: int) -> int:
        wide = d + first
        numbers: int = 2 * wide + 2 * d + room_for(wide) + inner.work(wide).size
        return -(-numbers // d)

    def step(state, params, x, y, work):
        """Predict the label of x, then learn y unless y is NaN."""
        own, mean, spread, units = state[:-5], state[-5], state[-4], state[-3:]
        numbers, fresh = params[:-1], params[-1]
        d, wide = x.size, x.size + first
        flat = work.reshape(work.size)
        u, column, flat = flat[:wide], flat[wide : 2 * wide], flat[2 * wide :]
        new_mean, new_spread, flat = flat[:d], flat[d : 2 * d], flat[2 * d :]
        room, kept, flat = (
            flat[: room_for(wide)],
            flat[room_for(wide) - 3 * d :],
            flat[room_for(wide) :],
        )
        below = flat[: flat.size // wide * wide].reshape((flat.size // wide, wide))
        express(x, units[0], units[1], first, u)
        steady = True
        if not math.isnan(y):
            n = state[0][0] + 1.0
            if not measure(x, n, mean, spread, first, new_mean, new_spread):
                return 0.0, OVERFLOW
            steady = not moved(new_mean, new_spread, units[0], units[1])
        value, rule = learn(own, numbers, u, y if steady else math.nan, below)
        settle(own, below)
        if rule != FINE or math.isnan(y):
            return value, rule
        if not steady:  # the prediction is made: change the units, then learn in the new ones
            if not math.isfinite(value):
                return value, OVERFLOW
            keep_copy(parts(own), room)
            keep_copy(units, kept)
            bring(own, numbers, fresh, new_mean, new_spread, units, first, column, below)
            express(x, units[0], units[1], first, u)
            again, rule = learn(own, numbers, u, y, below)
            settle(own, below)
            if rule != FINE:
                copy_back(parts(own), room)
                copy_back(units, kept)
                return again, rule
        elif first and state[0][0] == 1.0:
            scale(1.0, x, units[0])  # the only value seen in each column
        scale(1.0, new_mean, mean)
        scale(1.0, new_spread, spread)
        return value, FINE

    step.__name__ = f"standardized_{learner.__name__}_{first}"
    return Step(step, scratch)


class Standardized(Selection, Nested, Learner):
    """A second-order learner with running standardization of the columns and an intercept.

    The columns may be in any units. The learner inside sees each column minus its running mean,
    divided by its running standard deviation, and a 1 for the intercept. When the mean or deviation
    changes, the learner's state is converted exactly, as if all past rows had been in the new
    units. If a column is multiplied by a number, or a number is added to it, predictions change
    only by rounding errors (which CIRR, OSLOG and ONS can amplify). A constant column is left out;
    once it begins to vary, it is added like a new column, with the learner's prior. Costs O(d²) per
    round, like the learner inside.

    The given learner only says which class and parameters to use; Standardized does not train it.
    Change the parameters of the learner with ``set_params(learner__c=10.0)``. No regret bound is
    known for Standardized. Labels are not centred, so the intercept has to learn their mean: a
    learner that shrinks its predictions, as LASER does unless ``shrink=False``, shrinks the
    intercept too. WEMM can refuse a standardized row u with ‖u‖² ≥ b, and ‖u‖² can be as large as
    the number of rows seen; ONS, too, assumes rows of bounded norm. Unlike Auto, Standardized does
    not clip outliers.

    Parameters
    ----------
    learner : Learner
        A learner that has learnt nothing: Ridge, AAR, RLS, CRRLS, AROWR, ARCOR, WEMM, LASER, ONS,
        CIRR, OSLOG, AROW or LogisticLASER. With a classifier (one of the last two), predictions are
        margins or probabilities of the second class; with more than two classes, of each class. The
        parameter ``on_bad`` of ``learner`` is ignored.
    intercept : bool, default True
        Whether to fit an intercept. Without an intercept, columns are not centred, and are divided
        by the root of their mean square.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=3, degrees=1.0)
    >>> model = ol.Standardized(ol.LASER(c=10.0, shrink=False))
    >>> loss = ol.replay(model, X, y).losses.mean()
    >>> raw = [1e6, 1.0, 1e-6] * X + [0.0, 1e3, 0.0]  # the same in odd units
    >>> again = ol.replay(ol.Standardized(ol.LASER(c=10.0, shrink=False)), raw, y).losses.mean()
    >>> bool(abs(again / loss - 1) < 1e-6)
    True
    """

    learner: Learner
    intercept: bool = True

    _square: ClassVar[int] = 4
    _poor_score: ClassVar[bool] = True

    def _inner(self) -> Learner:
        """Return the learner inside; raise an error if Standardized cannot use this learner."""
        learner = self.learner
        if not isinstance(learner, Learner) or learner.algorithm.follows is None:
            got = f"learner={learner!r}" if isinstance(learner, Learner) else described(learner)
            raise ValueError(
                "Standardized needs a second-order learner, one of Ridge, AAR, RLS, CRRLS, AROWR, "
                f"ARCOR, WEMM, LASER, ONS, CIRR, OSLOG, AROW and LogisticLASER, got {got}"
            )
        if learner._state is not None:
            raise ValueError(
                "Standardized needs a learner that has learnt nothing, got "
                f"{with_article(type(learner).__name__)} that has learnt {learner.rounds_} rows"
            )
        return learner

    @property
    def _loss(self) -> Loss:
        return self._inner()._loss

    def _label(self, y: Any) -> float:
        return self._inner()._label(y)

    def _labels(self, y: Any, rows: int) -> np.ndarray:
        return self._inner()._labels(y, rows)

    def _coding(self) -> Any:
        return self._inner()._coding()

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the label of one row, a vector or a sparse 1 × d matrix."""
        super().learn_one(x, self._label(y) if isinstance(self.learner, Classifier) else y)

    def _outputs(self) -> int:
        return self._inner()._outputs()

    def _replayed(self, *results: np.ndarray) -> Any:
        """Return the result of a replay with more than two classes."""
        return cast(Classifier, self.learner)._replayed(*results)

    def _first(self) -> int:
        return int(choice(self, "intercept", (True, False)))

    @property
    def algorithm(self) -> Algorithm:  # type: ignore[override]
        """The algorithm of the learner inside, applied to standardized rows."""
        inner = self._inner().algorithm
        kind: Any = type(self.learner)
        step = _standardized(kind, self._first())
        return Algorithm(inner.init, step, inner.rules)

    def _initial(self, d: int, record: np.ndarray | None) -> Any:
        inner = self._inner()
        own, count = inner._initial(d + self._first(), None), inner._outputs()
        columns = (d,) if count == 1 else (count, d)
        kind: Any = type(own)
        return _fields(kind)(*own, *np.zeros((len(UNITS), *columns)))

    def _params(self) -> tuple[Any, ...]:
        inner = self._inner()
        params, follows = inner._params(), inner.algorithm.follows
        assert follows is not None
        return *params, follows.fresh(inner.algorithm.init(params, 1))

    def _made_for(self) -> dict[str, Any]:
        inner = self._inner()
        parts = {f"learner__{name}": value for name, value in inner._made_for().items()}
        return {"learner": type(inner).__name__, "intercept": bool(self._first()), **parts}

    def _for_tables(self) -> Self:
        return type(self._inner())._for_tables(self)  # its state begins with that of the learner

    def _matrices(self) -> int:
        return 4 + 2 * self._inner()._matrices()

    def _prepare(self) -> tuple[Any, ...]:
        if self._outputs() > 1:
            self._call = tuple(self._state), self._numbers(), self._work
            return self._call  # but no _direct: the step is not for the whole state
        call = super()._prepare()
        self.__dict__["_one"] = self._step.one  # differs between instances of the class
        return call

    # --- more than two classes ----------------------------------------------------------------

    def _rounds(
        self,
        step: Step,
        X: np.ndarray | Rows,
        y: np.ndarray,
        learn: bool,
        *rest: Any,
        in_bulk: bool = False,
        noticed: Any = None,
    ) -> tuple[np.ndarray, list[int]]:
        if self._outputs() == 1:
            return super()._rounds(step, X, y, learn, *rest, in_bulk=in_bulk, noticed=noticed)
        codes = cast(Classifier, self.learner)._codes
        return rounds_of_many(
            *(self, codes, step, X, y, learn, *rest), in_bulk=in_bulk, noticed=noticed
        )

    @atomic
    def _predict_one(self, x: Any) -> float:
        if self._outputs() == 1:
            return super()._predict_one(x)
        numbers = predicted(self, x)
        return math.nan if np.isnan(numbers).any() else float(numbers.argmax())

    @atomic
    def _learn_one(self, x: Any, y: Any) -> None:
        if self._outputs() == 1:
            super()._learn_one(x, y)
        else:
            learn_row(self, x, y)

    def _to_plain(self) -> dict[str, Any]:
        inner = self._inner()
        about = {"name": full_name(type(inner)), "params": inner._to_plain()}
        return {**self.get_params(deep=False), "learner": about}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        about = params["learner"]
        if about["name"] not in Learner._classes:
            raise ValueError(
                f"no learner is known as {about['name']!r} (import or define its class first)"
            )
        kind = Learner._classes[about["name"]]
        return {**params, "learner": kind(**kind._from_plain(about["params"]))}

    def _check_states(self, stack: Any) -> None:
        own = type(self._inner().algorithm.init(self._inner()._params(), 1))
        self._inner()._check_states(own(*stack[: -len(UNITS)]))
        check_finite(stack)
        check_units(stack, stack.t > 0)

    # --- what was learnt ----------------------------------------------------------------------

    def _weights_and_floor(self) -> tuple[np.ndarray, float]:
        learner = self._inner()
        if not isinstance(learner, Selection):
            raise AttributeError(f"Standardized({learner!r}) selects no columns: CIRR and OSLOG do")
        state, params = self._learnt(), cast(Any, learner._params())
        return state.w[self._first() :] * (state.scale > 0), params.floor

    def _slopes(self) -> np.ndarray:
        state = self._learnt()
        w = state.w[..., self._first() :]
        return np.asarray(np.divide(w, state.scale, out=np.zeros_like(w), where=state.scale > 0))

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """The weights of the columns, in their original units, before any shrinking.

        With more than two classes, there is a row for each class.
        """
        return self._slopes()

    @property
    @atomic
    def intercept_(self) -> Any:
        """The intercept, in the units of the labels; 0 if no intercept is fitted.

        With more than two classes, there is an intercept for each class.
        """
        state = self._learnt()
        if self._outputs() > 1:
            products = np.sum(self._slopes() * state.centre, axis=1)
            return (state.w[:, 0] - products) * self._first()
        return float(state.w[0] - self._slopes() @ state.centre) if self._first() else 0.0
