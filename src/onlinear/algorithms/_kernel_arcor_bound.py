"""The regret bound of KernelARCOR with a finite radius, computed row by row.

    L ≤ Σ (y_t − f_t(x_t))² + r‖f_1‖² + 4 R_B r Σ Λ⁻¹‖f_{t+1} − f_t‖
        + Σ (R_B √K(x,x) + |y|)²·χ/(r+χ)

This is the bound of :mod:`onlinear.algorithms._arcor_bound` in the kernel's space. The comparators
f_t are functions of this space with ‖f_t‖ ≤ R_B. If the user gives none, all f_t are the same f:
the best f of any norm, scaled down to ‖f‖ = R_B if its norm is larger. With C = K + rI over all
rows, C = LLᵀ, z = L⁻¹y and a = C⁻¹y, the least of r‖f‖² + loss of f is rΣz², and its f has the
squared norm ‖z‖² − r‖a‖². The last term depends on the learner's χ and its resets, which are
computed again from the rows, with a factor of the rows since the last reset.
"""

import math
from typing import Any

import numpy as np

from onlinear._engine.status import FINE, FULL
from onlinear._engine.step import Tally
from onlinear._learner.bounds.guarantee import (
    EXTRA,
    LOST,
    enter,
    lose,
    scaled_down,
    tallied,
)
from onlinear._learner.growing import InSegments
from onlinear._numerics.linalg import dot, scale
from onlinear._updates.dual import SCRATCH, add_row, check_factor, solve_columns
from onlinear._updates.examples import kernel_row
from onlinear._updates.segments import clear_rows, look
from onlinear._validation.states import check_counts, check_range
from onlinear.algorithms._arcor_bound import NEVER, SUMS, add_to_extra, lengthen
from onlinear.algorithms._covariance_reset import certainty, threshold
from onlinear.algorithms._kernel_reset import begin_segment, too_certain

__all__ = ["arcor_bound", "check_bound"]

SQUARES, LEAST = 0, 1  # in ``sums``: Σy², and the least of r‖f‖² + loss of f


@Tally.with_scratch(SCRATCH + 2)
def bound(state, params, x, y, work):
    """Add a row to the bound on KernelARCOR's loss."""
    tally, notes, sums, t, n, kept, depth, segment, form, z, C, L, N, Z = state
    r, radius, _, _, search = params
    size, rows = int(n[0]), int(kept[0])
    if notes[LOST] > 0.0:
        return lose(tally, notes, FINE, 0.0)
    own = kernel_row(form, Z, size, x, work)
    k, q, whole, a = work[0], work[1], work[SCRATCH], work[SCRATCH + 1]
    present = k[size - rows : size]
    chi, rule, value = look(L, rows, r, own, present, q)
    if rule != FINE:
        return lose(tally, notes, rule, value)
    if size == Z.shape[0] or rows == int(depth[0]):
        return 0.0, FULL
    comparator = 0.0
    if search > 0.0:
        spread, rule, value = look(C, size, r, own, k, whole)
        if rule != FINE:
            return lose(tally, notes, rule, value)
        root = math.sqrt(r + spread)
        z[size] = (y - dot(whole[:size], z[:size])) / root
        add_row(C, size, whole, root)
        sums[SQUARES] += y * y
        sums[LEAST] += r * z[size] * z[size]
        scale(1.0, z[: size + 1], a[: size + 1])
        solve_columns(C, size + 1, a)
        square = dot(z[: size + 1], z[: size + 1]) - r * dot(a[: size + 1], a[: size + 1])
        s = radius / math.sqrt(square) if square > radius * radius else 1.0
        comparator = scaled_down(sums[LEAST], sums[SQUARES], s)
    if rows == 0:
        begin_segment(segment, params)
    add_row(L, rows, q, math.sqrt(r + chi))
    for j in range(x.size):
        Z[size, j] = x[j]
    resets = too_certain(N, rows, segment[2], own, present, q)
    rows += 1
    if resets:
        segment[0] += 1.0
        clear_rows(L, rows)
        clear_rows(N, rows)
        rows = 0
    lengthen(sums, own, resets, certainty(params[:4], segment[0]))
    add_to_extra(tally, sums, r, radius, math.sqrt(own), y, chi)
    n[0] = size + 1
    kept[0] = rows
    t[0] += 1
    return enter(tally, notes, comparator, 1.0, tally[EXTRA])


def arcor_bound(params: Any, search: bool) -> tuple[Any, ...]:
    """Return what ``KernelLearner._in_space`` needs for the bound of KernelARCOR.

    ``params`` are r, the radius, q and the Λ_i⁻¹ that the user gave. Without a ``search``, there is
    no factor of all rows.
    """

    def state_size(d: int, room: tuple[int, int]) -> int:
        most, depth = room
        whole = most * (most + 3) // 2 if search else 0
        return 11 + most * d + depth * (depth + 1) + whole

    def begin(d: int, room: tuple[int, int], form: tuple[float, ...]) -> tuple[np.ndarray, ...]:
        most, depth = room
        whole = most if search else 0
        return tallied(
            np.array([0.0, 0.0, 0.0, min(threshold(params, 1.0), NEVER)]),
            np.zeros(1),
            np.zeros(1),
            np.zeros(1),
            np.full(1, float(depth)),
            np.array([1.0, params[0], 0.0]),
            np.array(form),
            np.zeros(whole),
            np.zeros(whole * (whole + 1) // 2),
            np.zeros(depth * (depth + 1) // 2),
            np.zeros(depth * (depth + 1) // 2),
            np.zeros((most, d)),
            extra=1,
        )

    growing = InSegments(state_size, (EXTRA + 2, LOST + 1, SUMS))
    return begin, bound, (*params, float(search)), growing


def check_bound(state: tuple[np.ndarray, ...]) -> None:
    """Refuse a state of the bound, after its head, that no rows can produce."""
    t, n, kept, depth, segment, _, _, C, L, N, _ = state
    rows = int(n[0])
    check_counts("examples are in its segment", kept[0], 0, min(n[0], depth[0]))
    check_counts("is its segment", segment[0], 1, t[0] + 1)
    check_range("the variance of the noise", segment[1], 1e-300)
    check_range("a threshold", segment[2], 0)
    check_factor(C, rows if C.size else 0)
    check_factor(L, int(kept[0]))
    check_factor(N, int(kept[0]) if segment[2] > 0 else 0, name="N")
