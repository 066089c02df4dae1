"""The bound on the loss of RLS and CR-RLS, which forget old rows by the factor r.

After t rows of a segment (for RLS, the whole stream is one segment), the learner's weights w_t
minimise

    F_t(u) = rᵗ‖u − w_0‖²_b + Σ_s r^(t−s) (y_s − uᵀx_s)²

where w_0 are the weights at the beginning of the segment, and ‖v‖²_b = b‖v‖². Let m_t = F_t(w_t) be
the minimum (m_0 = 0), e_t = y_t − x_tᵀw_{t−1} the error, and χ_t = x_tᵀΣx_t with Σ before row t.
L is the learner's loss, and L(u) that of a sequence u. Then m_t − r·m_{t−1} = e_t²·r/(r + χ_t), so
that

    C := Σ_t e_t²·r/(r + χ_t) = m_T + (1 − r) Σ_{t<T} m_t
      = min over u_1..u_T of  L(u) + rb‖u_1 − w_0‖² + r Σ_{t<T} (F_t(u_{t+1}) − F_t(u_t))

The minimum is attained at u_t = w_t, since the cost of a sequence is
F_T(u_T) + (1 − r) Σ_{t<T} F_t(u_t), and w_t minimises F_t. Hence L ≤ (1 + max χ/r)·C for
predictions xᵀw. For predictions (r·xᵀw + χỹ)/(r + χ) with any hint ỹ, L ≤ C + Σ (y − ỹ)²·χ/(r + χ):
with G(u) = r·F_{t−1}(u) + (ỹ − uᵀx)², minimised by the weights v that predict row t, F_t − G is
linear, so m_t = F_t(v) − (y − ỹ)²·xᵀΣ_t x, where F_t(v) ≥ r·m_{t−1} + (y − vᵀx)² and xᵀΣ_t x =
χ/(r + χ). The discounted forward algorithm has the hint 0.

The guard against wind-up acts like a further row: √k times the i-th unit vector, with the label
√k·w_i and k = 3/Σ_ii. This row does not change m_t, and adds k(u_i − w_i)² to F_t(u). So a
comparator pays for its error on such rows, too.

The cost of a given sequence needs A_t = Σ_t⁻¹ where the sequence moves: F_t(u') − F_t(u) is
(u' − u)ᵀA_t(u' + u − 2w_t). A sequence that stays pays L(u) + rb‖u‖² only, and for the guard.

Jacobsen & Cutkosky, ICML 2024 (the discounted forward algorithm, hints).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.status import DOMAIN, FINE
from onlinear._engine.step import Tally
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    FACTOR,
    Guarantee,
    Path,
    lose,
    tallied,
    unknown,
)
from onlinear._learner.bounds.ledger import Account, Ledger
from onlinear._numerics.linalg import add_square, dot, reset, rounding_of, scale, symv
from onlinear.algorithms._forgetting import confirm, forgetful, learn_and_fade, uncertainty
from onlinear.algorithms.laser import count_row, widened

__all__ = ["BoundParams", "bound", "cost", "guarantee"]

GUARDED = EXTRA + 1  # in the tally: how often the guard against wind-up has changed Σ
ROWS = 1 << 14  # how many rows of X are copied at a time, beside the comparators of the user


class BoundParams(NamedTuple):
    """Parameters of the bound: those of the learner, and after how many rows Σ is reset to I/b."""

    forgetting: float
    b: float
    shrink: float
    clip: float
    reset_every: float


@Tally
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss of RLS or CR-RLS, by running their recursion again.

    The last array of the state holds the last label if it is the hint, else nothing.
    """
    tally, notes, t, w, S, peak, last = state
    r, b, shrink, clip, reset_every = params
    learner = t, w, S, peak
    e = y - dot(w, x)
    chi = uncertainty(learner, x, work)
    rule = learn_and_fade(learner, r, x, e, chi, work)
    if rule != FINE:
        return lose(tally, notes, rule, chi)
    for i in range(x.size):
        if confirm(learner, r, b, i, work[0]) > 0.0 and tally.size > GUARDED:
            tally[GUARDED] += 1.0
    chi /= r
    left = chi / (1.0 + chi)  # what xᵀΣx is after this row, but for rounding
    if 0.0 < left <= rounding_of(S, x):
        return lose(tally, notes, DOMAIN, left)
    if t[0] % reset_every == 0.0:
        reset(1.0 / b, S)
    away = y
    if last.size > 0:
        away -= last[0]
        last[0] = y
    drawn = 1.0 if last.size > 0 else shrink
    kind = b, math.inf, drawn, clip
    return count_row(tally, notes, kind, y, away, e * e / (1.0 + chi), chi)


