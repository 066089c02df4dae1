"""DriftNetwork: ARCORs with several reset schedules, combined by another ARCOR.

    z_k = xᵀw_k      first layer: C + 1 copies of ARCOR with q = ∞, 1, …, C
    ŷ   = zᵀv        second layer: one more copy, with q = ∞ and R_B = 1, whose input is z

The parameters of ARCOR are the noise variance r, the bound R_B on ‖w‖, and q (the larger q, the
more rarely ARCOR resets its covariance). All copies of ARCOR have the same r and learn every label;
the copies of the first layer have the same R_B. The entries of z are in the order q = ∞, 1, …, C,
and z is not normalised. The regret against the best copy k is bounded by ARCOR's bound for the
second layer, with the k-th unit vector as the comparator. This bound is Vaits & Crammer's Theorem
2; its term D log T, with a constant D, is right as long as z is bounded.

Vaits & Crammer, ALT 2011, section 6.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import FINE, OVERFLOW, Step, Tally
from onlinear._engine.transaction import atomic
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import COMPARATOR, EXTRA, FACTOR, Guarantee, Path
from onlinear._learner.bounds.ledger import Account, check_matrices
from onlinear._numerics.linalg import dot, kernel
from onlinear._updates.ball_projection import SCRATCH
from onlinear._validation.checks import number, whole
from onlinear._validation.states import check_counts, check_positive, check_range
from onlinear.algorithms import _arcor_bound, arcor
from onlinear.algorithms._covariance_reset import check_resets

__all__ = ["DriftNetwork"]

SECOND = 11  # number of arrays in the bound's state for the second layer
MOST = 63  # the largest C: the scratch of a step has a fixed size


class DriftNetworkParams(NamedTuple):
    """Parameters of a step: noise variance r, radius R_B, q of each copy, and an empty array.

    The empty array stands for ARCOR's thresholds Λ_i, which a network does not take.
    """

    r: float
    radius: float
    schedules: np.ndarray
    none: np.ndarray


class DriftNetworkState(NamedTuple):
    """The state: the rounds of all copies, and the arrays of the first and of the second layer.

    W, S, N and ``segments`` hold, for each copy in the first layer, the arrays w, S, N and
    ``segment`` of ``arcor.ARCORState``; v, P, Q and ``segment`` are those arrays of the copy in the
    second layer.
    """

    t: np.ndarray
    W: np.ndarray
    S: np.ndarray
    N: np.ndarray
    segments: np.ndarray
    v: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    segment: np.ndarray


def init(params: DriftNetworkParams, d: int) -> DriftNetworkState:
    """Return the initial state: copies of ARCOR that have learnt nothing."""
    r, radius, schedules, none = params
    first = [arcor.init(arcor.ARCORParams(r, radius, q, none), d) for q in schedules]
    second = arcor.init(arcor.ARCORParams(r, 1.0, math.inf, none), schedules.size)
    layers = (np.stack(each) for each in zip(*first, strict=True))
    t, W, S, N, segments = layers
    return DriftNetworkState(np.append(t, second.t), W, S, N, segments, *second[1:])


def scratch(d: int) -> int:
    """Return how many scratch rows of width d are enough for z and ARCOR's step in either layer."""
    return max(d + SCRATCH, -(-(MOST + 1 + SCRATCH) * (MOST + 1) // d)) - (-(MOST + 1) // d)


_learn, _bound = kernel(arcor.step.function), kernel(_arcor_bound.bound.function)


@kernel
def foresee(W, x, z):
    """Write the predictions of the first layer's copies to z."""
    for k in range(W.shape[0]):
        z[k] = dot(W[k], x)


@kernel
def learn_all(t, W, S, N, segments, params, x, y, work):
    """Let all copies of the first layer learn y; return FINE, or OVERFLOW if a copy cannot."""
    r, radius, schedules, none = params
    rule = FINE
    for k in range(W.shape[0]):
        own = (t[k : k + 1], W[k], S[k], N[k], segments[k])
        rule = max(rule, _learn(own, (r, radius, schedules[k], none), x, y, work)[1])
    return rule


@Step.with_scratch(scratch)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    t, W, S, N, segments, v, P, Q, segment = state
    r, _, schedules, none = params
    d, copies = x.size, schedules.size
    flat = work.reshape(work.size)
    z = flat[flat.size - copies :]
    foresee(W, x, z)
    prediction = dot(v, z)
    if math.isnan(y):
        return prediction, FINE
    most = abs(y - prediction) * dot(z, z)  # no copy's χ·e exceeds this, since Σ ≤ I
    for k in range(copies):
        most = max(most, abs(y - z[k]) * dot(x, x))
    if not math.isfinite(most):
        return prediction, OVERFLOW
    above = flat[: (copies + SCRATCH) * copies].reshape((copies + SCRATCH, copies))
    _, rule = _learn((t[copies:], v, P, Q, segment), (r, 1.0, math.inf, none), z, y, above)
    below = flat[: (d + SCRATCH) * d].reshape((d + SCRATCH, d))
    rule = max(rule, learn_all(t, W, S, N, segments, params, x, y, below))
    return prediction, rule


@Tally.with_scratch(scratch)
def bound(state, params, x, y, work):
    """Add a row to the bound on the network's loss L.

        L ≤ min(r + least loss of a copy, r‖v‖² + loss of vᵀz) + Σ (‖z‖ + |y|)²·χ/(r+χ)

    This is ARCOR's bound for the second layer, with the χ of that layer. v is the best fixed
    combination of the copies, scaled down to ‖v‖ ≤ 1 if its norm is larger.
    """
    tally = state[0]
    losses, t, W, S, N, segments = state[SECOND:]
    r, _, schedules, none = params
    d, copies = x.size, schedules.size
    flat = work.reshape(work.size)
    z = flat[flat.size - copies :]
    foresee(W, x, z)
    above = flat[: (copies + SCRATCH) * copies].reshape((copies + SCRATCH, copies))
    done = _bound(state[:SECOND], (r, 1.0, math.inf, none), z, y, above)
    below = flat[: (d + SCRATCH) * d].reshape((d + SCRATCH, d))
    learn_all(t, W, S, N, segments, params, x, y, below)
    least = math.inf
    for k in range(copies):
        losses[k] += (y - z[k]) * (y - z[k])
        least = min(least, losses[k])
    if tally[COMPARATOR] > least + r:
        tally[COMPARATOR] = least + r
    return done


def check_bound(state: tuple[np.ndarray, ...]) -> None:
    """Refuse matrices in the bound's state that no rows can produce; do not check the weights W."""
    *before, _, S, N, _ = state
    check_matrices((*before, S, N))


class DriftNetwork(Learner):
    """ARCORs with several reset schedules, for an unknown amount of drift.

    C + 1 copies of ARCOR predict: one copy never resets its covariance, and the other copies reset
    the more rarely the larger their q is. Another ARCOR combines the predictions of the copies.
    Costs O(C·d²) per round.

    Parameters
    ----------
    C : int, default 4
        Number of copies that reset, 1 ≤ C ≤ 63: they have q = 1, …, C, and one more has q = ∞.
    r : float, default 1.0
        Noise variance assumed by each copy, r > 0: a larger r gives each row less weight.
    radius : float, default inf
        Keep the norm of each copy's weights ≤ radius, radius > 0 (the paper's R_B).
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=5, degrees=1.0)
    >>> run = ol.replay(ol.DriftNetwork(r=0.1), X, y)
    >>> still = ol.replay(ol.AROWR(r=0.1), X, y)
    >>> bool(run.losses.mean() < 0.5 * still.losses.mean())
    True
    """

    C: int = 4
    r: float = 1.0
    radius: float = math.inf

    algorithm = Algorithm(init, step)
    _square = 11

    def _matrices(self) -> int:
        return 2 * self._params().schedules.size + 1

    def _check_states(self, stack: Any) -> None:
        super()._check_states(stack)
        first, second = stack.t[:, :-1, None], stack.t[:, -1:]
        check_counts("rounds were learnt by a copy", stack.t)
        for name, S in (("Σ of a copy", stack.S), ("Σ of the second layer", stack.P)):
            check_positive(name, S)
            check_range(name, np.diagonal(S, axis1=-2, axis2=-1), 0, 1 + 1e-9)  # Σ ≤ I
        check_resets(stack.N, stack.segments, first)
        check_resets(stack.Q, stack.segment, second)

    def _params(self) -> DriftNetworkParams:
        C = whole(self, "C", least=1, most=MOST)
        return DriftNetworkParams(
            number(self, "r", above=0),
            number(self, "radius", above=0, most=math.inf),
            np.array([math.inf, *range(1, C + 1)]),
            np.zeros(0),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        params = self._params()
        r, _, schedules, _ = params
        second = arcor.ARCOR(r=r, radius=1.0, q=math.inf)._guarantee()

        def start(d: int) -> tuple[np.ndarray, ...]:
            first = init(params, d)[:5]
            return *second.account.init(schedules.size), np.zeros(schedules.size), *first

        def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return tally[FACTOR] * tally[COMPARATOR] + tally[EXTRA], np.zeros(1, dtype=bool)

        statement = "loss ≤ comparator + Σ (‖z‖ + |y|)²·χ/(r+χ) (Theorem 2, by ARCOR's bound)"
        return Guarantee(
            statement,
            f"{r:g} + loss of the best copy, or {r:g}·‖v‖² + loss of vᵀz if that is less, "
            "v the best of all, scaled down to ‖v‖ ≤ 1 if it is longer",
            Account("DriftNetwork", start, bound, tuple(params), check=check_bound),
            f"{statement}, whatever u_t is",
            price,
            paths="any u_t",
        )

    @property
    @atomic
    def copies_(self) -> np.ndarray:
        """The weights of the copies: one row for each copy, in the order q = ∞, 1, …, C."""
        return np.array(self._learnt().W)

    @property
    @atomic
    def trust_(self) -> np.ndarray:
        """The weight that the second layer gives to each copy's prediction."""
        return np.array(self._learnt().v)

    @property
    @atomic
    def coef_(self) -> np.ndarray:
        """The weights of x in the prediction: the copies' weights, combined as ``trust_`` says."""
        learnt = self._learnt()
        return np.asarray(learnt.v @ learnt.W)

    @property
    @atomic
    def resets_(self) -> np.ndarray:
        """How many times each copy has reset its covariance."""
        return np.asarray(self._learnt().segments[:, 0] - 1, dtype=int)
