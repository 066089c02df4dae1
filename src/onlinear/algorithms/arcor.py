"""ARCOR: adaptive regularisation with covariance reset.

    ŷ  = xᵀw                       χ = xᵀΣx,  Σ₀ = I,  w₀ = 0,  i = 1
    w̃ = w + Σx (y − xᵀw) / (r + χ)
    Σ̃ = Σ − Σx xᵀΣ / (r + χ)
    Σ ← Σ̃ if λ_max(Σ̃⁻¹) ≤ Λ_i⁻¹, else Σ ← I and i ← i + 1
    w ← argmin over ‖u‖ ≤ R_B of (u − w̃)ᵀΣ⁻¹(u − w̃)

The noise variance r, the radius R_B and the exponent q are parameters. Λ_i⁻¹ = i^(q−1) + 1 for the
polynomial schedule (q = ∞ never resets), or a given sequence. In the round of a reset, w̃ uses Σ
before the reset, and the projection uses Σ after the reset. Misprint resolved: i counts segments,
which end at a reset (the Λ_t in Table 5.1 of Moroshko's thesis would count rounds).

The test for a reset computes no eigenvalues, but keeps a matrix N (see
:mod:`onlinear.algorithms._covariance_reset`). A tie causes no reset: λ_max must exceed Λ_i⁻¹ by
10⁻¹² of its value. Without this margin of 10⁻¹², rounding would decide ties, and on a rotated copy
of a stream the resets would be in other rounds. (The resets may still be in other rounds where
Λ_i⁻¹ is above 10⁴, as Σ then has larger rounding errors.)

Theorem 1 and Corollary 1 of Vaits & Crammer are false as printed. The logarithms in their Theorem 1
leave out the example that triggers a reset, their Lemma 3 fails at a reset, and their equations
(12) and (13) lack a factor r. The corrected regret bound in
:mod:`onlinear.algorithms._arcor_bound` holds.

Vaits & Crammer, ALT 2011, Figure 1; Moroshko, thesis Table 5.1.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.bulk import LEAVE, Bulk, long_blocks
from onlinear._engine.step import FINE, Step
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import dot, kernel, norm, symv
from onlinear._updates.ball_projection import SCRATCH, project_ellipsoid
from onlinear._updates.gaussian import gaussian, learn, moves
from onlinear._updates.rescaling import (
    Follows,
    awaken_gaussian,
    rescale_gaussian,
    reweigh_if_more,
    variance,
)
from onlinear._validation.checks import asked, number, whole
from onlinear.algorithms._arcor_bound import in_ball
from onlinear.algorithms._covariance_reset import (
    certainty,
    check_resets,
    close,
    fate,
    inverse_thresholds,
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
    """Parameters of a step: noise variance r, radius R_B, q, and the user's Λ_i⁻¹, if any."""

    r: float
    radius: float
    q: float
    inverse_thresholds: np.ndarray


class ARCORState(NamedTuple):
    """The state: number of rounds, w, Σ, N for the reset test, and (i, whether N is accurate)."""

    t: np.ndarray
    w: np.ndarray
    S: np.ndarray
    N: np.ndarray
    segment: np.ndarray


def init(params: ARCORParams, d: int) -> ARCORState:
    """Return the initial state: w = 0, Σ = I, in the first segment."""
    t, w, S = gaussian(d, 1.0)
    return ARCORState(t, w, S, np.eye(d) / (threshold(params, 1.0) - 1.0), np.ones(2))


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates of Σ and w, and True (go on).

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    h, k = moves(y - m, chi, params[0])
    return m, h, k, True


def accept(state, params, x, y, m, beside):
    """Return LEAVE if a block cannot learn the row, RENEW if the row causes a reset, else TAKE.

    A block cannot learn a row after which w has to be projected, or for which only rounding would
    decide whether to reset.
    """
    if norm(state[1]) > params[1]:
        return LEAVE
    return fate(state, params, dot(x, x), beside)


IN_BULK = Bulk(
    turn,
    plan=plan,
    accept=accept,
    close=close,
    others=others,
    turn_other=turn_other,
    longest=long_blocks,
)


@Step.with_scratch(lambda d: d + SCRATCH, IN_BULK)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
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
    """Return the arrays of ARCOR's state that depend on the scaling of the columns."""
    _, w, S, N, segment = state
    return w, S.reshape(S.size), N.reshape(N.size), segment


@kernel
def adapt(state, params, work):
    """Recompute N = (θI − Σ⁻¹)⁻¹ after the columns were rescaled.

    θ is Λ_i⁻¹ with the margin for ties. Rescaling converts Σ but leaves I as it is, so N cannot be
    converted along with Σ.
    """
    _, _, S, N, segment = state
    renew(params, S, N, segment, work[0], work[2 : S.shape[0] + 2])


FOLLOWS = Follows(variance, parts, rescale_gaussian, awaken_gaussian, reweigh_if_more, adapt)


class ARCOR(SecondOrder):
    """Adaptive regularisation with covariance reset, for relationships that drift or switch.

    Whenever the covariance becomes too small, it is reset, so that new rows change the weights
    again. Costs O(d²) per round; a round in which ‖w‖ exceeds the radius takes a few times as long
    (O(d³) if Σ is very ill-conditioned).

    Parameters
    ----------
    r : float, default 1.0
        Noise variance assumed of the labels, r > 0: a larger r gives each row less weight.
    radius : float, default inf
        Keep ‖w‖ ≤ radius, radius > 0 (the paper's R_B). With resets, the regret bound needs a
        finite radius.
    q : float, default 2.0
        Schedule Λ_i⁻¹ = i^(q−1) + 1, q ≥ 1; a larger q means rarer resets, and infinity none.
    thresholds : sequence of float or None, default None
        Thresholds Λ_1 ≥ Λ_2 ≥ … in (0, 1), used instead of ``q``; the last one is repeated.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) / 3
    >>> u = np.repeat([[1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]], 200, axis=0)
    >>> y = np.sum(X * u, axis=1)  # switches at round 200
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
            inverse_thresholds("ARCOR", self.thresholds),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        r, radius, q, _ = params = self._params()
        if math.isinf(radius):
            if math.isinf(q) and self.thresholds is None:
                source = "as AROWR: Σ loss·r/(r+χ) is the least penalised loss"
                return guarantee("ARCOR", source, LaserParams(r, math.inf, 0.0, math.inf), "χ/r")
            return unknown("ARCOR", "ARCOR with resets and without a finite radius", r)
        return in_ball(params, init)

    @classmethod
    def from_drift(cls, T: int, V: float, radius: float, r: float = 1.0) -> "ARCOR":
        """Return the ARCOR for T rounds and comparators u_t of drift Σ‖u_{t+1} − u_t‖ ≤ V.

        The u_t are in the ball ‖u‖ ≤ radius. If p is the number with V/radius = (T/r)^{1/p}, the
        schedule is q = 2p/(p + 1). The two terms of the bound that depend on q are then both of the
        order (T/r)^{(p+1)/(2p)} (Vaits & Crammer's Corollary 2, with the missing factor r). If
        there is little drift, V ≤ radius·r/T, the schedule is q = ∞, without resets.

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

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        check_resets(stack.N, stack.segment, stack.t)

    @property
    @atomic
    def resets_(self) -> int:
        """How many times the covariance was reset."""
        return int(self._learnt().segment[0]) - 1
