"""CIRR: competitive iterative ridge regression, a sparse learner.

    D  = diag(max(|w|, floor)),  w₀ = 1
    S ← S + xxᵀ
    M  = (aD⁻¹ + S)⁻¹ = √D (aI + √D S √D)⁻¹ √D
    ŷ  = bᵀMx                      with x already in S
    b ← b + yx
    w ← Mb

Each round solves a ridge problem in which w_i² has the penalty a/|v_i|, where v are the weights of
the round before. A fixed point of these rounds minimises the loss plus 2a‖w‖₁, so small weights are
driven to zero. Misprint resolved: the A in line 6 of Jamil & Bouchachia's Algorithm 1 should be S.

With ``floor = 0``, as in the paper, a weight that underflows to zero stays zero forever, and the
regret can grow linearly. Every entry of D changes in every round, so the paper's claim that every
round costs O(n²) for n inputs is false. In each round, :mod:`onlinear._updates.reweighted_ridge`
factorises the part of the ridge problem that belongs to weights not near zero. While there are
fewer rounds than inputs and the penalty a is small, the recursion is chaotic on dense data:
changing a label by 1e-15 can change a prediction by 16–100 %.

Theorems 2 to 5 and Corollary 1 of Jamil & Bouchachia are false: D changes in every round, and the
telescoping sums of their proofs ignore these changes. The bounds that the library computes for CIRR
and OSLOG include the cost of the changes of D.

Jamil & Bouchachia, "Competitive Regularised Regression", Algorithm 1.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    ROWS,
    Guarantee,
    Path,
    enter,
    lose,
    tallied,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import add_square, axpy, dot, finite, kernel
from onlinear._updates.rescaling import SUMS
from onlinear._updates.reweighted_ridge import (
    FIGURES,
    ROUNDING,
    SCRATCH,
    SMALL,
    factorise,
    solve,
    weigh,
)
from onlinear._validation.checks import number
from onlinear._validation.states import check_sums

__all__ = [
    "CIRR",
    "ShrinkageState",
    "absorb",
    "moved",
    "own_ceiling",
    "start",
    "starting_weights",
]


class CIRRParams(NamedTuple):
    """Parameters of a step: the penalty a, the smallest |w_i| in D, the starting weights w0."""

    a: float
    floor: float
    w0: np.ndarray


class ShrinkageState(NamedTuple):
    """The state: the number of rounds t, the weights w, A = Σxxᵀ (S in formulas), and b = Σyx."""

    t: np.ndarray
    w: np.ndarray
    A: np.ndarray
    b: np.ndarray


def start(w0: np.ndarray, d: int) -> ShrinkageState:
    """Return the initial state: no rows learnt, weights w0 (one number for all, or one each)."""
    if w0.size not in (1, d):
        raise ValueError(f"w0 needs one number, or one for each of {d} features, got {w0.size}")
    w = np.broadcast_to(w0, d).copy()
    return ShrinkageState(np.zeros(1), w, np.zeros((d, d)), np.zeros(d))


def init(params: CIRRParams, d: int) -> ShrinkageState:
    """Return the initial state of CIRR: the weights w are w0."""
    return start(params.w0, d)


@kernel
def absorb(state, new, x, y):
    """Set S ← S + xxᵀ, b ← b + yx and w ← ``new``; return FINE.

    If a number would overflow, change nothing and return OVERFLOW.
    """
    t, w, A, b = state
    if not finite(new) or not math.isfinite(dot(b, b) + y * y * dot(x, x)):
        return OVERFLOW
    add_square(x, A)
    axpy(y, x, b)
    for i in range(x.size):
        w[i] = new[i]
    t[0] += 1
    return FINE


@kernel
def moved(b, x, y, out):
    """Write b + yx to ``out``."""
    for i in range(x.size):
        out[i] = b[i] + y * x[i]


@Step.with_scratch(lambda d: d + 4 + SCRATCH)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, A, b = state
    a, floor, _ = params
    root, order, v, c, scratch, U = work[0], work[1], work[2], work[3], work[4:7], work[7:]
    weigh(w, floor, root)
    system = root, A, x, a, order, U
    k = factorise(system, SMALL)
    if k >= 0:
        k = solve(system, k, b, ROUNDING, v, scratch)
    if k < 0:
        return a, OVERFLOW
    prediction = dot(x, v)  # xᵀMb
    if math.isnan(y):
        return prediction, FINE
    moved(b, x, y, c)
    if solve(system, k, c, ROUNDING, v, scratch) < 0:
        return a, OVERFLOW
    return prediction, absorb(state, v, x, y)


@Tally.with_scratch(lambda d: d + 5 + SCRATCH)
def bound(state, params, x, y, work):
    """Add a row to the bound on CIRR's loss L (its sum of squared errors).

        L ≤ F_T + Σ y²·xᵀNx + a Σ_{t≥2} Σ_i v_{t,i}²(1/D_{t−2,i} − 1/D_{t−1,i})

    S_t and w_t are S and w after round t, and D_t is made from w_t. F_T is the minimum over w of
    L(w) + a‖D_{T−1}^{−½}w‖², where L(w) is the loss of w in all T rounds. N = (aD_{t−1}⁻¹ + S_t)⁻¹,
    and v_t minimises L_{t−1}(w) + a‖D_{t−1}^{−½}w‖², where L_{t−1}(w) is the loss of w in the first
    t − 1 rounds. If D did not change, the bound would grow in each round as the bound of AAR does.
    Replacing D_{t−2} by D_{t−1} adds to the bound at most the difference of the two penalties at
    v_t.

    Written without cancellation, the right side of the bound grows in each round by (y − γ)² +
    γ²q/(1 − q), where γ = bᵀNx and q = xᵀNx, plus a Σ_i v_i(v_i − w_{t−1,i})(1/D_{t−2,i} −
    1/D_{t−1,i}) ≥ 0, the amount by which L_{t−1}(w) + a‖D_{t−2}^{−½}w‖² is greater at w = v_t than
    at its minimum, w_{t−1}.
    """
    tally, notes, t, w, A, b, before = state
    a, floor, _ = params
    root, order, u, v, new = work[0], work[1], work[2], work[3], work[4]
    scratch, U = work[5:8], work[8:]
    weigh(w, floor, root)
    system = root, A, x, a, order, U
    k = factorise(system, SMALL)
    if k >= 0:  # the same calls as in the step, so that the bits are the same
        k = solve(system, k, b, ROUNDING, v, scratch)
    if k >= 0:
        moved(b, x, y, u)
        k = solve(system, k, u, ROUNDING, new, scratch)
    if k >= 0:
        k = solve(system, k, x, FIGURES, u, scratch)
    if k < 0:
        return lose(tally, notes, OVERFLOW, a)
    q, gamma = dot(x, u), dot(x, v)
    left = max(1.0 - q, 1e-16)  # 1/(1 + xᵀMx)
    axpy(gamma / left, u, v)  # v = Nb + Nx·γ/(1 − q)
    least = above = 0.0
    for i in range(x.size):
        if root[i] > 0.0 and notes[ROWS] > 0.0:
            change = v[i] / before[i] - v[i] / root[i] / root[i]
            least -= w[i] * change
            above += (v[i] - w[i]) * change
        before[i] = root[i] * root[i]
    miss = y - gamma / left
    rule = absorb((t, w, A, b), new, x, y)
    if rule != FINE:
        return lose(tally, notes, rule, y)
    grown = (y - gamma) * (y - gamma) + gamma * gamma * q / left + max(a * above, 0.0)
    comparator = tally[COMPARATOR] + miss * miss * left + a * least  # F_T
    return enter(tally, notes, comparator, 0.0, tally[EXTRA] + grown)


def own_ceiling(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound on the loss after each round, and False: it excludes no comparator.

    The bound is the same for every comparator that the user gives.
    """
    return tally[EXTRA], np.zeros(1, dtype=bool)


