"""WEMM: weighted last-step min-max regression.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw)
    Σ ← Σ − Σx xᵀΣ

Each prediction minimises the largest regret that any label could cause if the round were the last
(*last-step min-max*). In this regret, the comparator's loss in round t has the weight
a_t = 1/(1 − χ_t). With this weight, the regret is bounded over all labels, so nothing has to be
clipped. The algorithm requires χ_t < 1 in every round; b > max‖x‖² suffices. With χ > 1 the
recursion would diverge doubly exponentially, so a row with χ ≥ 1 is refused.

The loss of WEMM *equals* the minimum over u of b‖u‖² + Σ a_t(y_t − uᵀx_t)² (Theorem 4 of Moroshko's
thesis). Theorem 5 of the thesis is right for rows with ‖x‖ ≤ 1; for ‖x‖ ≤ X, its factor must be
b/(b − X²). The proof of Theorem 6 of the thesis is broken (Lemma 8 and (4.6) are false) and the
last row of Table 4.1 is false; :func:`theorem_6` is a corrected form.

Moroshko & Crammer, ALT 2012; Moroshko, thesis Figure 3.2, (3.17)–(3.19), chapter 4.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.bulk import TAKE, Bulk
from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    Guarantee,
    Path,
    competitor,
    enter,
    in_bulk,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import axpy, clearly_left, dot, kernel, rounding_of, scale, symv
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    deferred,
    gaussian,
    learn,
    moves,
    put_off,
    settle,
)
from onlinear._updates.rescaling import GAUSSIAN
from onlinear._validation.checks import number

__all__ = ["WEMM", "count_weighted", "guarantee"]


class WEMMParams(NamedTuple):
    """Parameters of a step: the prior's precision b."""

    b: float


def init(params: WEMMParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and whether the block goes on.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    return m, 1.0, y - m, chi < 1.0


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn), settle)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w, S = state
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    covariance_times(state, x, work)
    chi = dot(x, work[0])  # xᵀΣx
    v = work[0]
    e = y - m
    if not math.isfinite(chi * e):
        return e, OVERFLOW
    left = chi * (1.0 - chi)  # xᵀΣx after the round
    clear = clearly_left(left, params[0], x) or left > rounding_of(S, x)
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

    In the comparator's loss, a row has the weight 1/(1 − χ). When rows are added in blocks, the
    comparator's updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    h, k = moves(y - m, chi, 1.0 - chi)
    return 0.0, h, k, chi < 1.0


@kernel(inline="always")
def count_weighted(tally, notes, e, chi):
    """Record a row of weight a = 1/(1 − χ): the comparator's loss grows by e²/(1/a + χ) = e²."""
    tally[WEIGHT] = 1.0 / (1.0 - chi)
    return enter(tally, notes, tally[COMPARATOR] + e * e, 1.0, 0.0)


def accept(state, params, x, y, m, beside):
    """Add a row of a block to the bound; return TAKE, which accepts the row."""
    count_weighted(state[0], state[1], y - m, beside[0])
    return TAKE


@Tally.with_bulk(in_bulk(accept)._replace(turn=weigh))
def bound(state, params, x, y, work):
    """Add a row to WEMM's loss L, computed by weighted least squares (Moroshko's Theorem 4).

    L = min over u of (b‖u‖² + Σ a_t(y_t − uᵀx_t)²)
    """
    tally, notes, t, w, S = state
    v = work[0]
    symv(S, x, v)
    chi = dot(x, v)
    if not chi < 1.0:
        return lose(tally, notes, DOMAIN, chi)
    e = y - dot(w, x)
    rule = learn((t, w, S), x, e, v, chi, 1.0 - chi, work[1])  # a row of weight 1/(1 − χ)
    if rule != FINE:
        return lose(tally, notes, rule, e)
    return count_weighted(tally, notes, e, chi)


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


def guarantee(owner: str, b: float) -> Guarantee:
    """Return the bound of WEMM."""

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return b * path.squares + np.cumsum(tally[WEIGHT] * path.losses), path.moved

    cost = f"{b:g}·‖u‖² + Σ a·(y − uᵀx)²"
    weight = "a = 1/(1 − xᵀΣx)"
    return Guarantee(
        "loss = comparator, exactly (thesis, Theorem 4)",
        f"min over u of {cost}, {weight}",
        Account(owner, lambda d: competitor(d, b, extra=1), bound, (b,)),
        f"loss ≤ {cost}, {weight} (thesis, Theorem 4)",
        price,
    )


class WEMM(SecondOrder):
    """Weighted last-step min-max regression, for rows of bounded norm and a fixed target.

    Costs O(d²) per round. A row with xᵀΣx ≥ 1 is refused; b > max‖x‖² admits every row.

    Parameters
    ----------
    b : float, default 2.0
        Precision of the prior, b > 0; choose it above the largest ‖x‖².
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

    algorithm = Algorithm(
        init,
        step,
        ("needs xᵀΣx < 1 (b > max‖x‖² suffices), got xᵀΣx = {value:g}",),
        GAUSSIAN,
    )
    _poor_score = True  # b > max‖x‖² is a strong prior

    def _params(self) -> WEMMParams:
        return WEMMParams(number(self, "b", above=0))

    def _guarantee(self, search: bool = True) -> Guarantee:
        return guarantee("WEMM", *self._params())
