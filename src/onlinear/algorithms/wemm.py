"""WEMM: weighted last-step min-max regression.

    Σ  ← Σ + I/c  from the second round on, if c < ∞
    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw)·h         h = k/(1 + (k − 1)χ),  k the parameter ``weight``, 1 by default
    Σ ← Σ − Σx xᵀΣ·h

Each prediction minimises the largest regret that any label could cause if the round were the last
(*last-step min-max*). In this regret, the comparator's loss in round t has the weight
a_t = k/(1 − χ_t), k ≥ 1. With this weight, the regret is bounded over all labels, so nothing has to
be clipped. The algorithm requires χ_t < 1 in every round; without drift, b > max‖x‖² suffices. With
χ > 1 the recursion would diverge doubly exponentially, so a row with χ ≥ 1 is refused.

For k = 1, the loss of WEMM *equals* the minimum over u of b‖u‖² + Σ a_t(y_t − uᵀx_t)² (Theorem 4
of Moroshko's thesis). For k > 1 (case 1 of Theorem 2), Σ ℓ_t·h_t equals this minimum, where ℓ_t are
the squared errors, and 1/h_t ≤ 1. Both hold against sequences u_1, u_2, … under the penalty
b‖u_1‖² + c Σ‖u_{s+1} − u_s‖², which combines the weights of WEMM with the drift of LASER, as
chapter 9 of the thesis proposes. Proof: a round of weight a raises the minimum by e²/(1/a + χ),
e = y − xᵀw, and 1/a + χ = 1/h. For k = 1, h = 1, and (y − ŷ)² − (y − xᵀw)² is bounded over y only
for ŷ = xᵀw.

Theorem 5 of the thesis is right for rows with ‖x‖ ≤ 1; for ‖x‖ ≤ X, its factor must be
b/(b − X²). The proof of Theorem 6 of the thesis is broken (Lemma 8 and (4.6) are false) and the
last row of Table 4.1 is false; :func:`theorem_6` is a corrected form. Both are for k = 1, c = ∞.

Moroshko & Crammer, ALT 2012; Moroshko, thesis Theorem 2, Figure 3.2, (3.17)–(3.19), chapter 4.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.bulk import TAKE, Bulk
from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    FACTOR,
    STAYS,
    Guarantee,
    Path,
    competitor,
    enter,
    in_bulk,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import (
    ROUNDING,
    axpy,
    clearly_left,
    dot,
    kernel,
    rounding_of,
    scale,
    shift,
    shift_and_round,
)
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    deferred,
    drifted,
    gaussian,
    learn,
    learn_given,
    look,
    moves,
    put_off,
    settle,
)
from onlinear._validation.checks import number
from onlinear.algorithms.laser import FOLLOWS, drift

__all__ = ["WEMM", "count_weighted", "guarantee"]


class WEMMParams(NamedTuple):
    """Parameters of a step: the prior's precision b, the drift penalty c, and the weight k."""

    b: float
    c: float
    weight: float


