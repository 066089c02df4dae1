"""The state of a learner between rounds: checked parameters, and one flat array of numbers."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np

from onlinear._engine.record import joined, views
from onlinear._engine.step import Step
from onlinear._engine.transaction import alone, atomic, put_back, renew
from onlinear._learner.label_rules import LabelRules
from onlinear._learner.rounds import Columns
from onlinear._learner.sklearn_api import Estimator
from onlinear._numerics.jit import PLAIN
from onlinear._updates.rescaling import Follows
from onlinear._validation import checks, states
from onlinear.losses import SQUARED, Loss

__all__ = ["Algorithm", "LearnerState", "full_name"]

LEARNT = (  # the attributes of a learner that has started to learn
    "_begun_with",
    "_call",
    "_direct",
    "_found",
    "_made_with",
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
    """An algorithm as in a paper: ``init`` returns its first state, ``step`` runs one round.

    ``rules`` has the conditions that a row must meet, as texts for error messages.
    """

    init: Callable[..., tuple[np.ndarray, ...]]
    step: Step
    rules: tuple[str, ...] = ()
    follows: Follows | None = None  # how to convert its state when columns are rescaled


def full_name(cls: type) -> str:
    """Return the name of a class for state files, with its module if that is not in onlinear."""
    own = cls.__module__.startswith("onlinear.")
    return cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"


class LearnerState(LabelRules, Estimator):
    """The parameters and the state of a learner; :class:`onlinear.Learner` adds the rounds."""

    on_bad: Literal["raise", "skip"] = dataclasses.field(default="raise", kw_only=True)

    algorithm: ClassVar[Algorithm]
    _one: ClassVar[Callable[..., tuple[float, int]]]
    _classes: ClassVar[dict[str, type[Any]]] = {}
    _square: ClassVar[int] = 0  # number of d × d matrices in the state and scratch
    _of_state: ClassVar[tuple[str, ...]] = ()  # parameters that the arrays of the state depend on

    # values before the first row; not annotated, since annotated fields are parameters
    _record = cast("np.ndarray | None", None)  # the state, flat
    _state = cast("Any", None)  # the same, as views by name
    _names = cast("list[str] | None", None)
    n_skipped_ = 0
    _made_with = cast("dict[str, Any]", None)  # what _made_for() returned when the learner began
    _call = cast("tuple[Any, ...] | None", None)  # the arguments of the compiled step
    _direct = cast("tuple[Any, ...] | None", None)  # what a call without the lock needs

    def __init_subclass__(cls) -> None:
        """Register the class by name for :func:`load`; a later class of this name replaces it."""
        super().__init_subclass__()
        if hasattr(cls, "algorithm"):
            algorithm = cls.algorithm
            if isinstance(algorithm, Algorithm) and not isinstance(algorithm.step, Step):
                raise TypeError(
                    f"{cls.__name__} needs an algorithm whose step is decorated with "
                    f"onlinear.extend.Step, got {algorithm.step!r}"
                )
            LearnerState._classes[full_name(cls)] = cls

    def _params(self) -> tuple[Any, ...]:
        """Return the checked parameters, in the form that the learner's step takes."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a method _params(self) that returns the numbers its step "
            "takes, () if there are none: see docs/extend.md"
        )

    def _to_plain(self) -> dict[str, Any]:
        """Return the parameters in a form that a state file can hold."""
        return self.get_params(deep=False)

    def _plain_learnt(self) -> dict[str, Any]:
        """Return what was learnt besides the state's numbers, in a form for a state file."""
        return {}

    def _restore_learnt(self, learnt: dict[str, Any]) -> None:
        """Restore what :meth:`_plain_learnt` returned."""

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters, given the result of :meth:`_to_plain`."""
        return params

    def _numbers(self) -> tuple[Any, ...]:
        checks.choice(self, "on_bad", ("raise", "skip"))
        numbers = tuple(self._params())
        if self._state is not None:
            self._check_made_for()
        return numbers

    # --- state --------------------------------------------------------------------------------

    def _made_for(self) -> dict[str, Any]:
        """Return the parameters that the arrays of the state depend on.

        They cannot be changed as long as the learner has a state.
        """
        return {name: getattr(self, name) for name in self._of_state}

    def _check_made_for(self) -> None:
        """Refuse parameters that do not fit the state."""
        began, now = self._made_with, self._made_for()
        if now == began:
            return
        changed = [name for name in began if name not in now or now[name] != began[name]]
        before, after = (
            " and ".join(f"{name}={each[name]!r:.60}" for name in changed if name in each)
            for each in (began, now)
        )
        raise ValueError(
            f"{type(self).__name__} needs the {' and '.join(changed)} it began with, {before}, got "
            f"{after} (fit starts over)"
        )

    def _initial(self, d: int, record: np.ndarray | None) -> Any:
        """Return the initial state for d columns.

        If the size of the state can vary, the state gets the size of ``record``.
        """
        return self.algorithm.init(self._params(), d)

    @property
    def _step(self) -> Step:
        return self.algorithm.step

    @property
    def _loss(self) -> Loss:
        """The loss by which the learner's predictions are measured."""
        return SQUARED

    def _matrices(self) -> int:
        """Return how many d × d matrices the state and the step's scratch memory hold."""
        return self._square

    def _scratch(self) -> np.ndarray:
        """Return scratch memory for the step, as large as the step needs for the present state."""
        return self._step.work(self.n_features_in_)

    def _expect(self, rows: int) -> None:
        """Refuse more rows than a growing state can hold, before any of them is learnt."""

    def _make_room(self) -> None:
        """Enlarge the arrays of a state that grows with the rows learnt."""

    def _begin(self, d: int, record: np.ndarray | None = None, *, own: bool = False) -> None:
        """Start with the initial state for d columns, or with the state in ``record``, if given.

        Unless ``own`` is true, ``record`` is copied.
        """
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
        self._made_with = self._made_for()
        self._work = self._scratch()
        self._prepare_again()

    def _has_begun(self) -> bool:
        return self._state is not None

    def _columns(self) -> Columns | None:
        return None if self._state is None else (self.n_features_in_, self._names)

    def _start(self, d: int, names: list[str] | None) -> None:
        self._begin(d)
        self._name_columns(names)

    @property
    def _skips(self) -> int:
        return self.n_skipped_

    @_skips.setter
    def _skips(self, count: int) -> None:
        self.n_skipped_ = count

    def _settle(self) -> None:
        """Restore invariants, such as weights that sum to one, after columns were added."""

    def _forget(self) -> None:
        """Forget everything learnt."""
        for name in LEARNT:
            self.__dict__.pop(name, None)
        renew(self)

    def _prepare(self) -> tuple[Any, ...]:
        """Return the arguments of the compiled step; they are cached until a parameter changes.

        The compiled step is stored on the class and not in the learner, so that neither a copy of
        the learner nor the learner's size in memory includes it; unless it is not the step of the
        class, but one that depends on the parameters.
        """
        step = self._step
        one = step.one
        if step is self.algorithm.step:
            type(self)._one = staticmethod(one)
            self.__dict__.pop("_one", None)
        else:
            self.__dict__["_one"] = one
        call = (tuple(self._state), self._numbers(), self._work)
        self._call = call
        if not PLAIN:  # other threads could interrupt a round in plain Python
            self._direct = (one, self._shape, *call, self._busy)
        return call

    def _prepare_again(self) -> None:
        """Clear the cached arguments of the step, because the state or a parameter has changed.

        The caller must hold the learner's lock.
        """
        for name in ("_call", "_direct"):
            self.__dict__.pop(name, None)
        renew(self)

    def _set_parameter(self, name: str, value: Any) -> None:
        if self._record is None:
            super()._set_parameter(name, value)
            return
        nested = self._lock._is_owned()
        with self._lock, alone(self, nested):
            super()._set_parameter(name, value)
            self._prepare_again()

    # --- undo, copies, files ------------------------------------------------------------------

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present parameters and state."""
        attributes = self.__dict__.copy()
        record = None if self._record is None else self._record.copy()

        def restore() -> None:
            put_back(self, attributes)
            if self._record is not None:
                self._record[:] = record
            self._prepare_again()

        return restore

    @atomic
    def __getstate__(self) -> dict[str, Any]:
        """Return parameters and state, for pickle and deepcopy."""
        kept: dict[str, Any] = {"params": self.get_params(deep=False), "skipped": self.n_skipped_}
        if learnt := self._plain_learnt():
            kept["learnt"] = learnt
        if self._record is not None:
            kept["state"] = (self.n_features_in_, self._record.copy(), self._names)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore parameters and state."""
        for name, value in kept["params"].items():
            setattr(self, name, value)
        if kept["skipped"]:
            self.n_skipped_ = kept["skipped"]
        self._restore_learnt(kept.get("learnt", {}))
        if "state" in kept:
            d, record, names = kept["state"]
            self._begin(d, record)
            self._name_columns(names)

    def _learnt(self) -> Any:
        if self._state is None:
            raise checks.not_fitted(type(self).__name__)
        return self._state

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """A copy of the weights w."""
        return self._learnt().w.copy()  # type: ignore[no-any-return]

    @property
    @atomic
    def rounds_(self) -> int:
        """How many rows were learnt."""
        return int(self._learnt().t[0])

    def _check_state(self) -> None:
        """Refuse a state that no sequence of rounds can produce."""
        assert self._record is not None
        self._check_states(states.stacked(self._record[None], self._state))

    def _check_states(self, stack: Any) -> None:
        """Refuse states, stacked along the first axis of each array, that no rounds can produce."""
        states.check_finite(stack)
        states.check_counts("rounds were learnt", stack.t[:, 0])

    def _name_columns(self, names: list[str] | None) -> None:
        self._names = names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
