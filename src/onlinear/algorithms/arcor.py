"""ARCOR: adaptive regularisation with covariance reset.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I,  w₀ = 0,  i = 1
    w̃ = w + Σx (y − xᵀw) / (r + χ)
    Σ̃ = Σ − Σx xᵀΣ / (r + χ)
    Σ ← Σ̃ if λ_max(Σ̃⁻¹) ≤ Λ_i⁻¹, else Σ ← I and i ← i + 1
    w ← argmin over ‖u‖ ≤ R_B of (u − w̃)ᵀΣ⁻¹(u − w̃)

Λ_i⁻¹ = i^(q−1) + 1 for the polynomial schedule (q = ∞ never resets), or a given sequence. In the
round of a reset w̃ takes the old Σ and the projection the new one. Misprint decided: i counts
segments (the Λ_t of thesis Table 5.1 would count rounds).

Eigenvalues are not computed. N = (θI − Σ⁻¹)⁻¹, θ = Λ_i⁻¹(1 + 10⁻¹²), is kept by the same rank-one
formula as Σ, and θI − Σ̃⁻¹ stays positive exactly if xᵀNx < r. Ties do not reset: the 10⁻¹² keeps
rounding from deciding them, or a rotated copy of a stream would see other resets. Where r − xᵀNx is
itself within rounding, N has lost its digits and the test is a Cholesky factorisation of Σ̃ − I/θ,
until the next reset.

Theorem 1 is false as printed (the example that triggers a reset is left out of its logarithms, and
Lemma 3 fails at a reset), as is Corollary 1; (12) and (13) lack a factor r. The bound below holds.

Vaits & Crammer, ALT 2011, Figure 1; thesis Table 5.1.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onlinear._bounds import (
    EXTRA,
    Guarantee,
    Path,
    competitor,
    cut_to,
    enter,
    in_bulk,
    inside_ball,
    lose,
    take_in,
    unknown,
)
from onlinear._bulk import END, LEAVE, TAKE, Bulk
from onlinear._checks import asked, number, whole
from onlinear._engine import FINE, Step, Tally
from onlinear._kernels import (
    LARGEST_STEP,
    ROUNDING,
    add_square,
    cholesky,
    dot,
    kernel,
    norm,
    observe,
    reset,
    scale,
    subtract_square,
    symv,
    symv_both,
    trace,
)
from onlinear._ledger import Account
from onlinear._model import Algorithm, SecondOrder
from onlinear._projection import SCRATCH, project_ellipsoid
from onlinear._recursion import gaussian, learn, moves
from onlinear.algorithms.laser import LaserParams, guarantee

__all__ = ["ARCOR"]

TIE = 1e-12  # λ_max above Λ⁻¹ by less than this share is a tie
RESET = 2.0  # in place of "N is to be trusted": the block that is being taken ends with a reset
CROSSOVER = 128  # columns from which bulk pays, with two matrices, and blocks that resets cut short
UNDECIDED = 1e-13  # |r − xᵀNx| below this share of tr(N)‖x‖² is rounding


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
    return ARCORState(t, w, S, np.eye(d) / (_theta(params, 1.0) - 1.0), np.ones(2))


def _theta(params, i):
    """Return Λ_i⁻¹ with the tolerance for ties; the last threshold of a sequence stays."""
    _, _, q, inverse = params
    if inverse.size:
        return inverse[max(1, min(int(i), inverse.size)) - 1] * (1.0 + TIE)
    if math.isinf(q):
        return math.inf
    return (i ** (q - 1.0) + 1.0) * (1.0 + TIE)


_compiled_theta = kernel(_theta)


@kernel
def _too_certain(x, square, r, theta, S, N, u, segment, U):
    """Whether λ_max(Σ̃⁻¹) > θ for the updated S, given ‖x‖², u = Nx; N goes along if not."""
    d = x.size
    if segment[1]:
        gap = r - dot(x, u)
        if abs(gap) > UNDECIDED * trace(N) * square:
            if gap <= 0.0:
                return True
            scale(math.sqrt(1.0 / gap), u, u)
            add_square(u, N)  # N ← N + Nx xᵀN / (r − xᵀNx)
            return False
        segment[1] = 0.0
    for i in range(d):
        for j in range(d):
            U[i, j] = S[i, j]
        U[i, i] -= 1.0 / theta
    return not cholesky(U, 0.0, 0.0)


@kernel
def _start_afresh_if_too_certain(params, theta, x, square, S, N, u, segment, U):
    """Σ ← I and i ← i + 1 if λ_max(Σ̃⁻¹) > θ, given ‖x‖², u = Nx; return whether it was."""
    r, _, _, _ = params
    if math.isinf(theta) or not _too_certain(x, square, r, theta, S, N, u, segment, U):
        return False
    _start_afresh(params, S, N, segment)
    return True


@kernel
def _start_afresh(params, S, N, segment):
    """Σ ← I and i ← i + 1."""
    segment[0] += 1.0
    segment[1] = 1.0
    reset(1.0, S)
    reset(1.0 / (_compiled_theta(params, segment[0]) - 1.0), N)


@kernel(inline="always")
def _fate(r, square, N, beside):
    """Whether a row of a block, of length² ``square``, is a reset, and so the block's last.

    As in :func:`_too_certain`; where that is in doubt the step decides. ``memory`` keeps tr(N).
    """
    nu, direction, memory = beside
    if memory[0] == 0.0:
        memory[0] = trace(N)
    gap = r - nu
    if not abs(gap) > UNDECIDED * memory[0] * square:
        return LEAVE
    if gap <= 0.0:
        return END
    memory[0] += dot(direction, direction)
    return TAKE


def turn(params, j, m, chi, y):
    """A round of a block."""
    h, k = moves(y - m, chi, params[0])
    return m, h, k, True


def turn_other(params, k, nu):
    """N ← N + Nx xᵀN / (r − xᵀNx), unless the row is a reset."""
    gap = params[0] - nu
    return 1.0 / gap if gap > 0.0 else 0.0, 1.0, True


def others(state, params):
    """N goes along, unless nothing is ever reset."""
    return (state[3],), 0 if math.isinf(_compiled_theta(params, state[4][0])) else 1


def plan(state, params, X, y, start, rows):
    """All rows, as long as N is to be trusted."""
    return rows if state[4][1] else 0


def accept(state, params, x, y, m, beside):
    """A round that projects is the step's, one that resets ends the block."""
    _, w, _, N, segment = state
    r, radius, _, _ = params
    _, wings, at, memory = beside
    if norm(w) > radius:
        return LEAVE
    if math.isinf(_compiled_theta(params, segment[0])):
        return TAKE
    _, U, _, _, nu, _ = wings[0]
    fate = _fate(r, dot(x, x), N, (nu[at], U[at], memory))
    if fate == END:
        segment[1] = RESET
    return fate


