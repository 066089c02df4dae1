"""Draw the README's picture: the error over time of Auto, static ridge, river and scikit-learn.

    python benchmarks/readme_picture.py [--out FILE]

The stream is generated, and is the one of docs/guide/first-stream.md: hourly electricity demand of
an office, where one more degree means less demand in winter and more in summer. Each row is
predicted before its label is learnt. No learner is given past labels. The other libraries run at
their defaults, on rows that are standardized on arrival (benchmarks/peers.py).
"""

import argparse
from importlib.metadata import version
from pathlib import Path

import timing

# isort: split
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from peers import river, row_by_row, sklearn

import onlinear as ol

OUT = Path(__file__).parent.parent / "docs" / "first-picture.png"
ROWS, WINDOW = 4000, 200
COLOURS = ("#d55e00", "#0072b2", "#cc79a7", "#666666")  # Okabe & Ito's, and a grey
assert timing  # importing it limits NumPy to one thread


def stream() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of temperature and staff, the demand, and the true effect of one degree."""
    rng = np.random.default_rng(0)
    season = np.cos(2 * np.pi * np.arange(ROWS) / ROWS)  # 1 in winter, −1 in summer
    temperature = 12 - 10 * season + 3 * rng.normal(size=ROWS)
    staff = rng.integers(0, 80, size=ROWS)
    demand = 200 - 4 * season * temperature + 1.5 * staff + 5 * rng.normal(size=ROWS)
    return np.column_stack([temperature, staff]), demand, -4 * season


def followed(model: ol.Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weight of the first column after every row."""
    weights = np.empty(len(y))
    for t in range(len(y)):
        model.learn_one(X[t], y[t])
        weights[t] = model.coef_[0]
    return weights


def rolling_rmse(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the root mean squared error over the last WINDOW rows, from row WINDOW on."""
    sums = np.cumsum(np.r_[0.0, (predictions - y) ** 2])
    return np.asarray(np.sqrt((sums[WINDOW:] - sums[:-WINDOW]) / WINDOW))


def draw(weights: Axes, errors: Axes) -> None:
    """Draw the weight of the temperature, and the error of each learner."""
    X, y, degree = stream()
    auto, ridge = ol.Auto(lags=0), ol.Standardized(ol.Ridge())
    runs = {
        f"onlinear {ol.__version__}, Auto": ol.replay(auto, X, y).predictions,
        f"river {version('river')}, LinearRegression": river("LinearRegression")({}, X, y),
        f"scikit-learn {version('scikit-learn')}, SGDRegressor": row_by_row(sklearn)({}, X, y),
        "static ridge regression": ol.replay(ridge, X, y).predictions,
    }
    own, *_, grey = COLOURS
    kept = slice(WINDOW, None)
    hours = np.arange(ROWS)[kept]
    weights.plot(hours, followed(ol.Auto(lags=0), X, y)[kept], color=own, label="Auto")
    static = followed(ol.Standardized(ol.Ridge()), X, y)
    weights.plot(hours, static[kept], color=grey, label="static ridge regression")
    weights.plot(hours, degree[kept], color="black", linestyle=":", label="true value")
    weights.set_title("weight of the temperature")
    for (name, predictions), colour in zip(runs.items(), COLOURS, strict=True):
        error = rolling_rmse(predictions, y)[WINDOW:]  # without the first windows
        errors.plot(np.arange(2 * WINDOW, ROWS + 1), error, color=colour, label=name)
        print(f"{name}: {np.sqrt(np.mean((predictions - y)[WINDOW:] ** 2)):.1f}")
    errors.axhline(5.0, color="black", linestyle=":", label="noise")
    errors.set_title(f"error (RMSE over the last {WINDOW} rows)")
    errors.set_ylim(0, 50)
    for axes in (weights, errors):
        axes.set_xlabel("hour")
        axes.legend(fontsize="small", frameon=False)
        axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=OUT)
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    draw(*figure.subplots(1, 2))
    figure.savefig(options.parse_args().out, dpi=90)


if __name__ == "__main__":
    main()
