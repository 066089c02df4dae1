"""What the bounds of the learners have in common.

Every bound has the form

    loss ≤ factor · comparator + extra

where the comparator is a least loss in hindsight (with the theorem's penalty), and all three are
kept up by a tally that sees the rows and labels, never the learner: a learner that is wrong cannot
vouch for itself.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine import DOMAIN, FINE, Tally
from onlinear._kernels import dot, kernel, norm, rounding_of
from onlinear._ledger import Account
from onlinear._recursion import follow, gaussian, look

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
    "enter",
    "entropy",
    "inside_ball",
    "regret",
    "take_in",
    "tallied",
    "unknown",
]

COMPARATOR, FACTOR, EXTRA = range(3)  # places in a tally
ROWS, BROKEN, AT, VALUE = range(4)  # places in the notes beside it
INDISTINCT = (
    "needs data that double precision can tell apart, but xᵀΣx = {value:g} is rounding "
    "(columns that are nearly the same, and large: centre or rescale them)"
)
STAYS = "one u for all rounds"


class Path(NamedTuple):
    """A sequence of predictors u_t given by the user, beside the rows: one a round, or one row.

    The properties are arrays by round, or of length one where the same holds for all.
    """

    X: np.ndarray
    y: np.ndarray
    u: np.ndarray

    @property
    def losses(self) -> np.ndarray:
        """(y − uᵀx)² of each round."""
        if self.u.shape[0] == 1:
            return np.asarray((self.y - self.X @ self.u[0]) ** 2)
        return np.asarray((self.y - np.einsum("ij,ij->i", self.X, self.u)) ** 2)

    @property
    def loss(self) -> np.ndarray:
        """The loss up to and with each round."""
        return np.cumsum(self.losses)

    @property
    def squares(self) -> np.ndarray:
        """‖u_t‖²."""
        return np.asarray(np.sum(self.u * self.u, axis=1))

    def drift(self, norm: int, price: Any = 1.0, power: int = 1) -> np.ndarray:
        """Σ price_s·‖u_{s+1} − u_s‖^power up to each round; the price may differ by round."""
        if self.u.shape[0] == 1:
            return np.zeros(1)
        moves = np.linalg.norm(np.diff(self.u, axis=0), ord=norm, axis=1) ** power
        price = np.broadcast_to(price, self.y.shape)[:-1]
        costs = np.zeros(moves.size)
        np.multiply(moves, price, out=costs, where=moves > 0)  # no drift costs nothing at ∞ either
        return np.concatenate([[0.0], np.cumsum(costs)])

    def ever(self, outside: np.ndarray) -> np.ndarray:
        """Whether it was so in any round up to each."""
        return np.asarray(np.logical_or.accumulate(outside))

    @property
    def moved(self) -> np.ndarray:
        """Whether u has moved by each round."""
        return self.drift(2) > 0


class Guarantee(NamedTuple):
    """A bound that is true: in words, as an account that can be kept, and for a given path.

    ``price`` takes a path and the tallies by round, and returns its penalised loss, the ceiling
    that follows, and where it leaves the class of ``paths``, the comparators allowed.
    """

    statement: str
    comparator: str
    account: Account
    hypotheses: tuple[str, ...] = ()
    paths: str = STAYS
    price: Callable[[Path, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
    known: bool = True


def tallied(*state: np.ndarray, extra: int = 0) -> tuple[np.ndarray, ...]:
    """Return a state with an empty tally in front; ``extra`` places more than the common ones."""
    tally = np.zeros(EXTRA + 1 + extra)
    tally[FACTOR] = 1.0
    return tally, np.zeros(VALUE + 1), *state


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
    """As :func:`compete`, given v = Σx, χ = xᵀv and what is to be added to Σ; u is scratch."""
    _, w, S = state
    e = y - dot(w, x)
    rule = follow(state, drift, x, e, v, chi, u)
    left = chi / (1.0 + chi)  # xᵀΣ_t x, unless Σ could not be made that small
    if rule == FINE and 0.0 < left <= rounding_of(S, x):
        return left, left, DOMAIN
    return e * e / (1.0 + chi), chi, rule


@kernel(inline="always")
def broke(notes, hypothesis, value):
    """Note that a hypothesis fails from this row on; the first to fail counts."""
    if notes[BROKEN] == 0.0:
        notes[BROKEN] = 1.0 + hypothesis
        notes[AT] = notes[ROWS]
        notes[VALUE] = value


@kernel(inline="always")
def enter(tally, notes, comparator, factor, extra):
    """Put down the three parts of the bound after a row; return what a step returns."""
    tally[COMPARATOR] = comparator
    tally[FACTOR] = factor
    tally[EXTRA] = extra
    notes[ROWS] += 1.0
    return comparator, FINE


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


@Tally
def regret(state, params, x, y, work):
    """No bound: the best fixed predictor alone."""
    tally, notes, t, w, S = state
    gain, _, rule = compete((t, w, S), math.inf, x, y, work)
    if rule != FINE:
        return gain, rule
    return enter(tally, notes, tally[COMPARATOR] + gain, math.nan, 0.0)


def entropy(u: np.ndarray) -> np.ndarray:
    """Return −Σ u_i ln u_i of each row, 0·ln 0 being 0."""
    logs = np.log(u, where=u > 0, out=np.zeros_like(u))
    return np.asarray(-np.sum(u * logs, axis=-1))


def unknown(owner: str, why: str, b: float = 1.0) -> Guarantee:
    """Return the account of a learner without a theorem: its regret, and why there is no bound."""

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        loss = path.loss
        return loss, np.full(loss.shape, math.nan), np.zeros(loss.shape, dtype=bool)

    account = Account(owner, lambda d: competitor(d, b), regret, (), (INDISTINCT,))
    return Guarantee(
        f"no bound is known for {why}",
        f"min over u of {b:g}‖u‖² + loss of u",
        account,
        paths="any u_t",
        price=price,
        known=False,
    )
