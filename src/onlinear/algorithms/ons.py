"""ONS: the online Newton step on the square loss.

    ŷ  = xᵀw                       A₀ = εI,  w₀ = 0,  Σ = A⁻¹
    g  = 2 (xᵀw − y) x
    A ← A + ggᵀ
    w ← w − A⁻¹g / γ
    w ← argmin over ‖u‖ ≤ radius of (u − w)ᵀA(u − w)     if a radius is given

Σ = A⁻¹ is kept by the Sherman–Morrison formula.

Hazan, Kalai, Kale & Agarwal, COLT 2006.
"""

import math
from typing import NamedTuple

from onlinear._checks import limit, number
from onlinear._engine import FINE, OVERFLOW, Step
from onlinear._kernels import axpy, dot, observe, project_ellipsoid, scale, symv
from onlinear._model import Algorithm, SecondOrder
from onlinear.algorithms._recursion import Gaussian, gaussian

__all__ = ["ONS"]


class ONSParams(NamedTuple):
    """The step's divisor, the prior's precision, and the largest ‖w‖."""

    gamma: float
    epsilon: float
    radius: float


def init(params: ONSParams, d: int) -> Gaussian:
    """Begin with w = 0 and Σ = I/ε."""
    return gaussian(d, params.epsilon)


@Step.with_scratch(lambda d: d + 3)
def step(state, params, x, y, work):
    """One round."""
    t, w, S = state
    gamma, _, radius = params
    g, v = work[0], work[1]
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    scale(2.0 * (m - y), x, g)
    symv(S, g, v)  # v = Σg
    chi = dot(g, v)
    if not math.isfinite(chi):
        return chi, OVERFLOW
    observe(S, g, v, chi, 1.0, work[2])  # v ← A_t⁻¹g
    axpy(-1.0 / gamma, v, w)
    project_ellipsoid(S, w, radius, work)
    t[0] += 1
    return m, FINE


class ONS(SecondOrder):
    """The online Newton step: second-order descent on the square loss.

    Costs O(d²) a round, and a few Cholesky factorisations in rounds where ‖w‖ exceeds the radius.

    Parameters
    ----------
    gamma : float, default 0.5
        The step is A⁻¹g/gamma, gamma > 0.
    epsilon : float, default 1.0
        A₀ = epsilon·I, epsilon > 0.
    radius : float or None, default None
        Keep ‖w‖ ≤ radius, radius > 0. The regret bound needs one.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.ONS(gamma=1.0)
    >>> model.learn_one([1.0], 0.5)  # g = −1, A = 2
    >>> model.coef_
    array([0.5])
    """

    gamma: float = 0.5
    epsilon: float = 1.0
    radius: float | None = None

    algorithm = Algorithm(init, step)

    def _params(self) -> ONSParams:
        return ONSParams(
            number(self, "gamma", above=0), number(self, "epsilon", above=0), limit(self, "radius")
        )
