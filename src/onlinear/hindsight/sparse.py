"""The best sparse predictor in hindsight (LASSO), by the batch form of CIRR's iteration.

    D  = diag(|w|),  w = 1 at first
    w ← √D (aI + √D S √D)⁻¹ √D b        S = Σ x_s x_sᵀ,  b = Σ y_s x_s

Here the penalty a > 0 is given. If v are the weights before a step, the weights w after the step
minimise the loss L(w) plus a·Σ w_i²/|v_i|. The limit of the iteration minimises L(w) + 2a‖w‖₁, so
it is the LASSO solution; CIRR and OSLOG make one such step per round. The iteration makes weights
zero only in the limit. Once it is clear which weights are zero, a linear system gives the other
weights, and the LASSO's optimality conditions are checked.

Jamil & Bouchachia, equation (13), "iterative ridge regression"; Rajaratnam et al., SLOG.
"""

from typing import Any, NamedTuple

import numpy as np

from onlinear._validation import checks

__all__ = ["Sparse", "best_sparse"]

STEPS = 100_000
TRY_EVERY = 10
SMALL = 1e-3  # |w_i|·S_ii below this share of a: the weight may be converging to zero
EDGE = 1e-6  # tolerance of the optimality conditions, as a share of a


class Sparse(NamedTuple):
    """The best sparse predictor: the LASSO solution.

    Attributes
    ----------
    weights : array
        The weights w, with exact zeros.
    loss : float
        The loss Σ (y − wᵀx)² of w.
    objective : float
        The minimum, loss + 2a‖w‖₁.
    """

    weights: np.ndarray
    loss: float
    objective: float


def best_sparse(X: Any, y: Any, a: float) -> Sparse:
    """Return the predictor whose weights w minimise the loss plus 2a‖w‖₁, a > 0.

    Each step of the iteration solves a d × d linear system. The iteration takes tens to thousands
    of steps, more if some weight is on the edge between zero and nonzero.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> best_sparse(X, 2 * X[:, 1], a=50.0).weights.round(3)  # shrunk; the others exactly zero
    array([0.  , 1.899, 0.   , 0.   , 0.   ])
    """
    price = checks.number(checks.asked("best_sparse", a=a), "a", above=0)
    checks.same_index(X, y=y)
    X, names = checks.table(X)
    y = checks.labels(y, X.shape[0])
    checks.finite_rows("best_sparse", X, y, names)
    S, b = X.T @ X, X.T @ y
    if not _noise(S, b) <= 1e-4 * price:
        raise ValueError(
            f"best_sparse needs a penalty above rounding error, a ≥ {1e4 * _noise(S, b):g} for "
            f"these data, got a={price:g}"
        )
    w = np.ones(X.shape[1])
    for count in range(STEPS):
        root = np.sqrt(np.abs(w))
        scaled = root[:, None] * S * root
        scaled[np.diag_indices_from(scaled)] += price
        w = root * np.linalg.solve(scaled, root * b)
        if count % TRY_EVERY == TRY_EVERY - 1:
            weights = _polished(w, S, b, price)
            if weights is not None:
                loss = float(np.sum((y - X @ weights) ** 2))
                return Sparse(weights, loss, loss + 2 * price * float(np.abs(weights).sum()))
    raise ArithmeticError(
        f"best_sparse has not converged after {STEPS} steps: are two inputs nearly the same?"
    )


def _noise(S: np.ndarray, b: np.ndarray) -> float:
    """Return the rounding error of b − Sw near the optimum, where b and Sw nearly cancel."""
    return 1e-15 * len(b) * float(np.abs(b).max(initial=0.0))


def _polished(w: np.ndarray, S: np.ndarray, b: np.ndarray, a: float) -> np.ndarray | None:
    """Return the optimal weights, or None if w does not yet show which of them are zero.

    The zeros and the signs of the other weights are guessed from w; a linear system then gives a
    candidate v. The candidate is optimal if and only if its weights have the guessed signs, and
    |b − Sv|_i ≤ a for every zero weight.
    """
    signs = np.where(np.abs(w) * np.diag(S) > SMALL * a, np.sign(w), 0.0)
    kept = signs != 0
    weights = np.zeros_like(w)
    if kept.any():
        part = S[np.ix_(kept, kept)]
        missing = b[kept] - a * signs[kept] - part @ w[kept]
        weights[kept] = w[kept] + np.linalg.lstsq(part, missing, rcond=None)[0]
    pull = b - S @ weights
    rounding = EDGE * a + _noise(S, b)
    settled = (
        np.all(np.sign(weights) == signs)
        and np.all(np.abs(pull[~kept]) <= a + rounding)
        and np.all(np.abs(pull[kept] - a * signs[kept]) <= rounding)
    )
    return weights if settled else None
