"""Measures of predictions (MSE, RMSE, MAE, R², accuracy), correct even where squares overflow.

Every public function takes labels and predictions, none of them NaN, and returns NaN for empty
arrays. Numbers that are very large or very small are first scaled by a power of two, which causes
no rounding error, so a measure overflows or underflows only where its own value does not fit into a
float.
"""

import math
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Calibration",
    "accuracy",
    "bins_of",
    "calibration",
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


def accuracy(y: np.ndarray, predictions: np.ndarray, boundary: float) -> float:
    """Return the share of rows whose label and prediction are on the same side of the boundary.

    A prediction on the boundary counts as below it.
    """
    return float(np.mean((predictions > boundary) == (y > boundary))) if y.size else math.nan


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predicted probabilities beside observed frequencies, in bins of equal width from 0 to 1.

    Probabilities are calibrated if in every bin the two agree, up to chance.

    Attributes
    ----------
    predicted : array
        The mean predicted probability of the rows in each bin; NaN if the bin is empty.
    observed : array
        The share of these rows whose label is 1; NaN if the bin is empty.
    counts : array of int
        How many rows each bin has.

    Examples
    --------
    >>> import onlinear as ol
    >>> X, y = ol.streams.rotating(rows=1000, d=3)
    >>> run = ol.replay(ol.GD(eta=0.1, loss=ol.losses.Logistic()), X, (y > 0) * 1.0)
    >>> found = run.calibration(bins=4)
    >>> found.predicted.round(2), found.observed.round(2)
    (array([0.07, 0.38, 0.62, 0.93]), array([0.02, 0.23, 0.81, 0.99]))
    >>> round(found.error, 2)
    0.09
    """

    predicted: np.ndarray
    observed: np.ndarray
    counts: np.ndarray

    @property
    def error(self) -> float:
        """The mean of abs(predicted − observed) over all rows (expected calibration error)."""
        gaps = np.nan_to_num(np.abs(self.predicted - self.observed))
        rows = int(self.counts.sum())
        return float(gaps @ self.counts / rows) if rows else math.nan


def bins_of(probabilities: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each probability; a probability between two bins is in the lower one."""
    return np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], probabilities)


def calibration(y: np.ndarray, probabilities: np.ndarray, bins: int) -> Calibration:
    """Return the mean of the probabilities, and of the labels 0 and 1, in bins of equal width."""
    where = bins_of(probabilities, bins)
    counts, *sums = (np.bincount(where, each, bins) for each in (None, probabilities, y))
    empty = np.full(bins, math.nan)
    predicted, observed = (
        np.divide(total, counts, out=empty.copy(), where=counts > 0) for total in sums
    )
    return Calibration(predicted, observed, counts)
