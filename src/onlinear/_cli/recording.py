"""The two ways a run learns its rows: with or without recording them for a report."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from onlinear._learner.base import Learner
from onlinear._learner.replay_result import Replay

__all__ = ["Plain", "Telling"]


class Telling(Protocol):
    """Predicts and learns rows, and records what a report needs.

    :class:`onlinear._evaluation.report.resumable_recorder.Story` is one.
    """

    def replay(self, X: np.ndarray, y: np.ndarray, start: int) -> Replay:
        """Predict and learn the rows ``start``, ``start + 1``, … of the stream."""
        ...

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the record for a state file, or None."""
        ...


class Plain(NamedTuple):
    """Predicts and learns rows, and records nothing."""

    model: Learner
    names: list[str]

    def replay(self, X: np.ndarray, y: np.ndarray, start: int) -> Replay:
        """Predict and learn."""
        predictions, bad = self.model._run_table(X, self.names, y, learn=True, first=start)
        return Replay(predictions, y, np.array(bad, dtype=np.intp))

    def described(self) -> None:
        """Return None: there is no record."""
