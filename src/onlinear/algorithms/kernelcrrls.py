"""Kernel CR-RLS: recursive least squares, reset every T₀ rounds, in the feature space of a kernel.

    ŷ  = f(x),  f = Σ α_i K(z_i, ·) over all examples z_i,  f = 0 at first
    q  = L⁻¹k,  k_i = K(z_i, x),  χ = K(x, x) − qᵀq,  s = 1, 2, … the rounds since the last reset
    α  ← [α − gL⁻ᵀq; g],  g = (y − f(x))/(rˢ + χ),  L ← [L 0; qᵀ √(rˢ + χ)]
    L  ← an empty matrix after rounds T₀, 2T₀, …

The vector k, and the first entries of the new α, run over the examples since the last reset only:
these are the segment. LLᵀ is K + diag(r, r², …), where K is the matrix of the K(z_i, z_j) of the
segment. CR-RLS minimises rˢ‖f − f₀‖² + Σ r^(s−i)(y_i − f(z_i))², where f₀ is the f at the last
reset. Divided by rˢ, this is least squares around f₀ in which example i has the noise variance
rⁱ. With K(x, z) = xᵀz, χ/r^(s−1) is the χ of :mod:`onlinear.algorithms.crrls`, and the predictions
are the same; but its guard against wind-up is not needed, since r^(−T₀) ≤ 10¹⁰ is required here.
(Beyond, χ would have too few correct digits.)

With a budget, the oldest example of an earlier segment is dropped: f loses its term.

Salgado, Goodwin & Middleton 1988; Chen & Yen 1999; Moroshko, thesis Table 5.1 and section 5.3 ("all
three algorithms can be combined with Mercer kernels").
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, FULL, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import COMPARATOR, Guarantee, lose, tallied
from onlinear._learner.bounds.kernel_space import FunctionPath
from onlinear._learner.growing import InSegments
from onlinear._learner.kernel_base import SegmentLearner
from onlinear._numerics.linalg import dot, kernel
from onlinear._updates.dual import SCRATCH
from onlinear._updates.examples import drop_oldest, kernel_row
from onlinear._updates.segments import RULES, clear_rows, extend, look, respond
from onlinear._validation.checks import number, whole
from onlinear._validation.states import check_range
from onlinear.algorithms._forgetting_bound import BoundParams, guarantee
from onlinear.algorithms._kernel_bound import HEAD
from onlinear.algorithms._kernel_forgetting import excesses
from onlinear.algorithms.laser import count_row

__all__ = ["KernelCRRLS"]

MOST = 1e10  # the largest r^(−T₀)


class KernelCRRLSParams(NamedTuple):
    """Parameters of a step: the forgetting factor, the rounds between resets, the budget."""

    forgetting: float
    reset_every: float
    budget: float


class KernelCRRLSState(NamedTuple):
    """The state: numbers of rounds and examples, the segment's, rˢ, kernel, α, L, the examples."""

    t: np.ndarray
    n: np.ndarray
    kept: np.ndarray
    depth: np.ndarray
    noise: np.ndarray
    form: np.ndarray
    alpha: np.ndarray
    L: np.ndarray
    Z: np.ndarray


