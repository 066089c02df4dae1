"""Regret bounds: their common form, the tally that holds them, and functions to compute them.

Every bound has the form

    loss ≤ factor · comparator + extra

where the comparator is the least loss in hindsight (with the theorem's penalty). A tally is an
array that holds the comparator, factor and extra of a bound, and is updated with every row. A tally
depends on the rows and labels only, never on the learner's state or predictions. (The update of a
tally uses the same compiled functions as the learner; tests compare these functions with textbook
formulas.) A tally accepts every row that the learner accepts. An array called notes, next to the
tally, records the first row in which a hypothesis of the theorem fails, or the precision or range
of floating point does not suffice. In the latter case, the tally's comparator is NaN from that row
on.
"""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.bulk import TAKE, Bulk, no_drift
from onlinear._engine.status import DOMAIN, FINE, OVERFLOW
from onlinear._engine.step import Tally
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.bounds.path import Path
from onlinear._numerics.linalg import (
    axpy,
    dot,
    kernel,
    norm,
    observe_later,
    rounding_of,
    shift,
    short,
    subtract_square,
)
from onlinear._updates.gaussian import gaussian, look, moves
from onlinear.losses import SQUARED, Loss

__all__ = [
    "COMPARATOR",
    "EXTRA",
    "FACTOR",
    "INDISTINCT",
    "MOVES",
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
    "scaled_down",
    "spread_out",
    "surprise",
    "surprises",
    "take_in",
    "tallied",
    "unknown",
]

COMPARATOR, FACTOR, EXTRA = range(3)  # indices in a tally
ROWS, BROKEN, AT, VALUE, LOST = range(5)  # indices in the notes, the array after the tally
PRECISION, RANGE, DIGITS = 1.0, 2.0, 3.0  # what floating point can run out of
INDISTINCT = (
    "needs data that double precision can tell apart, but xᵀΣx = {value:g} is only "
    "rounding error (columns that are large, or nearly the same: rescale or centre them)"
)
LOSSES = {
    PRECISION: "double precision to tell the columns apart (rescale or centre them)",
    RANGE: "squares that fit in floating point (rescale the data)",
    DIGITS: "labels that predictions in double precision can tell from 0 (rescale the labels, or "
    "use a smaller U or X)",
}
MOVES = 2  # a comparator that is allowed, but for having changed
STAYS = "one u for all rounds"
LARGEST = sys.float_info.max


class Guarantee(NamedTuple):
    """A proven bound: its statement, how to compute it, and the bound for a user's comparators.

    ``statement`` is the bound against ``comparator``, ``given`` the bound against the user's
    comparators, both in words. ``account`` computes the tally of the bound. ``price`` is a function
    of the user's comparators and the tally of each round. It returns the bound on the loss in each
    round, and in which rounds the theorem does not allow the user's comparators. ``paths`` says in
    words which comparators the theorem allows. If the numbers of these rounds are MOVES, the only
    fault is that the comparators change, and ``still`` says why they must not. ``earlier`` has the
    guarantees, newest first, whose accounts are in state files of earlier versions of the library,
    if they differ from this one.
    """

    statement: str
    comparator: str
    account: Account
    given: str
    price: Callable[[Path, np.ndarray], tuple[np.ndarray, np.ndarray]]
    hypotheses: tuple[str, ...] = ()
    paths: str = STAYS
    known: bool = True
    loss: Loss = SQUARED  # of the learner
    measure: Loss = SQUARED  # of the user's comparators
    kernel: Any = None  # if the comparators are functions of its space
    earlier: tuple["Guarantee", ...] = ()
    still: str = ""


def tallied(*state: np.ndarray, extra: int = 0) -> tuple[np.ndarray, ...]:
    """Return the initial state of a bound: its tally, its notes, and the arrays ``state``.

    The tally has ``extra`` entries after the usual three.
    """
    tally = np.zeros(EXTRA + 1 + extra)
    tally[FACTOR] = 1.0
    return tally, np.zeros(LOST + 1), *state


def competitor(d: int, b: float, extra: int = 0) -> tuple[np.ndarray, ...]:
    """Return the initial state of a bound whose comparator solves penalised least squares.

    The penalty on weights u is b‖u‖², and the tally has ``extra`` entries after the usual three.
    """
    return tallied(*gaussian(d, b), extra=extra)


@kernel(inline="always")
def compete(state, c, x, y, work):
    """Add a row to the minimum over u of b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ (y_s − u_sᵀx_s)².

    Return e²/(1 + χ), by which the row raises this minimum, then χ, and FINE or the rule that the
    row breaks. Here, e = y − wᵀx with the minimiser w before this row, and χ = xᵀΣx with the
    covariance matrix Σ after the drift.
    """
    v = work[0]
    chi, drift = look(state, c, x, v)
    return take_in(state, drift, x, y, v, chi, work[1])


@kernel(inline="always")
def take_in(state, drift, x, y, v, chi, u):
    """Add a row like :func:`compete`, given v = Σx, χ = xᵀv and the drift of Σ; u is scratch."""
    t, w, S = state
    e = y - dot(w, x)
    if not math.isfinite(chi * e):
        return e, chi, OVERFLOW
    if drift > 0.0:
        shift(drift, S)
    left = chi / (1.0 + chi)  # xᵀΣx after this row, unless rounding prevents it
    rough = rounding_of(S, x)
    if observe_later(S, x, v, chi, 1.0, rough, u):  # False: has updated Σ in parts
        subtract_square(u, S)
    elif 0.0 < left <= rounding_of(S, x):
        return left, left, DOMAIN
    axpy(e, v, w)
    t[0] += 1
    return e * e / (1.0 + chi), chi, FINE


