"""The state of a feature map: initialize, undo, copy, save and load it."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np

from onlinear._engine.transaction import atomic, put_back
from onlinear._learner.base import full_name
from onlinear._learner.sklearn_api import Transformer
from onlinear._state_files import model_codec
from onlinear._validation import checks
from onlinear._validation.states import check_finite

__all__ = ["MapState"]

BEGUN = ("_call", "_names", "_settings", "_state", "feature_names_in_", "n_features_in_")


class MapState(Transformer):
    """The state of a feature map: arrays allocated at the first row, to which rows only add data.

    Learning a row can therefore be undone by dropping the data that it added, and no copy of the
    state is needed beforehand.
    """

    fixed: ClassVar[tuple[str, ...]]  # parameters that cannot change after the first row
    _classes: ClassVar[dict[str, type[Any]]] = {}

    # values before the first row; not annotated, since annotated fields are parameters
    _state = cast("Any", None)
    _names = cast("list[str] | None", None)
    _call = cast("tuple[Any, ...] | None", None)  # the arguments of the step

    def __init_subclass__(cls) -> None:
        """Register the map by name for state files; a later class of this name replaces it."""
        super().__init_subclass__()
        if hasattr(cls, "step"):
            MapState._classes[full_name(cls)] = cls

    def _numbers(self) -> tuple[Any, ...]:
        """Return the checked parameters of the map in the form that its step takes."""
        raise NotImplementedError

    def _shapes(self, d: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the state's arrays for rows of width d."""
        raise NotImplementedError

    def _initial(self, d: int) -> tuple[np.ndarray, ...]:
        """Return the initial arrays of the state for rows of width d."""
        return tuple(np.zeros(shape) for shape in self._shapes(d))

    def _check_state(self) -> None:
        """Refuse a state that no sequence of rows can produce."""
        check_finite(self._state)

    def _mark(self) -> int:
        """Return a mark for :meth:`_back_to`: how much data the rows have added so far."""
        return 0

    def _back_to(self, mark: int) -> None:
        """Drop the data that rows have added since :meth:`_mark` returned ``mark``."""

    # --- beginning ----------------------------------------------------------------------------

    def _begin(self, d: int, names: list[str] | None) -> None:
        """Initialize the state for rows of width d."""
        self._numbers()
        what = f"{type(self).__name__} keeps its width times {d} columns"
        checks.within_half(what, self._size(d), "use a smaller width, or fewer columns")
        self._take(d, names, self._initial(d))

    def _take(self, d: int, names: list[str] | None, state: tuple[np.ndarray, ...]) -> None:
        self._state = state
        self._settings = {name: getattr(self, name) for name in self.fixed}
        self._call = None
        self._names = names
        self.n_features_in_ = d
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _size(self, d: int) -> int:
        """Return how many numbers the state has for rows of width d."""
        return sum(math.prod(shape) for shape in self._shapes(d))

    def _begun(self) -> Any:
        """Return the state, or raise an error if the map has not seen a row yet."""
        if self._state is None:
            raise checks.not_fitted(type(self).__name__)
        return self._state

    def _forget(self) -> None:
        for name in BEGUN:
            self.__dict__.pop(name, None)

    def _snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present parameters and state."""
        attributes = self.__dict__.copy()
        mark = 0 if self._state is None else self._mark()

        def restore() -> None:
            put_back(self, attributes)
            if self._state is not None:
                self._back_to(mark)

        return restore

    # --- copies and files ---------------------------------------------------------------------

    @atomic
    def __getstate__(self) -> dict[str, Any]:
        """Return parameters and state, for pickle and copy."""
        kept = {name: value for name, value in self.__dict__.items() if name != "_call"}
        if self._state is not None:
            kept["_state"] = tuple(np.array(array) for array in self._state)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore parameters and state in new arrays, since the given arrays may be read-only."""
        self.__dict__.update(kept)
        if self._state is not None:
            self._state = tuple(np.array(array) for array in self._state)

    @property
    def _record(self) -> np.ndarray:
        """A flat copy of the state."""
        return np.concatenate([array.ravel() for array in self._state])

    def _restore(self, d: int, names: list[str] | None, record: np.ndarray) -> None:
        """Restore the state from a file; check the size of the state before allocating memory."""
        model_codec.check_contents(d, record, names, 0)
        size = self._size(d)
        if record.shape != (size,):
            raise ValueError(
                f"the state of {self} at {d} columns is {size} numbers, got {record.shape}"
            )
        shapes = self._shapes(d)
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        parts = np.split(record, ends[:-1])
        self._take(d, names, tuple(p.reshape(s) for p, s in zip(parts, shapes, strict=True)))
        self._check_state()

    def _to_plain(self) -> dict[str, Any]:
        """Return the parameters as plain values for a state file."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.get_params().items()
        }

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that plain values of a state file describe."""
        return params
