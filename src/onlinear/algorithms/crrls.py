"""CR-RLS: recursive least squares whose covariance is reset every T₀ rounds.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I,  w₀ = 0
    w ← w + Σx (y − xᵀw) / (r + χ)
    Σ ← (Σ − Σx xᵀΣ / (r + χ)) / r,  or I after rounds T₀, 2T₀, …

Here r is the forgetting factor. A reset does not change w. Between resets, Σ is guarded against
unlimited growth as in RLS.

Salgado, Goodwin & Middleton 1988; Chen & Yen 1999; Moroshko, thesis Table 5.1.
"""

import math
from typing import Any, NamedTuple

from onlinear._engine.bulk import Bulk, long_blocks
from onlinear._engine.step import FINE, Step
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import dot, reset
from onlinear._updates.rescaling import FORGETFUL
from onlinear._validation.checks import number, whole
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

__all__ = ["CRRLS"]


class CRRLSParams(NamedTuple):
    """Parameters of a step: the forgetting factor per round, and the rounds between resets."""

    forgetting: float
    reset_every: float


def init(params: CRRLSParams, d: int) -> Forgetful:
    """Return the initial state: w = 0 and Σ = I."""
    return forgetful(d, 1.0)


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and True; as in RLS."""
    _, h, k = factors(params[0], j, y - m, chi)
    return m, h, k, True


def plan(state, params, X, y, start, rows):
    """Return how many of the next rows can form a block, which must not pass the next reset."""
    forgetting, reset_every = params
    left = reset_every - state[0][0] % reset_every
    return unforced(state, forgetting, 1.0, X, start, min(rows, int(left)))


def close(state, params, X, start, rows):
    """Finish a block of rows: apply the forgetting factors to Σ, and reset Σ if a reset is due."""
    forgetting, reset_every = params
    fade(state, forgetting, X, start, rows)
    if rows > 0 and state[0][0] % reset_every == 0.0:
        reset(1.0, state[2])


@Step.checked_per_block(limited)
@Step.with_bulk(Bulk(turn, plan=plan, close=close, longest=long_blocks))
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w, S, _ = state
    forgetting, reset_every = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    chi = uncertainty(state, x, work)
    rule = forget(state, forgetting, 1.0, x, y - m, chi, work)
    if rule == FINE and t[0] % reset_every == 0.0:
        reset(1.0, S)  # Σ ← I
    return m, rule


class CRRLS(SecondOrder):
    """Recursive least squares that resets its covariance every ``reset_every`` rounds.

    Costs O(d²) per round.

    Parameters
    ----------
    forgetting : float, default 0.99
        Factor that multiplies the weight of earlier rows in each round, 0 < forgetting ≤ 1.
    reset_every : int, default 100
        Number of rounds between resets (T₀ in Moroshko's thesis), at least 1.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.CRRLS(forgetting=1.0, reset_every=2)
    >>> for _ in range(2):
    ...     model.learn_one([1.0], 3.0)
    >>> model.coef_, model.covariance_  # the weight is kept, Σ is I again
    (array([2.]), array([[1.]]))
    """

    forgetting: float = 0.99
    reset_every: int = 100

    algorithm = Algorithm(init, step, follows=FORGETFUL)

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_range("a largest x²", stack.peak, 0)

    def _params(self) -> CRRLSParams:
        return CRRLSParams(
            number(self, "forgetting", above=0, most=1), float(whole(self, "reset_every", least=1))
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        forgetting, reset_every = self._params()
        params = _forgetting_bound.BoundParams(forgetting, 1.0, 0.0, math.inf, reset_every)
        return _forgetting_bound.guarantee("CRRLS", params)
