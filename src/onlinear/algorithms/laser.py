"""LASER: last-step min-max regression against a drifting target.

    Σ  = Σ_{t−1} + I/c  (Σ = I/b in the first round)         χ = xᵀΣx,  w₀ = 0
    ŷ  = xᵀw_{t−1} / (1 + χ)
    w  = w_{t−1} + Σx (y − xᵀw_{t−1}) / (1 + χ)
    Σ_t = Σ − Σx xᵀΣ / (1 + χ)

The prediction is min-max against the best sequence u_1..u_T under the penalty
b‖u_1‖² + c Σ‖u_{s+1} − u_s‖². w and Σ are those of a Kalman filter for weights that follow a random
walk (Q = I/c, R = 1). With ``shrink=False`` the prediction is that of the Kalman filter, xᵀw_{t−1}.
On the streams of the papers cited below, this prediction has a smaller loss than the min-max
prediction. It has a different bound: for the squared errors ℓ_t, Σ ℓ_t/(1 + χ_t) equals the least
penalised loss of any sequence.

Misprints resolved: equation (6.8) of Moroshko's thesis should be c = (√2·T·Y²·d·X/V)^{2/3}, with
the symbols of :meth:`LASER.from_drift`, and (6.9) needs a fixed b, or b ≤ 2X√(2c) − X².

Deviations from Moroshko's thesis: Table 5.1 starts from Σ₀ = (1/b − 1/c)I and requires b < c; here
the first round uses Σ = I/b, so b ≥ c is allowed, and c = ∞ (no drift) gives AAR.

Moroshko & Crammer, AISTATS 2013; Moroshko, thesis Table 5.1.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.bulk import TAKE, Bulk
from onlinear._engine.step import FINE, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    FACTOR,
    STAYS,
    Guarantee,
    Path,
    broke,
    compete,
    competitor,
    enter,
    in_bulk,
    lose,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.second_order import SecondOrder
from onlinear._numerics.linalg import clipped, dot, kernel
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    drifted,
    follow_later,
    gaussian,
    moves,
    settle,
)
from onlinear._updates.rescaling import GAUSSIAN, reweigh_gaussian
from onlinear._validation.checks import asked, choice, limit, number, whole

__all__ = ["LASER", "LaserParams", "count_row", "forecast", "guarantee", "widened"]


class LaserParams(NamedTuple):
    """Parameters of a step: prior precision b, drift penalty c, whether to shrink, max |ŷ|."""

    b: float
    c: float
    shrink: float
    clip: float


def init(params: LaserParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@kernel(inline="always")
def forecast(params, m, chi):
    """Return the prediction, m/(1 + χ) or m, clipped, given m = xᵀw and χ = xᵀΣx."""
    _, _, shrink, clip = params
    return clipped(m / (1.0 + chi) if shrink else m, clip)


def drift(params):
    """Return 1/c, the number added to the diagonal of Σ between rounds."""
    return 1.0 / params[1]


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates of Σ and w, and True (go on).

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    h, k = moves(y - m, chi, 1.0)
    return forecast(params, m, chi), h, k, True


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn, drift=drift), settle)
def step(state, params, x, y, work):
    """Predict the label of x, then learn y unless y is NaN."""
    _, w, _ = state
    covariance_times(state, x, work)
    chi, grown = drifted(state, params[1], x, work[0])  # Σ = Σ_{t−1} + I/c
    m = dot(w, x)
    prediction = forecast(params, m, chi)
    if math.isnan(y):
        return prediction, FINE
    return prediction, follow_later(state, grown, x, y - m, chi, work)


# a prior is no longer reduced once t/c, the total drift, exceeds this share of its variance
FORGOTTEN = 0.1


@kernel
def reweigh(state, params, i, fresh, share, scratch):
    """Add ``share``, which may be negative, times the prior precision of column i to Σ⁻¹.

    Once drift has wiped out the prior, a negative ``share`` changes nothing.
    """
    if share > 0.0 or state[0][0] / params[1] < FORGOTTEN * fresh:
        reweigh_gaussian(state, params, i, fresh, share, scratch)


FOLLOWS = GAUSSIAN._replace(reweigh=reweigh)


@kernel(inline="always")
def count_row(tally, notes, params, y, away, gain, chi):
    """Record a row that raises the least penalised loss of a sequence u_1..u_T by ``gain``.

    ``away`` is the label minus the number towards which predictions are shrunk, if they are.
    """
    _, _, shrink, clip = params
    size = abs(y)
    if size > clip:
        broke(notes, 0, size)
    factor, extra = tally[FACTOR], tally[EXTRA]
    if shrink:
        extra += away * away * chi / (1.0 + chi)
    elif clip < math.inf:
        extra += (size + clip) * (size + clip) * chi / (1.0 + chi)
    else:
        factor = max(factor, 1.0 + chi)
    return enter(tally, notes, tally[COMPARATOR] + gain, factor, extra)


def accept(state, params, x, y, m, beside):
    """Add a row of a block to the bound; return TAKE, which accepts the row."""
    chi = beside[0]
    count_row(state[0], state[1], params, y, y, (y - m) * (y - m) / (1.0 + chi), chi)
    return TAKE


@Tally.with_bulk(in_bulk(accept, drift))
def bound(state, params, x, y, work):
    """Add a row to the bound on LASER's loss L.

        L ≤ factor · min over u_1..u_T of (b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + L(u)) + extra

    L(u) is the loss of the sequence u_1..u_T. With shrunk predictions, factor = 1 and extra =
    Σ y_t²·χ/(1+χ), where χ/(1+χ) is xᵀD_t⁻¹x in the thesis (Moroshko's Theorem 12, with y_t² in
    place of Y²). Without shrinking, Σ ℓ_t/(1+χ_t) equals the minimum over u_1..u_T, where ℓ_t are
    the squared errors, so factor = 1 + max χ and extra = 0. If predictions are not shrunk but
    clipped to [−Y, Y], and labels are also in [−Y, Y], then ℓ_t ≤ (|y_t| + Y)², so factor = 1 and
    extra = Σ (|y_t| + Y)²·χ/(1+χ).
    """
    tally, notes, t, w, S = state
    gain, chi, rule = compete((t, w, S), params[1], x, y, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    return count_row(tally, notes, params, y, y, gain, chi)


def widened(shrink: float, clip: float, chi: str, share: str, squared: str = "y²") -> str:
    """Return in words what a bound adds to the comparator's cost, or multiplies it by.

    ``chi`` and ``share`` are the words for χ/r and χ/(r + χ), where r is the forgetting factor or
    the noise variance; ``squared`` is that for the squared distance of the label from the number
    towards which predictions are shrunk.
    """
    if shrink:
        return f"+ Σ {squared}·{share}"
    if clip < math.inf:
        return f"+ Σ (|y|+clip)²·{share}"
    return f"· (1 + max {chi})"


def guarantee(owner: str, source: str, params: LaserParams, factor: str = "χ") -> Guarantee:
    """Return the bound of LASER, or of a learner that equals LASER without drift."""
    b, c, shrink, clip = params

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cost = path.loss + b * path.squares[0] + path.drift(2, c, power=2)
        return tally[FACTOR] * cost + tally[EXTRA], np.isinf(cost)

    added = widened(shrink, clip, factor, "χ/(1+χ)")
    drift = f"{b:g}·‖u_1‖² + {c:g}·Σ‖u_t+1 − u_t‖²" if c < math.inf else f"{b:g}·‖u‖²"
    return Guarantee(
        f"loss ≤ comparator {added} ({source})",
        f"min over u of {drift} + loss of u",
        Account(owner, lambda d: competitor(d, b), bound, tuple(params)),
        f"loss ≤ ({drift} + loss of u) {added} ({source})",
        price,
        ("|y| ≤ clip",),
        STAYS if math.isinf(c) else "any u_t",
    )


class LASER(SecondOrder):
    """Last-step min-max regression for a relationship that drifts.

    LASER is the default choice if the speed of drift is roughly known: with a smaller c, it adapts
    faster. Its bound compares its loss with that of any sequence of weights u_1, u_2, …, the
    comparators. Costs O(d²) per round for d features.

    Parameters
    ----------
    b : float, default 1.0
        Precision of the prior, b > 0: the penalty on the first comparator's ‖u₁‖².
    c : float, default 100.0
        Penalty on the drift ‖u_{t+1} − u_t‖², c > 0; infinity means no drift, and LASER is then
        AAR.
    shrink : bool, default True
        True: the min-max prediction xᵀw/(1+χ), with χ = xᵀΣx (Moroshko's Theorem 12). False: xᵀw,
        the prediction of a Kalman filter. Its loss is often smaller, and is at most 1 + max χ times
        the least penalised loss of any comparators.
    clip : float or None, default None
        Clip predictions to [−clip, clip], clip > 0.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import numpy as np
    >>> import onlinear as ol
    >>> t = np.arange(2000)
    >>> X = np.column_stack([np.cos(t), np.sin(2.7 * t)])
    >>> y = X[:, 0] * np.cos(t / 200) + X[:, 1] * np.sin(t / 200)  # the weights turn
    >>> moving = ol.replay(ol.LASER(c=10.0, shrink=False), X, y).cumulative_loss[-1]
    >>> fixed = ol.replay(ol.Ridge(), X, y).cumulative_loss[-1]
    >>> bool(moving < 0.01 * fixed)
    True
    """

    b: float = 1.0
    c: float = 100.0
    shrink: bool = True
    clip: float | None = None

    algorithm = Algorithm(init, step, follows=FOLLOWS)
    _poor_score = True  # the min-max prediction is shrunk

    def _params(self) -> LaserParams:
        return LaserParams(
            number(self, "b", above=0),
            number(self, "c", above=0, most=math.inf),
            float(choice(self, "shrink", (True, False))),
            limit(self, "clip"),
        )

    def _guarantee(self, search: bool = True) -> Guarantee:
        equality = "Σ loss/(1+χ) is the least penalised loss"
        source = "thesis, Theorem 12" if self.shrink else equality
        return guarantee("LASER", source, self._params())

    @classmethod
    def from_drift(cls, T: int, V: float, X: float, Y: float, d: int) -> "LASER":
        """Return the LASER with the least bound for T rounds and a drift Σ‖u_{t+1} − u_t‖² ≤ V.

        c = (√2·T·Y²·d·X / V)^{2/3} for ‖x‖ ≤ X, |y| ≤ Y and d inputs (Moroshko's thesis, (6.8),
        corrected), and b = 1, or the largest b the theorem allows if that is smaller. The regret is
        at most b‖u_1‖² + 3(√2·Y²·d·X)^{2/3} T^{2/3} V^{1/3} + Y² ln|D_T/b|, with the thesis' D_T.
        Without drift, V = 0, c is infinite.

        >>> import onlinear as ol
        >>> model = ol.LASER.from_drift(T=10_000, V=0.5, X=1.0, Y=1.0, d=5)
        >>> round(model.c), model.b
        (2714, 1.0)
        """
        known = asked("LASER.from_drift", T=T, V=V, X=X, Y=Y, d=d)
        rounds, d = whole(known, "T", least=1), whole(known, "d", least=1)
        V = number(known, "V", least=0)
        X, Y = number(known, "X", above=0), number(known, "Y", above=0)
        if V == 0:
            return cls(c=math.inf)
        c = (math.sqrt(2) * rounds * Y**2 * d * X / V) ** (2 / 3)
        if c < 9 / 8 * X**2:
            most = math.sqrt(2) * rounds * Y**2 * d * X / (9 / 8 * X**2) ** 1.5
            raise ValueError(
                f"LASER.from_drift needs V ≤ {most:g} for these T, X, Y, d, got V={V:g}"
            )
        return cls(b=min(1.0, 2 * X * math.sqrt(2 * c) - X**2), c=c)
