"""CIRR: competitive iterative ridge regression, a sparse learner.

    D  = diag(max(|w|, floor)),  w₀ = 1
    S ← S + xxᵀ
    M  = (aD⁻¹ + S)⁻¹ = √D (aI + √D S √D)⁻¹ √D
    ŷ  = bᵀMx                      with x already in S
    b ← b + yx
    w ← Mb

Each round solves a ridge problem whose penalty on w_i is a/|w_i|, at the weights before: the fixed
point minimises the loss plus 2a‖w‖₁, so small weights are driven to zero. Misprint decided: the
A of Algorithm 1, line 6, is S.

With the paper's ``floor = 0`` an exact zero is absorbing: a weight that underflows never returns,
and the regret can grow linearly. All of D moves in every round, so the O(n²) step the paper speaks
of does not exist: this one is a Cholesky factorisation, n³/3. While there are fewer rounds than
inputs and a is small, the recursion is chaotic on dense data: a change of 1e-15 in a label can
become one of 16–100 % in a prediction.

The paper's Theorems 2 to 5 and Corollary 1 are false: D changes in every round, and their
telescoping sums forget it. The bounds below (and OSLOG's) pay for the change.

Jamil & Bouchachia, "Competitive Regularised Regression", Algorithm 1.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onlinear._bounds import COMPARATOR, EXTRA, ROWS, Guarantee, Path, enter, lose, tallied
from onlinear._checks import number
from onlinear._engine import FINE, OVERFLOW, Step, Tally
from onlinear._kernels import (
    add_square,
    axpy,
    cholesky,
    dot,
    finite,
    kernel,
    solve_lower,
    solve_upper,
)
from onlinear._ledger import Account
from onlinear._model import Algorithm, Learner

__all__ = [
    "CIRR",
    "ShrinkageState",
    "absorb",
    "factorise",
    "own_ceiling",
    "start",
    "starting_weights",
]

ROUNDING = 1e-13  # a pivot below this share of its diagonal entry has no digits left


class CIRRParams(NamedTuple):
    """The penalty, and the smallest |w_i| in D."""

    a: float
    floor: float
    w0: np.ndarray


class ShrinkageState(NamedTuple):
    """Rounds learnt, weights, S = Σxxᵀ, b = Σyx."""

    t: np.ndarray
    w: np.ndarray
    A: np.ndarray
    b: np.ndarray


def start(w0: np.ndarray, d: int) -> ShrinkageState:
    """Begin with the weights w0 (one number stands for all of them) and no rows."""
    if w0.size not in (1, d):
        raise ValueError(f"w0 needs one number, or one for each of {d} features, got {w0.size}")
    w = np.broadcast_to(w0, d).copy()
    return ShrinkageState(np.zeros(1), w, np.zeros((d, d)), np.zeros(d))


def init(params: CIRRParams, d: int) -> ShrinkageState:
    """Begin with w = w0."""
    return start(params.w0, d)


@kernel
def factorise(w, A, x, a, floor, root, U):
    """Set root ← √D, U ← the factor of aI + √D (S + xxᵀ) √D; return whether the numbers fit."""
    n = w.size
    trace = 0.0
    for i in range(n):
        root[i] = math.sqrt(max(abs(w[i]), floor))
        trace += root[i] * root[i] * (A[i, i] + x[i] * x[i])
    if not math.isfinite(trace):
        return False
    for i in range(n):
        for j in range(i, n):
            U[i, j] = root[i] * root[j] * (A[i, j] + x[i] * x[j])
        U[i, i] += a
    return cholesky(U, a, ROUNDING * n)  # every pivot of aI + a positive matrix is at least a


@kernel
def _halve(root, U, x, out):
    """out ← U⁻ᵀ√D x, so that xᵀMb is the product of two such halves."""
    for i in range(x.size):
        out[i] = root[i] * x[i]
    solve_lower(U, out)


@kernel
def absorb(state, root, U, x, y, z):
    """S ← S + xxᵀ, b ← b + yx, w ← Mb; FINE, or OVERFLOW untouched."""
    t, w, A, b = state
    for i in range(x.size):
        z[i] = root[i] * (b[i] + y * x[i])
    solve_lower(U, z)
    solve_upper(U, z)
    for i in range(x.size):
        z[i] *= root[i]
    if not finite(z) or not math.isfinite(dot(b, b) + y * y * dot(x, x)):
        return OVERFLOW
    add_square(x, A)
    axpy(y, x, b)
    for i in range(x.size):
        w[i] = z[i]
    t[0] += 1
    return FINE


@Step.with_scratch(lambda d: d + 3)
def step(state, params, x, y, work):
    """One round."""
    _, w, A, b = state
    a, floor, _ = params
    root, p, z, U = work[0], work[1], work[2], work[3:]
    if not factorise(w, A, x, a, floor, root, U):
        return a, OVERFLOW
    _halve(root, U, b, p)
    _halve(root, U, x, z)
    prediction = dot(p, z)  # bᵀMx
    if math.isnan(y):
        return prediction, FINE
    return prediction, absorb(state, root, U, x, y, z)


@Tally.with_scratch(lambda d: d + 3)
def bound(state, params, x, y, work):
    """L ≤ F_T + Σ y²·xᵀNx + a Σ_{t≥2} Σ_i v_{t,i}²(1/D_{t−2,i} − 1/D_{t−1,i}).

    F_T = min over w of (L(w) + a‖D_{T−1}^{−½}w‖²), N = (aD_{t−1}⁻¹ + S_t)⁻¹, and v_t minimises
    L_{t−1}(w) + a‖D_{t−1}^{−½}w‖². With D kept, the round costs what AAR's does; exchanging D_{t−2}
    for D_{t−1} then costs at most the difference of the two penalties at v_t.

    Put in the order in which nothing cancels, the right side grows in each round by
    (y − γ)² + γ²q/(1 − q), where γ = bᵀNx and q = xᵀNx, plus what v_t costs under D_{t−2} above the
    least, a Σ_i v_i(v_i − w_{t−1,i})(1/D_{t−2,i} − 1/D_{t−1,i}) ≥ 0.
    """
    tally, notes, t, w, A, b, before = state
    a, floor, _ = params
    root, p, z, U = work[0], work[1], work[2], work[3:]
    if not factorise(w, A, x, a, floor, root, U):
        return lose(tally, notes, OVERFLOW, a)
    _halve(root, U, b, p)
    _halve(root, U, x, z)
    q, gamma = dot(z, z), dot(p, z)
    left = max(1.0 - q, 1e-16)  # 1/(1 + xᵀMx)
    axpy(gamma / left, z, p)
    solve_upper(U, p)  # v = √D p
    least = above = 0.0
    for i in range(x.size):
        if root[i] > 0.0 and notes[ROWS] > 0.0:
            change = p[i] * (root[i] / before[i] - 1.0 / root[i])
            least -= w[i] * change
            above += (root[i] * p[i] - w[i]) * change
        before[i] = root[i] * root[i]
    miss = y - gamma / left
    rule = absorb((t, w, A, b), root, U, x, y, z)
    if rule != FINE:
        return lose(tally, notes, rule, y)
    grown = (y - gamma) * (y - gamma) + gamma * gamma * q / left + max(a * above, 0.0)
    comparator = tally[COMPARATOR] + miss * miss * left + a * least  # F_T
    return enter(tally, notes, comparator, 0.0, tally[EXTRA] + grown)


def own_ceiling(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ceiling, which is the same whoever the learner is compared with."""
    return tally[EXTRA], np.zeros(1, dtype=bool)