def close(state, params, X, start, rows):
    """Reset after a block that ends so."""
    _, _, S, N, segment = state
    if segment[1] == RESET:
        _start_afresh(params, S, N, segment)


@Step.with_scratch(
    lambda d: d + SCRATCH,
    Bulk(
        turn,
        plan=plan,
        accept=accept,
        close=close,
        others=others,
        turn_other=turn_other,
        crossover=CROSSOVER,
    ),
)
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
    theta = _compiled_theta(params, segment[0])
    if math.isfinite(theta):
        symv(N, x, v)
        U = work[2 : x.size + 2]
        _start_afresh_if_too_certain(params, theta, x, dot(x, x), S, N, v, segment, U)
    project_ellipsoid(S, w, radius, work)
    return m, FINE


CERTAINTY = 3  # in the tally: what λ_max(Σ_t⁻¹) is at most
SQUARES, LEAST, LENGTHS, THETA = range(4)  # sums: Σy², the minimum over all u, Σ‖x‖² of the
# segment; and the segment's Λ⁻¹


@kernel(inline="always")
def _length(x):
    """Return ‖x‖² and ‖x‖."""
    square = dot(x, x)
    return square, math.sqrt(square) if 1e-280 < square < 1e280 else norm(x)


@kernel(inline="always")
def _clear(chi, r, d, square):
    """Whether χ/(r + χ) is more than rounding, the learner's Σ being at most I."""
    return chi * r > ROUNDING * (3 + d) * square * (r + chi)


@kernel(inline="always")
def _count(state, params, x, y, gain, chi, length):
    """Enter a row that adds ``gain`` to the minimum over all u, given the learner's χ and ‖x‖."""
    tally, notes, _, w, _, sums, _, _, _ = state
    r, radius, _, _ = params
    tally[CERTAINTY] = min(1.0 + sums[LENGTHS] / r, sums[THETA])
    sums[SQUARES] += y * y
    sums[LEAST] += gain
    farthest = radius * length + abs(y)
    extra = tally[EXTRA] + farthest * farthest * chi / (r + chi)
    return enter(tally, notes, inside_ball(sums[LEAST], sums[SQUARES], w, radius), 1.0, extra)


