"""EG and C-EG: exponentiated gradient on the simplex; C-EG has a lower limit on every weight.

    ŷ  = xᵀw,  w₁ = 1/n
    w_i ← w_i exp(−2η (xᵀw − y) x_i) / Z       normalised to Σw_i = 1
    w ← the projection on [α/n, 1]ⁿ ∩ simplex in relative entropy, if an α is given

The state holds ln w, shifted so that its maximum is 0. With ln w stored, no weight can underflow to
zero and remain zero. Misprint resolved: the update in Figure 1 of Herbster & Warmuth rightly has
the factor 2 of the gradient, which their Lemma 13 lacks. The learner checks that max_i x_i − min_i
x_i ≤ X in each row, as Lemma 13 requires.

Herbster & Warmuth's Theorem 16 bounds the loss for the learning rate η = 2/(3X²). By Hoeffding's
lemma, there is such a bound for every η with ηX² < 8/3; its factor depends on η.

Herbster & Warmuth, JMLR 2001, Figure 1 and Theorem 16; Kivinen & Warmuth 1997.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.best_in_class import add_row, improve_on_simplex, loss_of
from onlinear._learner.bounds.guarantee import (
    FACTOR,
    Guarantee,
    Path,
    broke,
    enter,
    lose,
    surprise,
    surprises,
    tallied,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import dot, extremes, finite, kernel
from onlinear._validation.checks import number
from onlinear._validation.states import check_range, check_simplex
from onlinear.bregman import lift_simplex

__all__ = [
    "EG",
    "EGAccount",
    "EGState",
    "account",
    "exponentiate",
    "price",
    "share",
    "share_out",
    "theorems_rate",
]


class EGParams(NamedTuple):
    """Parameters of a step: learning rate, α (0 for none), and limit X on max x_i − min x_i."""

    eta: float
    alpha: float
    X: float


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


class EGAccount(NamedTuple):
    """Parameters of the bound: η, α (0: none), U of EG± (1 for EG), k, whether to seek a good u."""

    eta: float
    alpha: float
    U: float
    k: float
    search: float


SPREAD, SQUARES = 3, 4  # in the tally: the largest range of a row, Σy²
# EG±'s bound is given up if √Σy² is below this share of (number of weights)·(largest range of a
# row): predictions near 0 are then differences w⁺ − w⁻ that have too few correct digits
FAINT = 1e-13


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss L against comparators u_t of loss L(u).

        L ≤ (L(u) + k/η·(ln m + Σ u ln u + ½ ln(m/α) Σ‖u_{t+1} − u_t‖₁)) / (k(2 − k − s))

    In this bound, s = η·(largest range of a row)²/2, the range of a row is max x_i − min x_i, and m
    is the number of weights. Hoeffding's lemma gives
    η(2 − k − s)·ℓ(w) − η/k·ℓ(u) ≤ D(u, w) − D(u, w') for every k, where ℓ is the squared error in a
    round, D the relative entropy, and w' the weights after the step. With k = 2/3 and EG's
    η = 2/(3X²), the factor of L(u) is 3/2 as in Herbster & Warmuth's Theorem 16. With k = 1/3 and
    EG±'s η = 1/(3U²X²), the factor of L(u) is 3. EG± has weights for x and
    for −x, so the range of its rows is 2U max|x_i|.
    """
    tally, notes, A, b, p = state
    eta, alpha, U, k, search = params
    low, high = extremes(x)
    m = p.size
    spread = high - low if m == x.size else 2.0 * U * max(high, -low)
    tally[SPREAD] = max(tally[SPREAD], spread)
    s = 0.5 * eta * tally[SPREAD] * tally[SPREAD]
    if s >= 2.0 - k:
        broke(notes, 0, eta * tally[SPREAD] * tally[SPREAD])
    comparator = 0.0
    shift = low if m == x.size else 0.0  # Σu = 1: shifting x and y does not change y − uᵀx
    tally[SQUARES] += (y - shift) * (y - shift)
    if m > x.size and 0.0 < tally[SQUARES] < (FAINT * m * tally[SPREAD]) ** 2:
        return lose(tally, notes, DOMAIN + 1, y)
    if search:
        u, g, row = work[0], work[1], work[2]
        for i in range(x.size):
            row[i] = x[i] - shift
        add_row(row, y - shift, A, b)
        improve_on_simplex(p, U, alpha / m, A, b, u, g)
        comparator = loss_of(u, A, b, tally[SQUARES], g) + k / eta * surprise(p, 1.0 / m)
    return enter(tally, notes, comparator, 1.0 / (k * (2.0 - k - s)), 0.0)


def account(owner: str, params: EGAccount, copies: int) -> Account:
    """Return how to compute the bound; ``copies`` is 1, or 2 for EG± (weights for x and −x)."""

    def begin(d: int) -> tuple[np.ndarray, ...]:
        p = np.full(copies * d, 1.0 / (copies * d))
        size = d if params.search else 0
        return tallied(np.zeros((size, size)), np.zeros(size), p, extra=2)

    return Account(owner, begin, bound, tuple(params))