@Tally
def cost(state, params, x, y, work):
    """Add a row x and its comparator u, given as one row of 2d numbers, to the cost of a sequence.

    In the state, the matrix A is empty if the sequence stays the same.
    """
    total, t, w, S, peak, A, u = state
    r, b, _, _, reset_every = params
    d = w.size
    learner = t, w, S, peak
    x, new, rows = x[:d], x[d:], work.reshape((4, d))
    move, both, product = rows[0], rows[1], rows[2]
    for i in range(d):
        move[i] = new[i] - w[i]
    if t[0] % reset_every == 0.0:
        total[0] += r * b * dot(move, move)
    elif A.size > 0:
        moved = False
        for i in range(d):
            both[i] = move[i] + (u[i] - w[i])
            move[i] = new[i] - u[i]
            moved = moved or move[i] != 0.0
        if moved:
            symv(A, both, product)
            total[0] += r * dot(move, product)
    for i in range(d):
        u[i] = new[i]
    miss, e = y - dot(u, x), y - dot(w, x)
    total[0] += miss * miss
    chi = uncertainty(learner, x, rows)
    if learn_and_fade(learner, r, x, e, chi, rows) != FINE:
        total[0] = math.nan
        return 0.0, FINE
    if A.size > 0:
        for i in range(d):
            scale(r, A[i], A[i])
        add_square(x, A)
    for i in range(d):
        k = confirm(learner, r, b, i, rows[0])
        if k > 0.0:
            total[0] += k * (u[i] - w[i]) * (u[i] - w[i])
            if A.size > 0:
                A[i, i] += k
    if t[0] % reset_every == 0.0:
        reset(1.0 / b, S)
        if A.size > 0:
            reset(b, A)
    return 0.0, FINE


def costs(owner: str, params: BoundParams, path: Path, *, moves: bool) -> np.ndarray:
    """Return the cost of the user's sequence after each round."""
    d = path.X.shape[1]

    def begin(_: int) -> tuple[np.ndarray, ...]:
        A = params.b * np.eye(d if moves else 0)
        return np.zeros(1), *forgetful(d, params.b), A, np.zeros(d)

    ledger = Ledger(Account(owner, begin, cost, tuple(params)))
    u = np.broadcast_to(path.u, path.X.shape)
    parts = [
        ledger.add(np.hstack([path.X[i : i + ROWS], u[i : i + ROWS]]), path.y[i : i + ROWS])
        for i in range(0, len(u), ROWS)
    ]
    return np.asarray(np.concatenate(parts, axis=1)[0])


def guarantee(
    owner: str,
    params: BoundParams,
    *,
    hint: bool = False,
    paid: Callable[[Any, np.ndarray], np.ndarray] | None = None,
) -> Guarantee:
    """Return the bound of RLS or CR-RLS with forgetting < 1, with resets, or with a hint.

    ``paid(path, tally)``, if given, returns the cost of the user's u_t after each round.
    """
    r, b, shrink, clip, reset_every = params

    def begin(d: int, extra: int = 1) -> tuple[np.ndarray, ...]:
        return tallied(*forgetful(d, b), np.zeros(int(hint)), extra=extra)

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if paid is not None:
            cost = paid(path, tally)
            return tally[FACTOR] * cost + tally[EXTRA], np.isinf(cost)
        moves = bool(path.moved[-1])
        if moves or reset_every < math.inf or tally[GUARDED, -1] > 0:
            # the least cost is a limit on rounding errors, too
            cost = np.maximum(costs(owner, params, path, moves=moves), tally[COMPARATOR])
        else:
            cost = path.loss + r * b * path.squares[0]
        return tally[FACTOR] * cost + tally[EXTRA], np.isinf(cost)

    added = widened(shrink or hint, clip, "χ/r", "χ/(r+χ)", "(y_t − y_{t−1})²" if hint else "y²")
    if math.isinf(reset_every):
        prior = f"{r * b:g}·‖u_1‖²"
    else:
        prior = f"{r * b:g}·Σ‖u_i − w_i‖² (u_i, w_i where segment i begins)"
    moves = f"{prior} + {r:g}·Σ(F_t(u_t+1) − F_t(u_t))"
    source = "Σ loss·r/(r+χ) is the least cost"
    present = Guarantee(
        f"loss ≤ comparator {added} ({source})",
        f"min over u of {moves} + loss of u",
        Account(owner, begin, bound, tuple(params), version=3),
        f"loss ≤ ({moves} + loss of u) {added} ({source})",
        price,
        ("|y| ≤ clip",),
        "any u_t",
    )
    if hint:
        return present
    # version 0.14 did not count how often the guard acts; earlier ones knew no bound
    second = present.account._replace(init=lambda d: begin(d, extra=0), version=2)
    words = f"an {owner} whose certificate was begun before version 0.14"
    first = unknown(owner, words.replace("an C", "a C"), b)
    return present._replace(earlier=(present._replace(account=second), first))
