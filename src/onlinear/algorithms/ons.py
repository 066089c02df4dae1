"""ONS: the online Newton step on the square loss.

    ŷ  = xᵀw                       A₀ = εI,  w₀ = 0,  Σ = A⁻¹
    g  = 2 (xᵀw − y) x
    A ← A + ggᵀ
    w ← w − A⁻¹g / γ
    w ← argmin over ‖u‖ ≤ radius of (u − w)ᵀA(u − w)     if a radius is given

Σ = A⁻¹ is updated by the Sherman–Morrison formula.

With ℓ(w) = (y − xᵀw)², the loss of any u is (y − xᵀu)² = ℓ(w) + gᵀ(u − w) + (gᵀ(u − w))²/(4ℓ(w)),
so that the theorem's condition on γ is 2γℓ(w) ≤ 1. If ‖w‖ ≤ R, where R is the radius, it is enough
that 2γ(R‖x‖ + |y|)² ≤ 1, which the certificate checks.

The theorem's bound grows with ln Σ‖g‖², and so with the logarithm of the number of rows. Because
‖g‖² = 4ℓ(w)‖x‖², the learner's loss L is also in the logarithm: with X = max‖x‖ and the best cost C
of a u,

    L ≤ C + d/(2γ)·ln(1 + 4X²L/(εd))

so L is at most the largest L with equality, which grows with ln C. The certificate shows the
smaller of the two bounds. (Orabona, Cesa-Bianchi & Gentile, AISTATS 2012, is the source of this
kind of bound, L ≤ L(u) + O(ln L(u)).)

Hazan, Kalai, Kale & Agarwal, COLT 2006.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.bulk import LEAVE, TAKE, Bulk
from onlinear._engine.step import FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import (
    Guarantee,
    Path,
    broke,
    compete,
    competitor,
    cut_to,
    enter,
    in_bulk,
    inside_ball,
    lose,
    unknown,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import axpy, dot, kernel, norm, observe, scale, symv
from onlinear._updates.ball_projection import SCRATCH, project_ellipsoid
from onlinear._updates.gaussian import Gaussian, gaussian
from onlinear._updates.rescaling import GAUSSIAN
from onlinear._validation.checks import limit, number

__all__ = ["ONS"]


class ONSParams(NamedTuple):
    """Parameters of a step: the divisor γ, the prior's precision ε, and the largest ‖w‖."""

    gamma: float
    epsilon: float
    radius: float


