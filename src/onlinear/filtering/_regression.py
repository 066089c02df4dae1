"""A learner inside a filter: its predictions are the filter's margins, its labels −1 and +1."""

import math
from typing import Any, Self

import numpy as np

from onlinear._engine.status import Outcome
from onlinear._engine.transaction import mend
from onlinear._learner.base import Learner
from onlinear._learner.kernel_base import DualLearner
from onlinear._numerics.linalg import dot, symv
from onlinear._state_files import model_codec
from onlinear._updates.dual import believe
from onlinear.filtering._items import Row, dense
from onlinear.kernels import Kernel

__all__ = ["Regression"]


class Regression:
    """A learner inside a filter, which takes rows that may be sparse.

    If the target drifts, the learner is LASER or KernelLASER with the drift penalty c, which learn
    as if one round had gone by since the last label. So ``elapsed`` rounds, at 1/c each, are
    learnt as one round at ``elapsed``/c.
    """

    form = "learner"  # in state files

    def __init__(self, learner: Learner, d: int, owner: str, c: float = math.inf) -> None:
        self.learner, self.d, self.owner, self.c = learner, d, owner, c

    def margin(self, x: Row, elapsed: int = 0) -> float:
        """Return the learner's prediction for a row, which is the filter's margin."""
        if math.isinf(self.c):
            return self.learner.predict_one(dense(x, self.d))
        m, chi = self.look(x, elapsed)
        return m / (1.0 + chi)

    def look(self, x: Row, elapsed: int = 0) -> tuple[float, float]:
        """Return m = xᵀw and χ = xᵀΣx of a row, or what takes their place with a kernel."""
        row = np.ascontiguousarray(dense(x, self.d))
        if self.learner._state is None:
            self.learner._begin(self.d)
        state = self.learner._state
        drift = elapsed / self.c if state.t[0] else 0.0
        if isinstance(self.learner, DualLearner):
            return self._believed(state, row, drift)
        v = np.empty(self.d)
        symv(state.S, row, v)
        m, chi = dot(state.w, row), dot(row, v) + drift * dot(row, row)
        if not math.isfinite(m * chi):
            raise ValueError(
                f"{self.owner} needs rows whose xᵀw and xᵀΣx are finite, got {m} and {chi}"
            )
        return m, chi

    def _believed(self, state: Any, row: np.ndarray, drift: float) -> tuple[float, float]:
        learner: Any = self.learner
        work = learner._scratch()
        if not isinstance(learner.kernel, Kernel):
            learner._before(state, row, work)
        m, chi, rule, value = believe(tuple(state), drift, row, work)
        if rule:
            raise learner._refusal(Outcome(0, rule, value), row, in_table=False)
        return m, chi

    def reaches(self, x: Row, threshold: float, elapsed: int = 0) -> bool:
        """Return whether the margin of a row is at least the threshold."""
        return self.margin(x, elapsed) >= threshold

    def near(self, x: Row, width: float, slack: float, elapsed: int = 0) -> bool:
        """Return whether xᵀw ≥ −width·√χ − slack."""
        m, chi = self.look(x, elapsed)
        return m + slack >= -width * math.sqrt(chi)

    def growth(self) -> float:
        """Return ln det(A/a), where A is the inverse of Σ, for a learner without drift."""
        learner: Any = self.learner
        if learner._state is None:
            return 0.0
        if isinstance(learner, DualLearner):
            n = int(learner._state.n[0])
            return 2.0 * float(np.sum(np.log(learner._state.L[np.cumsum(np.arange(1, n + 1)) - 1])))
        return -float(np.linalg.slogdet(learner.b * learner._state.S)[1])

    def learn(self, x: Row, y: float, elapsed: int = 0) -> None:
        """Learn the label of a row."""
        if math.isfinite(self.c):
            self.learner.c = self.c / elapsed if elapsed else math.inf
        self.learner.learn_one(dense(x, self.d), y)

    def described(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and arrays that describe the learner."""
        header, arrays = model_codec.described(self.learner, type(self.learner).__name__)
        if math.isfinite(self.c):
            header["params"]["c"] = self.c
        return {"form": self.form, **header}, arrays

    @property
    def known(self) -> int:
        """How many labels were learnt."""
        if self.learner._undo is not None:
            mend(self.learner)
        return 0 if self.learner._state is None else self.learner.rounds_

    def restored(self, header: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Take the learner of a state file, and return the regression.

        Refuse a learner with other parameters or of another width.
        """
        learner = model_codec.rebuilt(header, arrays, Learner._classes)
        width = getattr(learner, "n_features_in_", self.d)  # it may have learnt nothing
        if repr(learner) != repr(self.learner) or width != self.d:
            raise ValueError(f"it holds {learner} for a filter that needs {self.learner}")
        self.learner = learner
        return self
