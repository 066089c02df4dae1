"""The best fixed predictor in hindsight after every row: least squares or ridge regression.

    min over u of  b‖u‖² + Σ (y_s − uᵀx_s)²,   b ≥ 0

With an intercept, a constant is added to uᵀx_s, without a penalty: x_s gets one more entry, which
is 1. For b = 0 and rows of full rank, u is the best linear unbiased estimator (BLUE).

The triangular factor R of the QR decomposition of the rows (and of √b I), with the transformed
labels, is updated by plane (Givens) rotations. A new row (x, y) is rotated into R entry by entry,
and the squared remainder of y is added to the minimum. Nothing is inverted, so columns may be
collinear, and there may be fewer rows than columns.

Golub & Van Loan, Matrix Computations, sec. 6.5 (row updating of a least-squares problem).
"""

import math
from typing import Any

import numpy as np

from onlinear._engine import step as _engine
from onlinear._engine.step import FINE, OVERFLOW
from onlinear._learner.bounds.ledger import Account
from onlinear._numerics.linalg import dot
from onlinear._validation import checks
from onlinear.hindsight._running import Running

__all__ = ["BestFixed", "best_fixed", "least_squares"]

# a column is collinear if the columns before it leave at most this share of its squared length
DEPENDENT = 1e-24


@_engine.Tally
def step(state, params, x, y, work):
    """Rotate one row into R; return the least penalised loss so far, and FINE (or OVERFLOW)."""
    tally, R, squares = state
    d = x.size
    row = work[0]
    total = dot(x, x) + y * y + tally[0]
    for i in range(d):
        total += squares[i]
    if not math.isfinite(total):
        return y, OVERFLOW
    for i in range(d):
        row[i] = x[i]
        squares[i] += x[i] * x[i]
    for i in range(d):
        a, b = R[i, i], row[i]
        if max(a * a, b * b) <= DEPENDENT * squares[i]:
            continue  # rounding: a column collinear with those before it
        if b == 0.0:
            continue
        h = math.hypot(a, b)
        c, s = a / h, b / h
        R[i, i] = h
        for j in range(i + 1, d):
            r, v = R[i, j], row[j]
            R[i, j] = c * r + s * v
            row[j] = c * v - s * r
        r = R[i, d]
        R[i, d] = c * r + s * y
        y = c * y - s * r
    tally[0] += y * y
    return tally[0], FINE


class BestFixed(Running):
    """The least b‖u‖² + loss of any fixed u so far, exact up to rounding, in O(d²) per row.

    Parameters
    ----------
    b : float, default 0.0
        Penalty on ‖u‖², b ≥ 0; 0 is plain least squares.
    intercept : bool, default False
        Whether predictions are uᵀx plus a constant, which has no penalty.

    Examples
    --------
    >>> from onlinear.hindsight import BestFixed
    >>> best = BestFixed()
    >>> best.learn_one([1.0], 1.0).loss
    0.0
    >>> round(best.learn_one([1.0], 3.0).loss, 9)  # u = 2 misses each by one
    2.0
    >>> best.coef_.round(9)
    array([2.])

    ``predict`` has the predictions of the best u; a :class:`onlinear.Replay` has their errors:

    >>> import onlinear as ol
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 6.0]
    >>> best = BestFixed(intercept=True)
    >>> _ = best.learn_many(X, y)
    >>> round(ol.Replay(best.predict(X), y).rmse, 3)
    0.236
    """

    def __init__(self, b: float = 0.0, intercept: bool = False) -> None:
        super().__init__(least_squares("BestFixed", b, intercept))
        self.b, self.intercept = b, bool(intercept)

    def _prices(self) -> tuple[Any, ...]:
        return (self.b, self.intercept) if self.intercept else (self.b,)

    def __repr__(self) -> str:
        """Show the penalty and the least penalised loss so far."""
        price = f"{self.b:g}" + ", intercept=True" * self.intercept
        return f"<BestFixed({price}) after {self._rounds} rounds: {self.loss:.6g}>"

    def _columns(self, X: np.ndarray) -> np.ndarray:
        if not self.intercept:
            return X
        if self._ledger.state is not None and X.shape[-1] != self._ledger.width - 1:
            raise ValueError(
                f"{type(self).__name__} needs {self._ledger.width - 1} features, as before, got "
                f"{X.shape[-1]}"
            )
        return np.concatenate([X, np.ones((*X.shape[:-1], 1))], axis=-1)

    def _solution(self) -> np.ndarray:
        """Return the best fixed u and, if there is one, its constant."""
        _, R, _ = self._state()
        return np.asarray(np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0])

    @property
    def coef_(self) -> np.ndarray:
        """The best fixed u; the one of least norm if there are several."""
        return self._solution()[: -1 if self.intercept else None]

    @property
    def intercept_(self) -> float:
        """The constant added to uᵀx; 0 without an intercept."""
        return float(self._solution()[-1]) if self.intercept else 0.0

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions of the best fixed u for the rows of a table."""
        X, names = checks.table(X)
        if self._names is not None and names is not None:
            checks.same_names(self._names, names)
        u = self._solution()
        columns = self._columns(X)
        if columns.shape[1] != u.size:
            raise ValueError(f"X needs {u.size} features, as before, got {columns.shape[1]}")
        return np.asarray(columns @ u)


def least_squares(owner: str, b: float, intercept: bool = False) -> Account:
    """Return how to compute the least penalised loss: initial state, step and parameters.

    With an intercept, the last column has no penalty.
    """
    given = checks.asked(owner, b=b, intercept=intercept)
    price = checks.number(given, "b", least=0)
    free = checks.choice(given, "intercept", (True, False))

    def init(d: int) -> tuple[np.ndarray, ...]:
        squares = np.full(d, price)
        if free:
            squares[-1] = 0.0
        R = np.zeros((d, d + 1))
        np.fill_diagonal(R, np.sqrt(squares))
        return np.zeros(1), R, squares

    return Account(owner, init, step, ())


def best_fixed(X: Any, y: Any, b: float = 0.0, intercept: bool = False) -> np.ndarray:
    """Return, after each round, the least b‖u‖² + loss of any fixed predictor.

    The result is exact up to rounding, also with collinear columns (b = 0 is least squares). A
    column counts as collinear if the columns before it explain all but 1e-12 of its length. With
    ``intercept=True``, the predictor is uᵀx plus a constant. Costs O(d²) per round.
    ``BestFixed(b, intercept)`` also has the predictor itself, as ``coef_`` and ``intercept_``.

    >>> import numpy as np
    >>> best_fixed(np.ones((3, 1)), [1.0, 1.0, 1.0], b=1.0)  # at u = 1/2, 2/3, 3/4
    array([0.5       , 0.66666667, 0.75      ])
    """
    return BestFixed(b, intercept).learn_many(X, y)
