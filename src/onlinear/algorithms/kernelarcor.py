"""Kernel ARCOR: adaptive regularisation with covariance reset in the feature space of a kernel.

    ŷ  = f(x),  f = Σ α_i K(z_i, ·) over all examples z_i,  f = 0 at first,  i = 1
    q  = L⁻¹k,  c = L⁻ᵀq,  k_j = K(z_j, x),  χ = K(x, x) − qᵀq,  g = (y − f(x))/(r + χ)
    α  ← [α − gc; g]                                     f ← f + g·Σφ(x)
    p  ← [p + rgc; f(x) + gχ]                            p_j = f(z_j)
    ‖f‖² = ‖f₀‖² + aᵀ(h + p)                             h_j = f₀(z_j)
    L  ← [L 0; qᵀ √(r + χ)],  or an empty matrix if λ_max(K) > r(Λ_i⁻¹ − 1); then i ← i + 1
    f  ← argmin over ‖u‖ ≤ R_B of <u − f, Σ⁻¹(u − f)>

The vectors k, q, c, p and h, and the first entries of the new α, run over the examples since the
last reset only. These are the segment: K is the matrix of their K(z_i, z_j), LLᵀ is rI + K, and a
has their α_i; f₀ is the sum over the examples of earlier segments. Σ is I − Φᵀ(rI + K)⁻¹Φ, where φ
maps a row to the feature space and the rows of Φ are the φ(z_j) of the segment. With K(x, z) = xᵀz,
f(x), χ, Σ, the resets and the projection are those of :mod:`onlinear.algorithms.arcor`: the largest
eigenvalue of Σ⁻¹ is 1 + λ_max(K)/r.

The test for a reset computes no eigenvalues. A second factor, NNᵀ = θI − K with the threshold θ of
the segment, grows by a row per round; the row (v, √pivot) has v = −N⁻¹k and
pivot = θ − K(x, x) − vᵀv. λ_max(K) exceeds θ exactly if a pivot is not positive. As in ARCOR, Λ_i⁻¹
is raised by 10⁻¹² of its value, so that a tie causes no reset. In the round of a reset, the
projection uses Σ after the reset. :mod:`onlinear._updates.dual_projection` computes the projection.

The regret bound of ARCOR holds with √K(x, x) for ‖x‖ and the norms of the kernel's space. It does
not hold with a budget: then the oldest example is dropped, f ← f − α_0 K(z_0, ·), and a segment
ends when it fills the whole budget.

Vaits & Crammer, ALT 2011, Figure 1 and the end of section 3; Moroshko, thesis Table 5.1 and section
5.3 ("all three algorithms can be combined with Mercer kernels").
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, FULL, OVERFLOW, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.growing import InSegments
from onlinear._learner.kernel_base import SegmentLearner, check_dual
from onlinear._numerics.linalg import axpy, dot, kernel, scale
from onlinear._updates.dual import SCRATCH, Dual, check_factor
from onlinear._updates.dual_projection import PROJECTING, project
from onlinear._updates.examples import drop_oldest, kernel_row, oldest_row
from onlinear._updates.segments import RULES, clear_rows, extend, look, respond
from onlinear._validation.checks import number
from onlinear._validation.states import check_counts, check_range
from onlinear.algorithms._arcor_bound import in_ball
from onlinear.algorithms._covariance_reset import inverse_thresholds
from onlinear.algorithms._kernel_arcor_bound import arcor_bound, check_bound
from onlinear.algorithms._kernel_bound import laser_bound
from onlinear.algorithms._kernel_reset import begin_segment, too_certain
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["KernelARCOR"]

SMALLEST = 1e-300


class KernelARCORParams(NamedTuple):
    """Parameters of a step: r, the radius R_B, q, the user's Λ_i⁻¹, if any, and the budget."""

    r: float
    radius: float
    q: float
    inverse_thresholds: np.ndarray
    budget: float


class KernelARCORState(NamedTuple):
    """The state: numbers of rounds and examples, the segment's, the kernel, α, p, h, L, N, all z.

    ``segment`` has i, and r and θ of the present segment; θ = 0 means that it is never reset.
    ``square`` has ‖f‖² and ‖f₀‖².
    """

    t: np.ndarray
    n: np.ndarray
    kept: np.ndarray
    depth: np.ndarray
    segment: np.ndarray
    square: np.ndarray
    form: np.ndarray
    alpha: np.ndarray
    p: np.ndarray
    h: np.ndarray
    L: np.ndarray
    N: np.ndarray
    Z: np.ndarray


