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

With a forgetting factor r < 1, which the paper does not have, S ← rS + xxᵀ, ŷ = r·bᵀMx and
b ← rb + yx: the loss of a row of age s has the weight rˢ, while the penalty keeps its size. Unlike
in RLS, M stays bounded by D/a in directions that the rows do not excite. The state holds rS and rb.

If all labels are in [−Y, Y], the min-max prediction of the paper's Theorem 1 is bᵀMx clipped to
[−Y, Y], which the paper does not say.

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
    broke,
    enter,
    lose,
    tallied,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.selection import Selection
from onlinear._numerics.linalg import add_square, axpy, clipped, dot, finite, kernel
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
from onlinear._validation.checks import limit, number
from onlinear._validation.states import check_sums

__all__ = [
    "CIRR",
    "ShrinkageState",
    "absorb",
    "fade",
    "least_of_rounds",
    "moved",
    "own_ceiling",
    "start",
    "starting_weights",
]


class CIRRParams(NamedTuple):
    """Parameters of a step: the penalty a, the smallest |w_i| in D, w0, r, and the largest |ŷ|."""

    a: float
    floor: float
    w0: np.ndarray
    forgetting: float
    clip: float


class ShrinkageState(NamedTuple):
    """The state: the number of rounds t, the weights w, A = rS, and b (rb in formulas)."""

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


TINY = 1e-200  # a faded number below this counts as 0: numbers near underflow are slow


@kernel
def fade(A, b, r):
    """Multiply the weights of all rows learnt by r: A ← rA, b ← rb."""
    for i in range(b.size):
        row = A[i]
        for j in range(b.size):
            faded = r * row[j]
            row[j] = faded if abs(faded) > TINY else 0.0
        faded = r * b[i]
        b[i] = faded if abs(faded) > TINY else 0.0


@kernel
def absorb(state, new, x, y, r):
    """Set A ← r(A + xxᵀ), b ← r(b + yx) and w ← ``new``; return FINE.

    If a number would overflow, change nothing and return OVERFLOW.
    """
    t, w, A, b = state
    if not finite(new) or not math.isfinite(dot(b, b) + y * y * dot(x, x)):
        return OVERFLOW
    add_square(x, A)
    axpy(y, x, b)
    if r < 1.0:
        fade(A, b, r)
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
    a, floor, _, r, clip = params
    root, order, v, c, scratch, U = work[0], work[1], work[2], work[3], work[4:7], work[7:]
    weigh(w, floor, root)
    system = root, A, x, a, order, U
    k = factorise(system, SMALL)
    if k >= 0:
        k = solve(system, k, b, ROUNDING, v, scratch)
    if k < 0:
        return a, OVERFLOW
    prediction = clipped(dot(x, v), clip)  # xᵀMb
    if math.isnan(y):
        return prediction, FINE
    moved(b, x, y, c)
    if solve(system, k, c, ROUNDING, v, scratch) < 0:
        return a, OVERFLOW
    return prediction, absorb(state, v, x, y, r)


@Tally.with_scratch(lambda d: d + 5 + SCRATCH)
def bound(state, params, x, y, work):
    """Add a row to the bound on CIRR's loss L (its sum of squared errors).

        L ≤ C_T + Σ y²·xᵀNx + a Σ_{t≥2} Σ_i v_{t,i}²(r/D_{t−2,i} − 1/D_{t−1,i})

    S_t and w_t are S and w after round t, and D_t is made from w_t. L_t(w) is the sum of the
    squared errors of w in the first t rounds, with the weight r^(t−s) in round s, m_t the minimum
    over w of L_t(w) + a‖D_{t−1}^{−½}w‖², and C_T = Σ (m_t − r·m_{t−1}), which is m_T if r = 1.
    N = (aD_{t−1}⁻¹ + S_t)⁻¹, and v_t minimises r·L_{t−1}(w) + a‖D_{t−1}^{−½}w‖². If r = 1 and D did
    not change, the bound would grow in each round as the bound of AAR does. Replacing D_{t−2}/r by
    D_{t−1} adds to the bound at most the difference of the two penalties at v_t.

    Written without cancellation, the right side of the bound grows in each round by (y − γ)² +
    γ²q/(1 − q), where γ = r·bᵀNx, before clipping, and q = xᵀNx, plus
    a Σ_i v_i(v_i − w_{t−1,i})(r/D_{t−2,i} − 1/D_{t−1,i}) ≥ 0, the amount by which
    r·(L_{t−1}(w) + a‖D_{t−2}^{−½}w‖²) is greater at w = v_t than at its minimum, w_{t−1}. To clip
    predictions to [−Y, Y] raises no loss if |y| ≤ Y.
    """
    tally, notes, t, w, A, b, before = state
    a, floor, _, r, clip = params
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
            change = r * v[i] / before[i] - v[i] / root[i] / root[i]
            least -= w[i] * change
            above += (v[i] - w[i]) * change
        before[i] = root[i] * root[i]
    miss = y - gamma / left
    rule = absorb((t, w, A, b), new, x, y, r)
    if rule != FINE:
        return lose(tally, notes, rule, y)
    grown = (y - gamma) * (y - gamma) + gamma * gamma * q / left + max(a * above, 0.0)
    comparator = tally[COMPARATOR] + miss * miss * left + a * least  # C_T
    size = abs(y)
    if size > clip:
        broke(notes, 0, size)
    return enter(tally, notes, comparator, 0.0, tally[EXTRA] + grown)


def own_ceiling(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound on the loss after each round, and False: it excludes no comparator.

    The bound is the same for every comparator that the user gives.
    """
    return tally[EXTRA], np.zeros(1, dtype=bool)


def least_of_rounds(a: float, r: float) -> str:
    """Return C_T, the comparator of CIRR and OSLOG, in words."""
    least = f"min over w of {a:g}·Σ w²/max(|w of the round before|, floor)"
    if r == 1:
        return f"{least} + loss of w"
    return f"m_T + {1 - r:g}·Σ_t<T m_t, m_t = {least} + Σ_s≤t {r:g}^(t−s)·loss of w in round s"


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


class CIRR(Selection, Learner):
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
    forgetting : float, default 1.0
        Factor that multiplies the weight of earlier rows in each round, 0 < forgetting ≤ 1, so that
        the selected columns can change: the memory is about 1/(1 − forgetting) rounds.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
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
    >>> model.selected_  # only the input that matters
    array([1])
    """

    a: float = 1.0
    floor: float = 1e-12
    w0: float | Sequence[float] = 1.0
    forgetting: float = 1.0
    clip: float | None = None

    algorithm = Algorithm(init, step, follows=SUMS)
    _square = 2

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_sums("S = Σxxᵀ", stack.A)

    def _weights_and_floor(self) -> tuple[np.ndarray, float]:
        return self._learnt().w, self._params().floor

    def _params(self) -> CIRRParams:
        return CIRRParams(
            number(self, "a", above=0),
            number(self, "floor", least=0),
            starting_weights(self),
            number(self, "forgetting", above=0, most=1),
            limit(self, "clip"),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()

        def begin(d: int) -> tuple[np.ndarray, ...]:
            return tallied(*init(params, d), np.zeros(d))

        words = "Σ y²·xᵀNx + the cost of the changes of D (Theorem 2, corrected)"
        own = least_of_rounds(params.a, params.forgetting)
        return Guarantee(
            f"loss ≤ comparator + {words}",
            own,
            Account("CIRR", begin, bound, tuple(params)),
            f"loss ≤ ({own}) + {words}",
            own_ceiling,
            ("|y| ≤ clip",),
        )