def _belief(state):
    """Return the arrays t, w and Σ of the comparator's least-squares problem."""
    return state[2], state[3], state[4]


def _turn(params, j, m, chi, y):
    """Return 0, h, k and True for a row of a block, as the ``turn`` of a :class:`Bulk` must.

    h and k are the factors in the comparator's updates Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    0 stands for a prediction, since a bound makes none; True lets the block go on.
    """
    h, k = moves(y - m, chi, 1.0)
    return 0.0, h, k, True


def in_bulk(accept: Callable[..., Any], drift: Callable[..., Any] = no_drift) -> Bulk:
    """Return the ``Bulk`` that adds blocks of rows to a bound with a least-squares comparator."""
    return Bulk(_turn, _belief, drift, accept=accept)


@kernel(inline="always")
def broke(notes, hypothesis, value):
    """Note that a hypothesis of the theorem fails at this row; only the first failure is kept."""
    if notes[BROKEN] == 0.0:
        notes[BROKEN] = 1.0 + hypothesis
        notes[AT] = notes[ROWS]
        notes[VALUE] = value if math.isfinite(value) else LARGEST


@kernel(inline="always")
def enter(tally, notes, comparator, factor, extra):
    """Record comparator, factor and extra of a bound after a row; return 0 and FINE (no error)."""
    if not math.isfinite(comparator + extra) or notes[LOST] > 0.0:
        return lose(tally, notes, OVERFLOW, comparator)
    tally[COMPARATOR] = comparator
    tally[FACTOR] = factor
    tally[EXTRA] = extra
    notes[ROWS] += 1.0
    return 0.0, FINE


@kernel(inline="always")
def lose(tally, notes, rule, value):
    """Note that floating point does not suffice from this row on; the comparator becomes NaN.

    ``rule`` is OVERFLOW if numbers are too large, DOMAIN if the columns cannot be told apart, or
    DOMAIN + 1 if the labels cannot be told from 0.
    """
    if notes[LOST] == 0.0:
        notes[LOST] = RANGE
        if rule >= DOMAIN:
            notes[LOST] = PRECISION if rule == DOMAIN else DIGITS
        broke(notes, -1.0 - notes[LOST], value)
    tally[COMPARATOR] = math.nan
    notes[ROWS] += 1.0
    return 0.0, FINE


@kernel(inline="always")
def inside_ball(least, squares, w, radius):
    """Return the penalised loss of w scaled down to a norm of at most ``radius``.

    The weights w minimise the penalised loss, and their own penalised loss is ``least``. With Σy² =
    ``squares``, the penalised loss of s·w is Σy² − (2s − s²)(Σy² − least).
    """
    length = norm(w)
    return least if length <= radius else scaled_down(least, squares, radius / length)


@kernel(inline="always")
def scaled_down(least, squares, s):
    """Return the penalised loss of s·w, as :func:`inside_ball` does, for a number s ≤ 1."""
    return squares - (2.0 * s - s * s) * (squares - least) if s < 1.0 else least


def cut_to(radius: float) -> str:
    """Return a description of the comparator whose loss :func:`inside_ball` returns."""
    if math.isinf(radius):
        return "the least over all u"
    return f"u the best of all, scaled down to ‖u‖ ≤ {radius:g} if it is longer"


def _regret(state, params, x, y, m, beside):
    """Add a row of a block to the comparator's least-squares problem; return TAKE (go on)."""
    tally, notes = state[0], state[1]
    gain = (y - m) * (y - m) / (1.0 + beside[0])
    enter(tally, notes, tally[COMPARATOR] + gain, math.nan, 0.0)
    return TAKE


@Tally.with_bulk(in_bulk(_regret))
def regret(state, params, x, y, work):
    """Add a row to the least-squares problem of the best fixed predictor; compute no bound."""
    tally, notes, t, w, S = state
    gain, _, rule = compete((t, w, S), math.inf, x, y, work)
    if rule != FINE:
        return lose(tally, notes, rule, gain)
    return enter(tally, notes, tally[COMPARATOR] + gain, math.nan, 0.0)


@short
def spread_out(off):
    """Return (1 + o)·ln(1 + o) − o for o = ``off`` ≥ −1, accurately also near 0."""
    if abs(off) < 1e-3:
        return off * off * (0.5 - off * (1.0 / 6.0 - off * (1.0 / 12.0 - off / 20.0)))
    return (1.0 + off) * math.log1p(off) - off if off > -1.0 else 1.0


@kernel
def surprise(u, share):
    """Return the relative entropy of u to (share, …, share), Σ u_i ln(u_i/share) − u_i + share.

    The entropy is accurate even where u_i is close to ``share``.
    """
    total = 0.0
    for i in range(u.size):
        total += spread_out(u[i] / share - 1.0)
    return share * total


@kernel
def surprises(path, share, out):
    """Fill the array ``out`` with the relative entropy :func:`surprise` of each row of ``path``."""
    for i in range(path.shape[0]):
        out[i] = surprise(path[i], share)


def unknown(owner: str, why: str, b: float = 1.0) -> Guarantee:
    """Return the guarantee of a learner with no known bound; ``why`` names the learner or case."""

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
