"""What the bounds of the learners have in common.

Every bound has the form

    loss ≤ factor · comparator + extra

where the comparator is a least loss in hindsight (with the theorem's penalty). A tally keeps all
three up to date; it sees the rows and labels, never the learner's state or predictions. (It is
written with the same kernels; tests show that those are right, against textbook forms.) A tally
refuses no row that the learner takes: where it can no longer keep count, it says so and the figures
end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.bulk import TAKE, Bulk, no_drift
from onlinear._engine.status import DOMAIN, FINE, OVERFLOW
from onlinear._engine.step import Tally
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import (
    axpy,
    dot,
    kernel,
    norm,
    observe_later,
    rounding_of,
    shift,
    subtract_square,
)
from onlinear._updates.gaussian import gaussian, look, moves

__all__ = [
    "COMPARATOR",
    "EXTRA",
    "FACTOR",
    "INDISTINCT",
    "STAYS",
    "Guarantee",
    "Path",
    "broke",
    "compete",
    "competitor",
    "cut_to",
    "enter",
    "in_bulk",
    "inside_ball",
    "lose",
    "regret",
    "surprise",
    "surprises",
    "take_in",
    "tallied",
    "unknown",
]

COMPARATOR, FACTOR, EXTRA = range(3)  # places in a tally
ROWS, BROKEN, AT, VALUE, LOST = range(5)  # places in the notes beside it
PRECISION, RANGE = 1.0, 2.0  # what can be lost
INDISTINCT = (
    "needs data that double precision can tell apart, but xᵀΣx = {value:g} is rounding "
    "(columns that are large, or nearly the same: rescale or centre them)"
)
LOSSES = {
    PRECISION: "double precision to tell the columns apart (rescale or centre them)",
    RANGE: "squares that fit in floating point (rescale the data)",
}
STAYS = "one u for all rounds"


@dataclass(frozen=True, eq=False)
class Path:
    """Predictors u_t given by the user, with the rows and labels: one u a round, or one for all.

    The properties are arrays with an entry a round, or with one entry that holds for all rounds.
    """

    X: np.ndarray
    y: np.ndarray
    u: np.ndarray

    @cached_property
    def losses(self) -> np.ndarray:
        """(y − uᵀx)² of each round."""
        if self.u.shape[0] == 1:
            return np.asarray((self.y - self.X @ self.u[0]) ** 2)
        return np.asarray((self.y - np.einsum("ij,ij->i", self.X, self.u)) ** 2)

    @cached_property
    def loss(self) -> np.ndarray:
        """The loss up to and with each round."""
        return np.cumsum(self.losses)

    @property
    def squares(self) -> np.ndarray:
        """‖u_t‖²."""
        return np.asarray(np.einsum("ij,ij->i", self.u, self.u))

    def drift(self, norm: int, price: Any = 1.0, power: int = 1) -> np.ndarray:
        """Σ price_s·‖u_{s+1} − u_s‖^power up to each round; the price may differ by round."""
        if self.u.shape[0] == 1:
            return np.zeros(1)
        steps = np.diff(self.u, axis=0)
        if norm == 1:
            moves = np.abs(steps, out=steps).sum(axis=1)
        else:
            moves = np.einsum("ij,ij->i", steps, steps)
            moves = moves if power == 2 else np.sqrt(moves, out=moves)
        price = np.broadcast_to(price, self.y.shape)[:-1]
        costs = np.zeros(moves.size)
        np.multiply(moves, price, out=costs, where=moves > 0)  # no drift costs nothing at ∞ either
        return np.concatenate([[0.0], np.cumsum(costs)])

    def of(self, rows: np.ndarray) -> "Path":
        """Return the path restricted to some of the rows."""
        return Path(self.X[rows], self.y[rows], self.u if len(self.u) == 1 else self.u[rows])

    def ever(self, outside: np.ndarray) -> np.ndarray:
        """Whether it was outside in any round up to each."""
        return np.asarray(np.logical_or.accumulate(outside))

    @property
    def moved(self) -> np.ndarray:
        """Whether u has moved by each round."""
        return self.drift(2) > 0


class Guarantee(NamedTuple):
    """A proven bound: in words, as accounts that can be kept, and for a given path.

    ``statement`` is the bound against ``comparator``, ``given`` that against a path of the user's.
    ``price`` takes such a path and the tallies by round, and returns the ceiling that follows, and
    where the path leaves the class of ``paths``, the comparators allowed.
    """

    statement: str
    comparator: str
    account: Account
    given: str
    price: Callable[[Path, np.ndarray], tuple[np.ndarray, np.ndarray]]
    hypotheses: tuple[str, ...] = ()
    paths: str = STAYS
    known: bool = True


def tallied(*state: np.ndarray, extra: int = 0) -> tuple[np.ndarray, ...]:
    """Return a state with an empty tally in front; ``extra`` places more than the common ones."""
    tally = np.zeros(EXTRA + 1 + extra)
    tally[FACTOR] = 1.0
    return tally, np.zeros(LOST + 1), *state


def competitor(d: int, b: float, extra: int = 0) -> tuple[np.ndarray, ...]:
    """Return the state of a tally whose comparator is (penalised) least squares."""
    return tallied(*gaussian(d, b), extra=extra)


@kernel(inline="always")
def compete(state, c, x, y, work):
    """Take a row into min b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ (y_s − u_sᵀx_s)².

    Return what it adds to the minimum, e²/(1 + χ), then χ, and FINE or the rule it breaks.
    """
    v = work[0]
    chi, drift = look(state, c, x, v)
    return take_in(state, drift, x, y, v, chi, work[1])


@kernel(inline="always")
def take_in(state, drift, x, y, v, chi, u):
    """Do as :func:`compete`, given v = Σx, χ = xᵀv and the drift to add to Σ; u is scratch."""
    t, w, S = state
    e = y - dot(w, x)
    if not math.isfinite(chi * e):
        return e, chi, OVERFLOW
    if drift > 0.0:
        shift(drift, S)
    left = chi / (1.0 + chi)  # xᵀΣ_t x, unless Σ cannot be made that small
    rough = rounding_of(S, x)
    if observe_later(S, x, v, chi, 1.0, rough, u):  # which it says it can
        subtract_square(u, S)
    elif 0.0 < left <= rounding_of(S, x):
        return left, left, DOMAIN
    axpy(e, v, w)
    t[0] += 1
    return e * e / (1.0 + chi), chi, FINE


def _belief(state):
    """Return rounds, weights and Σ of the competitor."""
    return state[2], state[3], state[4]


def _turn(params, j, m, chi, y):
    """What a row of a block does to the competitor."""
    h, k = moves(y - m, chi, 1.0)
    return 0.0, h, k, True


def in_bulk(accept: Callable[..., Any], drift: Callable[..., Any] = no_drift) -> Bulk:
    """Return how an account whose competitor is least squares takes rows in bulk."""
    return Bulk(_turn, _belief, drift, accept=accept)


@kernel(inline="always")
def broke(notes, hypothesis, value):
    """Note that a hypothesis fails from this row on; the first to fail counts."""
    if notes[BROKEN] == 0.0:
        notes[BROKEN] = 1.0 + hypothesis
        notes[AT] = notes[ROWS]
        notes[VALUE] = value


@kernel(inline="always")
def enter(tally, notes, comparator, factor, extra):
    """Record the three parts of the bound after a row; return what a step returns."""
    if not math.isfinite(comparator) or notes[LOST] > 0.0:
        return lose(tally, notes, OVERFLOW, comparator)
    tally[COMPARATOR] = comparator
    tally[FACTOR] = factor
    tally[EXTRA] = extra
    notes[ROWS] += 1.0
    return 0.0, FINE


@kernel(inline="always")
def lose(tally, notes, rule, value):
    """Note that this row is beyond floating point: there are no figures from here on."""
    if notes[LOST] == 0.0:
        notes[LOST] = PRECISION if rule == DOMAIN else RANGE
        broke(notes, -1.0 - notes[LOST], value)
    tally[COMPARATOR] = math.nan
    notes[ROWS] += 1.0
    return 0.0, FINE


@kernel(inline="always")
def inside_ball(least, squares, w, radius):
    """Return the penalised loss of w, the minimiser with the value ``least``, cut to the ball.

    With Σy² = ``squares`` the penalised loss of s·w is Σy² − (2s − s²)(Σy² − least).
    """
    length = norm(w)
    if length <= radius:
        return least
    s = radius / length
    return squares - (2.0 * s - s * s) * (squares - least)


def cut_to(radius: float) -> str:
    """Return :func:`inside_ball` in words."""
    if math.isinf(radius):
        return "the least over all u"
    return f"u the best of all, cut to ‖u‖ ≤ {radius:g} if it is outside"


def _regret(state, params, x, y, m, beside):
    """Take a row of a block into the regret."""
    tally, notes = state[0], state[1]
    gain = (y - m) * (y - m) / (1.0 + beside[0])
    enter(tally, notes, tally[COMPARATOR] + gain, math.nan, 0.0)
    return TAKE


@Tally.with_bulk(in_bulk(_regret))
def regret(state, params, x, y, work):
    """No bound: the best fixed predictor alone."""
    tally, notes, t, w, S = state
    gain, _, rule = compete((t, w, S), math.inf, x, y, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    return enter(tally, notes, tally[COMPARATOR] + gain, math.nan, 0.0)


@kernel
def surprise(u, share):
    """Return Σ u_i ln(u_i/share) − u_i + share ≥ 0, right also where u is nearly the share."""
    total = 0.0
    for i in range(u.size):
        off = u[i] / share - 1.0
        if abs(off) < 1e-3:
            total += off * off * (0.5 - off * (1.0 / 6.0 - off * (1.0 / 12.0 - off / 20.0)))
        elif off > -1.0:
            total += (1.0 + off) * math.log1p(off) - off
        else:
            total += 1.0
    return share * total


@kernel
def surprises(path, share, out):
    """out ← the surprise of each row."""
    for i in range(path.shape[0]):
        out[i] = surprise(path[i], share)


def unknown(owner: str, why: str, b: float = 1.0) -> Guarantee:
    """Return the account of a learner without a theorem: its regret, and why there is no bound."""

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(path.y.shape, math.nan), np.zeros(1, dtype=bool)

    words = f"no bound is known for {why}"
    return Guarantee(
        words,
        f"min over u of {b:g}·‖u‖² + loss of u",
        Account(owner, lambda d: competitor(d, b), regret, ()),
        words,
        price,
        paths="any u_t",
        known=False,
    )
