"""``Path``: comparators given by the user, one per round, with the rows and labels of a stream."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlinear.losses import SQUARED, Loss

__all__ = ["Path"]


@dataclass(frozen=True, eq=False)
class Path:
    """Comparators u_t given by the user (one per round, or one for all rounds), rows and labels.

    The properties of a path are arrays with one entry per round, or a single entry for all rounds.
    """

    X: np.ndarray
    y: np.ndarray
    u: np.ndarray
    measure: Loss = SQUARED

    @cached_property
    def losses(self) -> np.ndarray:
        """The loss of the comparator in each round, by default (y − uᵀx)²."""
        if self.u.shape[0] == 1:
            activations = self.X @ self.u[0]
        else:
            activations = np.einsum("ij,ij->i", self.X, self.u)
        if self.measure == SQUARED:
            return np.asarray((self.y - activations) ** 2)
        return self.measure(activations, self.y)

    @cached_property
    def loss(self) -> np.ndarray:
        """The sum of the comparator's losses up to and including each round."""
        return np.cumsum(self.losses)

    @property
    def squares(self) -> np.ndarray:
        """The squared norm ‖u_t‖² of each comparator."""
        return np.asarray(np.einsum("ij,ij->i", self.u, self.u))

    def drift(self, norm: float, price: Any = 1.0, power: int = 1) -> np.ndarray:
        """Return Σ price_s·‖u_{s+1} − u_s‖^power up to each round; the price may vary by round."""
        if self.u.shape[0] == 1:
            return np.zeros(1)
        steps = np.diff(self.u, axis=0)
        if norm == 1:
            moves = np.abs(steps, out=steps).sum(axis=1)
        elif norm != 2:
            moves = np.linalg.norm(steps, ord=norm, axis=1)
        else:
            moves = np.einsum("ij,ij->i", steps, steps)
            moves = moves if power == 2 else np.sqrt(moves, out=moves)
        price = np.broadcast_to(price, self.y.shape)[:-1]
        costs = np.zeros(moves.size)
        np.multiply(moves, price, out=costs, where=moves > 0)  # drift 0 costs 0, even at price ∞
        return np.concatenate([[0.0], np.cumsum(costs)])

    def of(self, rows: np.ndarray) -> "Path":
        """Return the comparators, rows and labels of some of the rounds only."""
        u = self.u if len(self.u) == 1 else self.u[rows]
        return Path(self.X[rows], self.y[rows], u, self.measure)

    def described(self, row: int) -> tuple[str, np.ndarray]:
        """Return the name and the numbers of the comparator in a row, for error messages."""
        return "u", self.u[min(row, len(self.u) - 1)]

    def ever(self, outside: np.ndarray) -> np.ndarray:
        """Return for each round whether ``outside`` was true in any round so far."""
        return np.asarray(np.logical_or.accumulate(outside))

    @property
    def moved(self) -> np.ndarray:
        """For each round, whether the comparator u has changed so far."""
        return self.drift(2) > 0
