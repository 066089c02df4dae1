"""Compiled steps of feature maps: on one row, on many rows, and followed by a learner's step.

A feature map is implemented as a step, a compiled function of one row
(:mod:`onlinear._engine.step`). The first array of its state holds the features φ of a row, which
the step computes. If the row has a label (of any value), the step also learns from the row; without
a label, it only computes φ.
"""

from typing import Any

import numpy as np

from onlinear._engine.status import BAD_INPUT, FINE
from onlinear._engine.step import FIRST_BLOCK, Prepared, Step
from onlinear._engine.tables import Rows, to_read

__all__ = ["Behind", "Mapping", "PreparedMapping", "of_map", "part"]

NUMBERS = 2**17  # numbers in a block of mapped rows: a megabyte


def keep_features(out, i, value, state):
    """Copy the features φ of a row from the state of the map to row i of the output."""
    phi = state[0]
    for j in range(phi.size):
        out[i, j] = phi[j]


def keep_features_at_once(out, i, value, state):
    """Store φ of a row in the output, like :func:`keep_features` but in plain Python."""
    out[i] = state[0]


class Mapping(Step):
    """The step of a feature map, which returns 1 if learning the row changes the map, else 0."""

    _keep = staticmethod(keep_features)
    _predicts = False  # the step writes φ to its state even without a label

    def over(self, state: Any, params: Any, X: np.ndarray | Rows, learn: bool, out: Any) -> Any:
        """Write φ of the rows to ``out``; return where the loop ended: the row, rule and value."""
        rounds, table = self._over(X, local=False)
        label = to_read(np.zeros(len(X) if learn else 0))
        return rounds(state, params, table, label, self.work(out.shape[1]), learn, out, 0, len(X))


class PreparedMapping(Prepared, Mapping):
    """The step of a feature map that calls a Python function before every row."""

    _keep = staticmethod(keep_features_at_once)


class Behind(Step):
    """A feature map followed by a learner's step: a block of rows is mapped, then learnt.

    A row that the learner refuses must not change the map: the map is restored to what it was at
    the start of the block, and the rows before the refused one are mapped again. To limit such
    repeated work, blocks are short for a while after a refused row.
    """

    def __init__(self, features: Any, step: Step) -> None:
        super().__init__(step.function, step.scratch)
        self.features = features
        self.step = step
        most = max(1, NUMBERS // features._width())
        self.phi = np.empty((most, features._width()))
        self._table = to_read(self.phi)
        self.block = min(FIRST_BLOCK, most)

    def _over(self, X: np.ndarray | Rows, local: bool, in_bulk: bool = False) -> tuple[Any, Any]:
        return self.rounds, X

    def rounds(self, state, params, X, y, work, labelled, out, start, stop):
        """Run rounds start..stop of a table, like :func:`onlinear._engine.loops.chunk`."""
        while start < stop:
            end = min(stop, start + self.block)
            if labelled:
                unknown = np.flatnonzero(~np.isfinite(y[start:end]))  # the learner refuses it: stop
                end = start + int(unknown[0]) + 1 if unknown.size else end
            mark = self.features._mark()
            count, rule, value = self._mapped(X, start, end, labelled)
            done, broken, offender = self.step.chunk(
                state, params, self._table, y[start:end], work, labelled, out[start:end], 0, count
            )
            if broken != FINE:
                if self.features._mark() != mark:
                    self.features._back_to(mark)
                    self._mapped(X, start, start + done, labelled)
                if done + 1 < count:
                    self.block = min(FIRST_BLOCK, len(self.phi))
                return start + done, broken, offender
            if rule != FINE:
                return start + count, of_map(rule), value
            start = end
            self.block = min(2 * self.block, len(self.phi))
        return stop, FINE, 0.0

    def _mapped(self, X, start, end, learn):
        return self.features._map(part(X, start, end), self.phi, learn=learn)


def of_map(rule: int) -> int:
    """Return the number of a map's rule, made negative to tell it from a learner's own rules."""
    return rule if rule == BAD_INPUT else -rule


def part(X: np.ndarray | Rows, start: int, end: int) -> np.ndarray | Rows:
    """Return the rows from ``start`` to before ``end`` of a table."""
    if isinstance(X, np.ndarray):
        return X[start:end]
    indptr = X.indptr[start : end + 1]
    return Rows(X.data, X.indices, indptr, (indptr.size - 1, X.shape[1]))
