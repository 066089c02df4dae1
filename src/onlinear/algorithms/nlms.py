"""NLMS: the normalised least mean squares filter.

    ŷ  = xᵀw,  w₀ = 0
    w ← w + η (y − xᵀw) x / (ε + ‖x‖²)

A row of zeros changes nothing, even with ε = 0.

Let n = ε + ‖x‖², and let w' be the weights after the step. For any u, expanding ‖u − w‖² shows

    η(2 − η)/4 · (y − xᵀw)²/n − η/(2 − η) · (y − xᵀu)²/n ≤ ½‖u − w‖² − ½‖u − w'‖²

for every η in (0, 2). The sum of these inequalities over all rounds bounds the normalised loss
Σ (y − xᵀw)²/n and, multiplied by the largest n, the loss itself; at η = 1 the factor of the
comparator's loss is 4.

Bershad, IEEE Trans. ASSP 1986; Bitmead & Anderson 1980.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import (
    Guarantee,
    Path,
    compete,
    competitor,
    enter,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import axpy, dot, scale
from onlinear._updates.gaussian import Weights, weights
from onlinear._validation.checks import number

__all__ = ["NLMS"]


class NLMSParams(NamedTuple):
    """Parameters of a step: the step size η, and the number ε added to ‖x‖²."""

    eta: float
    epsilon: float


def init(params: NLMSParams, d: int) -> Weights:
    """Return the initial state: w = 0."""
    return weights(d)


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w = state
    eta, epsilon = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    norm = epsilon + dot(x, x)
    if norm > 0.0:
        pace = eta * (y - m) / norm
        if not math.isfinite(pace * math.sqrt(norm)):
            return pace, OVERFLOW
        axpy(pace, x, w)
    t[0] += 1
    return m, FINE


LENGTH, LONGEST, UNLEARNT = 3, 4, 5  # in the tally: n, max n, Σy² where n = 0


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to the following bound on the loss L, in which n_t = ε + ‖x_t‖².

    L ≤ 4/(2 − η)² · max n · min over u of ((2 − η)/(2η)·‖u‖² + Σ (y_t − uᵀx_t)²/n_t)
    """
    tally, notes, t, w, S, least = state
    eta, epsilon, search = params
    n = epsilon + dot(x, x)
    if n > 0.0 and search:
        row = work[2]
        scale(1.0 / math.sqrt(n), x, row)
        gain, _, rule = compete((t, w, S), math.inf, row, y / math.sqrt(n), work)
        if rule != FINE:
            return lose(tally, notes, rule, gain)
        least[0] += gain
    if n == 0.0:  # the loss of w, and of every u, is y²
        tally[UNLEARNT] += y * y
    tally[LENGTH] = n
    tally[LONGEST] = max(tally[LONGEST], n)
    factor = 4.0 / ((2.0 - eta) * (2.0 - eta))
    cost = tally[LONGEST] * least[0]
    return enter(tally, notes, cost + tally[UNLEARNT], 0.0, factor * cost + tally[UNLEARNT])


class NLMS(Learner):
    """The normalised least mean squares filter: one cheap step towards each label.

    Costs O(d) per round, O(k) for a sparse row of k entries. NLMS is insensitive to the scale of x
    as a whole, but not to the scale of a single column.

    Parameters
    ----------
    eta : float, default 0.5
        Step size, 0 < eta < 2; with eta = 1 (and epsilon = 0), a step makes the prediction for its
        row equal to the label.
    epsilon : float, default 0.0
        Number added to ‖x‖² in the divisor of a step, epsilon ≥ 0.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.NLMS(eta=1.0)
    >>> model.learn_one([3.0, 4.0], 25.0)
    >>> model.coef_
    array([3., 4.])
    """

    eta: float = 0.5
    epsilon: float = 0.0

    algorithm = Algorithm(init, step)
    _poor_score = True

    def _params(self) -> NLMSParams:
        return NLMSParams(number(self, "eta", above=0, below=2), number(self, "epsilon", least=0))

    def _local(self) -> bool:
        return True

    def _guarantee(self, search: bool = True) -> Guarantee:
        eta, epsilon = self._params()
        b = (2 - eta) / (2 * eta)

        def init(d: int) -> tuple[np.ndarray, ...]:
            size = d if search else 0
            return *competitor(size, b, extra=3), np.zeros(1)

        def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            n = tally[LENGTH]
            shares = path.losses / (n if n.min() > 0 else np.where(n > 0, n, np.inf))
            cost = np.cumsum(shares)
            cost += b * path.squares
            cost *= tally[LONGEST]
            cost *= times
            return np.add(cost, tally[UNLEARNT], out=cost), path.moved

        times = 4 / (2 - eta) ** 2
        factor = f"· {times:.4g} (by expanding ‖u − w‖²)"
        cost = f"({b:g}·‖u‖² + Σ (y − uᵀx)²/n)"
        length = f"n = {epsilon:g} + ‖x‖²" if epsilon else "n = ‖x‖²"
        return Guarantee(
            f"loss ≤ comparator {factor}",
            f"max n · min over u of {cost}, {length}",
            Account("NLMS", init, bound, (eta, epsilon, float(search))),
            f"loss ≤ max n · {cost} {factor}, {length}",
            price,
        )