def init(params: ONSParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/ε."""
    return gaussian(d, params.epsilon)


def turn(params, j, m, chi, y):
    """Return a row's prediction, factors h and k of its updates, and whether the block goes on.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx. As
    g = sx with s = 2(m − y), where m = xᵀw and χ = xᵀΣx, Σ becomes Σ − s²vvᵀ/(1 + s²χ).
    """
    gamma, _, _ = params
    s = 2.0 * (m - y)
    share = 1.0 + s * s * chi
    return m, s * s / share, -s / (gamma * share), math.isfinite(share)


def accept(state, params, x, y, m, beside):
    """Return TAKE if a block can learn the row, or LEAVE if w has to be projected after it."""
    _, _, radius = params
    return TAKE if norm(state[1]) <= radius else LEAVE


@Step.checked_per_block()
@Step.with_scratch(lambda d: d + SCRATCH, Bulk(turn, accept=accept))
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, w, S = state
    gamma, _, radius = params
    g, v = work[0], work[1]
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    scale(2.0 * (m - y), x, g)
    symv(S, g, v)  # v = Σg
    chi = dot(g, v)
    if not math.isfinite(chi):
        return chi, OVERFLOW
    observe(S, g, v, chi, 1.0, work[2])  # v ← A_t⁻¹g
    axpy(-1.0 / gamma, v, w)
    project_ellipsoid(S, w, radius, work)
    t[0] += 1
    return m, FINE


# in the tally: a bound on Σ‖g‖², Σy², the minimum over all u, and, unless the tally is from a file
# of version 0.14 or before, max‖x‖²
STEEP, SQUARES, LEAST, LONGEST = 3, 4, 5, 6


@kernel
def self_bounded(C, k, m):
    """Return the largest L with L = C + k·ln(1 + mL), or a number that is at most slightly above.

    L − C − k·ln(1 + mL) is a convex function of L, so that Newton's method that starts above its
    largest root stays above it.
    """
    L = C + k
    while C + k * math.log1p(m * L) > L:
        L *= 2.0
    for _ in range(100):
        excess = L - C - k * math.log1p(m * L)
        slope = 1.0 - k * m / (1.0 + m * L)
        if not (excess > 0.0 and slope > 0.0) or L - excess / slope >= L:
            break
        L -= excess / slope
    return max(L, C)


@kernel
def self_bounds(C, k, m, out):
    """Write :func:`self_bounded` of each entry of C and m to ``out``."""
    for i in range(out.size):
        out[i] = self_bounded(C[i], k, m[i])


@kernel(inline="always")
def _count(tally, notes, params, x, y, gain, w):
    """Add a row that raises the minimum over all u of γε/2·‖u‖² + L(u) by ``gain`` to the bound.

    Here, w is not ONS's weight vector, but the u with this minimum, the row included.
    """
    gamma, epsilon, radius = params
    length = norm(x)
    farthest = radius * length + abs(y)
    if 2.0 * gamma * farthest * farthest > 1.0:
        broke(notes, 0, 2.0 * gamma * farthest * farthest)
    tally[STEEP] += 4.0 * farthest * farthest * length * length
    tally[SQUARES] += y * y
    tally[LEAST] += gain
    extra = x.size / (2.0 * gamma) * math.log1p(tally[STEEP] / (epsilon * x.size))
    least = inside_ball(tally[LEAST], tally[SQUARES], w, radius)
    if tally.size > LONGEST:
        tally[LONGEST] = max(tally[LONGEST], length * length)
        per_loss = 4.0 * tally[LONGEST] / (epsilon * x.size)
        if math.isfinite(per_loss * (least + extra)):
            extra = min(extra, self_bounded(least, x.size / (2.0 * gamma), per_loss) - least)
    return enter(tally, notes, least, 1.0, extra)


def count(state, params, x, y, m, beside):
    """Add a row of a block to the bound; return TAKE, which accepts the row."""
    _count(state[0], state[1], params, x, y, (y - m) * (y - m) / (1.0 + beside[0]), state[3])
    return TAKE


@Tally.with_bulk(in_bulk(count))
def bound(state, params, x, y, work):
    """Add a row to the bound on the loss L, if ‖w‖ ≤ R in every round.

        L ≤ min over ‖u‖ ≤ R of (γε/2·‖u‖² + L(u)) + d/(2γ)·ln(1 + ΣG²/(εd))

    R is the radius, and L(u) the loss of u. The last term follows from
    Σ gᵀA⁻¹g ≤ ln det(A_T/ε) ≤ d ln(1 + Σ‖g‖²/(εd)) and ‖g‖ ≤ G = 2(R‖x‖ + |y|)‖x‖. If it is smaller
    with Σ‖g‖² ≤ 4·max‖x‖²·L in the place of ΣG², that is the last term.
    """
    tally, notes, t, w, S = state
    gain, _, rule = compete((t, w, S), math.inf, x, y, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    return _count(tally, notes, params, x, y, gain, w)


class ONS(SecondOrder):
    """The online Newton step: second-order descent on the square loss.

    Costs O(d²) per round, a few times that in rounds where ‖w‖ exceeds the radius (O(d³) if Σ is
    very ill-conditioned).

    Parameters
    ----------
    gamma : float, default 0.5
        Divisor of the step A⁻¹g/gamma, gamma > 0.
    epsilon : float, default 1.0
        Size of the initial matrix A₀ = epsilon·I, epsilon > 0.
    radius : float or None, default None
        Keep ‖w‖ ≤ radius, radius > 0; None means no limit. The regret bound needs a radius.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.ONS(gamma=1.0)
    >>> model.learn_one([1.0], 0.5)  # g = −1, A = 2
    >>> model.coef_
    array([0.5])
    """

    gamma: float = 0.5
    epsilon: float = 1.0
    radius: float | None = None

    algorithm = Algorithm(init, step, follows=GAUSSIAN)
    _square = 2

    def _params(self) -> ONSParams:
        return ONSParams(
            number(self, "gamma", above=0), number(self, "epsilon", above=0), limit(self, "radius")
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        gamma, epsilon, radius = params = self._params()
        b = gamma * epsilon / 2
        if math.isinf(radius):
            return unknown("ONS", "ONS without a radius", b)

        def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            outside = path.moved | (path.squares > (radius * (1 + 1e-12)) ** 2)
            k, scale = path.X.shape[1] / (2 * gamma), epsilon * path.X.shape[1]
            costs = path.loss + b * path.squares
            roots = np.empty(costs.size)
            self_bounds(costs, k, 4 * tally[LONGEST] / scale, roots)
            return np.minimum(costs + k * np.log1p(tally[STEEP] / scale), roots), outside

        added = (
            "+ d/(2γ)·ln(1 + Q/(εd)), Q the lesser of ΣG² and 4·max‖x‖²·loss "
            "(Hazan et al., Theorem 2)"
        )

        def account(entries: int, version: int) -> Account:
            def begin(d: int) -> tuple[np.ndarray, ...]:
                return competitor(d, b, extra=entries)

            return Account("ONS", begin, bound, tuple(params), version=version)

        present = Guarantee(
            f"loss ≤ comparator {added}",
            f"{b:g}·‖u‖² + loss of u, {cut_to(radius)}",
            account(4, version=2),
            f"loss ≤ loss of u + {b:g}·‖u‖² {added}",
            price,
            ("2γ(radius·‖x‖ + |y|)² ≤ 1",),
            "one u with ‖u‖ ≤ radius for all rounds",
        )
        return present._replace(earlier=(present._replace(account=account(3, version=1)),))