def init(
    params: KernelCRRLSParams, d: int, room: tuple[int, int], form: tuple[float, ...]
) -> KernelCRRLSState:
    """Return the initial state, without examples, but with memory for ``room`` of them."""
    most, depth = room
    return KernelCRRLSState(
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.full(1, float(depth)),
        np.ones(1),
        np.array(form),
        np.zeros(most),
        np.zeros(depth * (depth + 1) // 2),
        np.zeros((most, d)),
    )


def state_size(d: int, room: tuple[int, int]) -> int:
    """Return how many numbers the state has with room for ``room`` examples of d columns."""
    most, depth = room
    return 9 + most * (d + 1) + depth * (depth + 1) // 2


def vital(state):
    """Return the arrays to check for numbers of unusual size: all but L and the examples."""
    return state[:7]


@kernel
def advance(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN.

    Return the prediction and a status, and then rˢ and χ; if the row breaks a rule, return the
    value that breaks it instead of the prediction.
    """
    t, n, kept, depth, power, form, alpha, L, Z = state
    forgetting, reset_every, budget = params
    size, rows = int(n[0]), int(kept[0])
    own = kernel_row(form, Z, size, x, work)
    m = dot(alpha[:size], work[0][:size])
    if math.isnan(y):
        return m, FINE, 0.0, 0.0
    noise = forgetting * (power[0] if rows > 0 else 1.0)
    q, c = work[1], work[2]
    chi, rule, value = look(L, rows, noise, own, work[0][size - rows : size], q)
    if rule != FINE:
        return value, rule, 0.0, 0.0
    gain = (y - m) / (noise + chi)
    if not math.isfinite(gain * gain * max(own, 1.0)):
        return value, OVERFLOW, 0.0, 0.0
    if size == alpha.size or rows == int(depth[0]):
        return 0.0, FULL, 0.0, 0.0
    respond(L, rows, q, c)
    extend(alpha, L, Z, size, rows, x, gain, math.sqrt(noise + chi), q, c)
    size += 1
    rows += 1
    power[0] = noise
    if rows >= reset_every:
        clear_rows(L, rows)
        rows = 0
    if size > budget:
        drop_oldest(alpha, Z, size)
        size -= 1
    n[0] = size
    kept[0] = rows
    t[0] += 1
    return m, FINE, noise, chi


@Step.with_scratch(SCRATCH, vital=vital)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    value, rule, _, _ = advance(state, params, x, y, work)
    return value, rule


@Tally.with_scratch(SCRATCH)
def bound(state, params, x, y, work):
    """Add a row to the bound of :mod:`onlinear.algorithms._forgetting_bound`, in this space.

    With C = Σ e²·rˢ/(rˢ + χ), the least cost of a sequence of functions, L ≤ (1 + max χ/rˢ)·C.
    """
    tally, notes = state[0], state[1]
    m, rule, noise, chi = advance(state[2:], params, x, y, work)
    if rule == FULL:
        return 0.0, FULL
    if rule != FINE:
        return lose(tally, notes, rule, m)
    e, chi = y - m, chi / noise
    kind = 1.0, math.inf, 0.0, math.inf
    return count_row(tally, notes, kind, y, y, e * e / (1.0 + chi), chi)


class KernelCRRLS(SegmentLearner):
    """Recursive least squares with a kernel, whose covariance is reset every so many rounds.

    Between two resets, old rows lose their weight; a reset makes the learner quick again, and does
    not change what it predicts. Costs O(nd + s²) per round with n examples, s ≤ ``reset_every`` of
    them since the last reset.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    forgetting : float, default 0.99
        Factor that multiplies the weight of earlier rows in each round, 0 < forgetting ≤ 1.
    reset_every : int, default 100
        Number of rounds between resets (T₀ in Moroshko's thesis), at least 1;
        forgetting^(−reset_every) must not exceed 1e10.
    budget : int or None, default None
        The most examples to keep, at least ``reset_every``. Beyond the budget, the oldest example
        is dropped, and the others keep their coefficients. None keeps all examples.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> x = np.random.default_rng(0).uniform(-3, 3, size=(600, 1))
    >>> y = np.sin(2 * x[:, 0] + np.arange(600) / 100)  # a wave that moves
    >>> kernel = ol.kernels.RBF(gamma=1.0)
    >>> moving = ol.KernelCRRLS(kernel, forgetting=0.95, reset_every=50)
    >>> fixed = ol.KernelAAR(kernel)
    >>> both = [ol.replay(model, x, y).cumulative_loss[-1] for model in (moving, fixed)]
    >>> bool(both[0] < 0.2 * both[1])
    True
    """

    forgetting: float = 0.99
    reset_every: int = 100

    algorithm = Algorithm(init, step, tuple(r.format(cure="a larger forgetting") for r in RULES))
    _poor_score = True  # it forgets
    _growing = InSegments(state_size)

    def _params(self) -> KernelCRRLSParams:
        forgetting = number(self, "forgetting", above=0, most=1)
        reset_every, budget = whole(self, "reset_every", least=1), self._budget()
        power = -reset_every * math.log10(forgetting)
        if power > math.log10(MOST):
            raise ValueError(
                "KernelCRRLS needs forgetting^(−reset_every) ≤ 1e10, or rounding errors are too "
                f"large, got forgetting={forgetting:g} and reset_every={reset_every} (use "
                f"reset_every ≤ {int(-math.log10(MOST) / math.log10(forgetting))}, or a larger "
                "forgetting)"
            )
        if budget < reset_every:
            raise ValueError(
                f"KernelCRRLS needs budget ≥ reset_every = {reset_every}, got budget={self.budget}"
            )
        return KernelCRRLSParams(forgetting, float(reset_every), budget)

    def _theorem(self, search: bool) -> Guarantee:
        forgetting, reset_every, _ = params = self._params()
        of_bound = BoundParams(forgetting, 1.0, 0.0, math.inf, reset_every)

        def begin(d: int, room: Any, form: tuple[float, ...]) -> tuple[np.ndarray, ...]:
            return tallied(*init(params, d, room, form))

        def paid(path: FunctionPath, tally: np.ndarray) -> np.ndarray:
            excess = excesses(space.account, self.kernel, of_bound, path)
            last = np.arange(1, excess.size + 1) % reset_every == 0  # the last rows of segments
            kept = np.where(last, 1.0, 1.0 - forgetting) * excess
            return np.asarray(tally[COMPARATOR] + np.cumsum(kept) - kept + excess)

        linear = guarantee("KernelCRRLS", of_bound, paid=paid)
        space = self._in_space(linear, begin, bound, tuple(params), InSegments(state_size, HEAD))
        return space

    def _check_bound(self, state: tuple[np.ndarray, ...]) -> None:
        self._check_states(KernelCRRLSState(*(array[None] for array in state)))

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_range("the variance of the noise", stack.noise, 0, 1)
