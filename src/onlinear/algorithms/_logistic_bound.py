"""The bound of LogisticLASER: on its logistic loss, against any sequence of weights."""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Tally
from onlinear._learner.bounds import any_loss
from onlinear._learner.bounds.guarantee import (
    EXTRA,
    Guarantee,
    Path,
    compete,
    competitor,
    enter,
    lose,
    scaled_down,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import axpy, dot, kernel, norm, rounding_of, scale, shift
from onlinear._updates.gaussian import gaussian, learn, look
from onlinear.algorithms._shrunk_activation import FAINT, answer
from onlinear.losses import Logistic
from onlinear.losses._formulas import LOGISTIC, rounding

__all__ = ["guarantee"]


class LogisticAccount(NamedTuple):
    """Parameters of the bound: those of the learner's step, b, C, whether to find a u."""

    penalty: float
    kappa: float
    b: float
    reach: float
    search: float


# in ``sums``: the least sum of h(b − z)² and u's penalty, for the parabolas h(b − z)² + k above the
# losses of u; the sum of h·z²; the sum of k; and the largest ‖x‖₁ and ‖x‖₂ of a row
LEAST, SQUARES, OVER, LARGEST_1, LARGEST_2 = range(5)


@kernel
def relearn(state, params, x, y, work):
    """Run the learner's round again; return E, or a value and the rule that the row breaks.

    E = ½(1 − p − y)²χ/(1 + κsχ) − ½(2p − 1)²χ is the most by which the round's loss exceeds the
    rise of the least cost of the comparators.
    """
    t, w, S = state
    penalty, kappa = params[0], params[1]
    v, m = work[0], dot(w, x)
    chi, drift = look(state, penalty, x, v)
    if not math.isfinite(chi * m):
        return m, OVERFLOW
    a, rest, weight, miss = answer(kappa, m, max(chi, 0.0), y)
    shift(drift, S)
    if weight * chi < FAINT:
        axpy(-miss, v, w)
        t[0] += 1
    else:
        r = 1.0 / weight
        left = chi * r / (r + chi)  # xᵀΣx after this row, unless rounding prevents it
        if learn(state, x, -miss * r, v, chi, r, work[1]) != FINE:
            return m, OVERFLOW
        if 0.0 < left <= rounding_of(S, x):
            return left, DOMAIN
    p = 1.0 - rest  # of a positive a; for a negative one, p and rest change places
    off = (rest if a >= 0.0 else p) - y
    tilt = p - rest
    return 0.5 * off * off * chi / (1.0 + weight * chi) - 0.5 * tilt * tilt * chi, FINE


@kernel
def shrink_to_reach(w, reach, most, sums):
    """Return s ≤ 1 with |s·wᵀx| ≤ reach for all rows x so far, by the least of three bounds."""
    largest, weighted = 0.0, 0.0
    for i in range(w.size):
        largest = max(largest, abs(w[i]))
        weighted += abs(w[i]) * most[i]
    top = min(weighted, min(largest * sums[LARGEST_1], norm(w) * sums[LARGEST_2]))
    return reach / top if top > reach else 1.0


@Tally.with_scratch(3)
def bound(state, params, x, y, work):
    """Add a row to the bound L ≤ L(u) + b‖u_1‖² + c Σ‖u_{t+1} − u_t‖² + Σ E_t.

    The comparator found here is a fixed u: the minimiser of b‖u‖² and of parabolas that are nowhere
    below its losses, scaled down so that no activation can exceed the reach.
    """
    tally, notes, t, w, S, own_t, own_w, own_S, most, sums = state
    _, _, b, reach, search = params
    extra, rule = relearn((own_t, own_w, own_S), params, x, y, work)
    if rule != FINE:
        return lose(tally, notes, rule, extra)
    extra += tally[EXTRA] + rounding(LOGISTIC, y)
    if search == 0.0:
        return enter(tally, notes, 0.0, 1.0, extra)
    total = 0.0
    for i in range(x.size):
        most[i] = max(most[i], abs(x[i]))
        total += abs(x[i])
    sums[LARGEST_1] = max(sums[LARGEST_1], total)
    sums[LARGEST_2] = max(sums[LARGEST_2], norm(x))
    h, z, k = any_loss.parabola(LOGISTIC, 0.0, dot(w, x), y, 0.0, 0.0)
    root = math.sqrt(h)
    row = work[2]
    scale(root, x, row)
    gain, _, rule = compete((t, w, S), math.inf, row, root * z, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    sums[LEAST] += gain
    sums[SQUARES] += h * z * z
    sums[OVER] += k
    s = shrink_to_reach(w, reach, most, sums)
    price = b * s * s * dot(w, w)
    comparator = max(scaled_down(sums[LEAST], sums[SQUARES], s) + sums[OVER], price)
    return enter(tally, notes, comparator, 1.0, extra)


def guarantee(b: float, c: float, kappa: float, reach: float, search: bool) -> Guarantee:
    """Return the bound of LogisticLASER."""

    def begin(d: int) -> tuple[np.ndarray, ...]:
        found = d if search else 0
        return *competitor(found, b), *gaussian(d, 2.0 * b), np.zeros(found), np.zeros(5)

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cost = path.loss + b * path.squares[0] + path.drift(2, c, power=2)
        activations = np.einsum("ij,ij->i", path.X, np.broadcast_to(path.u, path.X.shape))
        outside = np.abs(activations) > reach * (1 + 1e-12)
        return cost + tally[EXTRA], path.ever(outside) | np.isinf(cost)

    bounded = f"|uᵀx| ≤ {reach:g}"
    extra = "Σ E, E = ½(1−p−y)²·χ/(1+κsχ) − ½(2p−1)²·χ"
    drift = f" + {c:g}·Σ‖u_t+1 − u_t‖²" if c < math.inf else ""
    return Guarantee(
        f"loss ≤ comparator + {extra}",
        f"loss of u + {b:g}·‖u‖², one u with {bounded}, found row by row",
        Account(
            "LogisticLASER",
            begin,
            bound,
            LogisticAccount(2.0 * c, kappa, b, reach, float(search)),
        ),
        f"loss ≤ loss of u + {b:g}·‖u_1‖²{drift} + {extra}",
        price,
        paths=(f"u_t with {bounded} in every round" if c < math.inf else f"one u with {bounded}"),
        loss=Logistic(),
        measure=Logistic(),
    )
