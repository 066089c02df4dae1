"""ARCOR: adaptive regularisation with covariance reset.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I,  w₀ = 0,  i = 1
    w̃ = w + Σx (y − xᵀw) / (r + χ)
    Σ̃ = Σ − Σx xᵀΣ / (r + χ)
    Σ ← Σ̃ if λ_max(Σ̃⁻¹) ≤ Λ_i⁻¹, else Σ ← I and i ← i + 1
    w ← argmin over ‖u‖ ≤ R_B of (u − w̃)ᵀΣ⁻¹(u − w̃)

Λ_i⁻¹ = i^(q−1) + 1 for the polynomial schedule (q = ∞ never resets), or a given sequence. In the
round of a reset w̃ takes the old Σ and the projection the new one. Misprint decided: i counts
segments (the Λ_t of thesis Table 5.1 would count rounds).

The test needs no eigenvalues (see :mod:`onlinear.algorithms._covariance_reset`). Ties do not reset:
λ_max must exceed Λ_i⁻¹ by 10⁻¹² of it, or rounding would decide, and a rotated copy of a stream
see other resets (as it can beyond Λ_i⁻¹ = 10⁴ still, where the rounding of Σ is more than that).

Theorem 1 is false as printed (the example that triggers a reset is left out of its logarithms, and
Lemma 3 fails at a reset), as is Corollary 1; (12) and (13) lack a factor r. The bound below holds.

Vaits & Crammer, ALT 2011, Figure 1; thesis Table 5.1.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onlinear._engine.bulk import LEAVE, RENEW, TAKE, Bulk
from onlinear._engine.step import FINE, InTurn, Step, Tally
from onlinear._learner.base import Algorithm, SecondOrder
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    FACTOR,
    Guarantee,
    Path,
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
from onlinear._numerics.linalg import ROUNDING, dot, kernel, norm, observe_given, symv, symv_both
from onlinear._updates.ball_projection import SCRATCH, project_ellipsoid
from onlinear._updates.gaussian import gaussian, learn, moves
from onlinear._updates.units import (
    Follows,
    awaken_gaussian,
    rescale_gaussian,
    reweigh_if_more,
    variance,
)
from onlinear._validation.checks import asked, number, whole
from onlinear.algorithms._covariance_reset import (
    certainty,
    close,
    fate,
    others,
    plan,
    renew,
    start_afresh_if_too_certain,
    threshold,
    turn_other,
)
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["ARCOR"]


class ARCORParams(NamedTuple):
    """The noise, R_B, q, and the Λ_i⁻¹ of an explicit schedule (empty for the polynomial)."""

    r: float
    radius: float
    q: float
    inverse_thresholds: np.ndarray


class ARCORState(NamedTuple):
    """Rounds learnt, weights, Σ, N, and (segment i, whether N is to be trusted)."""

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray
    N: np.ndarray
    segment: np.ndarray


def init(params: ARCORParams, d: int) -> ARCORState:
    """Begin with w = 0, Σ = I, in the first segment."""
    t, w, S = gaussian(d, 1.0)
    return ARCORState(t, w, S, np.eye(d) / (threshold(params, 1.0) - 1.0), np.ones(2))


def turn(params, j, m, chi, y):
    """A round of a block."""
    h, k = moves(y - m, chi, params[0])
    return m, h, k, True


def accept(state, params, x, y, m, beside):
    """A round that projects is the step's, one that resets ends the block."""
    if norm(state[1]) > params[1]:
        return LEAVE
    return fate(state, params, dot(x, x), beside)


IN_BULK = Bulk(turn, plan=plan, accept=accept, close=close, others=others, turn_other=turn_other)


@Step.with_scratch(lambda d: d + SCRATCH, IN_BULK)
def step(state, params, x, y, work):
    """One round."""
    t, w, S, N, segment = state
    r, radius, _, _ = params
    v = work[0]
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    symv(S, x, v)  # v = Σx
    rule = learn((t, w, S), x, y - m, v, dot(x, v), r, work[1])  # w̃, Σ̃
    if rule != FINE:
        return m, rule
    theta = certainty(params, segment[0])
    if math.isfinite(theta):
        symv(N, x, v)
        U = work[2 : x.size + 2]
        start_afresh_if_too_certain(params, theta, x, dot(x, x), S, N, v, segment, U)
    project_ellipsoid(S, w, radius, work)
    return m, FINE


@kernel
def parts(state):
    """Return what a change of units changes."""
    _, w, S, N, segment = state
    return w, S.reshape(S.size), N.reshape(N.size), segment


@kernel
def adapt(state, params, work):
    """Make N anew, I being another matrix in other units."""
    _, _, S, N, segment = state
    renew(params, S, N, segment, work[0], work[2 : S.shape[0] + 2])


FOLLOWS = Follows(variance, parts, rescale_gaussian, awaken_gaussian, reweigh_if_more, adapt)


CERTAINTY = 3  # in the tally: what λ_max(Σ_t⁻¹) is at most
SQUARES, LEAST, LENGTHS, THETA = range(4)  # sums: Σy², the minimum over all u, Σ‖x‖² of the
# segment; and the segment's Λ⁻¹,
NEVER = 1e308  # or this if nothing is ever reset: a state is finite