def init(
    params: KernelARCORParams, d: int, room: tuple[int, int], form: tuple[float, ...]
) -> KernelARCORState:
    """Return the initial state, without examples, but with memory for ``room`` of them."""
    most, depth = room
    return KernelARCORState(
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.full(1, float(depth)),
        np.array([1.0, params.r, 0.0]),
        np.zeros(2),
        np.array(form),
        np.zeros(most),
        np.zeros(depth),
        np.zeros(depth),
        np.zeros(depth * (depth + 1) // 2),
        np.zeros(depth * (depth + 1) // 2),
        np.zeros((most, d)),
    )


def state_size(d: int, room: tuple[int, int]) -> int:
    """Return how many numbers the state has with room for ``room`` examples of d columns."""
    most, depth = room
    return 13 + most * (d + 1) + depth * (depth + 3)


def vital(state):
    """Return the arrays to check for numbers of unusual size: all but L, N and the examples."""
    return state[:10]


@Step.with_scratch(SCRATCH + 1 + PROJECTING, vital=vital)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, n, kept, _, segment, square, form, alpha, p, h, L, N, Z = state
    radius, budget = params[1], params[4]
    size, rows = int(n[0]), int(kept[0])
    own = kernel_row(form, Z, size, x, work)
    m = dot(alpha[:size], work[0][:size])
    if math.isnan(y):
        return m, FINE
    k, q, c = work[0][size - rows : size], work[1], work[SCRATCH]
    r = segment[1] if rows > 0 else params[0]
    chi, rule, value = look(L, rows, r, own, k, q)
    if rule != FINE:
        return value, rule
    gain = (y - m) / (r + chi)
    if not math.isfinite(gain * gain * max(own, 1.0)):
        return own, OVERFLOW
    if size == alpha.size or rows == p.size:
        return 0.0, FULL
    if rows == 0:
        begin_segment(segment, params)
    respond(L, rows, q, c)
    h[rows] = dot(alpha[: size - rows], work[0][: size - rows])  # f₀(x)
    extend(alpha, L, Z, size, rows, x, gain, math.sqrt(r + chi), q, c)
    axpy(r * gain, c[:rows], p[:rows])
    p[rows] = m + gain * chi
    size += 1
    rows += 1
    add_up(square, alpha[size - rows : size], p, h)
    if too_certain(N, rows - 1, segment[2], own, k, work[1]):
        segment[0] += 1.0
        rows = end_segment(square, p, h, L, N, rows)
    if size > budget:
        if rows == size:
            rows = end_segment(square, p, h, L, N, rows)
        oldest_row(form, Z, size, own, work)
        forget_oldest(square, alpha, p, h, Z, size, rows, work[2])
        size -= 1
        add_up(square, alpha[size - rows : size], p, h)
    length = math.sqrt(square[0])
    if length > radius:
        s = project(L, rows, r, alpha[:size], p, length, radius, work[SCRATCH + 1 :])
        scale(s, h[:rows], h[:rows])
        square[0] = radius * radius
        square[1] *= s * s
    n[0] = size
    kept[0] = rows
    t[0] += 1
    return m, FINE


@kernel
def add_up(square, a, p, h):
    """Set square[0] to ‖f‖² = ‖f₀‖² + aᵀ(h + p)."""
    square[0] = max(square[1] + dot(a, h[: a.size]) + dot(a, p[: a.size]), 0.0)


@kernel
def end_segment(square, p, h, L, N, rows):
    """Reset Σ to I: the segment of ``rows`` examples ends; return 0, the size of the next."""
    square[1] = square[0]
    for i in range(rows):
        p[i] = 0.0
        h[i] = 0.0
    clear_rows(L, rows)
    clear_rows(N, rows)
    return 0


@kernel
def forget_oldest(square, alpha, p, h, Z, n, rows, k):
    """Remove the oldest of n examples, which is not in the segment: f₀ ← f₀ − α_0 K(z_0, ·).

    ``k`` has all K(z_i, z_0).
    """
    a = alpha[0]
    old = n - rows
    square[1] = max(square[1] + a * a * k[0] - 2.0 * a * dot(alpha[:old], k[:old]), 0.0)
    axpy(-a, k[old:n], p[:rows])
    axpy(-a, k[old:n], h[:rows])
    drop_oldest(alpha, Z, n)


class KernelARCOR(SegmentLearner):
    """Adaptive regularisation with covariance reset, with a kernel, for relationships that jump.

    Whenever the covariance becomes too small, it is reset, so that new rows change the predictions
    again. Costs O(nd + s²) per round with n examples, s of them since the last reset, and s²
    numbers of memory; a round in which ‖f‖ exceeds the radius takes some times as long.

    Parameters
    ----------
    kernel : onlinear.kernels.Kernel or callable, default RBF()
        The kernel K: ``Linear()``, ``Polynomial(...)``, ``RBF(...)``, or a function of rows Z and a
        row x that returns the values K(z_i, x) for the rows z_i of Z.
    r : float, default 1.0
        Noise variance assumed of the labels, r > 0: a larger r gives each row less weight.
    radius : float, default inf
        Keep ‖f‖ ≤ radius in the kernel's space, radius > 0 (the paper's R_B). With resets, the
        regret bound needs a finite radius.
    q : float, default 2.0
        Schedule Λ_i⁻¹ = i^(q−1) + 1, q ≥ 1; a larger q means rarer resets, and infinity none.
    thresholds : sequence of float or None, default None
        Thresholds Λ_1 ≥ Λ_2 ≥ … in (0, 1), used instead of ``q``; the last one is repeated.
    budget : int or None, default None
        The most examples to keep, budget ≥ 1. Beyond the budget, the oldest example is dropped, and
        the others keep their coefficients; if the covariance was never reset since this example,
        it is reset then. None keeps all examples.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> x = np.random.default_rng(0).uniform(-3, 3, size=(600, 1))
    >>> y = np.sin(2 * x[:, 0]) * np.repeat([1.0, -1.0], 300)  # the wave jumps at row 300
    >>> kernel = ol.kernels.RBF(gamma=1.0)
    >>> jumping, still = ol.KernelARCOR(kernel, r=0.1, q=1.5), ol.KernelAAR(kernel, b=0.1)
    >>> both = [ol.replay(model, x, y).losses[400:].mean() for model in (jumping, still)]
    >>> jumping.resets_ > 0, bool(both[0] < 0.1 * both[1])
    (True, True)
    """

    r: float = 1.0
    radius: float = math.inf
    q: float = 2.0
    thresholds: Sequence[float] | None = None

    algorithm = Algorithm(init, step, tuple(rule.format(cure="a larger r") for rule in RULES))
    _poor_score = True  # it forgets
    _growing = InSegments(state_size)
    _subtracts = True

    def _params(self) -> KernelARCORParams:
        return KernelARCORParams(
            number(self, "r", above=0),
            number(self, "radius", above=0, most=math.inf),
            number(self, "q", least=1, most=math.inf),
            inverse_thresholds("KernelARCOR", self.thresholds),
            self._budget(),
        )

    def _theorem(self, search: bool) -> Guarantee:
        r, radius, q, _, _ = params = self._params()
        if math.isfinite(radius):
            linear = in_ball(params[:4], None, "KernelARCOR", "√K(x,x)")
            return self._in_space(linear, *arcor_bound(params[:4], search))
        if math.isinf(q) and self.thresholds is None:
            source = "as AROWR: Σ loss·r/(r+χ) is the least penalised loss"
            laser = LaserParams(r, math.inf, 0.0, math.inf)
            linear = guarantee("KernelARCOR", source, laser, "χ/r")
            return self._in_space(linear, *laser_bound(laser))
        return unknown("KernelARCOR", "KernelARCOR with resets and without a finite radius", r)

    def _check_bound(self, state: tuple[np.ndarray, ...]) -> None:
        if math.isfinite(self.radius):
            check_bound(state)
        else:
            check_dual(Dual(*state))

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_counts("is its segment", stack.segment[:, 0], 1, stack.t[:, 0] + 1)
        check_range("the variance of the noise", stack.segment[:, 1], SMALLEST)
        check_range("a threshold", stack.segment[:, 2], 0)
        check_range("a squared norm", stack.square, 0)
        for kept, segment, N in zip(stack.kept, stack.segment, stack.N, strict=True):
            if segment[2] > 0:
                check_factor(N, int(kept[0]), name="N")

    @property
    @atomic
    def resets_(self) -> int:
        """How many times the covariance was reset because it was too small."""
        return int(self._learnt().segment[0]) - 1
