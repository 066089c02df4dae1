"""The bounds of learners whose weights stay in a constraint set Γ: prices of comparators in Γ.

With the learner's divergence D, which belongs to F, and its weights w_1 before the first row, the
price of comparators u_1, …, u_T in Γ is

    P = D(u_T, w_1) + ∇F(w_1)ᵀ(u_T − u_1) + Σ h(u_t − u_{t+1}),    h(v) = sup over w of ∇F(w)ᵀv

The supremum is over the last set that the weights are projected on. The rest of the bound is that
of the learner without a set (:mod:`onlinear._learner.bounds.any_loss`).

*Proof.* A projection on a set that contains u does not raise D(u, ·), so a pass over several sets
that contain u does not either. Σ D(u_t, w_t) − D(u_t, w_{t+1}) telescopes to
D(u_1, w_1) − D(u_T, w_{T+1}) + Σ (D(u_{t+1}, w_{t+1}) − D(u_t, w_{t+1})), and
D(u', w) − D(u, w) = F(u') − F(u) + ∇F(w)ᵀ(u − u'). Herbster & Warmuth, JMLR 2001, section 3.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from onlinear._engine.step import Tally
from onlinear._learner.bounds import any_loss, best_in_set
from onlinear._learner.bounds.best_in_class import loss_of, sum_of_atoms
from onlinear._learner.bounds.best_in_set import (
    IN_SET,
    add_and_improve,
    at_start,
    divergence,
    nearest,
    rows_of_work,
)
from onlinear._learner.bounds.guarantee import Guarantee, Path, broke, enter, tallied
from onlinear._learner.bounds.ledger import Account
from onlinear._learner.constrained import Constrained
from onlinear._numerics.linalg import dot, kernel, scale
from onlinear._updates.constrained_step import (
    GEOMETRY,
    POWER,
    rebound,
    with_custom,
)
from onlinear._updates.p_norms import exponent, p_norm
from onlinear._updates.projections import P_NORM, SHARES
from onlinear.algorithms._gradient_bound import size_of_row
from onlinear.algorithms._set_prices import Prices, last_of
from onlinear.algorithms._simplex_bound import spread_of
from onlinear.losses._formulas import SQUARE, rounding
from onlinear.sets._values import (
    BALL,
    NUMBER,
    highest,
)

__all__ = ["account", "bound_for", "guarantee"]

REACHABLE = (
    "sets (and, if there is an alpha, its least weights) with a point in common, which Dykstra's "
    "algorithm finds"
)


class SetAccount(NamedTuple):
    """Parameters of the bound: η, the loss, whether to find a u, U (1 but for EGPM), the sets.

    ``empty`` is the number of the hypothesis that the sets have a point in common.
    """

    eta: float
    loss: float
    shape: float
    search: float
    U: float
    empty: float
    form: np.ndarray


# in the tally: the two parts of the bound that depend on the rows; of the parabolas h(b − z)² + k
# above the losses of u, Σh·z², Σk and the sum of |a − y| for the activations a = uᵀx; the rows
REACH, PLUS, SQUARES, OVER, MISSES, COUNT = range(3, 9)


@kernel
def size_and_top(form, U, x, single):
    """Return R² of a row, and the largest activation that weights in the last set can have."""
    geometry = int(form[GEOMETRY])
    if geometry == SHARES:
        spread, top = spread_of(x, U, single)
        return 0.25 * spread * spread, top
    last = last_of(form)
    p = exponent(form[POWER], x.size)
    size = p_norm(x, p)
    if geometry == P_NORM:
        top = form[last + NUMBER] * size if form[last] == BALL else math.inf
    else:
        top = highest(form, last, x)
    return size_of_row(x, p, size), top


@kernel
def sizes_and_tops(form, U, X, single, sizes, tops):
    """Write :func:`size_and_top` of each row of X to ``sizes`` and ``tops``."""
    for i in range(sizes.size):
        sizes[i], tops[i] = size_and_top(form, U, X[i], single)


@kernel
def follow(tally, form, loss, shape, eta, U, x, y, top, state, work):
    """Add a row to the search for a u in the set; return its loss and D(u, w_1)/η."""
    A, b, u, theta, first, w1, _ = state
    v = work[0]
    sum_of_atoms(u, U, v)
    a = dot(v, x)
    tally[MISSES] += abs(a - y)
    tally[COUNT] += 1.0
    h, z, k = any_loss.parabola(loss, shape, a, y, top, tally[MISSES] / tally[COUNT])
    tally[SQUARES] += h * z * z
    tally[OVER] += k + rounding(loss, y)
    root = math.sqrt(h)
    row = work[2]
    scale(root, x, row)
    penalty = (0.5 if loss == SQUARE else 1.0) / eta
    add_and_improve(form, U, penalty, row, root * z, A, b, u, theta, first, w1, work)
    sum_of_atoms(u, U, work[0])
    L = loss_of(work[0], A, b, tally[SQUARES], work[1]) + tally[OVER]
    return L, divergence(int(form[GEOMETRY]), form[POWER], u, first, w1) / eta


def bound(state, params, x, y, work):
    """Add a row to the bound; the comparator is a fixed u in the set, improved at every row."""
    tally, notes, A, b, u, theta, first, w1, missed = state
    eta, loss, shape, search, U, empty, form = params
    R2, top = size_and_top(form, U, x, u.size == x.size)
    reach, plus = any_loss.growth(loss, shape, eta, R2, top if R2 > 0.0 else 0.0, y)
    tally[REACH] = max(tally[REACH], reach)
    tally[PLUS] += plus
    L, price = 0.0, 0.0
    if search > 0.0:
        if not missed[0] <= IN_SET:
            broke(notes, empty, missed[0])
            return enter(tally, notes, 0.0, math.nan, 0.0)
        rest = (A, b, u, theta, first, w1, missed)
        L, price = follow(tally, form, loss, shape, eta, U, x, y, top, rest, work)
    return any_loss.enter_ceiling(tally, notes, loss, tally[REACH], tally[PLUS], L, price)


@cache
def bound_for(
    function: Callable[..., Any], copies: int, cycle: int, custom: Callable[..., Any] | None
) -> tuple[Tally, Callable[..., float]]:
    """Return a bound as a tally, and :func:`nearest`, both with the projection of a custom set."""
    near, names = nearest, {}
    if custom is not None:
        near = rebound(nearest, **with_custom(custom))
        better = rebound(best_in_set.improve, nearest=near)
        both = rebound(add_and_improve, improve=better)
        names = {"follow": rebound(follow, add_and_improve=both)}
    made = rebound(function, **names)
    made.__module__ = function.__module__
    return Tally(made, rows_of_work(copies, cycle)), near


def account(
    prices: Prices,
    search: bool,
    function: Callable[..., Any],
    params: Callable[[np.ndarray], tuple[Any, ...]],
    extra: int = 6,
) -> Account:
    """Return how to compute a bound, given its function and, for a form, its parameters."""
    model = prices.model
    form = model._form(exact=True)
    step, near = bound_for(function, model._copies, int(form[1]), model._custom())

    def begin(d: int) -> tuple[np.ndarray, ...]:
        first, w1 = prices.first(d)
        size = d if search else 0
        theta, u, missed = (first, w1, 0.0) if not search else at_start(form, first, near)
        square = np.zeros((size, size)), np.zeros(size)
        return tallied(*square, u, theta, first, w1, np.array([missed]), extra=extra)

    return Account(type(model).__name__, begin, step, params(form))


def described(model: Constrained) -> tuple[str, str]:
    """Return which comparators the theorem allows, and the last set, in words."""
    words = f"in {model.within!r}"
    if model._custom() is not None:
        words += ", while no projection leads the weights away from u_t"
    return words, "u_t " + words


def guarantee(
    model: Constrained,
    search: bool,
    R2: str,
    U: float = 1.0,
    *,
    seen: Callable[[Path], Path] = lambda path: path,
    weights_of: Callable[[Path], np.ndarray] = lambda path: path.u,
    waste: Callable[[np.ndarray, Path], Any] = lambda u, path: 0.0,
    outside: Callable[[np.ndarray, Path], Any] = lambda u, path: False,
) -> Guarantee:
    """Return the bound of GD, PNorm, EG or EGPM with ``within``.

    ``R2`` is R² of a row in words, and ``U`` that of EGPM. ``seen`` puts a path right, and
    ``weights_of`` returns its comparators as weights in the learner's geometry. For these,
    ``waste`` returns what comparators below a floor cost more, and ``outside`` whether they are not
    among the learner's weights.
    """
    prices, loss = Prices(model), model._loss
    eta = model._params().eta  # type: ignore[attr-defined]
    words, hypotheses = any_loss.words(loss, R2)
    form = model._form()

    def price(path: Path, tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        path = seen(path)
        u = weights_of(path)
        costs, off = prices.of(path, u)
        sizes, tops = np.empty(path.y.size), np.empty(path.y.size)
        single = u.shape[1] == path.X.shape[1]
        sizes_and_tops(form, U, np.ascontiguousarray(path.X), single, sizes, tops)
        costs = (costs + waste(u, path)) / eta
        ceilings = any_loss.ceilings(loss, eta, sizes, tops, path.y, path.loss, costs)
        return np.where(np.isinf(ceilings), math.nan, ceilings), off | outside(u, path)

    missing = any_loss.without_limit(type(model).__name__, loss, prices.limited())
    allowed, paths = described(model)
    p = f"p = {1 / eta:g}·(D(u_T, w_1) + ∇F(w_1)ᵀ(u_T − u_1) + Σ h(u_t − u_t+1))"
    how = account(
        prices,
        search,
        bound,
        lambda form: tuple(
            SetAccount(eta, *loss.numbers(), float(search), U, float(len(hypotheses)), form)
        ),
    )
    return Guarantee(
        missing or f"loss ≤ {words} (Herbster & Warmuth, section 3, any rate and loss)",
        f"L + p, L = loss of u, p = {1 / eta:g}·D(u, w_1), a good u {allowed}",
        how,
        missing or f"loss ≤ {words}, L = loss of u, {p}",
        price,
        (*hypotheses, REACHABLE),
        paths,
        known=missing is None,
        loss=loss,
        measure=any_loss.comparators_loss(loss),
        still=prices.still(),
    )
