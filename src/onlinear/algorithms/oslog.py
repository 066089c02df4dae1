"""OSLOG: online shrinkage via the limit of a Gibbs sampler.

    ŷ  = w_{t−1}ᵀx_t,  w₀ = 1
    w_t as in CIRR

One weight path with CIRR, another prediction: OSLOG uses the weights of the round before. The first
prediction w₀ᵀx₁ as printed comes before anything was learnt, and is what ruins the paper's own rows
on ISE and F-16; here it is 0 unless ``first="w0"``.

Jamil & Bouchachia, "Competitive Regularised Regression", Algorithm 2.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from onlinear._checks import choice, number
from onlinear._engine import FINE, OVERFLOW, Step
from onlinear._kernels import dot
from onlinear._model import Algorithm, Learner
from onlinear.algorithms.cirr import ShrinkageState, absorb, factorise, start, starting_weights

__all__ = ["OSLOG"]


class OSLOGParams(NamedTuple):
    """The penalty, the smallest |w_i| in D, whether to predict from w0 at first."""

    a: float
    floor: float
    eager: float
    w0: np.ndarray


def init(params: OSLOGParams, d: int) -> ShrinkageState:
    """Begin with w = w0."""
    return start(params.w0, d)


@Step.with_scratch(lambda d: d + 2)
def step(state, params, x, y, work):
    """One round."""
    t, w, A, _ = state
    a, floor, eager, _ = params
    root, z, U = work[0], work[1], work[2:]
    prediction = dot(w, x) if eager or t[0] > 0.0 else 0.0
    if math.isnan(y):
        return prediction, FINE
    if not math.isfinite(prediction) or not factorise(w, A, x, a, floor, root, U):
        return prediction, OVERFLOW
    return prediction, absorb(state, root, U, x, y, z)


class OSLOG(Learner):
    """Online shrinkage via the limit of a Gibbs sampler: CIRR's weights, used a round later.

    Costs a Cholesky factorisation, n³/3, a round.

    Parameters
    ----------
    a : float, default 1.0
        Penalty, a > 0; the weights settle where the loss plus 2a‖w‖₁ is least.
    floor : float, default 1e-12
        Smallest |w_i| in the penalty's denominator, floor ≥ 0. Above zero, a weight can come back;
        0 is the paper.
    w0 : float or sequence of float, default 1.0
        Starting weights.
    first : {"zero", "w0"}, default "zero"
        The first prediction: 0, or w0ᵀx as printed.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = ol.OSLOG(a=5.0).fit(X, 2 * X[:, 1])
    >>> np.flatnonzero(np.abs(model.coef_) > 1e-6)  # only the input that matters
    array([1])
    """

    a: float = 1.0
    floor: float = 1e-12
    w0: float | Sequence[float] = 1.0
    first: Literal["zero", "w0"] = "zero"

    algorithm = Algorithm(init, step)
    _square = True

    def _params(self) -> OSLOGParams:
        eager = choice(self, "first", ("zero", "w0")) == "w0"
        return OSLOGParams(
            number(self, "a", above=0),
            number(self, "floor", least=0),
            float(eager),
            starting_weights(self),
        )
