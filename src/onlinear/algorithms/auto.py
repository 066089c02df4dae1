"""Auto: experts that follow at several speeds, in any units, and what combines them.

    p_k = y₁ + uᵀw_k          four LASERs, not shrunk, c = 1, 10³, 10⁶, 10⁹, of u = [1, x] in
                              present units, and the running mean of y; cut to the range of labels
    p̄  = mean of the p_k
    f   = (p_k − p̄, y_{t−1} − p̄, e_{t−1}, y_{t−2} − p̄, e_{t−2})
    ŷ   = p̄ + Σ_i ω_i v_iᵀf    two ridges on f, whose weights stay and drift

Units are those of :mod:`onlinear._updates.units`, the combination that of
:mod:`onlinear.algorithms._auto.combination`, entries far away are cut as in
:mod:`onlinear.algorithms._auto.outliers`. A label farther than 10σ·2^m from the prediction
is learnt as if it were there, m counting such labels in a row, so that a jump that is real gets
through; but one far outside the range seen is not learnt if there was no other such of late. If one
of the first ten is absurd beside the others, they are learnt again without it.

The experts are those of Moroshko & Crammer 2013; the share is that of Herbster & Warmuth 1998.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from onlinear._engine.step import DOMAIN, FINE, Outcome, Step
from onlinear._learner.base import Algorithm, Learner
from onlinear._learner.bounds.guarantee import Guarantee, unknown
from onlinear._numerics.linalg import inner, kernel, reset, scale
from onlinear._updates.units import express, measure, moved
from onlinear._validation import checks
from onlinear.algorithms._auto.combination import SUMS, combine, learn_to_combine
from onlinear.algorithms._auto.experts import GIVEN, ROWS, STANDARD, change_units, follow, foresee
from onlinear.algorithms._auto.explain import Beliefs, explained
from onlinear.algorithms._auto.outliers import EARLY, FADES, believable, clean, odd_one_out, widen

__all__ = ["Auto"]

DRIFTS = (0.0, 1e-5)  # of the weights of the ridges, a row
PRIOR = 0.1  # variance of those weights
SHARE = 1e-3  # of each ridge's trust that is dealt out anew in a round
RATE = 0.01  # at which σ² follows the squared errors, after a hundred rows
ROOM, EARLY_ROOM = 0.02, 3.0  # of the labels' range, by which predictions may leave it: at least,
# and over √t
ABSURD = 10.0  # σ from the prediction, beyond which a label is cut,
FINE_LABEL = 1e-3  # σ being at least this share of the labels' range,
FINEST = 1e-24  # and σ² at least this share of its square, in what is learnt
MOST_LAGS = 8
LARGEST = 1e100

# of the labels: the first, the range and mean of them less the first, σ², how many in a row were
# cut, how many labels and entries at all, the expert that leads and since when, the loss;
# whether one of the first rows was dropped, how many labels were absurd of late, how far
# the last one was cut, how many were left out
FIRST, LOW, HIGH, MEAN, NOISE, STREAK, CUT, CUT_ENTRIES, LEADER, SINCE, LOSS = range(11)
DROPPED, ODD, LAST, LEFT_OUT = range(11, 15)
# of a ticket, after x and the features: p̄, the range, ŷ, all less y₁; y₁, whether it was known, d
MIDDLE, FROM, TO, GUESS, ORIGIN, KNOWN, WIDTH, NUMBERS = range(8)


class AutoParams(NamedTuple):
    """How many labels and errors of the past are features; the c of the experts; drifts."""

    lags: float
    c: np.ndarray
    drifts: np.ndarray


class AutoState(NamedTuple):
    """Rounds, experts, units, what is known of the labels, the past, ridges, sums, first rows."""

    t: np.ndarray
    rounds: np.ndarray
    W: np.ndarray
    S: np.ndarray
    calm: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    prior: np.ndarray
    absurd: np.ndarray
    last: np.ndarray
    seen: np.ndarray
    labels: np.ndarray
    past: np.ndarray
    V: np.ndarray
    T: np.ndarray
    trust: np.ndarray
    sums: np.ndarray
    losses: np.ndarray
    recent: np.ndarray
    early: np.ndarray


def init(params: AutoParams, d: int) -> AutoState:
    """Begin with nothing known."""
    experts, ridges, past = params.c.size, params.drifts.size, 2 * int(params.lags)
    features = experts + 1 + past
    arrays = (
        np.zeros(1),
        np.zeros(experts),
        np.zeros((experts, d + 1)),
        np.zeros((experts, d + 1, d + 1)),
        np.zeros(2),
        *np.zeros((7, d)),
        np.zeros((2, d)),
        np.zeros(LEFT_OUT + 1),
        np.zeros(past),
        np.zeros((ridges, features)),
        np.zeros((ridges, features, features)),
        np.zeros(ridges),
        np.zeros(SUMS),
        *np.zeros((2, experts + 1)),
        np.zeros((EARLY, d + 1)),
    )
    begin.py_func(arrays)
    return AutoState(*arrays)


@kernel
def begin(state):
    """Set everything but the first rows to what it is before any row."""
    (
        t, rounds, W, S, calm, mean, spread, centre, units, prior, absurd, last, _, labels, past, V,
        T, trust, sums, losses, recent, _,
    ) = state  # fmt: skip
    for part in (
        t, rounds, W.reshape(W.size), calm, mean, spread, centre, units, prior, absurd, last,
        labels, past, V.reshape(V.size), sums, losses, recent,
    ):  # fmt: skip
        scale(0.0, part, part)
    for k in range(W.shape[0]):
        reset(1.0, S[k])
    for i in range(trust.size):
        reset(PRIOR, T[i])
        trust[i] = 1.0 / trust.size


@inner
def look(state, x, u, given, tidy, ticket):
    """Put down what is known of a row before its label: its ticket."""
    (
        t, _, W, _, _, mean, spread, centre, units, _, absurd, last, seen, labels, past, V, _,
        trust, _, _, _, _,
    ) = state  # fmt: skip
    d, experts, F = x.size, W.shape[0], V.shape[1]
    f, numbers = ticket[d : d + F], ticket[d + F :]
    scale(1.0, x, ticket[:d])
    clean(x, t[0], mean, spread, seen, absurd, last, tidy)
    express(tidy, centre, units, 1, u)
    given[0] = 1.0
    scale(1.0, tidy, given[1:])
    room = max(ROOM, EARLY_ROOM / math.sqrt(t[0] + 1.0)) * (labels[HIGH] - labels[LOW])
    low, high = labels[LOW] - room, labels[HIGH] + room
    foresee(W, u, given, f)
    total = f[experts] = labels[MEAN]
    for k in range(experts):
        f[k] = min(max(f[k], low), high)
        total += f[k]
    middle = total / (experts + 1)
    for k in range(experts + 1):
        f[k] -= middle
    for i in range(past.size // 2):
        known = i < t[0]
        f[experts + 1 + 2 * i] = past[2 * i] - middle if known else 0.0
        f[experts + 2 + 2 * i] = past[2 * i + 1] if known else 0.0
    numbers[MIDDLE], numbers[FROM], numbers[TO] = middle, low, high
    numbers[GUESS] = combine(V, trust, f, middle, low, high)
    numbers[ORIGIN], numbers[KNOWN], numbers[WIDTH] = labels[FIRST], t[0] > 0.0, d


@inner
def take(state, params, ticket, y, tidy, room):
    """Learn the label of a row, given its ticket; it cannot fail."""
    (
        t, rounds, W, S, calm, mean, spread, centre, units, prior, absurd, last, seen, labels, past,
        V, T, trust, sums, losses, recent, _,
    ) = state  # fmt: skip
    _, c, drifts = params
    d, F = mean.size, V.shape[1]
    x, f, numbers = ticket[:d], ticket[d : d + F], ticket[d + F :]
    u, given, column, new_mean, new_spread, h, h2, work = room
    n = t[0] + 1.0
    if n == 1.0:
        labels[FIRST] = y
        scale(1.0, x, centre)
    y -= labels[FIRST]
    since = numbers[ORIGIN] - labels[FIRST] if numbers[KNOWN] else 0.0  # 0 but for late labels
    middle, guess = numbers[MIDDLE] + since, numbers[GUESS] + since
    low, high = numbers[FROM] + since, numbers[TO] + since
    believed = True
    if n > EARLY:
        usual = max(math.sqrt(labels[NOISE]), FINE_LABEL * (labels[HIGH] - labels[LOW]))
        heard = 2.0 * labels[LOW] - labels[HIGH] <= y <= 2.0 * labels[HIGH] - labels[LOW]
        longer = labels[STREAK] if heard else max(labels[STREAK], labels[ODD])
        limit = ABSURD * usual * 2.0**longer if usual > 0.0 else math.inf
        near, distance = min(max(y, guess - limit), guess + limit), abs(y - guess)
        believed = near == y or heard or believable(distance, longer, labels[LAST])
        labels[STREAK] = labels[STREAK] + 1.0 if near != y else 0.0
        labels[ODD] = labels[ODD] * (1.0 - FADES) + (near != y and not heard)
        labels[LAST] = distance if near != y else labels[LAST]
        labels[CUT] += near != y
        labels[LEFT_OUT] += not believed
        y = near if believed else guess
    clean(x, t[0], mean, spread, seen, absurd, last, tidy)
    for j in range(d):
        absurd[j] = absurd[j] * (1.0 - FADES) + (tidy[j] != x[j])
        last[j] = abs(x[j] - mean[j]) if tidy[j] != x[j] else last[j]
        labels[CUT_ENTRIES] += tidy[j] != x[j]
    given[0] = 1.0
    scale(1.0, tidy, given[1:])
    widen(tidy, n == 1.0, seen)
    measure(tidy, n, mean, spread, 1, new_mean, new_spread)
    scale(1.0, new_mean, mean)
    scale(1.0, new_spread, spread)
    if moved(mean, spread, centre, units):
        change_units((t, W, S), params, 1.0, mean, spread, (centre, units, prior), 1, column, work)
    express(tidy, centre, units, 1, u)
    if believed:
        follow(rounds, W, S, calm, c, u, given, y, work)
    e, pace = y - guess, max(1.0 / max(t[0], 1.0), RATE)
    if n > 1.0 and believed:
        labels[LOSS] += e * e
        labels[NOISE] += pace * (e * e - labels[NOISE])
        leader = 0
        for k in range(losses.size):
            miss = y - middle - f[k]
            losses[k] += miss * miss
            recent[k] += pace * (miss * miss - recent[k])
            leader = k if recent[k] < recent[leader] else leader
        if leader != labels[LEADER]:
            labels[LEADER], labels[SINCE] = leader, n
    noise = max(labels[NOISE], FINEST * (labels[HIGH] - labels[LOW]) ** 2)
    if noise > 0.0 and believed:
        learn_to_combine(
            V, T, trust, drifts, SHARE, f, middle, low, high, y, noise, sums, (h, h2, column)
        )
    for i in range(past.size - 1, 1, -1):
        past[i] = past[i - 2]
    if past.size:
        past[0], past[1] = y, e
    labels[LOW], labels[HIGH] = min(labels[LOW], y), max(labels[HIGH], y)
    labels[MEAN] += (y - labels[MEAN]) / n
    t[0] = n


MOST_FEATURES = len(STANDARD + GIVEN) + 1 + 2 * MOST_LAGS


def scratch(d: int) -> int:
    """Return the rows of scratch."""
    numbers = 4 * d + (3 + ROWS) * (d + 1) + 3 * MOST_FEATURES + NUMBERS + 2 * EARLY
    return -(-numbers // d)


@kernel(inline="always")
def parted(work, d, F):
    """Return the scratch in parts: ticket, tidy x, values to sort, and what take() needs."""
    flat, D = work.reshape(work.size), d + 1
    ticket, flat = flat[: d + F + NUMBERS], flat[d + F + NUMBERS :]
    tidy, new_mean, new_spread, flat = flat[:d], flat[d : 2 * d], flat[2 * d : 3 * d], flat[3 * d :]
    u, given, column, flat = flat[:D], flat[D : 2 * D], flat[2 * D : 3 * D], flat[3 * D :]
    below, flat = flat[: ROWS * D].reshape((ROWS, D)), flat[ROWS * D :]
    h, h2, values = flat[:F], flat[F : 2 * F], flat[2 * F : 2 * F + 2 * EARLY]
    return ticket, tidy, values, (u, given, column, new_mean, new_spread, h, h2, below)


@kernel(inline="always")
def absorb(state, params, ticket, y, tidy, values, room):
    """Learn a label; with the tenth, learn the first ten again if one of them is absurd."""
    t, labels, early = state[0], state[13], state[-1]
    d = early.shape[1] - 1
    if t[0] < EARLY:
        early[int(t[0]), 0] = y
        scale(1.0, ticket[:d], early[int(t[0]), 1:])
    take(state, params, ticket, y, tidy, room)
    if t[0] == EARLY and labels[DROPPED] == 0.0:
        entries, odd = settle_early(early, values)
        if entries > 0 or odd >= 0:
            begin(state)
            for i in range(EARLY - (odd >= 0)):
                look(state, early[i, 1:], room[0], room[1], tidy, ticket)
                take(state, params, ticket, early[i, 0], tidy, room)
            labels[CUT_ENTRIES] = entries
            labels[CUT] = labels[DROPPED] = labels[LEFT_OUT] = odd >= 0


@inner
def settle_early(early, values):
    """Take absurd entries out of the first rows, and put a row with an absurd label last.

    Return how many entries, and the place the row had, or −1.
    """
    rows, columns = early.shape
    entries, odd = 0, -1
    for j in range(columns):
        for i in range(rows):
            values[i] = early[i, j]
        i, middle = odd_one_out(values[:rows], values[rows:])
        if j == 0:
            odd = i
        elif i >= 0:
            early[i, j] = middle
            entries += 1
    if odd >= 0:
        for i in range(odd, rows - 1):
            for j in range(columns):
                early[i, j], early[i + 1, j] = early[i + 1, j], early[i, j]
    return entries, odd


@inner
def refused(x, y, d):
    """Return the number that is too large and the rule, or FINE."""
    for j in range(d):
        if abs(x[j]) > LARGEST:
            return x[j], DOMAIN
    return y, DOMAIN + 1 if abs(y) > LARGEST else FINE


@Step.with_scratch(scratch)
def step(state, params, x, y, work):
    """One round."""
    t, labels, V = state[0], state[13], state[15]
    d, F = x.size, V.shape[1]
    value, rule = refused(x, y, d)
    if rule != FINE:
        return value, rule
    ticket, tidy, values, room = parted(work, d, F)
    look(state, x, room[0], room[1], tidy, ticket)
    prediction = labels[FIRST] + ticket[d + F + GUESS] if t[0] > 0.0 else 0.0
    if not math.isnan(y):
        absorb(state, params, ticket, y, tidy, values, room)
    return prediction, FINE


@Step.with_scratch(scratch)
def late(state, params, x, y, work):
    """Learn a label by the ticket of its row, which stands in for x."""
    d, F = state[5].size, state[15].shape[1]
    value, rule = refused(x, y, d)
    if rule != FINE:
        return value, rule
    ticket, tidy, values, room = parted(work, d, F)
    scale(1.0, x, ticket)
    absorb(state, params, ticket, y, tidy, values, room)
    return 0.0, FINE


class Regret(NamedTuple):
    """What Auto lost beside its experts: of labels as it learnt them, the first not counted.

    ``left_out``
        How many labels were not believed, and so not learnt and not counted either.
    ``loss``, ``experts``
        Its squared loss, and that of each expert.
    ``weighted``, ``combination``, ``ceiling``
        Its loss with row t over 2σ_t²; half the least that a fixed combination v of all features
        loses so, with ‖v‖²/0.1 added; and what the weighted loss is at most, given that.
    """

    left_out: int
    loss: float
    experts: dict[str, float]
    weighted: float
    combination: float
    ceiling: float


class Auto(Learner):
    """A learner with nothing to tune: drift, units and intercept are found from the stream.

    What most streams want. It runs four LASERs, which follow from at once to hardly ever, in units
    of their own finding with an intercept, and learns to combine them, with the last labels beside.
    It is indifferent to the unit and origin of any column and of the labels, and a single absurd
    label or entry does little harm. Entries and labels may be of size 10⁻¹⁴⁰ to 10¹⁰⁰; columns that
    vary by less are taken for constants. Costs O(d²) a round, about ten times LASER.

    ``predict`` and ``score`` learn nothing, so that for every row the last labels are those learnt
    last: with ``lags`` they fit the next row only, and ``lags=0`` is for tables of many.

    Parameters
    ----------
    lags : int, default 2
        How many labels and errors of the past are used beside x, 0 ≤ lags ≤ 8; 0 is x only.
    units : {"free", "given"}, default "free"
        "given" adds experts for whom a weight is as likely to move by 1 in any column, as the
        columns are given: for those who know that their units are alike.
    on_bad : {"raise", "skip"}, default "raise"
        Whether a row that breaks a rule raises, or is counted in ``n_skipped_`` and left out.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=2000, d=5, degrees=1.0)
    >>> run = ol.replay(ol.Auto(), [1e6, 1.0, 1.0, 1.0, 1e-6] * X, y)
    >>> still = ol.replay(ol.Ridge(), X, y)
    >>> bool(run.losses.mean() < 0.3 * still.losses.mean())
    True
    """

    lags: int = 2
    units: Literal["free", "given"] = "free"

    algorithm = Algorithm(
        init,
        step,
        (
            f"needs |x_i| ≤ {LARGEST:g}, got x_i = {{value:g}}",
            f"needs |y| ≤ {LARGEST:g}, got y = {{value:g}}",
        ),
    )
    _square = 4

    def _params(self) -> AutoParams:
        lags = checks.whole(self, "lags", least=0, most=MOST_LAGS)
        given = checks.choice(self, "units", ("free", "given")) == "given"
        c = STANDARD + GIVEN if given else STANDARD
        return AutoParams(float(lags), np.array(c), np.array(DRIFTS))

    def _matrices(self) -> int:
        return self._params().c.size

    def _numbers(self) -> tuple[Any, ...]:
        lags, c, drifts = super()._numbers()
        if self._state is not None:
            began = self._state.past.size // 2, self._state.rounds.size
            if began != (lags, c.size):
                units = "free" if began[1] == len(STANDARD) else "given"
                raise ValueError(
                    f"Auto needs the lags and units it began with, lags={began[0]} and "
                    f"units={units!r}, got lags={self.lags} and units={self.units!r} (fit begins "
                    "anew)"
                )
        return lags, c, drifts

    def _guarantee(self, search: bool = True) -> Guarantee:
        return unknown("Auto", "the squared loss of Auto (regret_ has one of a weighted loss)")

    # --- labels that come late ----------------------------------------------------------------

    def _ticket(self, x: Any) -> np.ndarray:
        model = self
        if self._state is None:
            model = type(self)(**self.get_params())
            model._begin(checks.width(x))
        model.predict_one(x)  # leaves the ticket at the beginning of the scratch
        size = model.n_features_in_ + model._state.V.shape[1] + NUMBERS
        return np.array(model._work.ravel()[:size])

    def learn_late(self, kept: Any, y: Any) -> None:
        """Learn a label that comes after those of later rows, by what :meth:`remember` gave.

        What the last labels and the experts were when the row was predicted is used to learn how to
        combine them, so that Auto learns what it can really do with labels so late.
        """
        lags, c, _ = self._numbers()
        features = 1 + c.size + 2 * int(lags)
        ticket, label = checks.row(kept, None, what="kept"), checks.label(y)
        d = ticket.size - features - NUMBERS
        known = d if self._state is None else self.n_features_in_
        if d < 1 or d != known or ticket[-1] != d:
            raise ValueError(
                "Auto needs what remember gave, for the same columns, lags and units, got "
                f"{ticket.size} numbers"
            )
        if self._state is None:
            skipped = self.n_skipped_
            with self._all_or_nothing():
                self._begin(d)
                self.learn_late(kept, y)
                if self.n_skipped_ > skipped:  # as in learn_one
                    self._forget()
                    self.n_skipped_ = skipped + 1
            return
        state, params, work = self._call or self._prepare()
        value, rule = late.one(state, params, ticket, label, work, True)
        if rule:
            if self.on_bad == "raise":
                raise self._refusal(Outcome(0, rule, value), ticket[:d], in_table=False)
            self.n_skipped_ += 1

    # --- what was learnt ----------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the columns in the prediction, in the units of the rows."""
        return self._line()[1:]

    @property
    def rounds_(self) -> int:
        """How many rows were learnt, those not believed among them."""
        return super().rounds_ + int(self._learnt().labels[DROPPED])

    @property
    def intercept_(self) -> float:
        """What is predicted where all columns are 0, the past being as it is; not cut."""
        return float(self._line()[0])

    def _line(self) -> np.ndarray:
        """Return intercept and weights; those of an expert are relative to units and to y₁."""
        state, experts = self._learnt(), self._numbers()[1].size
        weights = state.trust @ state.V
        lines = np.zeros((experts + 1, state.W.shape[1]))
        lines[:experts] = state.W
        inverse = np.divide(1.0, state.scale, out=np.zeros_like(state.scale), where=state.scale > 0)
        slopes = lines[: len(STANDARD), 1:] * inverse
        lines[: len(STANDARD), 1:] = slopes
        lines[: len(STANDARD), 0] -= slopes @ state.centre
        lines[experts, 0] = state.labels[MEAN]
        middle = lines.mean(axis=0)
        levels = weights[experts + 1 :: 2]
        line = middle + weights[: experts + 1] @ (lines - middle) - levels.sum() * middle
        line[0] += state.labels[FIRST] + weights[experts + 1 :] @ state.past
        return np.asarray(line)

    @property
    def regret_(self) -> Regret:
        """What it lost beside its experts and their best fixed combination, and the bound of that.

        >>> import onlinear as ol
        >>> X, y = ol.streams.rotating(rows=500, d=3)
        >>> regret = ol.Auto().fit(X, y).regret_
        >>> regret.weighted <= regret.ceiling
        True
        """
        state = self._learnt()
        own, least, learning, mixing = (float(value) for value in state.sums)
        losses = dict(zip(self._names_of_experts(), state.losses.tolist(), strict=True))
        ceiling = least + learning + mixing + math.log(len(DRIFTS))
        loss, left_out = float(state.labels[LOSS]), int(state.labels[LEFT_OUT])
        return Regret(left_out, loss, losses, own, least, ceiling)

    def _names_of_experts(self) -> list[str]:
        c = self._numbers()[1]
        names = [f"LASER, c = {c_k:g}" for c_k in c[: len(STANDARD)]]
        names += [f"LASER, c = {c_k:g}, given units" for c_k in c[len(STANDARD) :]]
        return [*names, "the mean of y"]

    def _weights_of_experts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight of each expert in the prediction, and those of the past beside them."""
        state, experts = self._learnt(), self._numbers()[1].size
        weights = state.trust @ state.V
        share, past = weights[: experts + 1], weights[experts + 1 :]
        return share + (1.0 - share.sum() - past[::2].sum()) / (experts + 1), past

    def explain(self) -> str:
        """Say in words and a table what it believes: how fast the truth moves, and who leads.

        >>> import onlinear as ol
        >>> X, y = ol.streams.rotating(rows=500, d=3, degrees=3.0)
        >>> print(ol.Auto().fit(X, y).explain().splitlines()[0])
        Auto has learnt 500 rows of 3 columns.
        """
        state, c = self._learnt(), self._numbers()[1]
        experts, labels = c.size, state.labels
        weights, past = self._weights_of_experts()
        memories = [math.sqrt(c_k) for c_k in c[: len(STANDARD)]] + [math.nan] * (
            experts - len(STANDARD)
        )
        return explained(
            Beliefs(
                rows=self.rounds_,
                columns=self.n_features_in_,
                names=self._names_of_experts(),
                memories=[*memories, 0.0],
                errors=np.sqrt(state.recent),
                weights=weights,
                past=past,
                leader=int(labels[LEADER]),
                since=int(labels[SINCE]),
                error=math.sqrt(labels[NOISE]),
                cut_labels=int(labels[CUT]),
                cut_entries=int(labels[CUT_ENTRIES]),
                inert=int(np.sum(state.scale == 0.0)),
            )
        )
