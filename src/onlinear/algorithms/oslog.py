"""OSLOG: online shrinkage via the limit of a Gibbs sampler.

    ŷ  = w_{t−1}ᵀx_t,  w₀ = 1
    w_t as in CIRR

The weights are those of CIRR, but OSLOG predicts with the weights of the round before. In Jamil &
Bouchachia's paper, the first prediction is w₀ᵀx₁, made before anything was learnt. The error of
this first prediction alone spoils the paper's own results on the data sets ISE and F-16. In this
library, the first prediction is 0 unless ``first="w0"``. The bound that grows logarithmically with
the number of rounds needs predictions that are clipped to the range of the labels; the parameter
``clip`` does this. Old rows can be forgotten as in CIRR.

Jamil & Bouchachia, "Competitive Regularised Regression", Algorithm 2.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    ROWS,
    Guarantee,
    broke,
    enter,
    lose,
    tallied,
    unknown,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.selection import Selection
from onlinear._numerics.linalg import clipped, dot
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
from onlinear._validation.checks import choice, limit, number
from onlinear._validation.states import check_counts, check_range, check_sums
from onlinear.algorithms.cirr import (
    ShrinkageState,
    absorb,
    fade,
    least_of_rounds,
    moved,
    own_ceiling,
    start,
    starting_weights,
)

__all__ = ["OSLOG"]


class OSLOGParams(NamedTuple):
    """Parameters of a step: penalty a, floor of |w_i|, whether ŷ₁ is w0ᵀx, w0, largest |ŷ|, r."""

    a: float
    floor: float
    eager: float
    w0: np.ndarray
    clip: float
    forgetting: float


def init(params: OSLOGParams, d: int) -> ShrinkageState:
    """Return the initial state: w = w0."""
    return start(params.w0, d)


@Step.with_scratch(lambda d: d + 4 + SCRATCH)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w, A, b = state
    a, floor, eager, _, clip, r = params
    root, order, v, c, scratch, U = work[0], work[1], work[2], work[3], work[4:7], work[7:]
    m = dot(w, x) if eager or t[0] > 0.0 else 0.0
    prediction = clipped(m, clip)
    if math.isnan(y):
        return prediction, FINE
    weigh(w, floor, root)
    system = root, A, x, a, order, U
    k = factorise(system, SMALL)
    if k >= 0:
        moved(b, x, y, c)
        k = solve(system, k, c, ROUNDING, v, scratch)
    if k < 0 or not math.isfinite(m):
        return prediction, OVERFLOW
    return prediction, absorb(state, v, x, y, r)


# in the tally: Σ ℓ_t·r/(r+χ_t) plus the cost of changes of D; 1 + max χ/r, or Σ (|y|+Y)²·χ/(r+χ)
# if predictions are clipped to [−Y, Y]
BASE, LARGEST = 3, 4


@Tally.with_scratch(5 + SCRATCH)
def bound(state, params, x, y, work):
    """Add a row to the bound on OSLOG's losses ℓ_t, which holds if the first prediction is 0.

        Σ ℓ_t·r/(r+χ_t) ≤ B_T := C_T + a Σ_t Σ_i w_{t,i}²(r/D_{t−2,i} − 1/D_{t−1,i})

    Here r, C_T, D_t and S_t are those of CIRR's bound, D_{−1} = D_0, and
    χ_t = x_tᵀ(aD_{t−2}⁻¹ + S_{t−1})⁻¹x_t. So L, the sum of squared errors, is at most
    (1 + max χ/r)·B_T. With predictions and labels in [−Y, Y], L is at most B_T plus
    Σ (|y_t| + Y)²·χ/(r+χ).

    Written without cancellation, B_T grows in each round by e²·r/(r+χ), where e is the error before
    clipping, plus a Σ_i w_{t,i}(w_{t,i} − w'_i)(r/D_{t−2,i} − 1/D_{t−1,i}) ≥ 0. Here w' would be
    the weights of this round if D_{t−2}/r were not replaced by D_{t−1}; the term with w' is the
    amount by which the loss penalised with D_{t−2}/r is greater at w_t than at its minimum w'.

    In the state of the bound, A is S_{t−1}, and not yet multiplied by r.
    """
    tally, notes, t, w, A, b, before, large, order, factor = state
    a, floor, _, _, clip, r = params
    root, kept, new, zero, c, scratch = work[0], work[1], work[2], work[3], work[4], work[5:]
    weigh(w, floor, root)
    first = notes[ROWS] == 0.0
    for i in range(x.size):
        zero[i] = 0.0
        if first:
            before[i] = root[i]
            order[i] = i  # and no weight is large yet: S has no rows
    # kept ← (aD_{t−2}⁻¹ + S_{t−1})⁻¹x, by the factor of the round before
    k = solve((before, A, zero, a, order, factor), int(large[0]), x, FIGURES, kept, scratch)
    if r < 1.0:
        fade(A, b, r)
    system = root, A, x, a, order, factor
    if k >= 0:
        k = factorise(system, SMALL)
    if k >= 0:
        moved(b, x, y, c)
        k = solve(system, k, c, ROUNDING, new, scratch)
    chi = dot(x, kept)
    e = y if first else y - dot(w, x)
    if k < 0 or not math.isfinite(chi):
        return lose(tally, notes, OVERFLOW, chi)
    for i in range(x.size):
        kept[i] *= e / (r + chi)
        if not first:
            kept[i] += w[i]
    if absorb((t, w, A, b), new, x, y, 1.0) != FINE:
        return lose(tally, notes, OVERFLOW, chi)
    least = above = 0.0
    for i in range(x.size):
        if root[i] > 0.0:
            change = r * w[i] / before[i] / before[i] - w[i] / root[i] / root[i]
            least -= kept[i] * change
            above += (w[i] - kept[i]) * change
        before[i] = root[i]
    large[0] = k
    gain = e * e * r / (r + chi)
    comparator = tally[COMPARATOR] + gain + a * least  # C_T
    tally[BASE] += gain + max(a * above, 0.0)
    size = abs(y)
    if size > clip:
        broke(notes, 0, size)
    if clip < math.inf:
        tally[LARGEST] += (size + clip) * (size + clip) * chi / (r + chi)
        return enter(tally, notes, comparator, 0.0, tally[BASE] + tally[LARGEST])
    tally[LARGEST] = max(tally[LARGEST], 1.0 + chi / r)
    return enter(tally, notes, comparator, 0.0, tally[LARGEST] * tally[BASE])


def check_bound(state: tuple[np.ndarray, ...]) -> None:
    """Refuse a state of the bound that no rows can produce; its order must be a permutation."""
    notes, A, before, (large,), order, factor = (*(state[i] for i in (1, 4, 6, 7, 8, 9)),)
    check_counts("rows are in the bound", notes[ROWS])
    check_sums("S = Σxxᵀ of the bound", A)
    check_range("√D", before, 0)
    check_counts("weights are large", large, 0, order.size)
    k = int(large)
    pivots = np.diagonal(factor.reshape(-1)[: k * k].reshape(k, k))
    if notes[ROWS] and not np.array_equal(np.sort(order), np.arange(order.size)):
        raise ValueError("the order of the weights in the bound is not a permutation")
    if not np.all(pivots > 0):
        raise ValueError("the factor in the bound has a diagonal that is not positive")


class OSLOG(Selection, Learner):
    """Online shrinkage via the limit of a Gibbs sampler: CIRR's weights, used one round later.

    Costs a Cholesky factorisation (k³/3 operations for the k weights that are not near zero) plus
    O(n²) per round, for n inputs. In total, a round costs O(n²) if few of the n inputs matter, and
    n³/3 if all do.

    Parameters
    ----------
    a : float, default 1.0
        Penalty, a > 0; the weights converge to the minimiser of the loss plus 2a‖w‖₁.
    floor : float, default 1e-12
        The penalty of a weight w_i is a·w_i² divided by the |w_i| of the round before, or by
        ``floor`` if that is larger; floor ≥ 0. With floor > 0 a weight can return from zero; Jamil
        & Bouchachia use 0.
    w0 : float or sequence of float, default 1.0
        Starting weights: one number for all of them, or one number for each.
    first : {"zero", "w0"}, default "zero"
        How the first row is predicted: as 0, or as w0ᵀx like Jamil & Bouchachia.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
    forgetting : float, default 1.0
        Factor that multiplies the weight of earlier rows in each round, 0 < forgetting ≤ 1, so that
        the selected columns can change: the memory is about 1/(1 − forgetting) rounds.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = ol.OSLOG(a=5.0).fit(X, 2 * X[:, 1])
    >>> model.selected_  # only the input that matters
    array([1])
    """

    a: float = 1.0
    floor: float = 1e-12
    w0: float | Sequence[float] = 1.0
    first: Literal["zero", "w0"] = "zero"
    clip: float | None = None
    forgetting: float = 1.0

    algorithm = Algorithm(init, step, follows=SUMS)
    _square = 2

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_sums("S = Σxxᵀ", stack.A)

    def _weights_and_floor(self) -> tuple[np.ndarray, float]:
        return self._learnt().w, self._params().floor

    def _params(self) -> OSLOGParams:
        eager = choice(self, "first", ("zero", "w0")) == "w0"
        return OSLOGParams(
            number(self, "a", above=0),
            number(self, "floor", least=0),
            float(eager),
            starting_weights(self),
            limit(self, "clip"),
            number(self, "forgetting", above=0, most=1),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()
        if params.eager:
            return unknown("OSLOG", 'OSLOG that begins with w0ᵀx (first="w0")')

        def begin(d: int) -> tuple[np.ndarray, ...]:
            kept = np.zeros(d), np.zeros(1), np.zeros(d), np.zeros((d, d))  # √D, k, order, factor
            return tallied(*init(params, d), *kept, extra=2)

        changes = "the cost of the changes of D"
        whole, part = ("χ", "χ/(1+χ)") if params.forgetting == 1 else ("χ/r", "χ/(r+χ)")
        if params.clip < math.inf:
            added, source = f" + {changes} + Σ (|y|+clip)²·{part}", "(Theorem 4, corrected)"
        else:
            added, source = f" + {changes}", f"· (1 + max {whole}) (Theorem 4, corrected)"
        own = least_of_rounds(params.a, params.forgetting)
        return Guarantee(
            f"loss ≤ (comparator{added}) {source}",
            own,
            Account("OSLOG", begin, bound, tuple(params), check=check_bound),
            f"loss ≤ (({own}){added}) {source}",
            own_ceiling,
            ("|y| ≤ clip",),
        )
