"""The base class of learners that keep a covariance matrix Σ of their weights."""

from typing import Any, ClassVar

import numpy as np

from onlinear._engine.transaction import atomic
from onlinear._learner.base import Learner
from onlinear._validation import states

__all__ = ["SecondOrder"]


class SecondOrder(Learner):
    """A learner that keeps the covariance matrix Σ of its weights: how uncertain they are."""

    _square = 1
    _sums_only: ClassVar[bool] = False  # whether the sums of xxᵀ and yx determine the state

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        states.check_positive("Σ", stack.S)

    @property
    @atomic
    def covariance_(self) -> np.ndarray:
        """A copy of the covariance matrix Σ."""
        return self._learnt().S.copy()  # type: ignore[no-any-return]
