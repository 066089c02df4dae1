"""How much longer a first-order learner takes with another loss than with the square loss.

    python benchmarks/losses.py [--rows 20000] [--width 20 100]

The same rows are replayed with each loss, in turn, several times; a figure is the least time with
the loss divided by the least time with the square loss.
"""

import argparse
import time

import numpy as np

import onlinear as ol
from onlinear import losses

LOSSES = (
    losses.Logistic(),
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Absolute(),
    losses.Insensitive(),
    losses.Huber(),
    losses.Quantile(0.9),
    losses.Poisson(),
)
LEARNERS = {
    "GD": lambda loss: ol.GD(eta=0.05, loss=loss),
    "EG": lambda loss: ol.EG(eta=0.05, X=2.0, loss=loss),
    "EGPM": lambda loss: ol.EGPM(U=2.0, eta=0.05, loss=loss),
    "PNorm": lambda loss: ol.PNorm(p=3.0, eta=0.05, loss=loss),
}
REPEATS = 15


def labels(loss: losses.Loss, y: np.ndarray) -> np.ndarray:
    """Return labels that the loss allows."""
    if "−1 and 1" in loss.labels:
        return np.where(y > 0, 1.0, -1.0)
    return np.where(y > 0, 1.0, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--width", type=int, nargs="+", default=[20, 100])
    arguments = parser.parse_args()
    for d in arguments.width:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(arguments.rows, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = X @ rng.normal(size=d) + 0.1 * rng.normal(size=arguments.rows)
        print(f"{d} columns: times the square loss")
        for name, make in LEARNERS.items():
            least: dict[losses.Loss, float] = {}
            for _ in range(REPEATS):
                for loss in (losses.Square(), *LOSSES):
                    model, told = make(loss), labels(loss, y)
                    began = time.perf_counter()
                    ol.replay(model, X, told)
                    took = time.perf_counter() - began
                    least[loss] = min(took, least.get(loss, np.inf))
            base = least[losses.Square()]
            figures = (f"{type(loss).__name__} {least[loss] / base:.2f}" for loss in LOSSES)
            print(f"{name:6} ({base / arguments.rows * 1e9:.0f} ns)", "  ".join(figures))


if __name__ == "__main__":
    main()
