"""The best drifting sequence in hindsight: its penalised loss after every row, and its path.

    min over u_1..u_T of  b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ (y_s − u_sᵀx_s)²

The forward pass computes LASER's w and Σ. With e = y − xᵀw and χ = xᵀΣx, each round adds e²/(1 + χ)
to the minimum (equations (5.3)–(5.6) of Moroshko's thesis in another form). The backward pass uses
the gains k = Σx/(1 + χ) of the rounds; it starts with r_T = 0 and computes

    r_{t−1} = x_t e_t/(1 + χ_t) + r_t − x_t (k_tᵀ r_t),    u_1 = r_0/b,  u_{t+1} = u_t + r_t/c

The backward pass is the smoother of Bryson and Frazier for a random walk, and costs O(d) per round.

Moroshko & Crammer, AISTATS 2013; Moroshko, thesis 2013; Bryson & Frazier 1963.
"""

import math
from typing import Any

import numpy as np

from onlinear._engine import step as _engine
from onlinear._engine.step import FINE
from onlinear._learner.bounds.guarantee import INDISTINCT, compete
from onlinear._learner.bounds.ledger import Account, Ledger
from onlinear._numerics.linalg import axpy, dot
from onlinear._updates.gaussian import follow, gaussian, look
from onlinear._validation import checks
from onlinear.hindsight._running import Running

__all__ = ["BestDrifting", "best_drifting", "drifting_path"]


@_engine.Tally
def step(state, params, x, y, work):
    """Add one row; return the least penalised loss of any sequence u_1..u_t, and FINE."""
    tally, t, w, S = state
    _, c = params
    gain, _, rule = compete((t, w, S), c, x, y, work)
    if rule != FINE:
        return gain, rule
    tally[0] += gain
    return tally[0], FINE


def _prices(what: str, b: float, c: float) -> tuple[float, float]:
    given = checks.asked(what, b=b, c=c)
    return checks.number(given, "b", above=0), checks.number(given, "c", above=0, most=math.inf)


class BestDrifting(Running):
    """The least b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + loss of any sequence so far, in O(d²) per row.

    Parameters
    ----------
    b : float, default 1.0
        Penalty on ‖u_1‖², b > 0.
    c : float, default 100.0
        Penalty on the squared drift, c > 0; infinity allows no drift.

    Examples
    --------
    >>> from onlinear.hindsight import BestDrifting
    >>> best = BestDrifting(b=1.0, c=1.0)
    >>> best.learn_one([1.0], 1.0).loss  # at u = 1/2: 1/4 + 1/4
    0.5
    """

    def __init__(self, b: float = 1.0, c: float = 100.0) -> None:
        super().__init__(_account("BestDrifting", b, c))
        self.b, self.c = b, c

    def _prices(self) -> tuple[float, float]:
        return self.b, self.c

    @property
    def coef_(self) -> np.ndarray:
        """The last predictor of the best sequence."""
        return self._state()[2].copy()


def _account(owner: str, b: float, c: float) -> Account:
    """Return the ``Account`` with which a ``Ledger`` computes the least penalised loss."""
    prices = _prices(owner, b, c)
    return Account(
        owner, lambda d: (np.zeros(1), *gaussian(d, prices[0])), step, prices, (INDISTINCT,)
    )


def best_drifting(X: Any, y: Any, b: float = 1.0, c: float = 100.0) -> np.ndarray:
    """Return, after each round, the least b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + loss of any sequence.

    Costs O(d²) per round. Needs b > 0; the result is accurate to about 1e-16·‖x‖²/b. Columns that
    double precision cannot tell apart are refused.

    >>> import numpy as np
    >>> best_drifting(np.ones((3, 1)), [1.0, 1.0, 1.0], b=1.0, c=np.inf)
    array([0.5       , 0.66666667, 0.75      ])
    """
    return Running(_account("best_drifting", b, c)).learn_many(X, y)


@_engine.Tally
def forward(state, params, x, y, work):
    """Run one round of the forward pass; write the gain k = Σx/(1 + χ), then e/(1 + χ), to ``put``.

    ``put`` is the first array of the state, whose values after each round are the results.
    """
    put, t, w, S = state
    _, c = params
    v = work[0]
    chi, drift = look((t, w, S), c, x, v)
    e = y - dot(w, x)
    d = x.size
    for i in range(d):
        put[i] = v[i] / (1.0 + chi)
    put[d] = e / (1.0 + chi)
    return put[d], follow((t, w, S), drift, x, e, v, chi, work[1])


@_engine.Tally
def backward(state, params, row, y, work):
    """Run one round of the backward pass, r ← x·y + r − x(kᵀr).

    ``row`` holds x and then the gain k = Σx/(1 + χ) of the forward pass; y is e/(1 + χ).
    """
    (r,) = state
    d = r.size
    x, k = row[:d], row[d:]
    axpy(y - dot(k, r), x, r)
    return y, FINE


def drifting_path(X: Any, y: Any, b: float = 1.0, c: float = 100.0) -> np.ndarray:
    """Return the sequence u_1..u_T whose penalised loss is least, one row per round.

    Costs O(d²) per round in a forward pass, O(d) per round in a backward pass, and O(T·d) memory.

    >>> import numpy as np
    >>> path = drifting_path(np.ones((3, 1)), [0.0, 1.0, 2.0], b=1e-9, c=1.0)
    >>> path.ravel().round(3)  # drawn towards each other
    array([0.5, 1. , 1.5])
    """
    b, c = _prices("drifting_path", b, c)
    checks.same_index(X, y=y)
    X, names = checks.table(X)
    y = checks.labels(y, X.shape[0])
    d = X.shape[1]
    account = Account(
        "drifting_path",
        lambda d: (np.zeros(d + 1), *gaussian(d, b)),
        forward,
        (b, c),
        (INDISTINCT,),
    )
    gains = Ledger(account).add(X, y, names)
    back = Account("drifting_path", lambda _: (np.zeros(d),), backward, ())
    reverse = np.ascontiguousarray(np.hstack([X, gains[:d].T])[::-1])
    r = Ledger(back).add(reverse, np.ascontiguousarray(gains[d, ::-1]))[:, ::-1].T  # r_0 .. r_{T−1}
    steps = r / c
    steps[0] = r[0] / b
    return np.cumsum(steps, axis=0)