@kernel(inline="always")
def _count(state, params, x, y, chi):
    """Count what a row adds to the last term of the bound, given the learner's χ."""
    tally, sums = state[0], state[5]
    r, radius, _, _ = params
    farthest = radius * norm(x) + abs(y)
    tally[EXTRA] += farthest * farthest * chi / (r + chi)
    tally[CERTAINTY] = min(1.0 + sums[LENGTHS] / r, sums[THETA])


@kernel(inline="always")
def _lengthen(sums, square, resets, theta):
    """Take a row into its segment, or begin the next with the threshold θ."""
    sums[LENGTHS] += square
    if resets:
        sums[LENGTHS] = 0.0
        sums[THETA] = min(theta, NEVER)


def own_belief(state):
    """Return the learner's rounds, no weights, and its Σ."""
    return state[6], state[7], state[8]


def own_turn(params, j, m, chi, y):
    """What a row does to the learner's Σ."""
    h, _ = moves(0.0, chi, params[0])
    return 0.0, h, 0.0, True


def count_in_bulk(state, params, x, y, m, beside):
    """Count a row of a block."""
    sums, segment = state[5], state[10]
    square = dot(x, x)
    ends = fate(state, params, square, beside)
    if ends != LEAVE:
        _lengthen(sums, square, ends == RENEW, certainty(params, segment[0] + 1.0))
        _count(state, params, x, y, beside[0])
    return ends


COUNT_IN_BULK = IN_BULK._replace(turn=own_turn, belief=own_belief, accept=count_in_bulk)


def keep_count(out, i, value, state):
    """Put down what :func:`count` tallies."""
    out[EXTRA, i] = state[0][EXTRA]
    out[CERTAINTY, i] = state[0][CERTAINTY]


def count(state, params, x, y, work):
    """Count a row: the last term of the bound, with the learner's Σ and its resets."""
    _, _, _, _, _, sums, t, _, own, N, segment = state
    r, _, _, _ = params
    p, n, scratch, U = work[0], work[1], work[2], work[3:]
    theta, square = sums[THETA] if sums[THETA] < NEVER else math.inf, dot(x, x)
    if math.isfinite(theta):
        symv_both(own, N, x, p, n)  # Σx and Nx
    else:
        symv(own, x, p)
    chi = dot(x, p)
    observe_given(own, x, p, chi, r, ROUNDING * (3 + x.size) * square, scratch)  # Σ is at most I
    resets = start_afresh_if_too_certain(params, theta, x, square, own, N, n, segment, U)
    _lengthen(sums, square, resets, certainty(params, segment[0]))
    _count(state, params, x, y, chi)
    t[0] += 1
    return 0.0, FINE


@kernel(inline="always")
def _compare(state, params, y, gain):
    """Enter a row that adds ``gain`` to the minimum over all u."""
    tally, notes, w, sums = state[0], state[1], state[3], state[5]
    sums[SQUARES] += y * y
    sums[LEAST] += gain
    comparator = inside_ball(sums[LEAST], sums[SQUARES], w, params[1])
    return enter(tally, notes, comparator, 1.0, tally[EXTRA])


def compare_in_bulk(state, params, x, y, m, beside):
    """Enter a row of a block."""
    _compare(state, params, y, (y - m) * (y - m) / (1.0 + beside[0]))
    return TAKE


def keep_comparator(out, i, value, state):
    """Put down what :func:`compare` tallies."""
    out[COMPARATOR, i] = state[0][COMPARATOR]
    out[FACTOR, i] = state[0][FACTOR]


def compare(state, params, x, y, work):
    """Enter a row: the comparator."""
    gain, _, rule = compete(state[2:5], math.inf, x, y, work)
    if rule != FINE:
        return lose(state[0], state[1], rule, gain)
    return _compare(state, params, y, gain)


_counted, _compared = (kernel(part, inline="always") for part in (count, compare))


@InTurn.of(
    Tally(count, lambda d: d + 3, COUNT_IN_BULK, keep=keep_count),
    Tally(compare, 2, in_bulk(compare_in_bulk), keep=keep_comparator),
)
def bound(state, params, x, y, work):
    """L ≤ Σ (y_t − u_tᵀx_t)² + r‖u_1‖² + 4 R_B r Σ Λ⁻¹‖u_{t+1} − u_t‖ + Σ (R_B‖x‖ + |y|)²·χ/(r+χ).

    For all ‖u_t‖ ≤ R_B. It implies the form 2(R_B² + Y²) Σ_segments ln det Σ̃⁻¹ of the last term for
    ‖x‖ ≤ 1, |y| ≤ Y, the row that triggers a reset belonging to the segment it ends. Λ⁻¹ is the
    threshold, or 1 + Σ‖x‖²/r over the segment where that is less.
    """
    _counted(state, params, x, y, work)
    return _compared(state, params, x, y, work)


