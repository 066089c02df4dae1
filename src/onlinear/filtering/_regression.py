"""A learner inside a filter: its predictions are the filter's margins, its labels −1 and +1."""

from typing import Any

import numpy as np

from onlinear._engine.transaction import mend
from onlinear._learner.base import Learner
from onlinear._state_files import model_codec
from onlinear.filtering._items import Row, dense

__all__ = ["Regression"]


class Regression:
    """A learner inside a filter, which takes rows that may be sparse."""

    def __init__(self, learner: Learner, d: int) -> None:
        self.learner = learner
        self.d = d

    def margin(self, x: Row) -> float:
        """Return the learner's prediction for a row, which is the filter's margin."""
        return self.learner.predict_one(dense(x, self.d))

    def reaches(self, x: Row, threshold: float) -> bool:
        """Return whether the learner's prediction for a row is at least the threshold."""
        return self.margin(x) >= threshold

    def learn(self, x: Row, y: float) -> None:
        """Learn the label of a row."""
        self.learner.learn_one(dense(x, self.d), y)

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the learner."""
        header, arrays = model_codec.described(self.learner, type(self.learner).__name__)
        return {"form": "learner", **header}, arrays

    @property
    def known(self) -> int:
        """How many labels were learnt."""
        if self.learner._undo is not None:
            mend(self.learner)
        return 0 if self.learner._state is None else self.learner.rounds_

    def restore(self, header: Any, arrays: dict[str, np.ndarray]) -> None:
        """Restore the learner from a state file; refuse one with other parameters or width."""
        learner = model_codec.rebuilt(header, arrays, Learner._classes)
        width = getattr(learner, "n_features_in_", self.d)  # it may have learnt nothing
        if repr(learner) != repr(self.learner) or width != self.d:
            raise ValueError(f"it holds {learner} for a filter that needs {self.learner}")
        self.learner = learner
