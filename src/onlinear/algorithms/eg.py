"""EG and C-EG: exponentiated gradient on the simplex, free or with every weight kept up.

    ŷ  = xᵀw,  w₁ = 1/n
    w_i ← w_i exp(−2η (xᵀw − y) x_i) / Z       normalised to Σw_i = 1
    w ← the projection on [α/n, 1]ⁿ ∩ simplex in relative entropy, if an α is given

The state is ln w with its maximum at 0, so that no weight underflows to a zero it never leaves.
Misprint decided: the update of Figure 1, with the factor 2 of the gradient, is right; Lemma 13
lacks it, and needs max_i x_i − min_i x_i ≤ X in each row, which is checked.

Herbster & Warmuth, JMLR 2001, Figure 1; Kivinen & Warmuth 1997.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._checks import number
from onlinear._engine import DOMAIN, FINE, OVERFLOW, Step
from onlinear._kernels import dot, extremes, finite, kernel
from onlinear._model import Algorithm, Learner
from onlinear.bregman import lift_simplex

__all__ = ["EG", "EGState", "exponentiate", "share", "share_out"]


class EGParams(NamedTuple):
    """The learning rate, α (0 for none), and the largest range of a row."""

    eta: float
    alpha: float
    X: float


class EGState(NamedTuple):
    """Rounds learnt, ln w with its maximum at 0, w."""

    t: np.ndarray
    log_w: np.ndarray
    w: np.ndarray


def init(params: EGParams, d: int) -> EGState:
    """Begin with equal weights."""
    return EGState(np.zeros(1), np.zeros(d), np.full(d, 1.0 / d))


@kernel
def exponentiate(log_w, w, alpha, trial):
    """Take the log-weights in ``trial``, normalise and lift them; FINE, or OVERFLOW untouched."""
    low, top = extremes(trial)
    if not finite(trial) or not math.isfinite(low - top):
        return OVERFLOW
    total = 0.0
    for i in range(trial.size):
        log_w[i] = trial[i] - top
        w[i] = math.exp(log_w[i])
        total += w[i]
    for i in range(w.size):
        w[i] /= total
    if alpha > 0.0 and lift_simplex(w, alpha):
        for i in range(w.size):
            log_w[i] = math.log(w[i])
    return FINE


@Step
def step(state, params, x, y, work):
    """One round."""
    t, log_w, w = state
    eta, alpha, X = params
    m = dot(w, x)
    low, high = extremes(x)
    spread = high - low
    if not spread <= X:
        return spread, DOMAIN
    if math.isnan(y):
        return m, FINE
    trial = work[0]
    for i in range(x.size):
        trial[i] = log_w[i] - 2.0 * eta * (m - y) * x[i]
    rule = exponentiate(log_w, w, alpha, trial)
    if rule == FINE:
        t[0] += 1
    return m, rule


def share_out(state: EGState) -> None:
    """Make the weights sum to one again."""
    w = np.exp(state.log_w - state.log_w.max())
    state.w[...] = w / w.sum()


def share(owner: Learner) -> float:
    """Return the checked α of a learner, 0 for None."""
    return 0.0 if owner.alpha is None else number(owner, "alpha", above=0, most=1)  # type: ignore[attr-defined]


class EG(Learner):
    """Exponentiated gradient: weights on the simplex, good when few of many inputs matter.

    With ``alpha``, C-EG, which tracks a shifting target: no weight falls below alpha/n. The
    prediction is a weighted mean of x. Costs O(n) a round for n inputs (O(n) per pass of the
    projection, of which there are few).

    Parameters
    ----------
    eta : float or None, default None
        Learning rate, eta > 0; None takes the theorem's, 2/(3X²).
    alpha : float or None, default None
        Keep every weight at alpha/n or above, 0 < alpha ≤ 1.
    X : float, default 1.0
        Declared range: max x_i − min x_i ≤ X in every row, or it is refused; X > 0.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.EG()
    >>> model.predict_one([1.0, 0.0])  # equal weights at first
    0.5
    >>> model.learn_one([1.0, 0.0], 1.0)
    >>> model.coef_.round(3)
    array([0.661, 0.339])
    """

    eta: float | None = None
    alpha: float | None = None
    X: float = 1.0

    algorithm = Algorithm(
        init,
        step,
        ("needs max x_i − min x_i ≤ X = {X:g} (declare a larger X), got {value:g}",),
    )
    _poor_score = True

    def _settle(self) -> None:
        share_out(self._state)

    def _params(self) -> EGParams:
        X = number(self, "X", above=0)
        eta = 2 / (3 * X * X) if self.eta is None else number(self, "eta", above=0)
        return EGParams(eta, share(self), X)
