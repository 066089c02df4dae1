"""RLS: recursive least squares with exponential forgetting.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw) / (r + χ)
    Σ ← (Σ − Σx xᵀΣ / (r + χ)) / r

Here r is the forgetting factor: after t rounds w minimises b rᵗ‖u‖² + Σ r^(t−s) (y_s − uᵀx_s)².

In a direction that the data do not excite, Σ grows by the factor 1/r per round without limit
("wind-up"), until rounding errors swamp the other directions. A guard prevents wind-up. The limit
on Σ_ii is the larger of 10⁹/p_i and the prior variance 1/b, where p_i is the largest x_i² seen; as
long as x_i has always been 0, it is 10⁹/b. When Σ_ii exceeds its limit, Σ is updated as if w_i had
been measured and found at its present value: this divides Σ_ii by four (if r < ¼, until it is below
the limit) and does not change w. The guard has no effect as long as the last 1/(1 − r) rows or so
excite every direction by at least 1e-4 of the scale of the columns involved.

Optionally, a prediction is drawn towards a hint ỹ of the label, the more the less certain it is:

    ŷ  = (r xᵀw + χỹ) / (r + χ)    ỹ = 0 (``shrink``, as in AAR and LASER), or
                                   ỹ = y_{t−1}, the last label, at first 0 (``hint="last"``)

This is the prediction after a row x with the label ỹ. A hint does not change what is learnt.

Haykin, Adaptive Filter Theory; Jacobsen & Cutkosky, ICML 2024 (hints). The guard against wind-up
is not from the literature.
"""

import copy
import math
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import clipped, dot, kernel
from onlinear._updates.rescaling import FORGETFUL
from onlinear._validation.checks import choice, limit, number
from onlinear._validation.states import check_range
from onlinear.algorithms import _forgetting_bound
from onlinear.algorithms._forgetting import (
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


class RLSState(NamedTuple):
    """The number of rounds, the weights, Σ, the largest x_i² of each column, and the last label.

    ``last`` is empty if the last label is not used as a hint, and NaN to predict the rows of a
    table, of which it says nothing.
    """

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray
    peak: np.ndarray
    last: np.ndarray


def begin(d: int, b: float, *, hint: bool) -> RLSState:
    """Return the initial state, w = 0 and Σ = I/b; with room for the last label if it is a hint."""
    return RLSState(*forgetful(d, b), np.zeros(int(hint)))


def init(params: RLSParams, d: int) -> RLSState:
    """Return the initial state without a hint."""
    return begin(d, params.b, hint=False)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and True (go on).

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    True says that the block can go on after this row.
    """
    r, h, k = factors(params[0], j, y - m, chi)
    return forecast(params, m, chi / r), h, k, True


def plan(state, params, X, y, start, rows):
    """Return how many of the next rows can form a block; none with hints, which change by row."""
    forgetting, b, _, _ = params
    if state[4].size > 0:
        return 0
    return unforced(state[:4], forgetting, b, X, start, rows)


def close(state, params, X, start, rows):
    """Finish a block of rows: apply the forgetting factors to Σ."""
    fade(state[:4], params[0], X, start, rows)


@kernel(inline="always")
def drawn(m, hint, chi):
    """Return (m + χỹ)/(1 + χ) without overflow, given m = xᵀw, the hint ỹ, and χ (χ/r for RLS)."""
    return m + (hint - m) * (chi / (1.0 + chi))


@Step.checked_per_block(limited)
@Step.with_bulk(Bulk(turn, plan=plan, close=close))
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    w, last = state[1], state[4]
    forgetting, b, shrink, clip = params
    hinted = last.size > 0 and not math.isnan(last[0])
    m, chi = dot(w, x), 0.0
    if shrink or hinted or not math.isnan(y):
        chi = uncertainty(state, x, work)
    if hinted:
        prediction = clipped(drawn(m, last[0], chi / forgetting), clip)
    else:
        prediction = forecast(params, m, chi / forgetting)
    if math.isnan(y):
        return prediction, FINE
    rule = forget(state[:4], forgetting, b, x, y - m, chi, work)
    if rule == FINE and last.size > 0:
        last[0] = y
    return prediction, rule


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
    hint : {"last"} or None, default None
        "last": draw a prediction towards the last label learnt (at first 0), by the share
        χ/(r + χ), which is large for rows unlike those seen. This suits labels that change slowly.
        ``shrink`` draws predictions towards 0 instead, so at most one of the two can be given.
        ``predict`` and ``score``, whose rows come from anywhere, use no hint. With a hint, rows are
        never learnt in blocks.
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
    >>> walk = [1.0, 1.1, 1.2, 1.1, 1.0]
    >>> hinted = ol.RLS(hint="last").fit([[0.1]] * 5, walk)
    >>> round(hinted.predict_one([9.0]), 2)  # a row unlike those seen: about the last label
    1.05
    """

    forgetting: float = 0.99
    b: float = 1.0
    shrink: bool = False
    clip: float | None = None
    hint: Literal["last"] | None = None

    algorithm = Algorithm(init, step, follows=FORGETFUL)
    _of_state = ("hint",)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_range("a largest x²", stack.peak, 0)

    def _hinted(self) -> bool:
        hinted = bool(choice(self, "hint", ("last", None)) == "last")
        if hinted and self.shrink:
            raise ValueError(
                f"RLS needs shrink=False with a hint, got shrink={self.shrink!r} and "
                f"hint={self.hint!r} (shrink is the hint 0)"
            )
        return hinted

    def _params(self) -> RLSParams:
        self._hinted()
        return RLSParams(
            number(self, "forgetting", above=0, most=1),
            number(self, "b", above=0),
            float(choice(self, "shrink", (True, False))),
            limit(self, "clip"),
        )

    def _initial(self, d: int, record: np.ndarray | None) -> RLSState:
        return begin(d, self._params().b, hint=self._hinted())

    def _for_tables(self) -> Self:
        """Return a copy without the last label, which says nothing about the rows of a table."""
        if not self._learnt().last.size:
            return self
        model = copy.copy(self)
        model._learnt().last[:] = math.nan
        return model

    def _guarantee(self, search: bool = True) -> Guarantee:
        forgetting, b, shrink, clip = self._params()
        if forgetting < 1 or self._hinted():
            params = _forgetting_bound.BoundParams(forgetting, b, shrink, clip, math.inf)
            return _forgetting_bound.guarantee("RLS", params, hint=self._hinted())
        source = "Σ loss/(1+χ) is the least penalised loss"
        return guarantee("RLS", source, LaserParams(b, math.inf, shrink, clip))
