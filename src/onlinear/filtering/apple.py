"""STAP (apple tasting): any classifier as a filter, which also forwards rows at random.

    forward if the base predicts +1, else with probability min(1, √((1 + m)/T))

A filter forwards the rows that it takes to be relevant, and sees the labels of forwarded rows
only. T is the number of rounds. m counts the relevant rows that the classifier (the base) had
called irrelevant and that were forwarded at random. The base learns only from forwarded rows.
Decisions depend on whether the base calls a row relevant, not on the size of its margin.

Helmbold, Littlestone & Long, Information and Computation 2000 (apple tasting), as in Cesa-Bianchi,
Conconi & Gentile, NIPS 2003, section 4.1.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinear.filtering._exploring import Exploring, Seed
from onlinear.filtering._filter import Filter
from onlinear.filtering._items import Row
from onlinear.filtering.ridge import RidgeFilter

__all__ = ["AppleTasting"]

MOST_NESTED = 4  # how many filters deep a base may be nested in a state file


class AppleTasting(Exploring):
    """Any classifier as a filter: forward rows it calls relevant, and a random sample of the rest.

    Costs as much as the classifier.

    Parameters
    ----------
    base : Filter or None, default None
        The classifier: a filter that has seen nothing, whose threshold says which rows are
        relevant. The given filter is copied, and the copy learns. None means ``RidgeFilter(c=0)``,
        which would be RIDGE-FULL (see :class:`onlinear.RidgeFilter`) if it saw every label.
    p : float or None, default None
        Probability of forwarding a row that seems irrelevant, 0 ≤ p ≤ 1; None uses
        min(1, √((1 + m)/T)), where m counts the relevant rows that were forwarded at random so far.
    horizon : int or None, default None
        The number of rounds T, if it is known in advance; otherwise round t uses T = t.
    seed : int or callable, default 0
        Seed of the random numbers: a whole number, or a function of t = 1, 2, … that returns a
        number in [0, 1). A row that seems irrelevant is forwarded if the random number of its round
        is below the probability of forwarding.

    Examples
    --------
    >>> import onlinear as ol
    >>> f = ol.AppleTasting(ol.Perceptron(), horizon=100)
    >>> f.decide([0.6, 0.8])
    True
    >>> f.feedback([0.6, 0.8], 1)
    >>> f.margin([0.6, 0.8])
    0.0
    """

    _counts = (*Filter._counts, "misses_")

    misses_ = 0

    def __init__(
        self,
        base: Filter | None = None,
        p: float | None = None,
        *,
        horizon: int | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(base=copy.deepcopy(base), p=p, horizon=horizon, seed=seed)
        if base is None:
            base = RidgeFilter(c=0.0)
        if not isinstance(base, Filter) or base.seen_:
            raise ValueError(
                "AppleTasting needs a base that is a filter that has seen nothing, such as "
                f"Perceptron(), got base={base!r}"
            )
        self._base = copy.deepcopy(base)

    def _begin(self, d: int) -> None:
        self._base = copy.deepcopy(self._base)  # so that it can be undone if the first row fails
        self._base._start(d, None)

    def _margin(self, x: Row, t: int) -> float:
        return self._base._margin(x, t)

    def probability(self) -> float:
        """Return the probability of forwarding a row that seems irrelevant.

        The probability is p if given, or else min(1, √((1 + m)/T)). T is the number of rounds, and
        m counts the relevant rows that were forwarded at random so far.
        """
        if self._p is not None:
            return self._p
        return min(1.0, math.sqrt((1 + self.misses_) / self._rounds))

    def _relevant(self, x: Row) -> bool:
        self._base.seen_ = self.seen_
        return self._base._relevant(x)

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        self._base._answer(x, y, trial)
        self.misses_ += trial and y > 0

    def _undo_learning(self, x: Row, y: float, trial: bool) -> Callable[[], bool]:
        base, misses, labels = self._base, self.misses_, self._base.labels_
        undo = base._undo_learning(x, y, trial)

        def undo_both() -> bool:
            learnt = undo()
            base.labels_ = labels + learnt
            self.misses_ = misses + (learnt and trial and y > 0)
            return learnt

        return undo_both

    def _plain_params(self) -> dict[str, Any]:
        base = self._params["base"]
        described = None if base is None else base._described()[0]
        return {**super()._plain_params(), "base": described}

    @classmethod
    def _from_plain(cls, params: dict[str, Any]) -> dict[str, Any]:
        base, depth = params["base"], 0
        inside = base
        while inside is not None:  # each level has two copies of the one inside it
            inside, depth = inside["params"].get("base"), depth + 1
            if depth > MOST_NESTED:
                raise ValueError(f"its base is nested more than {MOST_NESTED} levels deep")
        return {**params, "base": None if base is None else Filter._rebuilt(base, {})}

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        self._base.seen_ = self.seen_  # an interrupted decision may have left another number
        return self._base._described()

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        base = Filter._rebuilt(inner, arrays)
        if repr(base) != repr(self._base) or base.n_features_in_ != self.n_features_in_:
            raise ValueError(f"it holds {base} for a filter that needs {self._base}")
        self._base = base
