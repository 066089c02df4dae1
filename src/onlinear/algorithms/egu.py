"""EGU and C-EGU: exponentiated gradient for non-negative weights, free or inside a box.

    ŷ  = min(xᵀw, Y),  w₁ = 1/n
    w_i ← w_i exp(−2η (ŷ − y) x_i)
    w_i ← w_i cut to [α/n, n/α], if an α is given

Misprints decided: the factor 2 of Figure 1 is right (Lemma 12 lacks it), and the lemma is false
when xᵀw > Y, so the prediction is cut to Y in the loss and in the update. Rows need x ≥ 0 and
labels 0 ≤ y ≤ Y. The state is ln w, so that no weight underflows to a zero it never leaves.

Herbster & Warmuth, JMLR 2001, Figure 1; Kivinen & Warmuth 1997. Their rate is η = 1/(3XY).
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._checks import number
from onlinear._engine import DOMAIN, FINE, OVERFLOW, Step
from onlinear._kernels import dot, extremes
from onlinear._model import Algorithm, Learner
from onlinear.algorithms.eg import share

__all__ = ["EGU"]


class EGUParams(NamedTuple):
    """The learning rate, α (0 for none), the largest label, the largest input."""

    eta: float
    alpha: float
    Y: float
    X: float


class EGUState(NamedTuple):
    """Rounds learnt, ln w, w."""

    t: np.ndarray
    log_w: np.ndarray
    w: np.ndarray


def init(params: EGUParams, d: int) -> EGUState:
    """Begin with weights 1/n."""
    return EGUState(np.zeros(1), np.full(d, -math.log(d)), np.full(d, 1.0 / d))


@Step
def step(state, params, x, y, work):
    """One round."""
    t, log_w, w = state
    eta, alpha, Y, X = params
    lowest, highest = extremes(x)
    if lowest < 0.0:
        return lowest, DOMAIN
    if highest > X:
        return highest, DOMAIN + 1
    prediction = min(dot(w, x), Y)
    if math.isnan(y):
        return prediction, FINE
    if not 0.0 <= y <= Y:
        return y, DOMAIN + 2
    n = x.size
    bound = math.log(n / alpha) if alpha > 0.0 else math.inf
    trial = work[0]
    total = 0.0
    for i in range(n):
        moved = log_w[i] - 2.0 * eta * (prediction - y) * x[i]
        trial[i] = min(max(moved, -bound), bound)  # α/n ≤ w_i ≤ n/α
        total += math.exp(trial[i]) + abs(trial[i])
    if not math.isfinite(total):
        return total, OVERFLOW
    for i in range(n):
        log_w[i] = trial[i]
        w[i] = math.exp(trial[i])
    t[0] += 1
    return prediction, FINE


class EGU(Learner):
    """Exponentiated gradient for non-negative weights of any size.

    With ``alpha``, C-EGU, which tracks a shifting target. Costs O(n) a round for n inputs.

    Parameters
    ----------
    eta : float or None, default None
        Learning rate, eta > 0; None takes the theorem's, 1/(3XY).
    alpha : float or None, default None
        Keep every weight in [alpha/n, n/alpha], 0 < alpha ≤ 1.
    Y : float, default 1.0
        Labels are in [0, Y], or refused; predictions are cut to it; Y > 0.
    X : float, default 1.0
        Inputs are in [0, X], or refused; X > 0.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.EGU(Y=2.0)
    >>> model.learn_one([1.0, 0.0], 2.0)
    >>> model.coef_.round(3)  # the second weight saw nothing
    array([0.824, 0.5  ])
    """

    eta: float | None = None
    alpha: float | None = None
    Y: float = 1.0
    X: float = 1.0

    algorithm = Algorithm(
        init,
        step,
        (
            "needs x_i ≥ 0, got x_i = {value:g} (Negative values in data)",
            "needs x_i ≤ X = {X:g} (declare a larger X), got x_i = {value:g}",
            "needs labels 0 ≤ y ≤ Y = {Y:g} (declare a larger Y), got y = {value:g}",
        ),
    )
    _positive = True
    _poor_score = True

    def _params(self) -> EGUParams:
        Y, X = number(self, "Y", above=0), number(self, "X", above=0)
        eta = 1 / (3 * X * Y) if self.eta is None else number(self, "eta", above=0)
        return EGUParams(eta, share(self), Y, X)
