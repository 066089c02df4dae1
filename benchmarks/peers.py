"""The learners that accuracy.py compares; each predicts every row before it learns the row.

Other libraries get the input that a careful user would give them: rows standardized on arrival with
running statistics (like scalers that learn a row before they transform it), a column of ones where
they have no intercept, and labels scaled by the first hundred labels, which are not scored. The
learners of onlinear and the exponentially weighted ridges do their own scaling.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import timing

# isort: split
import numpy as np
from numba import njit

import onlinear as ol

WARM = 100  # rows that are not scored
Settings = Mapping[str, Any]
Play = Callable[[np.ndarray, float], float]  # predict a row, learn its label, return the prediction
Run = Callable[[Settings, np.ndarray, np.ndarray], np.ndarray]

__all__ = ["CONTENDERS", "RIDGES", "WARM", "Contender", "Settings"]
assert timing  # importing it limits NumPy to one thread


@dataclass(frozen=True)
class Contender:
    """A learner: how it runs over a stream with given settings, and a grid of settings to try."""

    name: str
    run: Run
    grid: tuple[Settings, ...] = ()
    package: str = "onlinear"
    lags: bool = True  # whether it is also given y_{t−1}
    linear: bool = True

    def is_installed(self) -> bool:
        """Return whether the package can be imported."""
        try:
            import_module(self.package)
        except ImportError:
            return False
        return True


def ours(new: Callable[[], ol.Learner]) -> Run:
    return lambda settings, X, y: ol.replay(new(), X, y).predictions


# --- exponentially weighted ridge -----------------------------------------------------------


@njit(cache=True)
def _weighted_ridge(X, y, forgetting, penalty):  # type: ignore[no-untyped-def]
    """Return the predictions of ridge regression on exponentially weighted rows.

    Columns are scaled by their standard deviations over all rows so far, and the linear system of
    the ridge regression is solved at every row.
    """
    rows, d = X.shape
    n, middle, mean = 0.0, 0.0, np.zeros(d)
    C, c = np.zeros((d, d)), np.zeros(d)  # weighted sums of δδᵀ and δε, about the weighted means
    centre, squares, unit = np.zeros(d), np.zeros(d), np.ones(d)  # unweighted, of all rows so far
    predictions = np.zeros(rows)
    for t in range(rows):
        delta, error = X[t] - mean, y[t] - middle
        A = C / np.outer(unit, unit) + penalty * np.eye(d)
        predictions[t] = middle + np.linalg.solve(A, c / unit) @ (delta / unit)
        n = forgetting * n + 1.0
        old = 1.0 - 1.0 / n
        C = forgetting * C + old * np.outer(delta, delta)
        c = forgetting * c + old * error * delta
        mean += delta / n
        middle += error / n
        away = X[t] - centre
        centre += away / (t + 1)
        squares += away * (X[t] - centre)
        for j in range(d):
            if squares[j] > 0.0:
                unit[j] = math.sqrt(squares[j] / (t + 1))
    return predictions


def weighted_ridge(forgetting: float) -> Run:
    def run(settings: Settings, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        rate = settings.get("forgetting", forgetting)
        return np.asarray(_weighted_ridge(np.ascontiguousarray(X), y, rate, 1.0))

    return run


# --- other libraries ------------------------------------------------------------------------


def on_arrival(X: np.ndarray) -> np.ndarray:
    """Return the rows, each standardized by the statistics of all rows up to and including it."""
    n = np.arange(1.0, len(X) + 1)[:, None]
    shifted = X - X[0]
    mean = np.cumsum(shifted, axis=0) / n
    variance = np.cumsum(shifted**2, axis=0) / n - mean**2
    return np.asarray((shifted - mean) / np.sqrt(np.where(variance > 0.0, variance, np.inf)))


def row_by_row(make: Callable[[int, Settings], Play], ones: bool = False) -> Run:
    """Return a function that runs ``make(d, settings)`` over rows while predictions are finite."""

    def run(settings: Settings, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        Z = on_arrival(X)
        if ones:
            Z = np.column_stack([Z, np.ones(len(Z))])
        centre, unit = y[:WARM].mean(), y[:WARM].std() or 1.0
        play = make(Z.shape[1], settings)
        predictions = np.full(len(y), np.nan)
        for t, label in enumerate(((y - centre) / unit).tolist()):
            predictions[t] = play(Z[t], label)
            if not math.isfinite(predictions[t]):
                break
        return np.asarray(centre + unit * predictions)

    return run


def river(kind: str, ones: bool = False) -> Run:
    def make(d: int, settings: Settings) -> Play:
        from river import forest, linear_model, optim

        if kind == "ARFRegressor":
            model: Any = forest.ARFRegressor(seed=1)
        elif "lr" in settings:
            rate = settings["lr"]
            model = linear_model.LinearRegression(optim.SGD(rate), intercept_lr=rate)
        else:
            model = getattr(linear_model, kind)(**settings)

        def play(z: np.ndarray, y: float) -> float:
            x = dict(enumerate(z.tolist()))
            prediction = model.predict_one(x)
            model.learn_one(x, y)
            return float(prediction)

        return play

    return row_by_row(make, ones)


def padasip(kind: str) -> Run:
    def make(d: int, settings: Settings) -> Play:
        from padasip import filters

        model = getattr(filters, kind)(d, w="zeros", **settings)

        def play(z: np.ndarray, y: float) -> float:
            prediction = model.predict(z)
            model.adapt(y, z)
            return float(prediction)

        return play

    return row_by_row(make, ones=True)


def sklearn(d: int, settings: Settings) -> Play:
    from sklearn import config_context
    from sklearn.linear_model import SGDRegressor

    model = SGDRegressor(**settings)
    model.coef_, model.intercept_ = np.zeros(d), np.zeros(1)

    def play(z: np.ndarray, y: float) -> float:
        prediction = model.coef_ @ z + model.intercept_[0]  # predict(), without its checks
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model.partial_fit(z[None], [y])
        return float(prediction)

    return play


def vowpal_wabbit(options: str) -> Run:
    def make(d: int, settings: Settings) -> Play:
        from vowpalwabbit import Workspace

        given = "".join(f" --{name} {value}" for name, value in settings.items())
        workspace = Workspace(f"--quiet {options}{given}")

        def play(z: np.ndarray, y: float) -> float:
            row = "| " + " ".join([f"{j}:{entry:.9g}" for j, entry in enumerate(z.tolist())])
            prediction = workspace.predict(row)
            workspace.learn(f"{y:.9g} {row}")
            return float(prediction)

        return play

    return row_by_row(make)


def last_label(settings: Settings, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.r_[0.0, y[:-1]])


def grid(name: str, *values: float, **others: Any) -> tuple[Settings, ...]:
    return tuple({**others, name: value} for value in values)


RIDGES = tuple(f"weighted ridge {rate}, x alone" for rate in ("1", ".999", ".99"))
BAYES = "BayesianLinearRegression"
CONTENDERS = (
    Contender("Auto()", ours(lambda: ol.Auto()), lags=False),
    Contender("Auto(lags=0)", ours(lambda: ol.Auto(lags=0)), lags=False),
    Contender(
        "Standardized(LASER(c=1e3, shrink=False))",
        ours(lambda: ol.Standardized(ol.LASER(c=1e3, shrink=False))),
    ),
    Contender("Standardized(Ridge())", ours(lambda: ol.Standardized(ol.Ridge()))),
    Contender("Standardized(RLS(.99))", ours(lambda: ol.Standardized(ol.RLS(forgetting=0.99)))),
    Contender("the last label", last_label, lags=False),
    *(
        Contender(name, weighted_ridge(forgetting), lags=False)
        for name, forgetting in zip(RIDGES, (1.0, 0.999, 0.99), strict=True)
    ),
    Contender(
        "weighted ridge .99",
        weighted_ridge(0.99),
        grid("forgetting", 1.0, 0.9999, 0.999, 0.98, 0.95),
    ),
    Contender(
        "river LinearRegression",
        river("LinearRegression"),
        grid("lr", 0.0003, 0.001, 0.003, 0.03, 0.1),
        "river",
    ),
    Contender(
        f"river {BAYES}",
        river(BAYES, ones=True),
        grid("smoothing", 0.8, 0.9, 0.99, 0.999, 0.9999),
        "river",
    ),
    Contender(
        "river PARegressor",
        river("PARegressor"),
        grid("C", 0.0001, 0.001, 0.01, 0.1),
        "river",
    ),
    Contender(
        "padasip FilterRLS",
        padasip("FilterRLS"),
        grid("mu", 0.9, 0.99, 0.999, 0.9999, 1),
        "padasip",
    ),
    Contender(
        "padasip FilterNLMS",
        padasip("FilterNLMS"),
        grid("mu", 0.003, 0.01, 0.03, 0.3, 1.0),
        "padasip",
    ),
    Contender(
        "scikit-learn SGDRegressor",
        row_by_row(sklearn),
        grid("eta0", 0.001, 0.1) + grid("eta0", 0.001, 0.003, 0.01, learning_rate="constant"),
        "sklearn",
    ),
    Contender(
        "Vowpal Wabbit",
        vowpal_wabbit(""),
        grid("learning_rate", 0.05) + grid("learning_rate", 0.005, 0.05, 0.5, 2.0, power_t=0),
        "vowpalwabbit",
    ),
    Contender(
        "Vowpal Wabbit --coin",
        vowpal_wabbit("--coin"),
        grid("ftrl_alpha", 0.25, 1.0, 16.0, 64.0),
        "vowpalwabbit",
    ),
    Contender("river ARFRegressor", river("ARFRegressor"), package="river", linear=False),
)
