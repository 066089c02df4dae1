"""WEMM: weighted last-step min-max regression.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw)
    Σ ← Σ − Σx xᵀΣ

Min-max against a comparator whose loss in round t is weighted by a_t = 1/(1 − χ_t): with that
weight the last-step problem is bounded for every label, and no clipping is needed. It takes
χ_t < 1 in every round; b > max‖x‖² suffices. With χ > 1 the recursion would diverge doubly
exponentially, so such a row is refused.

Moroshko & Crammer, ALT 2012; thesis Figure 3.2, (3.17)–(3.19).
"""

import math
from typing import NamedTuple

from onlinear._checks import number
from onlinear._engine import DOMAIN, FINE, OVERFLOW, Step
from onlinear._kernels import axpy, dot, subtract_square, symv
from onlinear._model import Algorithm, SecondOrder
from onlinear.algorithms._recursion import Gaussian, gaussian

__all__ = ["WEMM"]


class WEMMParams(NamedTuple):
    """The prior's precision."""

    b: float


def init(params: WEMMParams, d: int) -> Gaussian:
    """Begin with w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@Step
def step(state, params, x, y, work):
    """One round."""
    t, w, S = state
    v = work[0]
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    symv(S, x, v)  # v = Σx
    chi = dot(x, v)
    e = y - m
    if not math.isfinite(chi * e):
        return e, OVERFLOW
    if chi >= 1.0:
        return chi, DOMAIN
    subtract_square(v, S)  # Σ ← Σ − vvᵀ
    axpy(e, v, w)  # w ← w + ev
    t[0] += 1
    return m, FINE


class WEMM(SecondOrder):
    """Weighted last-step min-max regression, for rows of bounded length and a truth that stays put.

    Costs O(d²) a round. A row with xᵀΣx ≥ 1 is refused; b > max‖x‖² admits every row.

    Parameters
    ----------
    b : float, default 2.0
        Precision of the prior, b > 0; to be chosen above the largest ‖x‖².
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

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
        init, step, ("needs xᵀΣx < 1 (b > max‖x‖² suffices), got xᵀΣx = {value:g}",)
    )
    _poor_score = True  # b > max‖x‖² is a strong prior

    def _params(self) -> WEMMParams:
        return WEMMParams(number(self, "b", above=0))
