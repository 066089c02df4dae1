"""How a run learns its rows: plainly, or so that a report can tell of it."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from onlinear._model import Learner

__all__ = ["Plain", "Telling"]


class Telling(Protocol):
    """Predicts and learns rows, and remembers as much of them as a report needs."""

    def replay(self, X: np.ndarray, y: np.ndarray, start: int) -> tuple[np.ndarray, list[int]]:
        """Predict and learn rows start, start + 1, …; return predictions and bad rows."""
        ...

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return what a state file has to keep of it."""
        ...


class Plain(NamedTuple):
    """No report."""

    model: Learner

    def replay(self, X: np.ndarray, y: np.ndarray, start: int) -> tuple[np.ndarray, list[int]]:
        """Predict and learn."""
        predictions, _, bad = self.model._run(X, y, learn=True)
        return predictions, bad

    def described(self) -> None:
        """Keep nothing."""
