"""The Perceptron, a classifier that serves as a baseline for filters.

    Δ̂ = wᵀx,  w₁ = 0;  relevant iff Δ̂ ≥ 0
    w ← w + yx after a mistake

The label y of a row is 1 if the row is relevant, else −1.

Rosenblatt, 1958; Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 4.1, where the Perceptron sees
every label.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear._engine.transaction import atomic
from onlinear._validation.checks import asked, choice
from onlinear._validation.states import check_finite
from onlinear.filtering._filter import Feedback, Filter
from onlinear.filtering._items import Row

__all__ = ["Perceptron"]

LARGEST = 1e150  # the largest entry: its square is finite


class Perceptron(Filter):
    """The Perceptron: a linear classifier that learns from its mistakes.

    Costs O(d) per round, O(k) for a sparse row of k entries.

    Parameters
    ----------
    feedback : {"full", "forwarded"}, default "full"
        Whether the filter sees the label of every row, as a classifier does, or of forwarded rows
        only.

    Examples
    --------
    >>> import onlinear as ol
    >>> f = ol.Perceptron()
    >>> f.decide([0.6, 0.8])
    True
    >>> f.feedback([0.6, 0.8], -1)
    >>> f.coef_
    array([-0.6, -0.8])
    """

    def __init__(self, *, feedback: Feedback = "full") -> None:
        super().__init__(feedback=feedback)
        given = asked("Perceptron", feedback=feedback)
        self._sees = choice(given, "feedback", ("full", "forwarded"))

    def _begin(self, d: int) -> None:
        self._w = np.zeros(d)

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """A copy of the weights w."""
        return self._w.copy()

    def _margin(self, x: Row, t: int) -> float:
        columns, values = x if isinstance(x, tuple) else (slice(None), x)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            margin = float(self._w[columns] @ values)
        if not math.isfinite(margin):
            raise ValueError(f"Perceptron needs rows whose wᵀx is finite, got wᵀx = {margin}")
        return margin

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        if (self._margin(x, self.seen_) >= 0) != (y > 0):
            columns, values = x if isinstance(x, tuple) else (slice(None), x)
            if np.abs(values).max() > LARGEST:
                raise ValueError(
                    f"Perceptron needs |x_i| ≤ {LARGEST:g}, got {np.abs(values).max()}"
                )
            self._w[columns] += y * values

    def _undo_learning(self, x: Row, y: float, trial: bool) -> Callable[[], bool]:
        columns = x[0] if isinstance(x, tuple) else slice(None)
        before, undo = self._w[columns].copy(), super()._undo_learning(x, y, trial)

        def undo_weights() -> bool:
            self._w[columns] = before
            return undo()

        return undo_weights

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        check_finite((self._w,))
        return None, {"w": self._w.copy()}

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        w = arrays["w"]
        if w.shape != (self.n_features_in_,) or w.dtype != np.float64:
            raise ValueError(f"it has {w.shape} weights of {w.dtype}")
        check_finite((w,))
        self._w = w.copy()
