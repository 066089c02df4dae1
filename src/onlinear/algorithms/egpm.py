"""EG±: exponentiated gradient for weights of either sign.

For rows x of n inputs, EG± is EG (exponentiated gradient on the simplex) with the 2n inputs
(Ux, −Ux):

    ŷ  = U xᵀ(w⁺ − w⁻),  w₁ = 1/(2n)
    w^±_i ← w^±_i exp(∓2η (ŷ − y) U x_i) / Z
    the projection on [α/(2n), 1]²ⁿ ∩ simplex, if an α is given

Here η is the learning rate, and Z makes the 2n weights w⁺ and w⁻ sum to one. The weights
u = U(w⁺ − w⁻) can be any vector with ‖u‖₁ ≤ U. The bound of EG± is the bound of EG on the 2n inputs
(Ux, −Ux).

Kivinen & Warmuth, Information and Computation 1997; Herbster & Warmuth, JMLR 2001.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import Guarantee, Path
from onlinear._numerics.linalg import dot, extremes
from onlinear._validation.checks import number
from onlinear.algorithms.eg import (
    EGAccount,
    account,
    check_weights,
    exponentiate,
    price,
    share,
    share_out,
    theorems_rate,
)

__all__ = ["EGPM"]


class EGPMParams(NamedTuple):
    """Parameters of a step: the largest ‖u‖₁, the learning rate, α (0 for none), max |x_i|."""

    U: float
    eta: float
    alpha: float
    X: float


class EGPMState(NamedTuple):
    """The state: the number of rounds, the logarithms of w⁺ and w⁻, and w⁺ and w⁻ themselves."""

    t: np.ndarray
    log_w: np.ndarray
    w: np.ndarray


def init(params: EGPMParams, d: int) -> EGPMState:
    """Return the initial state: equal weights."""
    return EGPMState(np.zeros(1), np.zeros((2, d)), np.full((2, d), 0.5 / d))


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, log_w, w = state
    U, eta, alpha, X = params
    m = U * (dot(w[0], x) - dot(w[1], x))
    low, high = extremes(x)
    largest = max(high, -low)
    if not largest <= X:
        return largest, DOMAIN
    if math.isnan(y):
        return m, FINE
    pace = 2.0 * eta * (m - y) * U
    for i in range(x.size):
        work[0, i] = log_w[0, i] - pace * x[i]
        work[1, i] = log_w[1, i] + pace * x[i]
    rule = exponentiate(log_w.reshape(-1), w.reshape(-1), alpha, work.reshape(-1))
    if rule == FINE:
        t[0] += 1
    return m, rule


class EGPM(Learner):
    """Exponentiated gradient for weights u of either sign with ‖u‖₁ ≤ U.

    Costs O(n) per round for n inputs.

    Parameters
    ----------
    U : float, default 1.0
        The largest ‖u‖₁ that the weights u can reach, U > 0.
    eta : float or None, default None
        Learning rate, eta > 0; None means 1/(3U²X²), the rate in Kivinen & Warmuth's theorem.
    alpha : float or None, default None
        Keep each of the 2n weights w⁺ and w⁻, whose difference gives u, at alpha/(2n) or above,
        0 < alpha ≤ 1; None sets no such limit.
    X : float, default 1.0
        Largest |x_i| allowed, X > 0: a row with some |x_i| > X is refused.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.EGPM(U=2.0)
    >>> model.learn_one([1.0, -1.0], 1.0)
    >>> model.predict_one([1.0, -1.0]) > 0.0
    True
    """

    U: float = 1.0
    eta: float | None = None
    alpha: float | None = None
    X: float = 1.0

    algorithm = Algorithm(
        init, step, ("needs |x_i| ≤ X = {X:g} (declare a larger X), got x_i = ±{value:g}",)
    )
    _poor_score = True

    def _settle(self) -> None:
        share_out(self._state)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_weights(stack)

    def _params(self) -> EGPMParams:
        U, X = number(self, "U", above=0), number(self, "X", above=0)
        if self.eta is None:
            eta = theorems_rate(self, 1, 3 * U * U * X * X)
        else:
            eta = number(self, "eta", above=0)
        return EGPMParams(U, eta, share(self), X)

    def _guarantee(self, search: bool = True) -> Guarantee:
        U, eta, alpha, _ = self._params()
        params = EGAccount(eta, alpha, U, 1 / 3, float(search))

        def priced(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return :func:`price` for the comparators u_t as weights of the 2n inputs (Ux, −Ux).

            The part of U that ‖u_t‖₁ leaves unused is spread evenly over all weights.
            """
            spare = (1 - np.abs(path.u).sum(axis=1, keepdims=True) / U) / (2 * path.u.shape[1])
            halves = np.hstack([np.maximum(path.u, 0), np.maximum(-path.u, 0)]) / U + spare
            return price(params, path.loss, replace(path, u=halves), tally)

        factor = "· 9/(5 − 6η·U²·max x²) (Kivinen & Warmuth, any rate)"
        penalty = f"{1 / (3 * eta):g}·(ln 2n + Σ p ln p"
        drift = f" + ½ln(2n/{alpha:g})·Σ‖p_t+1 − p_t‖₁" if alpha else ""
        pairs = f"u = {U:g}·(p⁺ − p⁻)"
        return Guarantee(
            f"loss ≤ comparator {factor}",
            f"loss of u + {penalty}), {pairs} a good point of that form",
            account("EGPM", params, copies=2),
            f"loss ≤ (loss of u + {penalty}{drift})) {factor}, {pairs}",
            priced,
            ("η·(2U·max|x_i|)² < 10/3",),
            "u_t with ‖u_t‖₁ ≤ U·(1 − alpha)" if alpha else "one u with ‖u‖₁ ≤ U for all rounds",
        )

    @classmethod
    def from_range(cls, X: float, U: float = 1.0, alpha: float | None = None) -> "EGPM":
        """Return EG± with Kivinen & Warmuth's rate 1/(3U²X²), for rows with |x_i| ≤ X.

        >>> import onlinear as ol
        >>> ol.EGPM.from_range(X=0.5, U=2.0)
        EGPM(U=2.0, eta=0.3333333333333333, X=0.5)
        """
        asked = cls(U=U, X=X)
        width = number(asked, "U", above=0) * number(asked, "X", above=0)
        model = cls(U, theorems_rate(asked, 1, 3 * width**2), alpha, X)
        model._params()
        return model

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """The weights U(w⁺ − w⁻)."""
        plus, minus = self._learnt().w
        return np.asarray(self._params().U * (plus - minus))
