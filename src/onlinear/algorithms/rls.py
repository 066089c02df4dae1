"""RLS: recursive least squares with exponential forgetting.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw) / (r + χ)
    Σ ← (Σ − Σx xᵀΣ / (r + χ)) / r

Here r is the forgetting factor: after t rounds w minimises b rᵗ‖u‖² + Σ r^(t−s) (y_s − uᵀx_s)².

In a direction that the data do not excite, Σ grows by the factor 1/r per round without limit
("wind-up"), until rounding errors swamp the other directions. A guard prevents wind-up. The limit
on Σ_ii is the larger of 10⁹/p_i and the prior variance 1/b, where p_i is the largest x_i² seen; as
long as x_i has always been 0, it is 10⁹/b. When Σ_ii exceeds its limit, Σ is updated as if w_i had
been measured and found at its present value: this divides Σ_ii by four and does not change w. The
guard has no effect as long as the last 1/(1 − r) rows or so excite every direction by at least 1e-4
of the scale of the columns involved.

Haykin, Adaptive Filter Theory; the guard against wind-up is not from the literature.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import FINE, OVERFLOW, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import dot, kernel, scale, subtract_square, symv
from onlinear._updates.gaussian import gaussian, learn, moves
from onlinear._updates.rescaling import FORGETFUL
from onlinear._validation.checks import number
from onlinear._validation.states import check_range
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["RLS", "Forgetful", "fade", "forget", "forgetful", "turn", "unforced"]

WOUND_UP = 1e9  # if Σ_ii·x_i² exceeds this, the data no longer excite column i
FADED = 0.1  # a block ends before the weight of its first row falls below this
LARGE = 1e300  # x_i² beyond this may overflow in ‖x‖²
TINY = 1e-200  # x_i² below this counts as 0


class RLSParams(NamedTuple):
    """Parameters of a step: the forgetting factor r per round, and the prior's precision b."""

    forgetting: float
    b: float


class Forgetful(NamedTuple):
    """The state: the number of rounds, the weights, Σ, and the largest x_i² of each column."""

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray
    peak: np.ndarray


def forgetful(d: int, precision: float) -> Forgetful:
    """Return the initial state: w = 0 and Σ = I / precision."""
    return Forgetful(*gaussian(d, precision), np.zeros(d))


def init(params: RLSParams, d: int) -> Forgetful:
    """Return the initial state: w = 0 and Σ = I/b."""
    return forgetful(d, params.b)


@kernel
def _limit(peak, b):
    """Return how large Σ_ii may be, given the largest x_i² seen."""
    return max(WOUND_UP / peak, 1.0 / b) if peak > TINY else WOUND_UP / b


@kernel
def forget(state, r, b, x, y, m, work):
    """Learn the label, multiply the weights of earlier rows by r, and limit the growth of Σ."""
    t, w, S, peak = state
    v = work[0]
    if not math.isfinite(dot(x, x)):
        return OVERFLOW
    symv(S, x, v)  # v = Σx
    rule = learn((t, w, S), x, y - m, v, dot(x, v), r, work[1])
    if rule != FINE:
        return rule
    for i in range(x.size):
        scale(1.0 / r, S[i], S[i])  # Σ ← Σ/r
        peak[i] = max(peak[i], x[i] * x[i])
    for i in range(x.size):
        if S[i, i] > _limit(peak[i], b):  # Σ ← Σ − (1 − ¼)·Σe_i e_iᵀΣ/Σ_ii, so that Σ_ii ← ¼Σ_ii
            scale(math.sqrt(0.75 / S[i, i]), S[i], v)
            subtract_square(v, S)
    return FINE


@kernel
def unforced(state, r, b, X, start, rows):
    """Return how many of the next rows can be learnt as one block; 0 if a Σ_ii might get too large.

    Within a block Σ is not divided by r, so in round j it is too small by the factor rʲ.
    """
    _, _, S, peak = state
    rows = min(rows, int(1.0 + math.log(FADED) / math.log(r))) if r < 1.0 else rows
    growth = r**-rows
    for i in range(peak.size):
        top = peak[i]
        for j in range(start, start + rows):
            top = max(top, X[j, i] * X[j, i])
        least = min(_limit(peak[i], b), _limit(top, b))  # for any row in between
        if not (S[i, i] * growth <= least and top < LARGE):
            return 0
    return rows


@kernel
def fade(state, r, X, start, rows):
    """Divide Σ by r once for each row of a block, because the block itself has not done so.

    The largest x_i² of each column are updated, too.
    """
    _, _, S, peak = state
    growth = r**-rows
    for i in range(peak.size):
        scale(growth, S[i], S[i])
        for j in range(start, start + rows):
            peak[i] = max(peak[i], X[j, i] * X[j, i])


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and True (go on).

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    True says that the block can go on after this row. Within a block, Σ is not divided by r after
    each row (:func:`fade` does it at the end), so at row j = 0, 1, … it is too small by the factor
    rʲ. To make up for the missing divisions of Σ by r, h and k are computed with r^(j+1) in place
    of r.
    """
    h, k = moves(y - m, chi, params[0] ** (j + 1.0))
    return m, h, k, True


def plan(state, params, X, y, start, rows):
    """Return how many of the next rows can form a block."""
    forgetting, b = params
    return unforced(state, forgetting, b, X, start, rows)


def close(state, params, X, start, rows):
    """Finish a block of rows: apply the forgetting factors to Σ."""
    fade(state, params[0], X, start, rows)


@Step.with_bulk(Bulk(turn, plan=plan, close=close))
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, _, _ = state
    forgetting, b = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    return m, forget(state, forgetting, b, x, y, m, work)


class RLS(SecondOrder):
    """Recursive least squares with exponential forgetting: a row of age s has weight forgettingˢ.

    A guard keeps Σ from growing without limit in directions that the rows do not excite for a long
    time. No regret bound is known for forgetting < 1. Costs O(d²) per round.

    Parameters
    ----------
    forgetting : float, default 0.99
        Factor that multiplies the weight of earlier rows in each round, 0 < forgetting ≤ 1: the
        memory is about 1/(1 − forgetting) rounds. With forgetting = 1, RLS is ridge regression.
    b : float, default 1.0
        Precision of the prior, b > 0; the prior is forgotten like a row.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.RLS(forgetting=0.5)
    >>> model.learn_one([1.0], 0.0)
    >>> model.learn_one([1.0], 4.0)
    >>> round(model.predict_one([1.0]), 6)  # 4 / (0.25·b + 0.5 + 1)
    2.285714
    """

    forgetting: float = 0.99
    b: float = 1.0

    algorithm = Algorithm(init, step, follows=FORGETFUL)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_range("a largest x²", stack.peak, 0)

    def _params(self) -> RLSParams:
        return RLSParams(number(self, "forgetting", above=0, most=1), number(self, "b", above=0))

    def _guarantee(self, search: bool = True) -> Guarantee:
        forgetting, b = self._params()
        if forgetting < 1:
            return unknown("RLS", "RLS that forgets (forgetting < 1)", b)
        source = "Σ loss/(1+χ) is the least penalised loss"
        return guarantee("RLS", source, LaserParams(b, math.inf, 0.0, math.inf))
