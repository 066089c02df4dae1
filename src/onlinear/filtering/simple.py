"""SIMPLE-FIL: a filter that ignores x, as if every row were equally likely to be relevant.

    δ̂ = (share of relevant rows among the N rows whose labels are known) − ½
    τ_t = −√(c ln t / N)
    forward iff δ̂ ≥ τ_t; also if N = 0

The threshold τ_t is negative and approaches zero as N grows: rows that seem irrelevant are
forwarded as long as there are too few labels for the number of rows seen.

Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 3, with c = 4.
"""

import math
from typing import Any

import numpy as np

from onlinear._validation.checks import asked, number
from onlinear.filtering._filter import Filter
from onlinear.filtering._items import Row

__all__ = ["SimpleFilter", "confidence", "theorem_1"]


def confidence(c: float, t: int, n: int) -> float:
    """Return τ = −√(c ln t / n), the least margin to forward in round t; −∞ without labels."""
    return -math.sqrt(c * math.log(t) / n) if n else -math.inf


class SimpleFilter(Filter):
    """Forward every row until it is clear that most rows are irrelevant; ignore the columns.

    Costs O(1) per round.

    Parameters
    ----------
    c : float, default 4.0
        How much to explore, c ≥ 0: a smaller c stops forwarding earlier; the paper by
        Cesa-Bianchi, Conconi & Gentile uses 4.

    Examples
    --------
    >>> import onlinear as ol
    >>> f = ol.SimpleFilter()
    >>> for _ in range(100):
    ...     if f.decide([1.0]):
    ...         f.feedback([1.0], -1)
    >>> f.seen_, f.forwarded_
    (100, 74)
    """

    _counts = (*Filter._counts, "relevant_")

    relevant_ = 0

    def __init__(self, c: float = 4.0) -> None:
        super().__init__(c=c)
        self._c = number(asked("SimpleFilter", c=c), "c", least=0)

    def _margin(self, x: Row, t: int) -> float:
        return self.relevant_ / self.labels_ - 0.5 if self.labels_ else 0.0

    def _threshold(self) -> float:
        return confidence(self._c, self.seen_, self.labels_)

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        self.relevant_ += y > 0

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        return None, {}

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        pass


def theorem_1(delta: float, n: int) -> float:
    """Return a bound on the expected regret of SIMPLE-FIL in n rounds: (32/|δ| + 2) ln n + 4.

    δ is the probability of a relevant row minus ½.
    """
    return (32 / abs(delta) + 2) * math.log(n) + 4
