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
predictions xᵀw. For the shrunk predictions r·xᵀw/(r + χ) of the discounted forward algorithm,
L ≤ C + Σ y²·χ/(r + χ).

The guard against wind-up acts like a further row: √k times the i-th unit vector, with the label
√k·w_i and k = 3/Σ_ii. This row does not change m_t, and adds k(u_i − w_i)² to F_t(u). So a
comparator pays for its error on such rows, too.

Jacobsen & Cutkosky, ICML 2024 (the discounted forward algorithm).
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
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import dot, reset, rounding_of
from onlinear.algorithms._forgetting import forget, forgetful, uncertainty
from onlinear.algorithms.laser import count_row, widened

__all__ = ["BoundParams", "bound", "guarantee"]


class BoundParams(NamedTuple):
    """Parameters of the bound: those of the learner, and after how many rows Σ is reset to I/b."""

    forgetting: float
    b: float
    shrink: float
    clip: float
    reset_every: float


@Tally
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss of RLS or CR-RLS, by running their recursion again."""
    tally, notes, t, w, S, peak = state
    r, b, shrink, clip, reset_every = params
    learner = t, w, S, peak
    e = y - dot(w, x)
    chi = uncertainty(learner, x, work)
    rule = forget(learner, r, b, x, e, chi, work)
    if rule != FINE:
        return lose(tally, notes, rule, chi)
    chi /= r
    left = chi / (1.0 + chi)  # what xᵀΣx is after this row, but for rounding
    if 0.0 < left <= rounding_of(S, x):
        return lose(tally, notes, DOMAIN, left)
    if t[0] % reset_every == 0.0:
        reset(1.0 / b, S)
    return count_row(tally, notes, (b, math.inf, shrink, clip), y, e * e / (1.0 + chi), chi)


def _begin(d: int, b: float) -> tuple[np.ndarray, ...]:
    return tallied(*forgetful(d, b))


def _excesses(params: BoundParams, path: Path) -> np.ndarray:
    """Return by how much F_t(u_t) is above its minimum in each round, (u_t − w_t)ᵀΣ_t⁻¹(u_t − w_t).

    Σ_t is the matrix before a reset. So the recursion runs without resets; they are made here.
    """
    d = path.X.shape[1]
    state, work = _begin(d, params.b), bound.work(d)
    _, _, _, w, S, _ = state
    without_resets = tuple(params._replace(reset_every=math.inf))
    found = np.empty(path.y.size)
    for i, (x, y) in enumerate(zip(path.X, path.y.tolist(), strict=True)):
        bound.one(state, without_resets, np.ascontiguousarray(x), y, work, True, 0)
        away = path.u[min(i, len(path.u) - 1)] - w
        found[i] = max(0.0, away @ np.linalg.solve(S, away))
        if (i + 1) % params.reset_every == 0:
            S[...] = np.eye(d) / params.b
    return found


def guarantee(
    owner: str,
    params: BoundParams,
    excesses: Callable[[BoundParams, Any], np.ndarray] = _excesses,
) -> Guarantee:
    """Return the bound of RLS or CR-RLS with forgetting < 1, or with resets.

    ``excesses(params, path)`` returns F_t(u_t) − F_t(w_t) in each round, for the user's u_t.
    """
    r, b, shrink, clip, reset_every = params

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        excess = excesses(params, path)
        last = np.arange(1, excess.size + 1) % reset_every == 0  # the last rows of segments
        kept = np.where(last, 1.0, 1.0 - r) * excess
        cost = tally[COMPARATOR] + np.cumsum(kept) - kept + excess
        return tally[FACTOR] * cost + tally[EXTRA], np.isinf(cost)

    added = widened(shrink, clip, "χ/r", "χ/(r+χ)")
    if math.isinf(reset_every):
        prior = f"{r * b:g}·‖u_1‖²"
    else:
        prior = f"{r * b:g}·Σ‖u_i − w_i‖² (u_i, w_i where segment i begins)"
    moves = f"{prior} + {r:g}·Σ(F_t(u_t+1) − F_t(u_t))"
    source = "Σ loss·r/(r+χ) is the least cost"
    return Guarantee(
        f"loss ≤ comparator {added} ({source})",
        f"min over u of {moves} + loss of u",
        Account(owner, lambda d: _begin(d, b), bound, tuple(params)),
        f"loss ≤ ({moves} + loss of u) {added} ({source})",
        price,
        ("|y| ≤ clip",),
        "any u_t",
    )