def others_of_account(state, params):
    """The learner's Σ and N go along with the comparator's Σ."""
    return (state[6], state[7]), 1 if math.isinf(state[5][THETA]) else 2


def turn_other_of_account(params, k, chi):
    """The learner's Σ ← Σ − Σx xᵀΣ / (r + χ), and N."""
    if k == 0:
        return 1.0 / (params[0] + chi), -1.0, True
    gap = params[0] - chi
    return 1.0 / gap if gap > 0.0 else 0.0, 1.0, True


def plan_of_account(state, params, X, y, start, rows):
    """All rows, as long as N is to be trusted."""
    return rows if state[8][1] else 0


def enter_in_bulk(state, params, x, y, m, beside):
    """Enter a row of a block."""
    _, _, _, _, _, sums, _, N, segment = state
    r, _, _, _ = params
    least_chi, wings, at, memory = beside
    _, _, _, _, chis, _ = wings[0]
    _, U, _, _, nus, _ = wings[1]
    chi = chis[at]
    square, length = _length(x)
    if not _clear(chi, r, x.size, square):
        return LEAVE
    fate = TAKE
    if sums[THETA] < math.inf:
        fate = _fate(r, square, N, (nus[at], U[at], memory))
    if fate == LEAVE:
        return LEAVE
    sums[LENGTHS] += square
    if fate == END:
        segment[1] = RESET
        sums[LENGTHS] = 0.0
        sums[THETA] = _compiled_theta(params, segment[0] + 1.0)
    _count(state, params, x, y, (y - m) * (y - m) / (1.0 + least_chi), chi, length)
    return fate


def close_account(state, params, X, start, rows):
    """Reset after a block that ends so."""
    _, _, _, _, _, _, own, N, segment = state
    if segment[1] == RESET:
        _start_afresh(params, own, N, segment)


@Tally.with_scratch(
    lambda d: d + 4,
    in_bulk(enter_in_bulk)._replace(
        plan=plan_of_account,
        close=close_account,
        others=others_of_account,
        turn_other=turn_other_of_account,
        matrices=2,
    ),
)
def bound(state, params, x, y, work):
    """L ≤ Σ (y_t − u_tᵀx_t)² + r‖u_1‖² + 4 R_B r Σ Λ⁻¹‖u_{t+1} − u_t‖ + Σ (R_B‖x‖ + |y|)²·χ/(r+χ).

    For all ‖u_t‖ ≤ R_B. It implies the form 2(R_B² + Y²) Σ_segments ln det Σ̃⁻¹ of the last term for
    ‖x‖ ≤ 1, |y| ≤ Y, the row that triggers a reset belonging to the segment it ends. Λ⁻¹ is the
    threshold, or 1 + Σ‖x‖²/r over the segment where that is less.
    """
    tally, notes, t, w, S, sums, own, N, segment = state
    r, _, _, _ = params
    v, p, n, scratch = work[0], work[1], work[2], work[3]
    symv(S, x, v)  # Σx of the comparator
    if math.isfinite(sums[THETA]):
        symv_both(own, N, x, p, n)  # Σx and Nx with the resets
    else:
        symv(own, x, p)
    chi = dot(x, p)
    gain, _, rule = take_in((t, w, S), 0.0, x, y, v, dot(x, v), scratch)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    square, length = _length(x)
    if chi <= LARGEST_STEP * r and _clear(chi, r, x.size, square):
        scale(math.sqrt(1.0 / (r + chi)), p, scratch)
        subtract_square(scratch, own)  # as observe() does, which would also look at own's diagonal
    else:
        observe(own, x, p, chi, r, scratch)
    sums[LENGTHS] += square
    U = work[4:]
    if _start_afresh_if_too_certain(params, sums[THETA], x, square, own, N, n, segment, U):
        sums[LENGTHS] = 0.0
        sums[THETA] = _compiled_theta(params, segment[0])
    return _count(state, params, x, y, gain, chi, length)


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

    algorithm = Algorithm(init, step)
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
            sums = np.array([0.0, 0.0, 0.0, _theta(params, 1.0)])
            return *competitor(d, r, extra=1), sums, *init(params, d)[2:]

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
