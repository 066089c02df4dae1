"""EG±: exponentiated gradient for weights of either sign.

For rows x of n inputs, EG± is EG (exponentiated gradient on the simplex) with the 2n inputs
(Ux, −Ux):

    a  = U xᵀ(w⁺ − w⁻),  w₁ = 1/(2n)           ŷ is the link of a
    w^±_i ← w^±_i exp(∓η g U x_i) / Z           g the slope of the loss at a, given y
    the projection on [α/(2n), 1]²ⁿ ∩ simplex, if an α is given

With ``within``, the 2n weights are projected on this set before they are projected on
[α/(2n), 1]²ⁿ, also before the first row. Linear constraints are on u = U(w⁺ − w⁻).

For the square loss, the prediction is a, and g = 2(a − y). Here η is the learning rate, and Z makes
the 2n weights w⁺ and w⁻ sum to one. The weights u = U(w⁺ − w⁻) can be any vector with ‖u‖₁ ≤ U. The
bound of EG± is the bound of EG on the 2n inputs (Ux, −Ux).

Kivinen & Warmuth, Information and Computation 1997; Herbster & Warmuth, JMLR 2001.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds import any_loss
from onlinear._learner.bounds.guarantee import Guarantee, Path
from onlinear._learner.constrained import NOT_PROJECTED, Constrained, floor
from onlinear._learner.first_order import rate_for_horizon, rate_for_loss
from onlinear._numerics.linalg import dot, extremes
from onlinear._updates.projections import SHARES
from onlinear._validation.checks import asked, number, whole
from onlinear.algorithms import _set_bound
from onlinear.algorithms._exponentiated_rates import rate, share, share_for_drift
from onlinear.algorithms._simplex_bound import (
    SPARSE,
    EGAccount,
    account,
    off_simplex,
    price,
    wasted,
)
from onlinear.algorithms.eg import check_weights, exponentiate, share_out
from onlinear.algorithms.gd import NOT_A_LABEL
from onlinear.losses import SQUARED, Loss
from onlinear.losses._formulas import allowed, answered
from onlinear.sets import Capped, HalfSpace, HyperPlane, Set

__all__ = ["EGPM"]


class EGPMParams(NamedTuple):
    """Parameters of a step: the largest ‖u‖₁, the learning rate, α (0: none), max |x_i|, loss."""

    U: float
    eta: float
    alpha: float
    X: float
    loss: float
    shape: float


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
    U, eta, alpha, X, loss, shape = params
    a = U * (dot(w[0], x) - dot(w[1], x))
    m, g = answered(loss, shape, a, y)
    low, high = extremes(x)
    largest = max(high, -low)
    if not largest <= X:
        return largest, DOMAIN
    if math.isnan(y):
        return m, FINE
    if not allowed(loss, y):
        return y, DOMAIN + 1
    pace = eta * g * U
    for i in range(x.size):
        work[0, i] = log_w[0, i] - pace * x[i]
        work[1, i] = log_w[1, i] + pace * x[i]
    rule = exponentiate(log_w.reshape(-1), w.reshape(-1), alpha, work.reshape(-1))
    if rule == FINE:
        t[0] += 1
    return m, rule


class EGPM(Constrained):
    """Exponentiated gradient for weights u of either sign with ‖u‖₁ ≤ U.

    Costs O(n) per round for n inputs.

    Parameters
    ----------
    U : float, default 1.0
        The largest ‖u‖₁ that the weights u can reach, U > 0.
    eta : float or None, default None
        Learning rate, eta > 0; None means 1/(3U²X²), the rate in Kivinen & Warmuth's theorem, or
        1/(κU²X²) for another loss whose slope g satisfies g² ≤ κ·loss.
    alpha : float or None, default None
        Keep each of the 2n weights w⁺ and w⁻, whose difference gives u, at alpha/(2n) or above,
        0 < alpha ≤ 1; None sets no such limit.
    X : float, default 1.0
        Largest |x_i| allowed, X > 0: a row with some |x_i| > X is refused.
    loss : onlinear.losses.Loss, default Square()
        The loss whose gradient the learner follows, such as ``onlinear.losses.Logistic()``; the
        prediction is the link of xᵀw, a probability for ``Logistic``.
    within : onlinear.sets.Set or None, default None
        Keep the weights in this set: ``HalfSpace`` or ``HyperPlane``, for u; ``Capped`` or
        ``Custom``, for the 2n weights w⁺ and w⁻; or an ``Intersection`` of them
        (:mod:`onlinear.sets`). With ``alpha``, the weights are kept at alpha/(2n) or above last.
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
        init,
        step,
        (
            "needs |x_i| ≤ X = {X:g} (declare a larger X), got x_i = ±{value:g}",
            NOT_A_LABEL,
            NOT_PROJECTED,
        ),
    )
    _poor_score = True
    _geometry = SHARES
    _sets = (Capped,)
    _copies = 2

    def _record_of(self, given: Set) -> list[float]:
        record = given.record()
        if isinstance(given, (HalfSpace, HyperPlane)):  # aᵀU(w⁺ − w⁻) ≤ c
            kind, length, c, *a = record
            return [kind, length + len(a), c / self._params().U, *a, *(-each for each in a)]
        return record

    def _last(self) -> list[list[float]]:
        return [] if self.alpha is None else [floor(share(self))]

    def _free(self, params: EGPMParams) -> EGPMParams:
        return params._replace(alpha=0.0)

    def _settle(self) -> None:
        share_out(self._state)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_weights(stack)

    def _params(self) -> EGPMParams:
        U, X = number(self, "U", above=0), number(self, "X", above=0)
        eta = rate(self, 1, 3 * U * U * X * X, U * U * X * X)
        return EGPMParams(U, eta, share(self), X, *self._loss.numbers())

    def _guarantee(self, search: bool = True) -> Guarantee:
        U, eta, alpha, *_ = self._params()
        loss = self._loss
        params = EGAccount(eta, alpha, U, *loss.numbers(), float(search))

        def halves(path: Path) -> np.ndarray:
            """Return the comparators u_t as weights of the 2n inputs (Ux, −Ux).

            The part of U that ‖u_t‖₁ leaves unused is spread evenly over all weights.
            """
            spare = (1 - np.abs(path.u).sum(axis=1, keepdims=True) / U) / (2 * path.u.shape[1])
            parts = np.hstack([np.maximum(path.u, 0), np.maximum(-path.u, 0)])
            return np.asarray(parts / U + spare)

        if self.within is not None:
            return _set_bound.guarantee(
                *(self, search, "(U·max|x_i|)²", U),
                weights_of=halves,
                waste=lambda u, path: wasted(alpha, u, path),
                outside=off_simplex,
            )

        def priced(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return price(params, loss, path.loss, replace(path, u=halves(path)))

        words, hypotheses = any_loss.words(loss, "(U·max|x_i|)²")
        penalty = f"p = {1 / eta:g}·(ln 2n + Σ p ln p"
        drift = f" + ½ln(2n/{alpha:g})·Σ‖p_t+1 − p_t‖₁" if alpha else ""
        pairs = f"u = {U:g}·(p⁺ − p⁻)"
        return Guarantee(
            f"loss ≤ {words} (Kivinen & Warmuth, any rate and loss)",
            f"L + p, L = loss of u, {penalty}), {pairs} a good point of that form",
            account("EGPM", params, copies=2),
            f"loss ≤ {words}, L = loss of u, {penalty}{drift}){SPARSE if alpha else ''}, {pairs}",
            priced,
            hypotheses,
            "u_t with ‖u_t‖₁ ≤ U" if alpha else "one u with ‖u‖₁ ≤ U for all rounds",
            loss=loss,
            measure=any_loss.comparators_loss(loss),
        )

    @classmethod
    def from_range(
        cls, X: float, U: float = 1.0, alpha: float | None = None, *, loss: Loss = SQUARED
    ) -> "EGPM":
        """Return EG± with Kivinen & Warmuth's rate 1/(3U²X²), for rows with |x_i| ≤ X.

        For another loss, whose slope g satisfies g² ≤ κ·loss, the rate is 1/(κU²X²).

        >>> import onlinear as ol
        >>> ol.EGPM.from_range(X=0.5, U=2.0)
        EGPM(U=2.0, eta=0.3333333333333333, X=0.5)
        """
        model = cls(U, None, alpha, X, loss=loss)
        model.eta = model._params().eta
        return model

    @classmethod
    def from_drift(
        cls, T: int, V: float, X: float, n: int, U: float = 1.0, *, loss: Loss = SQUARED
    ) -> "EGPM":
        """Return EG± for at most T rounds, n inputs and a drift of at most V.

        The comparators are u_t = U(p_t⁺ − p_t⁻) with 2n weights p_t on the simplex, some of which
        may be 0, and their drift is Σ‖p_{t+1} − p_t‖₁. ``alpha`` minimises the bound.

        >>> import onlinear as ol
        >>> ol.EGPM.from_drift(T=101, V=1.5, X=1.0, n=2).alpha
        0.009925558312655087
        """
        alpha = share_for_drift(
            "EGPM.from_drift", T, V, 2 * whole(asked("EGPM", n=n), "n", least=1)
        )
        return cls.from_range(X, U, alpha, loss=loss)

    @classmethod
    def from_loss(
        cls, X: float, K: float, n: int, U: float = 1.0, *, loss: Loss = SQUARED
    ) -> "EGPM":
        """Return EG± with the best rate against a fixed u of loss at most K, for n inputs.

        For rows with |x_i| ≤ X and ‖u‖₁ ≤ U, the square loss of the learner is at most
        K + 2√(αK) + α, with α = 2U²X² ln 2n.

        >>> import onlinear as ol
        >>> ol.EGPM.from_loss(X=1.0, K=0.0, n=2)
        EGPM(eta=0.5)
        """
        square, price = cls._sizes("EGPM.from_loss", X, U, n)
        return cls(U, rate_for_loss("EGPM.from_loss", loss, square, price, K), None, X, loss=loss)

    @classmethod
    def from_horizon(cls, T: int, X: float, n: int, U: float = 1.0, *, loss: Loss) -> "EGPM":
        """Return EG± with the best rate for T rounds of a loss with a bounded slope, for n inputs.

        For rows with |x_i| ≤ X and ‖u‖₁ ≤ U, the regret is at most G·U·X·√(2T ln 2n), if no slope
        of the loss exceeds G.

        >>> import onlinear as ol
        >>> model = ol.EGPM.from_horizon(T=100, X=1.0, n=2, loss=ol.losses.Absolute())
        >>> round(model.eta, 3)
        0.167
        """
        square, price = cls._sizes("EGPM.from_horizon", X, U, n)
        eta = rate_for_horizon("EGPM.from_horizon", loss, square, price, T)
        return cls(U, eta, None, X, loss=loss)

    @staticmethod
    def _sizes(owner: str, X: float, U: float, n: int) -> tuple[float, float]:
        """Return U²X² and ln 2n, after a check."""
        known = asked(owner, X=X, U=U, n=n)
        width = number(known, "X", above=0) * number(known, "U", above=0)
        return width * width, math.log(2 * whole(known, "n", least=1))

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """The weights U(w⁺ − w⁻)."""
        plus, minus = self._learnt().w
        return np.asarray(self._params().U * (plus - minus))
