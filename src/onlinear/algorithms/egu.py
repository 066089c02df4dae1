"""EGU and C-EGU: exponentiated gradient for non-negative weights, which C-EGU keeps in a box.

    ŷ  = min(xᵀw, Y),  w₁ = 1/n
    w_i ← w_i exp(−2η (ŷ − y) x_i)
    w_i ← w_i clipped to [α/n, n/α], if an α is given

With ``within``, w is projected on this set (:mod:`onlinear._updates.projections`) before it is
clipped, also before the first row.

For the quantile loss, ŷ = xᵀw, and the slope of the loss at ŷ is in the place of 2(ŷ − y). With
``implicit=True``, ŷ in the update is xᵀw for the new w (:mod:`onlinear.algorithms._implicit`).

Misprints resolved: the update in Figure 1 of Herbster & Warmuth rightly has the factor 2, which
their Lemma 12 lacks. Lemma 12 is false when xᵀw > Y, so the prediction is clipped to Y in the loss
and in the update. Rows need entries x_i ≥ 0 and labels 0 ≤ y ≤ Y. The last terms of the bounds
(44), (50) and (51) are −‖u_ℓ‖₁ − H(u_ℓ), with minus signs instead of the printed plus signs; u_ℓ is
the comparator of the last round, and H the entropy. The state holds ln w, so that no weight can
underflow to zero and stay there.

Herbster & Warmuth, JMLR 2001, Figure 1, Theorems 15 and 18; Kivinen & Warmuth 1997. The learning
rate of Herbster & Warmuth is η = 1/(3XY); a smaller rate equals their rate for a larger X.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.constrained import NOT_PROJECTED, Constrained, floor
from onlinear._numerics.linalg import dot, extremes
from onlinear._updates.projections import POSITIVE
from onlinear._validation.checks import asked, number, whole
from onlinear._validation.states import check_range
from onlinear.algorithms import _implicit
from onlinear.algorithms._exponentiated_rates import share, theorems_rate
from onlinear.algorithms._implicit import chosen, implicit_pace
from onlinear.algorithms._positive_bound import guarantee
from onlinear.losses._formulas import QUANTILE, SQUARE, slope
from onlinear.sets import Box, Simplex

__all__ = ["EGU"]

LARGEST = 1e300  # larger weights are refused: the next row might hide them from a table's checks


class EGUParams(NamedTuple):
    """Parameters of a step: η, α (0 for none), largest label, largest x_i, loss, its parameter."""

    eta: float
    alpha: float
    Y: float
    X: float
    loss: float
    shape: float
    implicit: float


class EGUState(NamedTuple):
    """The state: the number of rounds, ln w, and w itself."""

    t: np.ndarray
    log_w: np.ndarray
    w: np.ndarray


def init(params: EGUParams, d: int) -> EGUState:
    """Return the initial state: every weight is 1/n."""
    return EGUState(np.zeros(1), np.full(d, -math.log(d)), np.full(d, 1.0 / d))


@Step.checked_per_block()
@Step
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, log_w, w = state
    eta, alpha, Y, X, loss, shape, implicit = params
    lowest, highest = extremes(x)
    if lowest < 0.0:
        return lowest, DOMAIN
    if highest > X:
        return highest, DOMAIN + 1
    a = dot(w, x)
    prediction = a
    if loss == SQUARE:
        prediction = min(prediction, Y)
    if math.isnan(y):
        return prediction, FINE
    if not 0.0 <= y <= Y:
        return y, DOMAIN + 2
    n = x.size
    bound = math.log(n / alpha) if alpha > 0.0 else math.inf
    trial = work[0]
    total = 0.0
    pace = eta * slope(loss, shape, prediction, y)
    if implicit != 0.0:
        pace = implicit_pace(log_w, x, y, eta, 2.0 * eta * (a - y), False)
    for i in range(n):
        moved = log_w[i] - pace * x[i]
        trial[i] = min(max(moved, -bound), bound)  # α/n ≤ w_i ≤ n/α
        total += math.exp(trial[i]) + abs(trial[i])
    if not total <= LARGEST:
        return total, OVERFLOW
    for i in range(n):
        log_w[i] = trial[i]
        w[i] = math.exp(trial[i])
    t[0] += 1
    return prediction, FINE


class EGU(Constrained):
    """Exponentiated gradient for non-negative weights of any size.

    With ``alpha`` the learner is C-EGU, which tracks a shifting target. Costs O(n) per round for n
    inputs; without ``alpha`` and without a set, O(k) for a sparse row of k entries.

    Parameters
    ----------
    eta : float or None, default None
        Learning rate, eta > 0; None means 1/(3XY), the rate in Herbster & Warmuth's theorem. The
        quantile loss needs a rate: the smaller eta, the nearer the factor of the comparator's loss
        in the bound is to 1.
    alpha : float or None, default None
        Keep every weight in [alpha/n, n/alpha], 0 < alpha ≤ 1.
    Y : float, default 1.0
        Largest label, Y > 0: labels outside [0, Y] are refused. Predictions for the square loss
        are clipped to Y.
    X : float, default 1.0
        Largest input, X > 0: rows with an entry outside [0, X] are refused.
    implicit : bool, default False
        True: the update with which the new weights are best for the row, weighing their distance
        from the old ones against the loss itself, not against a linear approximation of it. Its
        bound holds for every eta. Needs the square loss.
    loss : onlinear.losses.Square or onlinear.losses.Quantile, default Square()
        The loss whose gradient the learner follows. ``Quantile(0.5)`` is half the absolute loss.
    within : onlinear.sets.Set or None, default None
        Keep the weights in this set: ``Box``, ``Simplex``, ``HalfSpace``, ``HyperPlane``,
        ``Custom``, or an ``Intersection`` of them (:mod:`onlinear.sets`). With ``alpha``, the
        weights are kept in [alpha/n, n/alpha] last.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.EGU(Y=2.0)
    >>> model.learn_one([1.0, 0.0], 2.0)
    >>> model.coef_.round(3)  # the second weight had no input
    array([0.824, 0.5  ])
    """

    eta: float | None = None
    alpha: float | None = None
    Y: float = 1.0
    X: float = 1.0
    implicit: bool = False

    algorithm = Algorithm(
        init,
        step,
        (
            "needs x_i ≥ 0, got x_i = {value:g} (Negative values in data)",
            "needs x_i ≤ X = {X:g} (declare a larger X), got x_i = {value:g}",
            "needs labels 0 ≤ y ≤ Y = {Y:g} (declare a larger Y), got y = {value:g}",
            NOT_PROJECTED,
        ),
    )
    _positive = True
    _poor_score = True
    _geometry = POSITIVE
    _sets = (Box, Simplex)
    _any_label = 0.0

    def _last(self) -> list[list[float]]:
        return [] if self.alpha is None else [floor(share(self))]

    def _free(self, params: EGUParams) -> EGUParams:
        return params._replace(alpha=0.0)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        with np.errstate(over="ignore"):
            same = np.exp(stack.log_w)
        check_range("a weight", stack.w, same * (1 - 1e-6), same * (1 + 1e-6))

    def _params(self) -> EGUParams:
        Y, X = number(self, "Y", above=0), number(self, "X", above=0)
        loss = self._loss
        if loss.kind not in (SQUARE, QUANTILE):
            raise ValueError(
                "EGU needs loss=Square() or loss=Quantile(tau), since its predictions are at least "
                f"0 and its bound needs one of these losses, got loss={loss!r}"
            )
        if self.eta is None and loss.kind == SQUARE:
            eta = theorems_rate(self, 1, 3 * X * Y)
        else:
            eta = number(self, "eta", above=0)
        return EGUParams(eta, share(self), Y, X, *loss.numbers(), chosen(self))

    def _local(self) -> bool:
        # the limits on a weight depend on the number of inputs, or on other weights
        return self.alpha is None and self.within is None

    def _guarantee(self, search: bool = True) -> Guarantee:
        eta, alpha, Y, *_ = self._params()
        if self.implicit:
            return _implicit.in_box(eta, alpha, Y, search)
        return guarantee(self, search)

    @classmethod
    def from_range(cls, X: float, Y: float, alpha: float | None = None) -> "EGU":
        """Return EGU with Herbster & Warmuth's rate 1/(3XY), for 0 ≤ x_i ≤ X and 0 ≤ y ≤ Y.

        >>> import onlinear as ol
        >>> ol.EGU.from_range(X=2.0, Y=5.0)
        EGU(eta=0.03333333333333333, Y=5.0, X=2.0)
        """
        asked = cls(X=X, Y=Y)
        square = 3 * number(asked, "X", above=0) * number(asked, "Y", above=0)
        eta = theorems_rate(asked, 1, square)
        model = cls(eta, alpha, Y, X)
        model._params()
        return model

    @classmethod
    def from_drift(cls, T: int, V: float, X: float, Y: float) -> "EGU":
        """Return the C-EGU for at most T rounds and a drift Σ‖u_{t+1} − u_t‖₁ ≤ V.

        The parameter ``alpha`` is min(V/(T − 1), 1), as in Herbster & Warmuth's Corollary 19, or
        None if V = 0.

        >>> import onlinear as ol
        >>> ol.EGU.from_drift(T=101, V=2.0, X=1.0, Y=1.0)
        EGU(eta=0.3333333333333333, alpha=0.02)
        """
        known = asked("EGU.from_drift", T=T, V=V)
        rounds, V = whole(known, "T", least=2), number(known, "V", least=0)
        return cls.from_range(X, Y, min(V / (rounds - 1), 1.0) if V > 0 else None)
