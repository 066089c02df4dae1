"""NLMS: the normalised least mean squares filter.

    ŷ  = xᵀw,  w₀ = 0
    w ← w + η (y − xᵀw) x / (ε + ‖x‖²)

A row of zeros changes nothing (there is nothing to learn from it), also with ε = 0.

Bershad, IEEE Trans. ASSP 1986; Bitmead & Anderson 1980.
"""

import math
from typing import NamedTuple

from onlinear._checks import number
from onlinear._engine import FINE, OVERFLOW, Step
from onlinear._kernels import axpy, dot
from onlinear._model import Algorithm, Learner
from onlinear.algorithms._recursion import Weights, weights

__all__ = ["NLMS"]


class NLMSParams(NamedTuple):
    """The step, and what is added to ‖x‖²."""

    eta: float
    epsilon: float


def init(params: NLMSParams, d: int) -> Weights:
    """Begin with w = 0."""
    return weights(d)


@Step
def step(state, params, x, y, work):
    """One round."""
    t, w = state
    eta, epsilon = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    norm = epsilon + dot(x, x)
    if norm > 0.0:
        pace = eta * (y - m) / norm
        if not math.isfinite(pace * math.sqrt(norm)):
            return pace, OVERFLOW
        axpy(pace, x, w)
    t[0] += 1
    return m, FINE


class NLMS(Learner):
    """The normalised least mean squares filter: one cheap step towards each label.

    Costs O(d) a round; insensitive to the scale of x as a whole, not to that of single columns.

    Parameters
    ----------
    eta : float, default 0.5
        Step, 0 < eta < 2; 1 goes all the way to the label.
    epsilon : float, default 0.0
        Added to ‖x‖², epsilon ≥ 0.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.NLMS(eta=1.0)
    >>> model.learn_one([3.0, 4.0], 25.0)
    >>> model.coef_
    array([3., 4.])
    """

    eta: float = 0.5
    epsilon: float = 0.0

    algorithm = Algorithm(init, step)
    _poor_score = True

    def _params(self) -> NLMSParams:
        return NLMSParams(number(self, "eta", above=0, below=2), number(self, "epsilon", least=0))
