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
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, FULL, OVERFLOW, Step, Tally
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.any_loss import ceilings, enter_ceiling
from onlinear._learner.bounds.guarantee import Guarantee, Path, lose, scaled_down
from onlinear._learner.growing import Growing
from onlinear._learner.kernel_base import KernelLearner, check_dual
from onlinear._numerics.linalg import dot, kernel, scale
from onlinear._updates.dual import SCRATCH, Dual, solve_columns
from onlinear._updates.examples import drop_oldest, kernel_row, oldest_row, own_value
from onlinear._validation.checks import limit, number
from onlinear.algorithms._gradient_bound import guarantee
from onlinear.algorithms._kernel_bound import begin_dual, learn_all, of_dual
from onlinear.losses import SQUARED
from onlinear.losses._formulas import SQUARE

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


def state_size(d: int, room: int) -> int:
    """Return how many numbers the state has with room for ``room`` examples of d columns."""
    return 7 + room * (d + 1)


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
    oldest_row(form, Z, n, own, work)
    k, a = work[2], alpha[0]
    square[0] += a * a * k[0] - 2.0 * a * dot(alpha[:n], k[:n])
    drop_oldest(alpha, Z, n)


class KernelGDAccount(NamedTuple):
    """Parameters of the bound: η, the radius γ, and whether to find a comparator."""

    eta: float
    radius: float
    search: float


REACH = 3  # in the tally: the largest ηK(x, x) so far


@Tally.with_scratch(SCRATCH + 1)
def bound(state, params, x, y, work):
    """Add a row to the bound of :mod:`onlinear._learner.bounds.any_loss` for R² = K(x, x).

    Against comparators f_t with ‖f_t‖ ≤ γ, the price is ½‖f_T‖² + γ Σ‖f_{t+1} − f_t‖. The
    comparator found here is the f that minimises b‖f‖² + loss of f, b = 1/(4η), scaled down to the
    ball. Its values at the examples are y − a for a = C⁻¹y, C = K/b + I, so that its loss is ‖a‖²,
    and b‖f‖² = ‖z‖² − ‖a‖² with z = L⁻¹y, C = LLᵀ.
    """
    tally, notes, sums = state[0], state[1], state[2]
    own = state[3:]
    eta, radius, search = params
    reach = eta * own_value(own[3], x, work)
    if search == 0.0:
        tally[REACH] = max(tally[REACH], reach)
        return enter_ceiling(tally, notes, SQUARE, tally[REACH], 0.0, 0.0, 0.0)
    e, chi, rule = learn_all(own, 0.0, x, y, work)
    if rule == FULL:
        return 0.0, FULL
    tally[REACH] = max(tally[REACH], reach)
    if rule != FINE:
        return lose(tally, notes, rule, chi)
    sums[0] += y * y
    sums[1] += e * e / (1.0 + chi)
    z = own[5][: int(own[1][0])]
    a = work[SCRATCH][: z.size]
    scale(1.0, z, a)
    solve_columns(own[6], z.size, a)
    square = 4.0 * eta * max(dot(z, z) - dot(a, a), 0.0)
    s = radius / math.sqrt(square) if square > radius * radius else 1.0
    loss = max(scaled_down(sums[1], sums[0], s) - s * s * square / (4.0 * eta), 0.0)
    price = s * s * square / (2.0 * eta)
    return enter_ceiling(tally, notes, SQUARE, tally[REACH], 0.0, loss, price)


def price_of_path(params: KernelGDAccount, path: Path, tally: np.ndarray) -> Any:
    """Return the bound for the user's comparators, and where the theorem does not allow them."""
    eta, radius, _ = params
    drift = path.drift(2, radius / eta)
    outside = np.isinf(drift) | path.ever(path.squares > (radius * (1 + 1e-12)) ** 2)
    p = path.squares / (2 * eta) + drift
    R2, tops = tally[REACH] / eta, np.zeros(1)
    ceiling = ceilings(SQUARED, eta, R2, tops, path.y, path.loss, p)
    return np.where(np.isinf(ceiling), math.nan, ceiling), outside


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
    _growing = Growing(state_size)
    _subtracts = True

    def _params(self) -> KernelGDParams:
        return KernelGDParams(number(self, "eta", above=0), limit(self, "radius"), self._budget())

    def _theorem(self, search: bool) -> Guarantee:
        eta, radius, _ = self._params()
        params = KernelGDAccount(eta, radius, float(search))

        def begin(d: int, room: int, form: tuple[float, ...]) -> tuple[np.ndarray, ...]:
            return begin_dual(d, room, form, 0.25 / eta, np.zeros(2), extra=1)

        linear = guarantee("KernelGD", eta, radius, SQUARED, search, size="K(x, x)")
        linear = linear._replace(price=partial(price_of_path, params))
        return self._in_space(linear, begin, bound, tuple(params), of_dual(1, (2,)))

    def _check_bound(self, state: tuple[np.ndarray, ...]) -> None:
        check_dual(Dual(*state))

    @property
    @atomic
    def dual_coef_(self) -> np.ndarray:
        """The coefficients α of a prediction Σ α_i K(z_i, x), one for each of ``examples_``."""
        state = self._learnt()
        return state.alpha[: int(state.n[0])].copy()  # type: ignore[no-any-return]