def starting_weights(owner: Any) -> np.ndarray:
    """Return the checked w0 of a learner as a vector."""
    try:
        w0 = np.atleast_1d(np.asarray(owner.w0, dtype=float))
    except (TypeError, ValueError):
        w0 = np.full(1, math.nan)
    if w0.ndim != 1 or w0.size == 0 or not np.isfinite(w0).all():
        name = type(owner).__name__
        raise ValueError(
            f"{name} needs w0 to be a finite number or a list of them, got w0={owner.w0!r}"
        )
    return w0


class CIRR(Learner):
    """Competitive iterative ridge regression: learns sparse weights if few of many inputs matter.

    Costs a Cholesky factorisation (k³/3 operations for the k weights that are not near zero) plus
    O(n²) per round. In total, a round costs O(n²) if few of the n inputs matter, and n³/3 if all
    inputs matter.

    Parameters
    ----------
    a : float, default 1.0
        Penalty, a > 0; the weights converge to the minimiser of the loss plus 2a‖w‖₁.
    floor : float, default 1e-12
        Smallest |w_i| in the penalty's denominator, floor ≥ 0. With floor > 0 a weight can return
        from zero; Jamil & Bouchachia use 0.
    w0 : float or sequence of float, default 1.0
        Starting weights: one number for all of them, or one number for each.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

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

    algorithm = Algorithm(init, step, follows=SUMS)
    _square = 2

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_sums("S = Σxxᵀ", stack.A)

    def _params(self) -> CIRRParams:
        return CIRRParams(
            number(self, "a", above=0), number(self, "floor", least=0), starting_weights(self)
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()

        def begin(d: int) -> tuple[np.ndarray, ...]:
            return tallied(*init(params, d), np.zeros(d))

        words = "Σ y²·xᵀNx + the cost of the changes of D (Theorem 2, corrected)"
        own = f"min over w of {params.a:g}·Σ w²/max(|w of the round before|, floor) + loss of w"
        return Guarantee(
            f"loss ≤ comparator + {words}",
            own,
            Account("CIRR", begin, bound, tuple(params)),
            f"loss ≤ ({own}) + {words}",
            own_ceiling,
        )
