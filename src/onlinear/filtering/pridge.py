"""P-RIDGE-FIL: forward what ridge regression takes for relevant, and of the rest some at random.

    Δ̂ = wᵀx,  w₁ = 0,  A₁ = aI
    forward if Δ̂ ≥ 0, else with probability p; of what is forwarded
    A ← A + xxᵀ
    w ← w + (y − Δ̂) A⁻¹x, then projected on ‖w‖ ≤ 1 in the metric of A

It is :class:`onlinear.ARCOR` without resets, with r = a and a ball of radius 1, on the labels seen.
Figure 2 of the paper drops aI from A and takes the gain from before the row: Lemma 2 fails for
both.

Cesa-Bianchi, Conconi & Gentile, NIPS 2003, section 4.2, Theorem 3.
"""

import math
from typing import Any

import numpy as np

from onlinear._checks import asked, number, whole
from onlinear.algorithms import ARCOR
from onlinear.filtering import _coin
from onlinear.filtering._coin import Seed
from onlinear.filtering._filter import Filter, Look, Row
from onlinear.filtering._regression import Regression

__all__ = ["PRidgeFilter", "theorem_3"]


class PRidgeFilter(Filter):
    """Forward what ridge regression takes for relevant, and of the rest some at random.

    Costs O(d²) a round, and more when w has to be projected. For rows of length 1.

    Parameters
    ----------
    a : float, default 1.0
        Precision of the prior, a > 0.
    p : float or None, default None
        Probability of forwarding what seems irrelevant, 0 ≤ p ≤ 1. None takes the theorem's,
        ½n^{−½}(1 + n^{−½}), for n = ``horizon`` rounds.
    horizon : int or None, default None
        How many rounds there will be, if that is known; otherwise each round t takes n = t.
    seed : int or callable, default 0
        Where chance comes from: a whole number, or a function of t = 1, 2, … into [0, 1), such a
        row being forwarded if it gives less than p.

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
        given = asked("PRidgeFilter", **self._params)
        self._a = number(given, "a", above=0)
        self._p = None if p is None else number(given, "p", least=0, most=1)
        self._horizon = None if horizon is None else whole(given, "horizon", least=1)
        self._seed = _coin.checked("PRidgeFilter", seed)

    def _begin(self, d: int) -> None:
        self._model = Regression(ARCOR(r=self._a, radius=1.0, q=math.inf), d)

    def _margin(self, x: Row) -> float:
        return self._model.margin(x)

    def probability(self) -> float:
        """Return p, the probability of forwarding the present row if it seems irrelevant."""
        if self._p is not None:
            return self._p
        root = 1 / math.sqrt(self._horizon or max(self.seen_, 1))
        return root * (1 + root) / 2

    def _look(self, x: Row) -> Look:
        if self._relevant(x):
            return Look(True)
        trial = _coin.toss(self._seed, self.seen_) < self.probability()
        return Look(trial, trial)

    def _learn(self, x: Row, y: float, trial: bool) -> None:
        self._model.learn(x, y)

    def _plain_params(self) -> dict[str, Any]:
        return {**self._params, "seed": _coin.plain(self._seed)}

    def _inner_described(self) -> tuple[Any, dict[str, np.ndarray]]:
        return self._model.described()

    def _restore(self, inner: Any, arrays: dict[str, np.ndarray]) -> None:
        self._model = Regression.restored(inner, arrays, self.n_features_in_, self._a)


def theorem_3(gamma: float, n: int, d: int, a: float = 1.0) -> float:
    """Return what the expected regret of P-RIDGE-FIL in n rounds is at most, γ = min |uᵀx|.

    2a√n/γ + 8√n/γ·d ln(1 + n/(ad)) + √n/2 + ½, for rows and a u of length 1, with the theorem's p.
    """
    root = math.sqrt(n)
    return 2 * a * root / gamma + 8 * root / gamma * d * math.log1p(n / (a * d)) + root / 2 + 0.5