class ARCOR(SecondOrder):
    """Adaptive regularisation with covariance reset, for a truth that drifts or switches.

    It forgets what it was certain of whenever it grows too certain. Costs O(d²) a round, and in
    rounds where ‖w‖ exceeds the radius a few times that (O(d³) where Σ is very far from round).

    Parameters
    ----------
    r : float, default 1.0
        How little a single row counts, r > 0.
    radius : float, default inf
        R_B: weights are kept within this norm, radius > 0. The regret bound needs a finite one.
    q : float, default 2.0
        Schedule Λ_i⁻¹ = i^(q−1) + 1, q ≥ 1; larger means rarer resets, infinity none.
    thresholds : sequence of float or None, default None
        The Λ_1 ≥ Λ_2 ≥ …, each in (0, 1), in place of ``q``; the last one stays.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) / 3
    >>> truth = np.repeat([[1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]], 200, axis=0)
    >>> y = np.sum(X * truth, axis=1)  # switches at round 200
    >>> model = ol.ARCOR(r=0.1, q=1.5)
    >>> run = ol.replay(model, X, y)
    >>> model.resets_ > 0, bool(run.losses[-50:].mean() < 0.01 * run.losses[200:210].mean())
    (True, True)
    """

    r: float = 1.0
    radius: float = math.inf
    q: float = 2.0
    thresholds: Sequence[float] | None = None

    algorithm = Algorithm(init, step, follows=FOLLOWS)
    _square = 3

    def _params(self) -> ARCORParams:
        return ARCORParams(
            number(self, "r", above=0),
            number(self, "radius", above=0, most=math.inf),
            number(self, "q", least=1, most=math.inf),
            self._inverse_thresholds(),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        r, radius, q, _ = params = self._params()
        if math.isinf(radius):
            if math.isinf(q) and self.thresholds is None:
                source = "AROWR: Σ loss/(1+χ) is the least cost"
                return guarantee("ARCOR", source, LaserParams(r, math.inf, 0.0, math.inf))
            return unknown("ARCOR", "ARCOR with resets and without a finite radius", r)

        def start(d: int) -> tuple[np.ndarray, ...]:
            sums = np.array([0.0, 0.0, 0.0, min(threshold(params, 1.0), NEVER)])
            own = init(params, d)._replace(w=np.zeros(0))
            return *competitor(d, r, extra=1), sums, *own

        def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            drift = path.drift(2, 4 * radius * r * tally[CERTAINTY])
            outside = path.ever(path.squares > (radius * (1 + 1e-12)) ** 2)
            return path.loss + r * path.squares[0] + drift + tally[EXTRA], outside

        added = "+ Σ (radius·‖x‖ + |y|)²·χ/(r+χ) (Theorem 1, corrected)"
        return Guarantee(
            f"loss ≤ comparator {added}",
            f"{r:g}·‖u‖² + loss of u, {cut_to(radius)}",
            Account("ARCOR", start, bound, tuple(params)),
            f"loss ≤ loss of u + {r:g}·‖u_1‖² + {4 * radius * r:g}·Σ‖u_t+1 − u_t‖/Λ {added}",
            price,
            paths="u_t with ‖u_t‖ ≤ radius",
        )

    @classmethod
    def from_drift(cls, T: int, V: float, radius: float, r: float = 1.0) -> "ARCOR":
        """Return the ARCOR for T rounds and a drift Σ‖u_{t+1} − u_t‖ ≤ V inside a ball.

        With V/radius = (T/r)^{1/p} the schedule is q = 2p/(p + 1), which makes both terms of the
        bound that depend on q of the order (T/r)^{(p+1)/(2p)} (Corollary 2, with its factor r put
        back). Little drift, V ≤ radius·r/T, means no resets.

        >>> import onlinear as ol
        >>> ol.ARCOR.from_drift(T=10_000, V=100.0, radius=1.0)  # p = 2
        ARCOR(radius=1.0, q=1.3333333333333333)
        """
        known = asked("ARCOR.from_drift", T=T, V=V, radius=radius, r=r)
        rounds = whole(known, "T", least=1)
        V = number(known, "V", least=0)
        radius, r = number(known, "radius", above=0), number(known, "r", above=0)
        if rounds <= r or V * rounds <= radius * r:
            return cls(r=r, radius=radius, q=math.inf)
        share = math.log(V / radius) / math.log(rounds / r)  # 1/p
        return cls(r=r, radius=radius, q=max(1.0, 2 / (1 + share)))

    def _inverse_thresholds(self) -> np.ndarray:
        if self.thresholds is None:
            return np.zeros(0)
        values = np.asarray(self.thresholds, dtype=float)
        falling = values.ndim == 1 and values.size > 0 and np.all(np.diff(values) <= 0)
        if not falling or not np.all((values > 0) & (values < 1)):
            raise ValueError(
                f"ARCOR needs 1 > Λ_1 ≥ Λ_2 ≥ … > 0, got thresholds={self.thresholds!r}"
            )
        return 1.0 / values

    def _check_state(self) -> None:
        super()._check_state()
        if not self._state.segment[0] >= 1:
            raise ValueError(f"it says it is in segment {self._state.segment[0]}")

    @property
    def resets_(self) -> int:
        """How many times the covariance was reset."""
        return int(self._learnt().segment[0]) - 1
