"""Kernel GD and its constrained form: gradient descent in the feature space of a kernel.

    ŷ  = Σ α_i K(z_i, x)                        w = Σ α_i φ(z_i)
    α ← [α; −2η(ŷ − y)],  z ← [z; x]            w ← w − 2η(ŷ − y) φ(x)
    α ← α γ/‖w‖ if ‖w‖ > γ                     the projection on the ball, if a radius γ is given

The z_i are the stored examples, and φ maps a row to the feature space, where φ(z)ᵀφ(x) = K(z, x).
The square ‖w‖² is updated in each round: ‖w + aφ(x)‖² = ‖w‖² + 2aŷ + a²K(x, x) for any number a.
Without a radius, a row with η·K(x, x) > 1 is refused, as by :class:`onlinear.GD`.

Herbster & Warmuth, JMLR 2001, Figure 1 and section 3, extended by their remark on Hilbert spaces.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear import kernels
from onlinear._engine.step import DOMAIN, FINE, FULL, OVERFLOW, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm
from onlinear._learner.kernel_base import KernelLearner
from onlinear._numerics.linalg import dot, kernel, scale
from onlinear._updates.dual import SCRATCH, kernel_row
from onlinear._validation.checks import limit, number
from onlinear.kernels import GIVEN, similarities

__all__ = ["KernelGD"]


class KernelGDParams(NamedTuple):
    """Parameters of a step: the learning rate η, the radius γ, and how many examples to keep."""

    eta: float
    radius: float
    budget: float


class KernelGDState(NamedTuple):
    """The state: how many rounds and stored examples, ‖w‖², kernel parameters, α, the examples."""

    t: np.ndarray
    n: np.ndarray
    square: np.ndarray
    form: np.ndarray
    alpha: np.ndarray
    Z: np.ndarray


def init(params: KernelGDParams, d: int, room: int, form: tuple[float, ...]) -> KernelGDState:
    """Return the initial state, without examples but with memory for ``room`` of them."""
    return KernelGDState(
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.array(form),
        np.zeros(room),
        np.zeros((room, d)),
    )


def vital(state):
    """Return the arrays to check for numbers of unusual size.

    The stored examples are left out, since they were checked when they arrived as rows.
    """
    return state[:5]


@Step.with_scratch(SCRATCH, vital=vital)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, n, square, form, alpha, Z = state
    eta, radius, budget = params
    size = int(n[0])
    own = kernel_row(form, Z, size, x, work)
    m = dot(alpha[:size], work[0][:size])
    if math.isnan(y):
        return m, FINE
    pace = -2.0 * eta * (m - y)
    if not math.isfinite(1e100 * pace * pace * max(abs(own), 1.0)):  # ‖w‖² stays far from overflow
        return own, OVERFLOW
    if own < 0.0:
        return own, DOMAIN + 1
    if math.isinf(radius) and eta * own > 1.0:
        return eta * own, DOMAIN
    if size == alpha.size:
        return 0.0, FULL
    square[0] += 2.0 * pace * m + pace * pace * own  # ‖w‖²
    alpha[size] = pace
    for j in range(x.size):
        Z[size, j] = x[j]
    size += 1
    if size > budget:
        forget_oldest(form, square, alpha, Z, size, own, work)
        size -= 1
    length = math.sqrt(max(square[0], 0.0))
    if length > radius:
        scale(radius / length, alpha[:size], alpha[:size])
        square[0] = radius * radius
    n[0] = size
    t[0] += 1
    return m, FINE


@kernel
def forget_oldest(form, square, alpha, Z, n, own, work):
    """Remove the oldest example, w ← w − α_0 φ(z_0), and move the others forward by one place."""
    k = work[2]  # K(z_i, z_0); a custom kernel has already written it, except for the new x
    if form[0] == GIVEN:
        k[n - 1] = work[0, 0] if n > 1 else own
    else:
        similarities(form, Z, n, Z[0], k)
    a = alpha[0]
    square[0] += a * a * k[0] - 2.0 * a * dot(alpha[:n], k[:n])
    for i in range(1, n):
        alpha[i - 1] = alpha[i]
        for j in range(Z.shape[1]):
            Z[i - 1, j] = Z[i, j]
    alpha[n - 1] = 0.0
    for j in range(Z.shape[1]):
        Z[n - 1, j] = 0.0


class KernelGD(KernelLearner):
    """Gradient descent with a kernel, for nonlinear regression.

    With ``radius`` the learner is C-GD (constrained gradient descent), which tracks a shifting
    target inside a ball. Costs O(nd) per round for d features and n stored examples.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    eta : float, default 0.25
        Learning rate, eta > 0; Herbster & Warmuth's rate is 1/(4·max K(x, x)).
    radius : float or None, default None
        Keep ‖w‖ ≤ radius, radius > 0, to track a shifting target; None means no limit.
    budget : int or None, default None
        The most examples to keep, budget ≥ 1. Beyond the budget, the oldest example is dropped, and
        the others keep their coefficients. None keeps all examples.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.KernelGD(ol.kernels.RBF(gamma=1.0), eta=0.25)
    >>> model.learn_one([1.0, 0.0], 1.0)
    >>> model.predict_one([1.0, 0.0])
    0.5
    """

    eta: float = 0.25
    radius: float | None = None

    algorithm = Algorithm(
        init,
        step,
        (
            "needs eta·K(x, x) ≤ 1, or each step overshoots the label by more than the last "
            "(use a smaller eta, or a radius), got eta·K(x, x) = {value:g}",
            "needs a kernel that is an inner product, got K(x, x) = {value:g}",
        ),
    )
    _poor_score = True

    def _before(self, state: Any, x: np.ndarray, work: np.ndarray) -> None:
        super()._before(state, x, work)
        n, Z = int(state[1][0]), state[-1]
        if 0 < self._budget() <= n:  # the oldest example may be dropped
            work[2, :n] = kernels.evaluated(self.kernel, Z[:n].copy(), Z[0].copy())

    def _params(self) -> KernelGDParams:
        return KernelGDParams(number(self, "eta", above=0), limit(self, "radius"), self._budget())

    @staticmethod
    def _size(d: int, room: int) -> int:
        return 7 + room * (d + 1)

    @property
    @atomic
    def dual_coef_(self) -> np.ndarray:
        """The coefficients α of a prediction Σ α_i K(z_i, x), one for each of ``examples_``."""
        state = self._learnt()
        return state.alpha[: int(state.n[0])].copy()  # type: ignore[no-any-return]
