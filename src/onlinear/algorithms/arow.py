"""AROW: adaptive regularisation of weights, for classification; and the second-order perceptron.

    ŷ  = m = xᵀw                   χ = xᵀΣx,  Σ₀ = I/b,  w₀ = 0
    if y·m < margin (margin = 0: if y·m ≤ 0):                     y = ±1
        w ← w + Σx (y − m) / (r + χ)
        Σ ← Σ − Σx xᵀΣ / (r + χ)

The prediction is the margin m, whose sign is the predicted class. Since y(1 − ym) = y − m for
y = ±1, an update is that of AROWR with the labels ±1, in the rounds in which the margin y·m is
small. With margin = 1, the learner is AROW. With margin = 0, it learns from its mistakes only, and
is the second-order perceptron: Cesa-Bianchi, Conconi & Gentile predict with Σ after the row, which
divides m by 1 + χ/r and so has the same sign.

Crammer, Kulesza & Dredze, NIPS 2009, Figure 1 (w, Σ, r are their μ, Σ, r; b = 1); Cesa-Bianchi,
Conconi & Gentile, SIAM J. Computing 2005. For margin = 0, their r and a are r and b here.
"""

import math
from typing import NamedTuple

import numpy as np

from onlinear._engine.bulk import Bulk
from onlinear._engine.step import DOMAIN, FINE, OVERFLOW, Step, Tally
from onlinear._learner.base import Algorithm
from onlinear._learner.bounds.guarantee import (
    COMPARATOR,
    EXTRA,
    FACTOR,
    Guarantee,
    Path,
    enter,
    lose,
    tallied,
    unknown,
)
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.classifier import Classifier
from onlinear._numerics.linalg import ROUNDING, dot, kernel, rounding_of, symv
from onlinear._updates.gaussian import (
    Gaussian,
    covariance_times,
    gaussian,
    learn,
    learn_later,
    moves,
    settle,
)
from onlinear._updates.rescaling import GAUSSIAN
from onlinear._validation.checks import number
from onlinear.losses import Hinge, Loss, Mistakes, SquaredHinge

__all__ = ["AROW", "NOT_A_CLASS"]

NOT_A_CLASS = "needs labels −1 and 1, got y = {value:g}"


class AROWParams(NamedTuple):
    """Parameters of a step: the noise variance r, the prior's precision b, the margin."""

    r: float
    b: float
    margin: float


def init(params: AROWParams, d: int) -> Gaussian:
    """Return the initial state: w = 0 and Σ = I/b."""
    return gaussian(d, params.b)


@kernel(inline="always")
def learns(margin, m, y):
    """Return whether a row with the margin y·m is learnt."""
    return y * m < margin if margin > 0.0 else y * m <= 0.0


def turn(params, j, m, chi, y):
    """Return a row's prediction, the factors h and k of its updates, and whether y is a label.

    When rows are learnt in blocks, the updates are Σ ← Σ − h·vvᵀ and w ← w + k·v, where v = Σx.
    """
    r, _, margin = params
    h, k = moves(y - m, chi, r)
    if not learns(margin, m, y):
        h = k = 0.0
    return m, h, k, abs(y) == 1.0


@Step.checked_per_block()
@Step.with_bulk(Bulk(turn), settle)
def step(state, params, x, y, work):
    """Predict the margin of x, then learn y, which is −1 or 1, unless y is NaN."""
    t, w, _ = state
    r, _, margin = params
    m = dot(w, x)
    if math.isnan(y):
        return m, FINE
    if abs(y) != 1.0:
        return y, DOMAIN
    if not learns(margin, m, y):
        t[0] += 1
        return m, FINE
    covariance_times(state, x, work)
    chi = dot(x, work[0])  # xᵀΣx
    return m, learn_later(state, x, y - m, chi, r, work)


# in a tally, after the comparator, factor and extra: how many rows were learnt, how many of them
# were no mistakes, and Σ (1 − (1 − ym)²·r/(r + χ)) over the rows learnt
LEARNT, RIGHT, GAINED = range(EXTRA + 1, EXTRA + 4)


