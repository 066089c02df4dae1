"""LASER: last-step min-max regression against a drifting target.

    Σ  = Σ_{t−1} + I/c  (Σ = I/b in the first round)         χ = xᵀΣx,  w₀ = 0
    ŷ  = xᵀw_{t−1} / (1 + χ)
    w  = w_{t−1} + Σx (y − xᵀw_{t−1}) / (1 + χ)
    Σ_t = Σ − Σx xᵀΣ / (1 + χ)

Min-max against the best sequence u_1..u_T under the penalty b‖u_1‖² + c Σ‖u_{s+1} − u_s‖²; w and Σ
are those of a Kalman filter for a random walk (Q = I/c, R = 1). With ``shrink=False`` the
prediction is that filter's, xᵀw_{t−1}: it has no worst-case theorem, and the smaller loss on the
papers' own streams.

Deviations from the thesis: Table 5.1 starts from Σ₀ = (1/b − 1/c)I and asks b < c; here the first
round takes Σ = I/b as it is, so b ≥ c is allowed, and c = ∞ (no drift) is AAR.

Moroshko & Crammer, AISTATS 2013; thesis Table 5.1.
"""

import math
from typing import NamedTuple

from onlinear._checks import choice, limit, number
from onlinear._engine import FINE, OVERFLOW, Step
from onlinear._kernels import axpy, clipped, dot, kernel, shift, symv
from onlinear._model import Algorithm, SecondOrder
from onlinear.algorithms._recursion import Gaussian, gaussian, learn

__all__ = ["LASER", "follow", "look"]


class LaserParams(NamedTuple):
    """The prior's precision, the price of drift, whether to shrink, the largest prediction."""

    b: float
    c: float
    shrink: float
    clip: float


def init(params: LaserParams, d: int) -> Gaussian:
    """Begin with w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@kernel(inline="always")
def look(state, c, x, v):
    """v ← Σx,  Σ = Σ_{t−1} + I/c; return χ = xᵀΣx and what is to be added to Σ_{t−1}."""
    t, _, S = state
    drift = 1.0 / c if t[0] > 0.0 else 0.0
    symv(S, x, v)
    axpy(drift, x, v)
    return dot(x, v), drift


@kernel(inline="always")
def follow(state, drift, x, e, v, chi, u):
    """Σ ← Σ_{t−1} + I/c, then learn the residual e; FINE, or OVERFLOW untouched."""
    _, _, S = state
    if not math.isfinite(chi * e):
        return OVERFLOW
    shift(drift, S)
    return learn(state, x, e, v, chi, 1.0, u)


@Step
def step(state, params, x, y, work):
    """One round."""
    _, w, _ = state
    _, c, shrink, clip = params
    v = work[0]
    chi, drift = look(state, c, x, v)
    m = dot(w, x)
    prediction = clipped(m / (1.0 + chi) if shrink else m, clip)
    if math.isnan(y):
        return prediction, FINE
    return prediction, follow(state, drift, x, y - m, v, chi, work[1])


class LASER(SecondOrder):
    """Last-step min-max regression against a target that drifts.

    The default choice when the truth moves and its speed is roughly known: a smaller c follows
    faster. Costs O(d²) a round.

    Parameters
    ----------
    b : float, default 1.0
        Precision of the prior, b > 0: the price of the first comparator's ‖u₁‖².
    c : float, default 100.0
        Price of drift ‖u_{t+1} − u_t‖², c > 0; infinity means no drift (then it is AAR).
    shrink : bool, default True
        True: the min-max prediction xᵀw/(1+χ), which carries the guarantee. False: xᵀw, the
        prediction of a Kalman filter, often better on benign streams.
    clip : float or None, default None
        Cut predictions to [−clip, clip], clip > 0.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> t = np.arange(2000)
    >>> X = np.column_stack([np.cos(t), np.sin(2.7 * t)])
    >>> y = X[:, 0] * np.cos(t / 200) + X[:, 1] * np.sin(t / 200)  # the truth turns
    >>> moving = ol.replay(ol.LASER(c=10.0, shrink=False), X, y).cumulative_loss[-1]
    >>> fixed = ol.replay(ol.Ridge(), X, y).cumulative_loss[-1]
    >>> bool(moving < 0.01 * fixed)
    True
    """

    b: float = 1.0
    c: float = 100.0
    shrink: bool = True
    clip: float | None = None

    algorithm = Algorithm(init, step)
    _poor_score = True  # the min-max prediction is shrunk

    def _params(self) -> LaserParams:
        return LaserParams(
            number(self, "b", above=0),
            number(self, "c", above=0, most=math.inf),
            float(choice(self, "shrink", (True, False))),
            limit(self, "clip"),
        )
