"""EG and C-EG: exponentiated gradient on the simplex; C-EG has a lower limit on every weight.

    a  = xᵀw,  w₁ = 1/n                        ŷ is the link of a
    w_i ← w_i exp(−η g x_i) / Z                g the slope of the loss at a, given y; Σw_i = 1
    w ← the projection on [α/n, 1]ⁿ ∩ simplex in relative entropy, if an α is given

With ``within``, w is projected on this set (:mod:`onlinear._updates.projections`) before it is
projected on [α/n, 1]ⁿ, also before the first row.

For the square loss, the prediction is a, and the slope is 2(a − y). With ``implicit=True``, g is
the slope at the activation of the new weights (:mod:`onlinear.algorithms._implicit`).

The state holds ln w, shifted so that its maximum is 0. With ln w stored, no weight can underflow to
zero and remain zero. Misprint resolved: the update in Figure 1 of Herbster & Warmuth rightly has
the factor 2 of the gradient, which their Lemma 13 lacks. The learner checks that max_i x_i − min_i
x_i ≤ X in each row, as Lemma 13 requires.

Herbster & Warmuth's Theorem 16 bounds the square loss for the learning rate η = 2/(3X²). By
Hoeffding's lemma, there is a bound for every loss, and for the square loss if ηX² < 4
(:mod:`onlinear._learner.bounds.any_loss`). Theorem 16 needs comparators with every weight at α/n or
above. For a sequence of comparators with smaller weights, each projection costs up to
ln(1/(1 − α(1 − 1/n))) more: with Pw the projection of w, and every u of the simplex,
D(u, w) − D(u, Pw) ≥ ln(1 − α(1 − 1/n)), because Pw raises at most n − 1 weights to α/n and scales
the others by at least 1 − α(1 − 1/n).

Herbster & Warmuth, JMLR 2001, Figure 1 and Theorem 16; Kivinen & Warmuth 1997.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds import any_loss
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.constrained import NOT_PROJECTED, Constrained, floor
from onlinear._learner.first_order import (
    rate_for_horizon,
    rate_for_loss,
)
from onlinear._numerics.linalg import dot, extremes, finite, kernel
from onlinear._updates.projections import SHARES
from onlinear._validation.checks import asked, number, whole
from onlinear._validation.states import check_range, check_simplex
from onlinear.algorithms import _implicit, _set_bound
from onlinear.algorithms._exponentiated_rates import rate, share, share_for_drift
from onlinear.algorithms._implicit import chosen, implicit_pace
from onlinear.algorithms._simplex_bound import (
    SPARSE,
    EGAccount,
    account,
    off_simplex,
    on_simplex,
    price,
    wasted,
)
from onlinear.algorithms.gd import NOT_A_LABEL
from onlinear.bregman import lift_simplex
from onlinear.losses import SQUARED, Loss
from onlinear.losses._formulas import allowed, answered
from onlinear.sets import Capped

__all__ = [
    "EG",
    "EGState",
    "check_weights",
    "exponentiate",
    "share_out",
]


class EGParams(NamedTuple):
    """Parameters of a step: learning rate, α (0 for none), limit on max x_i − min x_i, loss."""

    eta: float
    alpha: float
    X: float
    loss: float
    shape: float
    implicit: float


class EGState(NamedTuple):
    """The state: the number of rounds, ln w with its maximum at 0, and w itself."""

    t: np.ndarray
    log_w: np.ndarray
    w: np.ndarray


def init(params: EGParams, d: int) -> EGState:
    """Return the initial state: equal weights."""
    return EGState(np.zeros(1), np.zeros(d), np.full(d, 1.0 / d))


@kernel
def exponentiate(log_w, w, alpha, trial):
    """Set w and ln w from the n log-weights ``trial``, normalised and projected to w ≥ α/n.

    Return FINE, or OVERFLOW, in which case nothing is changed.
    """
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


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, log_w, w = state
    eta, alpha, X, loss, shape, implicit = params
    a = dot(w, x)
    m, g = answered(loss, shape, a, y)
    low, high = extremes(x)
    spread = high - low
    if not spread <= X:
        return spread, DOMAIN
    if math.isnan(y):
        return m, FINE
    if not allowed(loss, y):
        return y, DOMAIN + 1
    trial = work[0]
    pace = eta * g
    if implicit != 0.0:
        pace = implicit_pace(log_w, x, y, eta, pace, True)
    for i in range(x.size):
        trial[i] = log_w[i] - pace * x[i]
    rule = exponentiate(log_w, w, alpha, trial)
    if rule == FINE:
        t[0] += 1
    return m, rule


def share_out(state: EGState) -> None:
    """Recompute w from ln w, so that the weights sum to one again."""
    w = np.exp(state.log_w - state.log_w.max())
    state.w[...] = w / w.sum()


def check_weights(stack: Any) -> None:
    """Refuse states, of one or more models, whose w is not exp(ln w), or does not sum to one."""
    rows = len(stack.w)
    log_w, w = stack.log_w.reshape(rows, -1), stack.w.reshape(rows, -1)
    check_simplex("its weights", w)
    same = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    same /= same.sum(axis=1, keepdims=True)
    check_range("a difference between a weight and exp(log_w)", np.abs(w - same), 0, 1e-6)


class EG(Constrained):
    """Exponentiated gradient: weights on the simplex, for many inputs few of which matter.

    With ``alpha`` the learner is C-EG, which tracks a shifting target: no weight falls below
    alpha/n. The prediction is a weighted mean of x. Costs O(n) per round for n inputs; keeping the
    weights above alpha/n takes a few passes over them.

    Parameters
    ----------
    eta : float or None, default None
        Learning rate, eta > 0; None means 2/(3X²), the rate in Herbster & Warmuth's theorem, or
        4/(κX²) for another loss whose slope g satisfies g² ≤ κ·loss.
    alpha : float or None, default None
        Keep every weight at alpha/n or above, 0 < alpha ≤ 1.
    X : float, default 1.0
        Largest range of a row, X > 0: a row with max x_i − min x_i > X is refused.
    implicit : bool, default False
        True: the update with which the new weights are best for the row, weighing their distance
        from the old ones against the loss itself, not against a linear approximation of it. Its
        bound holds for every eta. Needs the square loss.
    loss : onlinear.losses.Loss, default Square()
        The loss whose gradient the learner follows, such as ``onlinear.losses.Logistic()``; the
        prediction is the link of xᵀw, a probability for ``Logistic``.
    within : onlinear.sets.Set or None, default None
        Keep the weights in this set: ``Capped``, ``HalfSpace``, ``HyperPlane``, ``Custom``, or an
        ``Intersection`` of them (:mod:`onlinear.sets`). With ``alpha``, the weights are kept at
        alpha/n or above last.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

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
    implicit: bool = False

    algorithm = Algorithm(
        init,
        step,
        (
            "needs max x_i − min x_i ≤ X = {X:g} (declare a larger X), got {value:g}",
            NOT_A_LABEL,
            NOT_PROJECTED,
        ),
    )
    _poor_score = True
    _geometry = SHARES
    _sets = (Capped,)

    def _last(self) -> list[list[float]]:
        return [] if self.alpha is None else [floor(share(self))]

    def _free(self, params: EGParams) -> EGParams:
        return params._replace(alpha=0.0)

    def _settle(self) -> None:
        share_out(self._state)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_weights(stack)

    def _params(self) -> EGParams:
        X, implicit = number(self, "X", above=0), chosen(self)
        eta = rate(self, 2, 3 * X * X, X * X / 4)
        return EGParams(eta, share(self), X, *self._loss.numbers(), implicit)

    def _guarantee(self, search: bool = True) -> Guarantee:
        eta, alpha, *_ = self._params()
        if self.within is not None:
            return _set_bound.guarantee(
                *(self, search, "range²/4"),
                seen=on_simplex,
                waste=lambda u, path: wasted(alpha, u, path),
                outside=off_simplex,
            )
        if self.implicit:
            return _implicit.on_simplex(eta, alpha, search)
        loss = self._loss
        params = EGAccount(eta, alpha, 1.0, *loss.numbers(), float(search))
        words, hypotheses = any_loss.words(loss, "range²/4")
        penalty = f"p = {1 / eta:g}·(ln n + Σ u ln u"
        drift = f" + ½ln(n/{alpha:g})·Σ‖u_t+1 − u_t‖₁" if alpha else ""
        floor = f", u ≥ {alpha:g}/n" if alpha else ""
        return Guarantee(
            f"loss ≤ {words} (Herbster & Warmuth, Theorem 16, any rate and loss)",
            f"L + p, L = loss of u, {penalty}), u a good point of the simplex{floor}",
            account("EG", params, copies=1),
            f"loss ≤ {words}, L = loss of u, {penalty}{drift}){SPARSE if alpha else ''}",
            lambda path, tally: price(params, loss, on_simplex(path).loss, path),
            hypotheses,
            "u_t on the simplex" if alpha else "one u of the simplex for all rounds",
            loss=loss,
            measure=any_loss.comparators_loss(loss),
        )

    @classmethod
    def from_range(cls, X: float, alpha: float | None = None, *, loss: Loss = SQUARED) -> "EG":
        """Return EG with Herbster & Warmuth's rate 2/(3X²), for rows with max x_i − min x_i ≤ X.

        For another loss, whose slope g satisfies g² ≤ κ·loss, the rate is 4/(κX²).

        >>> import onlinear as ol
        >>> ol.EG.from_range(X=2.0)
        EG(eta=0.16666666666666666, X=2.0)
        """
        model = cls(None, alpha, X, loss=loss)
        model.eta = model._params().eta
        return model

    @classmethod
    def from_drift(cls, T: int, V: float, X: float, n: int, *, loss: Loss = SQUARED) -> "EG":
        """Return the C-EG for at most T rounds, n inputs and a drift Σ‖u_{t+1} − u_t‖₁ ≤ V.

        The u_t may have weights that are 0: ``alpha`` minimises the bound against such sequences.

        >>> import onlinear as ol
        >>> ol.EG.from_drift(T=101, V=2.0, X=1.0, n=2)
        EG(eta=0.6666666666666666, alpha=0.019801980198019802)
        """
        return cls.from_range(X, share_for_drift("EG.from_drift", T, V, n), loss=loss)

    @classmethod
    def from_loss(cls, X: float, K: float, n: int, *, loss: Loss = SQUARED) -> "EG":
        """Return EG with the best rate against a fixed u of loss at most K, for n inputs.

        For rows with max x_i − min x_i ≤ X, the square loss of the learner is at most
        K + 2√(αK) + α, with α = ½X² ln n.

        >>> import onlinear as ol
        >>> ol.EG.from_loss(X=1.0, K=0.0, n=2)
        EG(eta=2.0)
        """
        known = asked("EG.from_loss", X=X, n=n)
        width, price = number(known, "X", above=0), math.log(whole(known, "n", least=2))
        return cls(rate_for_loss("EG.from_loss", loss, width * width / 4, price, K), X=X, loss=loss)

    @classmethod
    def from_horizon(cls, T: int, X: float, n: int, *, loss: Loss) -> "EG":
        """Return EG with the best rate for T rounds of a loss with a bounded slope, for n inputs.

        For rows with max x_i − min x_i ≤ X, the regret is at most G·X·√(½T ln n), if no slope of
        the loss exceeds G.

        >>> import onlinear as ol
        >>> model = ol.EG.from_horizon(T=100, X=1.0, n=4, loss=ol.losses.Absolute())
        >>> round(model.eta, 3)
        0.333
        """
        known = asked("EG.from_horizon", X=X, n=n)
        width, price = number(known, "X", above=0), math.log(whole(known, "n", least=2))
        eta = rate_for_horizon("EG.from_horizon", loss, width * width / 4, price, T)
        return cls(eta, X=X, loss=loss)
