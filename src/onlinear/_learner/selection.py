"""Which columns a learner of sparse weights uses, under the names that scikit-learn uses."""

from typing import Any

import numpy as np

from onlinear._engine.transaction import Guarded, atomic

__all__ = ["Selection"]


class Selection(Guarded):
    """A learner that drives the weights of columns that do not matter to zero."""

    _names: list[str] | None

    def _weights_and_floor(self) -> tuple[np.ndarray, Any]:
        """Return the weights, and the size from which on a weight counts as not zero."""
        raise NotImplementedError

    @property
    @atomic
    def support_(self) -> np.ndarray:
        """For each column, whether it is selected: whether its |weight| is above ``floor``."""
        weights, floor = self._weights_and_floor()
        return np.asarray(np.abs(weights) > floor)

    @property
    @atomic
    def selected_(self) -> np.ndarray:
        """The names of the columns that are selected, or their indices if they have no names.

        >>> import numpy as np
        >>> import onlinear as ol
        >>> X = np.random.default_rng(0).normal(size=(500, 5))
        >>> model = ol.OSLOG(a=5.0).fit(X, 2 * X[:, 1] - X[:, 4])
        >>> model.selected_, model.support_
        (array([1, 4]), array([False,  True, False, False,  True]))
        """
        chosen = np.flatnonzero(self.support_)
        return chosen if self._names is None else np.array(self._names, dtype=object)[chosen]
