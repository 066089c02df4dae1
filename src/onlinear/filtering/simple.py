"""SIMPLE-FIL: every row is as likely to be relevant as any other, and nothing else is known.

    δ̂ = share of relevant rows among the N forwarded − ½
    τ_t = −√(c ln t / N)
    forward iff δ̂ ≥ τ_t; also if N = 0

The threshold is below zero, and comes up to it as N grows: what seems irrelevant is still forwarded
as long as too little is known for the number of rows gone by.

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
    """Return τ = −√(c ln t / n), the margin from which on to forward; −∞ if nothing is known."""
    return -math.sqrt(c * math.log(t) / n) if n else -math.inf


class SimpleFilter(Filter):
    """Forward every row, until it is plain that most are irrelevant.

    Costs O(1) per round; looks at no column.

    Parameters
    ----------
    c : float, default 4.0
        How much is forwarded to be sure, c ≥ 0; the paper's is 4.

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

    def _margin(self, x: Row) -> float:
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
    """Return what the expected regret of SIMPLE-FIL in n rounds is at most: (32/|δ| + 2) ln n + 4.

    δ is the probability of a relevant row less a half.
    """
    return (32 / abs(delta) + 2) * math.log(n) + 4
