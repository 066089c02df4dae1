"""Online ridge regression: the regularised least-squares solution after every round.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    w ← w + Σx (y − xᵀw) / (1 + χ)
    Σ ← Σ − Σx xᵀΣ / (1 + χ)

After t rounds w minimises b‖u‖² + Σ (y_s − uᵀx_s)² and Σ⁻¹ = bI + Σ x_s x_sᵀ.

Moroshko, thesis Table 3.1; "ORR" in Jamil & Bouchachia.
"""

import math
from typing import NamedTuple

from onlinear._checks import number
from onlinear._engine import FINE, Step
from onlinear._kernels import dot, symv
from onlinear._model import Algorithm, SecondOrder
from onlinear.algorithms._recursion import Gaussian, gaussian, learn

__all__ = ["Ridge"]


class RidgeParams(NamedTuple):
    """The prior's precision."""

    b: float


def init(params: RidgeParams, d: int) -> Gaussian:
    """Begin with w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@Step
def step(state, params, x, y, work):
    """One round."""
    _, w, S = state
    v = work[0]
    m = dot(w, x)
    if math.isnan(y):  # no label: predict, touch nothing
        return m, FINE
    symv(S, x, v)  # v = Σx
    chi = dot(x, v)
    return m, learn(state, x, y - m, v, chi, 1.0, work[1])


class Ridge(SecondOrder):
    """Online ridge regression (least squares with a penalty), for a truth that stays put.

    Costs O(d²) a round in time and memory.

    Parameters
    ----------
    b : float, default 1.0
        Penalty on ‖w‖², b > 0: the precision of the prior.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.Ridge(b=1.0)
    >>> model.learn_one([2.0, 0.0], 4.0)
    >>> round(model.predict_one([1.0, 0.0]), 6)  # 2·4 / (1 + 2·2)
    1.6
    """

    b: float = 1.0

    algorithm = Algorithm(init, step)

    def _params(self) -> RidgeParams:
        return RidgeParams(number(self, "b", above=0))
