"""The best predictor in hindsight: what a learner is compared with.

    best fixed       min over u of            b‖u‖² + Σ (y_s − uᵀx_s)²
    best drifting    min over u_1..u_T of     b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ (y_s − u_sᵀx_s)²

Both optima, after every round, come from one recursion, that of LASER's w and Σ: each round adds
(y − xᵀw)² / (1 + χ) to the least value of the objective (thesis (5.3)–(5.6) in another form). With
c = ∞ the drifting one is the fixed one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear import _checks, _engine
from onlinear._kernels import dot, rounding_of
from onlinear.algorithms._recursion import gaussian
from onlinear.algorithms.laser import follow, look

__all__ = ["best_drifting", "best_fixed"]


class Hindsight(NamedTuple):
    """The price of ‖u_1‖², and of drift."""

    b: float
    c: float


RULES = (
    "needs data that double precision can tell apart, but xᵀΣx = {value:g} is rounding "
    "(columns that are nearly the same, and large: centre or rescale them)",
)


@_engine.Step
def step(state, params, x, y, work):
    """Return what the round adds to the optimum, (y − xᵀw)² / (1 + χ)."""
    _, w, S = state
    _, c = params
    v = work[0]
    chi, drift = look(state, c, x, v)
    e = y - dot(w, x)
    rule = follow(state, drift, x, e, v, chi, work[1])
    left = chi / (1.0 + chi)  # xᵀΣ_t x, unless Σ could not be made that small
    if rule == _engine.FINE and 0.0 < left <= rounding_of(S, x):
        return left, _engine.DOMAIN
    return e * e / (1.0 + chi), rule


def best_drifting(X: Any, y: Any, b: float = 1.0, c: float = 100.0) -> np.ndarray:
    """Return, after each round, the least b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + loss of any sequence.

    >>> import numpy as np
    >>> best_drifting(np.ones((3, 1)), [1.0, 1.0, 1.0], b=1.0, c=np.inf)
    array([0.5       , 0.66666667, 0.75      ])
    """
    price = Hindsight(b, c)
    _checks.number(price, "b", above=0)
    _checks.number(price, "c", above=0, most=math.inf)
    X, names = _checks.table(X)
    y = _checks.labels(y, X.shape[0])

    def refused(outcome: _engine.Outcome) -> None:
        raise _checks.refusal(
            "hindsight", RULES, outcome, X[outcome.row], in_table=True, names=names, params={}
        )

    added = step.run(
        tuple(gaussian(X.shape[1], b)),
        (float(b), float(c)),
        X,
        y,
        step.work(X.shape[1]),
        labelled=True,
        refused=refused,
        progress=lambda row, rows: None,
    )
    return np.cumsum(added)


def best_fixed(X: Any, y: Any, b: float = 1.0) -> np.ndarray:
    """Return, after each round, the least b‖u‖² + loss of any fixed predictor.

    >>> import numpy as np
    >>> best_fixed(np.ones((3, 1)), [1.0, 1.0, 1.0], b=1.0)  # at u = 1/2, 2/3, 3/4
    array([0.5       , 0.66666667, 0.75      ])
    """
    return best_drifting(X, y, b, math.inf)
