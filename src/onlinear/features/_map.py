"""The base class of feature maps: it maps one row or many, and refuses bad rows."""

from collections.abc import Iterator
from math import nan
from typing import Any, ClassVar

import numpy as np

from onlinear._engine.status import FINE, Outcome
from onlinear._engine.tables import Rows
from onlinear._engine.transaction import all_or_nothing, atomic
from onlinear._learner.base import FLOAT
from onlinear._learner.parameters import _same
from onlinear._validation import checks
from onlinear.features._state import MapState
from onlinear.features._steps import NUMBERS, Mapping, part

__all__ = ["FeatureMap"]


class FeatureMap(MapState):
    """A map from a row x to a vector of features φ(x); the map may learn from the rows.

    A subclass declares its parameters as fields, names those that must not change after the first
    row in ``fixed``, and defines its ``step`` and the shapes of the arrays in its state
    (``_shapes``).
    """

    step: ClassVar[Mapping]
    rules: ClassVar[tuple[str, ...]] = ()

    @property
    def _step(self) -> Mapping:
        return self.step

    def _prepare(self) -> tuple[Any, ...]:
        """Return the state and parameters that the step takes; cache them until either changes."""
        for name, value in self._settings.items():
            if not _same(getattr(self, name), value):
                raise ValueError(
                    f"{type(self).__name__} needs the {name} it began with, {value!r}, got "
                    f"{name}={getattr(self, name)!r} (fit starts over)"
                )
        self._call = (self._state, self._numbers())
        return self._call

    def _row(self, x: Any) -> np.ndarray:
        """Return x as a vector; refuse it unless it has as many columns as earlier rows."""
        d = self.n_features_in_
        if x.__class__ is np.ndarray and x.dtype is FLOAT and x.shape == (d,):
            return np.ascontiguousarray(x)
        if checks.sparse(x):
            return checks.sparse_row(x, d)[0]
        return checks.row(x, d, self._names)

    def _look(self, x: np.ndarray, *, learn: bool = False) -> tuple[np.ndarray, float, int]:
        """Return φ(x), the step's value, and FINE or the rule that x breaks.

        If ``learn``, the map also learns from x.
        """
        state, params = self._call or self._prepare()
        phi, step = np.empty(self._width()), self._step
        label = 0.0 if learn else nan
        return phi, *step.one((phi, *state), params, x, label, step.work(phi.size), learn, 0)

    def _map(self, X: np.ndarray | Rows, out: np.ndarray, *, learn: bool) -> tuple[int, int, float]:
        """Write φ of the rows to ``out``; return where the loop ended: row, status and value."""
        state, params = self._call or self._prepare()
        phi = np.empty(out.shape[1])
        row, rule, value = self._step.over((phi, *state), params, X, learn, out)
        return row, rule, value

    def _blocks(self, X: np.ndarray | Rows, *, learn: bool) -> Iterator[np.ndarray]:
        """Map a table in blocks, so that Ctrl-C takes effect quickly; a bad row raises an error."""
        size = max(1, NUMBERS // self._width())
        for start in range(0, len(X), size):
            rows = part(X, start, start + size)
            out = np.empty((len(rows), self._width()))
            row, rule, value = self._map(rows, out, learn=learn)
            if rule != FINE:
                outcome = Outcome(start + row, rule, value)
                raise self._refusal(outcome, rows[row], in_table=True)
            yield out

    def _refusal(self, outcome: Outcome, x: np.ndarray, *, in_table: bool) -> ValueError:
        error = checks.refusal(
            type(self).__name__,
            self.rules,
            outcome,
            x,
            in_table=in_table,
            names=self._names,
            params=self.get_params(),
        )
        return ValueError(f"{error}; the map is unchanged")

    def _same_columns(self, X: Any, names: list[str] | None, owner: str) -> None:
        checks.same_columns(owner, self.n_features_in_, self._names, X, names)

    def _learn(self, X: Any) -> None:
        X, names = checks.any_table(X)
        if self._state is None:
            self._begin(X.shape[1], names)
        else:
            self._same_columns(X, names, type(self).__name__)
        for _ in self._blocks(X, learn=True):
            pass

    @atomic
    def transform(self, X: Any) -> np.ndarray:
        """Return φ of every row with the current map; change nothing."""
        self._begun()
        X, names = checks.any_table(X)
        self._same_columns(X, names, type(self).__name__)
        return np.concatenate(list(self._blocks(X, learn=False)))

    @atomic
    def transform_one(self, x: Any) -> np.ndarray:
        """Return φ of one row, a vector or a sparse 1 × d matrix; change nothing."""
        if self._state is None:
            fresh = type(self)(**self.get_params())
            fresh._begin(checks.width(x), None)
            return fresh.transform_one(x)
        x = self._row(x)
        phi, value, rule = self._look(x)
        if rule != FINE:
            raise self._refusal(Outcome(0, rule, value), x, in_table=False)
        return phi

    @atomic
    def learn_one(self, x: Any) -> None:
        """Learn from one row; the first row fixes the number of columns."""
        with all_or_nothing(self):
            if self._state is None:
                self._begin(checks.width(x), checks.row_names(x))
            x = self._row(x)
            _, value, rule = self._look(x, learn=True)
            if rule != FINE:
                raise self._refusal(Outcome(0, rule, value), x, in_table=False)
