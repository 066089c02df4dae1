"""Compare ways in which Auto.predict could use past labels, for rows that need not come next.

    python benchmarks/auto_predict.py [--data FOLDER]

The first 20,000 rows of each data set are used. The first figures are the median and the mean, over
the data sets, of R² on the second half of the rows after ``fit`` on the first half; in the mean, an
R² below −1 counts as −1. The other figures are the squared errors of the next 1, 10, 100 and 1,000
rows, predicted at 40 places (20 in sets of at most 2,500 rows) and divided by the variance of y, as
geometric means over the data sets. The data sets are described in benchmarks/accuracy.py, except
the last eight of NAMES.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from accuracy import DATA, SETS, find, read

import onlinear as ol

NAMES = (
    *SETS, "vic_elec_demand", "seoul_bike", "flow_daily", "flow_hourly", "occupancy_co2",
    "la_speed", "steel_energy", "nyc_taxi",
)  # fmt: skip
ROWS = 20_000
AHEAD = (1, 10, 100, 1000)
SLOWEST = 3  # the expert with c = 10⁹

Predict = Callable[[ol.Auto, np.ndarray], np.ndarray]


def with_weights(model: ol.Auto, V: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Predict with V in place of the weights of the ridges that combine the experts."""
    view = object.__new__(ol.Auto)
    view.__dict__.update(model.__dict__, _state=model._state._replace(V=V), _call=None)
    return view._run(X, None, learn=False)[0]


def conditional(model: ol.Auto, X: np.ndarray) -> np.ndarray:
    """Predict with the ridges' weights under the condition that past labels have weight 0.

    With weights v₁ of the experts, weights v₂ of past labels and errors, and blocks T_ij of the
    ridge's matrix T, the conditional weights are v₁ − T₁₂T₂₂⁻¹v₂.
    """
    state = model._state
    k = state.rounds.size + 1
    V = np.zeros_like(state.V)
    for v, old, T in zip(V, state.V, state.T, strict=True):
        v[:k] = old[:k] - T[:k, k:] @ np.linalg.solve(T[k:, k:], old[k:])
    return with_weights(model, V, X)


def slowest(model: ol.Auto, X: np.ndarray) -> np.ndarray:
    """Predict with the expert that adapts most slowly: p̄ + (p_k − p̄)."""
    V = np.zeros_like(model._state.V)
    V[:, SLOWEST] = 1.0
    return with_weights(model, V, X)


WAYS: dict[str, Predict] = {
    "last labels for all rows": lambda model, X: model._run(X, None, learn=False)[0],
    "past left out (predict)": lambda model, X: model.predict(X),
    "weights given no past": conditional,
    "slowest expert": slowest,
}
OTHERS: dict[str, Callable[[], ol.Learner]] = {
    "Auto(lags=0)": lambda: ol.Auto(lags=0),
    "Standardized(Ridge())": lambda: ol.Standardized(ol.Ridge()),
}


def halves(X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return R² on the second half of the rows, for each way of predicting and other learners."""
    half = len(y) // 2
    X, rest, y, truth = X[:half], X[half:], y[:half], y[half:]
    model = ol.Auto().fit(X, y)
    told = [way(model, rest) for way in WAYS.values()]
    told += [make().fit(X, y).predict(rest) for make in OTHERS.values()]
    return [1.0 - float(np.mean((truth - p) ** 2) / truth.var()) for p in told]


def next_rows(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the relative error of the next rows, for each number of rows and way of predicting."""
    short, far = len(y) <= 2500, AHEAD[-1]
    start, places = (0.3, 20) if short else (0.4, 40)
    model, learnt, errors = ol.Auto(), 0, np.zeros((len(AHEAD), len(WAYS)))
    for place in np.linspace(start * len(y), len(y) - far - 1, places).astype(int).tolist():
        if place > learnt:
            model.partial_fit(X[learnt:place], y[learnt:place])
            learnt = place
        truth = y[place : place + far]
        for k, way in enumerate(WAYS.values()):
            squares = (truth - way(model, X[place : place + far])) ** 2
            errors[:, k] += [squares[:rows].mean() for rows in AHEAD]
    return np.asarray(errors / places / y.var())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=DATA)
    files = find(options.parse_args().data, NAMES)
    scores, errors = [], []
    for name, path in files.items():
        X, y = read(path, ROWS)
        scores.append(halves(X, y))
        errors.append(next_rows(X, y))
        print(f"{name:22}", *(f"{score:8.3f}" for score in scores[-1]), flush=True)
    ahead = np.exp(np.mean(np.log(np.array(errors) + 1e-9), axis=0))
    print(f"{'':26}  median    mean", *(f"{rows:7}" for rows in AHEAD))
    for k, name in enumerate([*WAYS, *OTHERS]):
        column = np.array(scores)[:, k]
        figures = [np.median(column), np.maximum(column, -1.0).mean()]
        figures += ahead[:, k].tolist() if k < len(WAYS) else []
        print(f"{name:26}", *(f"{figure:7.3f}" for figure in figures))


if __name__ == "__main__":
    main()