def starting_weights(owner: Any) -> np.ndarray:
    """Return the checked w0 of a learner as a vector."""
    try:
        w0 = np.atleast_1d(np.asarray(owner.w0, dtype=float))
    except (TypeError, ValueError):
        w0 = np.full(1, math.nan)
    if w0.ndim != 1 or w0.size == 0 or not np.isfinite(w0).all():
        name = type(owner).__name__
        raise ValueError(f"{name} needs w0 to be a finite number or a list, got w0={owner.w0!r}")
    return w0


class CIRR(Learner):
    """Competitive iterative ridge regression: many inputs, few of which matter.

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
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = ol.CIRR(a=5.0).fit(X, 2 * X[:, 1])
    >>> np.flatnonzero(np.abs(model.coef_) > 1e-6)  # only the input that matters
    array([1])
    """

    a: float = 1.0
    floor: float = 1e-12
    w0: float | Sequence[float] = 1.0

    algorithm = Algorithm(init, step)
    _square = 2

    def _params(self) -> CIRRParams:
        return CIRRParams(
            number(self, "a", above=0), number(self, "floor", least=0), starting_weights(self)
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()

        def begin(d: int) -> tuple[np.ndarray, ...]:
            return tallied(*init(params, d), np.zeros(d))

        words = "Σ y²·xᵀNx + what the changes of D cost (Theorem 2, corrected)"
        own = f"min over w of {params.a:g}·Σ w²/max(|w of before|, floor) + loss of w"
        return Guarantee(
            f"loss ≤ comparator + {words}",
            own,
            Account("CIRR", begin, bound, tuple(params)),
            f"loss ≤ ({own}) + {words}",
            own_ceiling,
        )