@Tally
def bound(state, params, x, y, work):
    """Add a row to the bounds of AROW, which run its rounds again.

    The rows learnt are those with a margin y·m below ``margin``. Over these rows, in exact
    arithmetic, Σ (y − m)²·r/(r + χ) is the minimum over u of rb‖u‖² + Σ (y − uᵀx)².
    """
    tally, notes, t, w, S = state
    r, _, margin = params
    m = dot(w, x)
    gain, factor = 0.0, tally[FACTOR]
    if learns(margin, m, y):
        v = work[0]
        symv(S, x, v)
        chi = dot(x, v)
        left = chi * (r / (r + chi))  # xᵀΣx after this row, unless rounding prevents it
        gain = (y - m) * (y - m) * (r / (r + chi))
        factor = max(factor, 1.0 + chi / r)
        if learn((t, w, S), x, y - m, v, chi, r, work[1]) != FINE:
            return lose(tally, notes, OVERFLOW, gain)
        if 0.0 < left <= rounding_of(S, x):
            return lose(tally, notes, DOMAIN, left)
        tally[LEARNT] += 1.0
        tally[RIGHT] += 1.0 if y * m > 0.0 else 0.0
        # Σ has an error of about ROUNDING times its largest value so far, in the direction of x
        tally[GAINED] += min(1.0, 1.0 - gain + ROUNDING * (3 + x.size) * factor)
    return enter(tally, notes, tally[COMPARATOR] + gain, factor, 0.0)


def price_of_mistakes(
    penalty: float, path: Path, tally: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound on the number of mistakes against a fixed u, and where u has moved."""
    learnt = np.diff(tally[LEARNT], prepend=0.0) > 0
    hinges = np.cumsum(np.where(learnt, path.losses, 0.0))
    activations = path.X @ path.u[0]
    squares = penalty * path.squares[0] + np.cumsum(np.where(learnt, activations**2, 0.0))
    gained = np.maximum(tally[GAINED], 0.0)
    return hinges - tally[RIGHT] + np.sqrt(squares * gained), path.moved


class AROW(Classifier):
    """Adaptive regularisation of weights (AROW), for classification; or a second-order perceptron.

    The prediction is a margin, whose sign is the class. Costs O(d²) per round in which the margin
    is small, otherwise O(d), for d features.

    Parameters
    ----------
    r : float, default 1.0
        Variance that the learner assumes for the labels' noise, r > 0: a larger r gives each row
        less weight.
    b : float, default 1.0
        Precision of the prior, b > 0.
    margin : float, default 1.0
        A row is learnt if its margin y·m is below this number, 0 ≤ margin ≤ 1. With 0, the learner
        learns from its mistakes only: it is the second-order perceptron.
    classes : sequence or None, default None
        The classes: two or more labels that are text, numbers or booleans. None means that they are
        found in the labels of the first table (``fit``, ``partial_fit``, ``onlinear.replay``), or
        that labels are 0 and 1. With more than two classes, a learner is kept for each class.
    on_bad : {"raise", "skip"}, default "raise"
        What to do with a row that cannot be learnt (a value is NaN, infinite or so large that the
        arithmetic would overflow, or the row breaks a condition of the learner): raise an error, or
        skip the row and count it in ``n_skipped_``.

    Examples
    --------
    >>> import onlinear as ol
    >>> model = ol.AROW(r=0.5, classes=("ham", "spam"))
    >>> model.learn_one([2.0, 0.0], "spam")
    >>> model.predict_one([1.0, 1.0]), model.predict_one([-1.0, 1.0])
    ('spam', 'ham')
    """

    r: float = 1.0
    b: float = 1.0
    margin: float = 1.0

    algorithm = Algorithm(init, step, (NOT_A_CLASS,), follows=GAUSSIAN)
    _codes = (-1.0, 1.0)
    _boundary = 0.0

    def _params(self) -> AROWParams:
        return AROWParams(
            number(self, "r", above=0),
            number(self, "b", above=0),
            number(self, "margin", least=0, most=1),
        )

    @property
    def _loss(self) -> Loss:
        return SquaredHinge() if self.margin == 1 else Mistakes()

    def _guarantee(self, search: bool = True) -> Guarantee:
        """Return the bound on the squared hinge loss or, against given weights, on the mistakes.

        The squared hinge loss of AROW is bounded if ``margin`` is 1; with a smaller margin, only
        the bound against given weights is known.
        """
        r, b, margin = self._params()
        penalty = r * b
        if search and margin < 1:
            case = "AROW with a margin below 1, unless weights to compare with are given"
            return unknown("AROW", case)._replace(loss=self._loss)

        def begin(d: int) -> tuple[np.ndarray, ...]:
            return tallied(*gaussian(d, b), extra=3)

        def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return price_of_mistakes(penalty, path, tally)

        mistakes = (
            "mistakes ≤ H − N + √(Q·E) over the rows learnt: H the hinge loss of u, N how many "
            f"were no mistakes, Q = {penalty:g}·‖u‖² + Σ (uᵀx)², E = Σ (1 − r(1−ym)²/(r+χ))"
        )
        return Guarantee(
            "squared hinge loss ≤ comparator · (1 + max χ/r), over the rows learnt",
            f"min over u of {penalty:g}·‖u‖² + Σ (y − uᵀx)², over the rows learnt",
            Account("AROW", begin, bound, (r, b, margin)),
            mistakes,
            price,
            loss=SquaredHinge() if search else Mistakes(),
            measure=Hinge(),
        )