def init(params: WEMMParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@kernel(inline="always")
def gain(weight, chi):
    """Return h = 1/(1/a + χ) for a row of weight a = k/(1 − χ); it is 1 for k = 1."""
    return weight / (1.0 + (weight - 1.0) * chi)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and whether the block goes on.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    h = gain(params[2], chi)
    return m, h, h * (y - m), chi < 1.0


@kernel
def learn_weighted(state, params, x, e, work):
    """Learn the residual e of a row of any weight, with the drift of Σ; return e or χ, and a rule.

    If the rule is not FINE, nothing is changed.
    """
    _, c, weight = params
    S = state[2]
    chi, grown = drifted(state, c, x, work[0])  # xᵀΣx, with Σ after the drift
    if not math.isfinite(chi * e):
        return e, OVERFLOW
    if chi >= 1.0:
        return chi, DOMAIN
    left = chi * (1.0 - chi) / (1.0 + (weight - 1.0) * chi)  # xᵀΣx after the round
    if chi > 0.5 and not left > rounding_of(S, x) + ROUNDING * (3 + x.size) * grown * dot(x, x):
        return chi, DOMAIN
    rough = shift_and_round(grown, S, x)
    return e, learn_given(state, x, e, chi, (1.0 - chi) / weight, rough, work)


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn, drift=drift), settle)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w, S = state
    b, c, weight = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    covariance_times(state, x, work)
    v = work[0]
    e = y - m
    if weight != 1.0 or c < math.inf:
        value, rule = learn_weighted(state, params, x, e, work)
        return (m if rule == FINE else value), rule
    chi = dot(x, v)  # xᵀΣx
    if not math.isfinite(chi * e):
        return e, OVERFLOW
    left = chi * (1.0 - chi)  # xᵀΣx after the round
    clear = clearly_left(left, b, x) or left > rounding_of(S, x)
    if chi >= 1.0 or (chi > 0.5 and not clear):
        return chi, DOMAIN
    if clear:
        if deferred(v):
            scale(1.0, v, work[1])
        put_off(v, S, work)  # Σ ← Σ − vvᵀ
    axpy(e, v, w)  # w ← w + ev
    t[0] += 1
    return m, FINE


WEIGHT = 3  # in the tally: a_t


def weigh(params, j, m, chi, y):
    """Return 0 (no prediction), factors h and k of a row's updates, and whether the block goes on.

    In the comparator's loss, a row has the weight k/(1 − χ). When rows are added in blocks, the
    comparator's updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    h, k = moves(y - m, chi, (1.0 - chi) / params[2])
    return 0.0, h, k, chi < 1.0


@kernel(inline="always")
def count_weighted(tally, notes, weight, e, chi):
    """Record a row of weight a = k/(1 − χ): the comparator's loss grows by e²/(1/a + χ)."""
    tally[WEIGHT] = weight / (1.0 - chi)
    h = gain(weight, chi)
    return enter(tally, notes, tally[COMPARATOR] + e * e * h, max(tally[FACTOR], 1.0 / h), 0.0)


def accept(state, params, x, y, m, beside):
    """Add a row of a block to the bound; return TAKE, which accepts the row."""
    count_weighted(state[0], state[1], params[2], y - m, beside[0])
    return TAKE


@Tally.with_bulk(in_bulk(accept, drift)._replace(turn=weigh))
def bound(state, params, x, y, work):
    """Add a row to the bound on WEMM's loss L, computed by weighted least squares.

        L ≤ max 1/h_t · min over u_1..u_T of (b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ a_t(y_t − u_tᵀx_t)²)

    For k = 1, all h_t are 1, and the two sides are equal (Moroshko's Theorem 4, for c = ∞).
    """
    tally, notes, t, w, S = state
    v = work[0]
    chi, grown = look((t, w, S), params[1], x, v)
    if not chi < 1.0:
        return lose(tally, notes, DOMAIN, chi)
    e = y - dot(w, x)
    if not math.isfinite(chi * e):
        return lose(tally, notes, OVERFLOW, e)
    if grown > 0.0:
        shift(grown, S)
    r = (1.0 - chi) / params[2]  # a row of weight k/(1 − χ)
    rule = learn((t, w, S), x, e, v, chi, r, work[1])
    if rule != FINE:
        return lose(tally, notes, rule, e)
    return count_weighted(tally, notes, params[2], e, chi)


def theorem_5(losses: np.ndarray, log_det: float, b: float, X: float) -> float:
    """Return Theorem 5's bound, corrected, on the weighted loss Σ a_t(y_t − uᵀx_t)² of u.

    For rows with ‖x‖ ≤ X < √b, the bound is L + b/(b − X²)·S·ln det(A_T/b), where L is the sum of
    u's losses (y_t − uᵀx_t)², given as ``losses``, and S is the largest of them. ``log_det`` is
    ln det(A_T/b), where A_T is Σ⁻¹ after the last round.
    """
    return float(losses.sum() + b / (b - X * X) * losses.max() * log_det)