def price(
    params: EGAccount, loss: np.ndarray, path: Path, tally: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound against comparators u_t on the simplex, and where it does not hold.

    The second array says for each round whether the theorem does not apply to the u_t so far.
    ``loss`` is the cumulative loss of the u_t after each round. For m weights, all entries of every
    u_t must be in [α/m, 1]; without α, the u_t must be the same in all rounds.
    """
    eta, alpha, _, k, _ = params
    m = path.u.shape[1]
    drift = path.drift(1, 0.5 * math.log(m / alpha) if alpha > 0 else math.inf)
    nats = np.empty(path.u.shape[0])
    surprises(np.ascontiguousarray(path.u), 1.0 / m, nats)
    off = (np.abs(path.u.sum(axis=1) - 1) > 1e-9) | np.any(path.u < alpha / m - 1e-12, axis=1)
    return tally[FACTOR] * (loss + k / eta * (nats + drift)), path.ever(off) | np.isinf(drift)


def _on_simplex(path: Path) -> Path:
    """Rescale comparators whose entries sum to one up to rounding, so that the sum is one."""
    sums = path.u.sum(axis=1, keepdims=True)
    return replace(path, u=path.u / np.where(np.abs(sums - 1) <= 1e-9, sums, 1.0))


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


def theorems_rate(owner: Learner, numerator: float, square: float) -> float:
    """Return numerator/square, the learning rate in a learner's theorem; refuse 0 and infinity."""
    if not 0 < square < math.inf or numerator / square == math.inf:
        raise ValueError(
            f"{type(owner).__name__} needs ranges for which the default eta fits in floating "
            f"point, got {numerator:g}/{square:g} for {owner!r}: rescale the data, or give an eta"
        )
    return numerator / square


def share(owner: Learner) -> float:
    """Return the learner's parameter α after a check; 0 if it is None."""
    return 0.0 if owner.alpha is None else number(owner, "alpha", above=0, most=1)  # type: ignore[attr-defined]


class EG(Learner):
    """Exponentiated gradient: weights on the simplex, for many inputs few of which matter.

    With ``alpha`` the learner is C-EG, which tracks a shifting target: no weight falls below
    alpha/n. The prediction is a weighted mean of x. Costs O(n) per round for n inputs; keeping the
    weights above alpha/n takes a few passes over them.

    Parameters
    ----------
    eta : float or None, default None
        Learning rate, eta > 0; None means 2/(3X²), the rate in Herbster & Warmuth's theorem.
    alpha : float or None, default None
        Keep every weight at alpha/n or above, 0 < alpha ≤ 1.
    X : float, default 1.0
        Largest range of a row, X > 0: a row with max x_i − min x_i > X is refused.
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

    algorithm = Algorithm(
        init,
        step,
        ("needs max x_i − min x_i ≤ X = {X:g} (declare a larger X), got {value:g}",),
    )
    _poor_score = True

    def _settle(self) -> None:
        share_out(self._state)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_weights(stack)

    def _params(self) -> EGParams:
        X = number(self, "X", above=0)
        eta = (
            theorems_rate(self, 2, 3 * X * X) if self.eta is None else number(self, "eta", above=0)
        )
        return EGParams(eta, share(self), X)

    def _guarantee(self, search: bool = True) -> Guarantee:
        eta, alpha, _ = self._params()
        params = EGAccount(eta, alpha, 1.0, 2 / 3, float(search))
        factor = "· 9/(8 − 3η·range²) (Herbster & Warmuth, Theorem 16, any rate)"
        penalty = f"{2 / (3 * eta):g}·(ln n + Σ u ln u"
        drift = f" + ½ln(n/{alpha:g})·Σ‖u_t+1 − u_t‖₁" if alpha else ""
        floor = f", u ≥ {alpha:g}/n" if alpha else ""
        return Guarantee(
            f"loss ≤ comparator {factor}",
            f"loss of u + {penalty}), u a good point of the simplex{floor}",
            account("EG", params, copies=1),
            f"loss ≤ (loss of u + {penalty}{drift})) {factor}",
            lambda path, tally: price(params, _on_simplex(path).loss, path, tally),
            ("η·range² < 8/3",),
            f"u_t on the simplex{floor}" if alpha else "one u of the simplex for all rounds",
        )

    @classmethod
    def from_range(cls, X: float, alpha: float | None = None) -> "EG":
        """Return EG with Herbster & Warmuth's rate 2/(3X²), for rows with max x_i − min x_i ≤ X.

        >>> import onlinear as ol
        >>> ol.EG.from_range(X=2.0)
        EG(eta=0.16666666666666666, X=2.0)
        """
        width = number(cls(X=X), "X", above=0)
        model = cls(2 / (3 * width**2), alpha, X)
        model._params()
        return model
