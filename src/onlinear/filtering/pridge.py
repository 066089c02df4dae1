"""P-RIDGE-FIL: forward rows that ridge regression calls relevant, and others at random.

    Δ̂ = wᵀx,  w₁ = 0,  A₁ = aI
    forward if Δ̂ ≥ 0, else with probability p; if the row is forwarded
    A ← A + xxᵀ
    w ← w + (y − Δ̂) A⁻¹x, then projected on ‖w‖ ≤ 1 in the metric of A

The weights are those of :class:`onlinear.ARCOR` without resets, with r = a and a ball of radius 1,
learnt from the forwarded rows. Figure 2 of Cesa-Bianchi, Conconi & Gentile differs in two ways: it
leaves out aI in A, and in A⁻¹x it uses A without xxᵀ. Each of the two makes their Lemma 2 false.

Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 4.2, Theorem 3.
"""

import math
from typing import Any

import numpy as np

from onlinear._validation.checks import asked, fits, number
from onlinear.algorithms import ARCOR
from onlinear.filtering._exploring import Exploring, Seed
from onlinear.filtering._items import Row
from onlinear.filtering._regression import Regression

__all__ = ["PRidgeFilter", "theorem_3"]


class PRidgeFilter(Exploring):
    """Forward rows that ridge regression calls relevant, and a random sample of the rest.

    Costs O(d²) per round for d features, and more when w has to be projected. The regret bound
    (Theorem 3) needs rows with ‖x‖ = 1.

    Parameters
    ----------
    a : float, default 1.0
        Precision of the prior, a > 0.
    p : float or None, default None
        Probability of forwarding a row that seems irrelevant, 0 ≤ p ≤ 1. None uses the
        probability of Theorem 3, ½n^{−½}(1 + n^{−½}), for n = ``horizon`` rounds.
    horizon : int or None, default None
        The number of rounds, if it is known in advance; otherwise round t uses n = t.
    seed : int or callable, default 0
        Seed of the random numbers: a whole number, or a function of t = 1, 2, … that returns a
        number in [0, 1). A row that seems irrelevant is forwarded if its random number is below p.

    Examples
    --------
    >>> import onlinear as ol
    >>> f = ol.PRidgeFilter(p=0.0)
    >>> f.decide([0.6, 0.8])
    True
    >>> f.feedback([0.6, 0.8], -1)
    >>> f.decide([0.6, 0.8]), f.margin([0.6, 0.8])
    (False, -0.5)
    """

    def __init__(
        self,
        a: float = 1.0,
        p: float | None = None,
        *,
        horizon: int | None = None,
        seed: Seed = 0,
    ) -> None:
        super().__init__(a=a, p=p, horizon=horizon, seed=seed)
        self._a = number(asked("PRidgeFilter", a=a), "a", above=0)

    def _begin(self, d: int) -> None:
        fits("PRidgeFilter", d, 3, "RidgeFilter, whose dual form takes sparse rows, or Perceptron")
        self._model = Regression(ARCOR(r=self._a, radius=1.0, q=math.inf), d)

    def _margin(self, x: Row) -> float:
        return self._model.margin(x)

    def probability(self) -> float:
        """Return the probability p of forwarding a row that seems irrelevant."""
        if self._p is not None:
            return self._p
        root = 1 / math.sqrt(self._rounds)
        return root * (1 + root) / 2

    def _known(self) -> int:
        return self._model.known

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        self._model.learn(x, y)

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        return self._model.described()

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        self._begin(self.n_features_in_)
        if "features" in inner:
            self._model.restore(inner, arrays)


def theorem_3(gamma: float, n: int, d: int, a: float = 1.0) -> float:
    """Return Theorem 3's bound on the expected regret of P-RIDGE-FIL in n rounds of d features.

    The bound is 2a√n/γ + 8√n/γ·d ln(1 + n/(ad)) + √n/2 + ½, where γ is the least |uᵀx| of a row x
    and the comparator u. It holds for the default p, if x and u have length 1.
    """
    root = math.sqrt(n)
    return 2 * a * root / gamma + 8 * root / gamma * d * math.log1p(n / (a * d)) + root / 2 + 0.5