def theorem_6(losses: np.ndarray, d: int, b: float, X: float) -> float:
    """Return Theorem 6's bound, corrected, on the weighted loss Σ a_t(y_t − uᵀx_t)² of u.

    For rows with ‖x‖ ≤ X < √b, the bound is L + Sd·b/(b − X²)·ln(1 + ⌈L/S⌉/(d(b/X² − 1))), where L
    is the sum of u's losses (y_t − uᵀx_t)², given as ``losses``, and S is the largest of them.
    """
    total, worst = losses.sum(), losses.max()
    if worst == 0:
        return 0.0
    log = math.log1p(math.ceil(total / worst) / (d * (b / (X * X) - 1)))
    return float(total + worst * d * b / (b - X * X) * log)


def guarantee(owner: str, params: WEMMParams) -> Guarantee:
    """Return the bound of WEMM."""
    b, c, weight = params

    def begin(d: int) -> tuple[np.ndarray, ...]:
        state = competitor(d, b, extra=1)
        state[0][FACTOR] = 1.0 / weight  # the least 1/h
        return state

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weighted = np.cumsum(tally[WEIGHT] * path.losses)
        cost = b * path.squares[0] + path.drift(2, c, power=2) + weighted
        return tally[FACTOR] * cost, np.isinf(cost)

    stays = math.isinf(c)
    size = f"{b:g}·‖u‖²" if stays else f"{b:g}·‖u_1‖² + {c:g}·Σ‖u_t+1 − u_t‖²"
    cost = f"{size} + Σ a·(y − uᵀx)²"
    a = f"a = {weight:g}/(1 − xᵀΣx)"
    if weight == 1.0:
        source = "(thesis, Theorem 4)" if stays else "(thesis, Theorem 4, with drift)"
        statement, factor = f"loss = comparator, exactly {source}", ""
    else:
        source = "(thesis, Theorem 4, case 1 of Theorem 2)"
        factor = f" · max (1 + {weight - 1:g}·xᵀΣx)/{weight:g}"
        statement = f"loss ≤ comparator{factor} {source}"
    return Guarantee(
        statement,
        f"min over u of {cost}, {a}",
        Account(owner, begin, bound, tuple(params)),
        f"loss ≤ {f'({cost}){factor}' if factor else cost}, {a} {source}",
        price,
        paths=STAYS if stays else "any u_t",
    )


class WEMM(SecondOrder):
    """Weighted last-step min-max regression, for rows of bounded norm.

    Costs O(d²) per round. A row with xᵀΣx ≥ 1 is refused; without drift, b > max‖x‖² admits every
    row.

    Parameters
    ----------
    b : float, default 2.0
        Precision of the prior, b > 0; choose it above the largest ‖x‖².
    weight : float, default 1.0
        The weight of a row in the comparator's loss, as a multiple of 1/(1 − xᵀΣx), weight ≥ 1; 1
        is WEMM as in the paper by Moroshko & Crammer. With a larger weight, the learner adapts
        faster, and its loss is below that of the comparator.
    c : float, default inf
        Penalty on the drift ‖u_{t+1} − u_t‖² of the comparator, c > 0; infinity is for a
        relationship that stays the same. With drift, xᵀΣx grows by ‖x‖²/c in each round, until
        rows similar to x are learnt: choose a large c.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.WEMM(b=2.0)
    >>> model.learn_one([1.0, 0.0], 1.0)
    >>> model.predict_one([1.0, 0.0])
    0.5
    """

    b: float = 2.0
    weight: float = 1.0
    c: float = math.inf

    algorithm = Algorithm(
        init,
        step,
        ("needs xᵀΣx < 1 (b > max‖x‖² and a large c suffice), got xᵀΣx = {value:g}",),
        FOLLOWS,
    )
    _poor_score = True  # b > max‖x‖² is a strong prior

    def _params(self) -> WEMMParams:
        return WEMMParams(
            number(self, "b", above=0),
            number(self, "c", above=0, most=math.inf),
            number(self, "weight", least=1),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        return guarantee("WEMM", self._params())
