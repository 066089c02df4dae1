"""LogisticLASER: online logistic regression of second order, against a drifting target.

    Σ  = Σ_{t−1} + I/(2c)  (Σ = I/(2b) in the first round)        m = xᵀw,  χ = xᵀΣx,  w₀ = 0
    a + χ·tanh(a/2) = m                                          the activation; ŷ = p = σ(a)
    s  = p(1 − p),   κ = tanh(C/2)/(C/2)                         C = ``reach``; κ = 1 for C = 0
    τ  = (p − y + κs(m − a)) / (1 + κsχ)                         y in [0, 1]
    w ← w − τΣx
    Σ_t = Σ − κs·Σx xᵀΣ / (1 + κsχ)

The prediction is the probability p = 1/(1 + e^−a). An update is that of LASER with the label
a − (p − y)/(κs) and the noise variance 1/(κs). With c = ∞, there is no drift, and the learner is
AIOLI with κ in place of 1/(1 + C), which is smaller; with c < ∞, it is a logistic regression whose
weights may drift. The activation a is m shrunk towards 0, the more so the less is known about the
weights in the direction of x.

Jézéquel, Gaillard & Rudi, COLT 2020 (AIOLI); Moroshko & Crammer, AISTATS 2013 (the drift).
"""

import math
from typing import NamedTuple

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.probability_classifier import ProbabilityClassifier
from onlinear._numerics.linalg import axpy, dot, shift_and_round
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    drifted,
    gaussian,
    learn_given,
    settle,
)
from onlinear._validation.checks import number
from onlinear.algorithms._logistic_bound import guarantee
from onlinear.algorithms._shrunk_activation import FAINT, answer
from onlinear.algorithms.laser import FOLLOWS
from onlinear.losses import Logistic, Loss
from onlinear.losses._formulas import probability

__all__ = ["NOT_A_PROBABILITY", "LogisticLASER"]

NOT_A_PROBABILITY = "needs labels from 0 to 1, got y = {value:g}"


class LogisticParams(NamedTuple):
    """Parameters of a step: the prior's precision 2b, the drift penalty 2c, and κ."""

    precision: float
    penalty: float
    kappa: float


def init(params: LogisticParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/(2b)."""
    return gaussian(d, params.precision)


def drift(params):
    """Return 1/(2c), the number added to the diagonal of Σ between rounds."""
    return 1.0 / params[1]


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and whether y is a label.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    chi = max(chi, 0.0)  # negative only by rounding
    a, rest, weight, miss = answer(params[2], m, chi, y)
    share = 1.0 / (1.0 + weight * chi)
    return probability(a, rest), weight * share, -miss * share, 0.0 <= y <= 1.0


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn, drift=drift), settle)
def step(state, params, x, y, work):
    """Predict the probability of x, then learn y, which is from 0 to 1, unless y is NaN."""
    t, w, S = state
    _, penalty, kappa = params
    covariance_times(state, x, work)
    chi, grown = drifted(state, penalty, x, work[0])  # Σ = Σ_{t−1} + I/(2c)
    m = dot(w, x)
    if not math.isfinite(chi * m):
        return m, OVERFLOW
    a, rest, weight, miss = answer(kappa, m, max(chi, 0.0), y)
    prediction = probability(a, rest)
    if math.isnan(y):
        return prediction, FINE
    if not 0.0 <= y <= 1.0:
        return y, DOMAIN
    rough = shift_and_round(grown, S, x)
    if weight * chi < FAINT:  # Σ stays as it is in double precision
        axpy(-miss, work[0], w)
        t[0] += 1
        return prediction, FINE
    r = 1.0 / weight
    return prediction, learn_given(state, x, -miss * r, chi, r, rough, work)


class LogisticLASER(ProbabilityClassifier):
    """Online logistic regression whose weights may drift; predicts probabilities.

    Its bound compares its logistic loss with that of any sequence of weights u_1, u_2, … with
    activations |u_tᵀx_t| ≤ reach. Costs O(d²) per round for d features, as LASER does.

    Parameters
    ----------
    b : float, default 1.0
        Precision of the prior, b > 0: the penalty on the first comparator's ‖u₁‖².
    c : float, default infinity
        Penalty on the drift ‖u_{t+1} − u_t‖², c > 0; infinity means no drift. A smaller c adapts
        faster.
    reach : float, default 40.0
        The largest activation |uᵀx| of the weights to compete with, reach ≥ 0: 4 is a probability
        of 0.982. With a larger reach, Σ shrinks more slowly: the learner trusts new rows more, and
        the bound is larger. On real streams, the log loss is the lowest near the default.
    classes : sequence or None, default None
        The classes: two or more labels that are text, numbers or booleans. None means that they are
        found in the labels of the first table (``fit``, ``partial_fit``, ``onlinear.replay``), or
        that labels are from 0 to 1. With more than two classes, a learner is kept for each class.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> t = np.arange(3000)
    >>> X = np.column_stack([np.cos(t), np.sin(2.7 * t)])
    >>> y = X[:, 0] * np.cos(t / 300) + X[:, 1] * np.sin(t / 300) > 0  # the weights turn
    >>> run = ol.replay(ol.LogisticLASER(c=10.0), X, y)
    >>> bool(np.mean((run.predictions > 0.5) == y) > 0.9)
    True
    """

    b: float = 1.0
    c: float = math.inf
    reach: float = 40.0

    algorithm = Algorithm(init, step, (NOT_A_PROBABILITY,), follows=FOLLOWS)

    def _params(self) -> LogisticParams:
        half = 0.5 * number(self, "reach", least=0)
        return LogisticParams(
            2.0 * number(self, "b", above=0),
            2.0 * number(self, "c", above=0, most=math.inf),
            math.tanh(half) / half if half > 1e-9 else 1.0,
        )

    @property
    def _loss(self) -> Loss:
        return Logistic()

    def _guarantee(self, search: bool = True) -> Guarantee:
        precision, penalty, kappa = self._params()
        return guarantee(0.5 * precision, 0.5 * penalty, kappa, float(self.reach), search)
