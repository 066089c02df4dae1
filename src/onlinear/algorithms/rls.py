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

Optionally, predictions are shrunk to r xᵀw / (r + χ), as those of AAR and LASER are.

Haykin, Adaptive Filter Theory; Jacobsen & Cutkosky, ICML 2024 (shrunk predictions). The guard
against wind-up is not from the literature.
"""

import math
from typing import Any, NamedTuple

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import dot
from onlinear._updates.rescaling import FORGETFUL
from onlinear._validation.checks import choice, limit, number
from onlinear._validation.states import check_range
from onlinear.algorithms import _forgetting_bound
from onlinear.algorithms._forgetting import (
    Forgetful,
    factors,
    fade,
    forget,
    forgetful,
    limited,
    uncertainty,
    unforced,
)
from onlinear.algorithms.laser import LaserParams, forecast, guarantee

__all__ = ["RLS"]


class RLSParams(NamedTuple):
    """Parameters of a step: the forgetting factor r, prior precision b, whether to shrink, max |ŷ|.

    The last two are in the places where :func:`.laser.forecast` expects them.
    """

    forgetting: float
    b: float
    shrink: float
    clip: float


def init(params: RLSParams, d: int) -> Forgetful:
    """Return the initial state: w = 0 and Σ = I/b."""
    return forgetful(d, params.b)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and True (go on).

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    True says that the block can go on after this row.
    """
    r, h, k = factors(params[0], j, y - m, chi)
    return forecast(params, m, chi / r), h, k, True


def plan(state, params, X, y, start, rows):
    """Return how many of the next rows can form a block."""
    forgetting, b, _, _ = params
    return unforced(state, forgetting, b, X, start, rows)


def close(state, params, X, start, rows):
    """Finish a block of rows: apply the forgetting factors to Σ."""
    fade(state, params[0], X, start, rows)


@Step.checked_per_block(limited)
@Step.with_bulk(Bulk(turn, plan=plan, close=close))
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, _, _ = state
    forgetting, b, shrink, _ = params
    m, chi = dot(w, x), 0.0
    if shrink or not math.isnan(y):
        chi = uncertainty(state, x, work)
    prediction = forecast(params, m, chi / forgetting)
    if math.isnan(y):
        return prediction, FINE
    return prediction, forget(state, forgetting, b, x, y - m, chi, work)


class RLS(SecondOrder):
    """Recursive least squares with exponential forgetting: a row of age s has weight forgettingˢ.

    A guard keeps Σ from growing without limit in directions that the rows do not excite for a long
    time. Costs O(d²) per round.

    Parameters
    ----------
    forgetting : float, default 0.99
        Factor that multiplies the weight of earlier rows in each round, 0 < forgetting ≤ 1: the
        memory is about 1/(1 − forgetting) rounds. With forgetting = 1, RLS is ridge regression.
    b : float, default 1.0
        Precision of the prior, b > 0; the prior is forgotten like a row.
    shrink : bool, default False
        Predict r·xᵀw/(r + χ), where r is ``forgetting`` and χ = xᵀΣx. This is the discounted
        forward algorithm, whose bound does not multiply the comparator's cost by a factor.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
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
    shrink: bool = False
    clip: float | None = None

    algorithm = Algorithm(init, step, follows=FORGETFUL)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_range("a largest x²", stack.peak, 0)

    def _params(self) -> RLSParams:
        return RLSParams(
            number(self, "forgetting", above=0, most=1),
            number(self, "b", above=0),
            float(choice(self, "shrink", (True, False))),
            limit(self, "clip"),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        forgetting, b, shrink, clip = self._params()
        if forgetting < 1:
            params = _forgetting_bound.BoundParams(forgetting, b, shrink, clip, math.inf)
            return _forgetting_bound.guarantee("RLS", params)
        source = "Σ loss/(1+χ) is the least penalised loss"
        return guarantee("RLS", source, LaserParams(b, math.inf, shrink, clip))

    def _earlier_guarantee(self) -> Guarantee | None:
        words = "an RLS with forgetting < 1 whose certificate was begun before version 0.14"
        return unknown("RLS", words, self._params().b) if self.forgetting < 1 else None
