"""Error measures of predictions (MSE, RMSE, MAE, R²), correct even where squares would overflow.

Every public function takes labels and predictions, none of them NaN, and returns NaN for empty
arrays. Numbers that are very large or very small are first scaled by a power of two, which causes
no rounding error, so a measure overflows or underflows only where its own value does not fit into a
float.
"""

import math

import numpy as np

__all__ = [
    "mean_absolute_error",
    "mean_squared_error",
    "quartiles_of_error",
    "r_squared",
    "root_mean_squared_error",
    "squared_correlation",
]

SMALL, LARGE = 2.0**-400, 2.0**400  # between these, sums of squares neither vanish nor overflow


def _scaled(*arrays: np.ndarray) -> tuple[list[np.ndarray], int]:
    """Return the arrays divided by 2^k, and k; k is 0 unless numbers are very large or small."""
    top = max(float(max(array.max(), -array.min())) for array in arrays)
    if top == 0.0 or SMALL <= top <= LARGE or not math.isfinite(top):
        return list(arrays), 0
    k = math.frexp(top)[1]
    return [np.ldexp(array, -k) for array in arrays], k


def _times(value: float, k: int) -> float:
    """Return value · 2^k, or infinity if the product is too large for a float."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, k))


def _errors(y: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the errors (y − ŷ)/2^k, and k, chosen by :func:`_scaled`."""
    (y, predictions), k = _scaled(y, predictions)
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        return y - predictions, k


def _squares(values: np.ndarray, weight: np.ndarray | None = None) -> tuple[float, int]:
    """Return the (weighted) sum of squares divided by 4^k, and k, chosen by :func:`_scaled`."""
    (values,), k = _scaled(values)
    squares = np.square(values)
    return float(np.sum(squares if weight is None else weight * squares)), k


def mean_squared_error(y: np.ndarray, predictions: np.ndarray) -> float:
    """Return the mean of (y − ŷ)²."""
    if y.size == 0:
        return math.nan
    errors, k = _errors(y, predictions)
    total, more = _squares(errors)
    return _times(total / y.size, 2 * (k + more))


def root_mean_squared_error(y: np.ndarray, predictions: np.ndarray) -> float:
    """Return the root of the mean of (y − ŷ)²."""
    if y.size == 0:
        return math.nan
    errors, k = _errors(y, predictions)
    total, more = _squares(errors)
    return _times(math.sqrt(total / y.size), k + more)


def mean_absolute_error(y: np.ndarray, predictions: np.ndarray) -> float:
    """Return the mean of |y − ŷ|."""
    if y.size == 0:
        return math.nan
    errors, k = _errors(y, predictions)
    return _times(float(np.mean(np.abs(errors, out=errors))), k)


def quartiles_of_error(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the quartiles of the signed errors y − ŷ, which show a bias of the predictions."""
    if y.size == 0:
        return np.full(3, math.nan)
    errors, k = _errors(y, predictions)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray(np.ldexp(np.quantile(errors, (0.25, 0.5, 0.75)), k))


def r_squared(y: np.ndarray, predictions: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return R² = 1 − SSE/SST: 1 is perfect, 0 is as good as the mean of the labels.

    If the labels are all the same, so that SST = 0, then R² is 1 if every prediction is exact and
    otherwise 0, as in scikit-learn.
    """
    if weight is not None:
        counts = weight != 0.0
        y, predictions, weight = y[counts], predictions[counts], weight[counts]
    if y.size == 0:
        return math.nan
    (y, predictions), _ = _scaled(y, predictions)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = y - predictions
        if y.min() == y.max():
            return 0.0 if errors.any() else 1.0
        sse, k = _squares(errors, weight)
        sst, m = _squares(y - np.average(y, weights=weight), weight)
    return 1.0 - _times(sse / sst, 2 * (k - m)) if sst else math.nan


def squared_correlation(y: np.ndarray, predictions: np.ndarray) -> float:
    """Return the squared correlation of y and ŷ; NaN if either is constant."""
    if y.size == 0 or y.min() == y.max() or predictions.min() == predictions.max():
        return math.nan
    parts = []
    for values in (y, predictions):
        (values,), _ = _scaled(values)
        with np.errstate(invalid="ignore"):
            (values,), _ = _scaled(values - values.mean())
        parts.append(values / math.sqrt(np.sum(np.square(values))))
    return min(1.0, float(np.sum(parts[0] * parts[1])) ** 2)
