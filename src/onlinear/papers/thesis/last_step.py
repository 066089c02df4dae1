"""The last round as a min-max game: a prediction, an adversarial label, the best u in hindsight.

    G(y, ŷ) = (y − ŷ)² − (least cost of any u with label y − that with label 0)

Here ŷ is the prediction for the last row, and y the last label. The cost of u is
b‖u‖² + Σ a_t(y_t − uᵀx_t)² with given weights a_t of the losses; the least cost is computed with
the library's best predictor in hindsight. Moroshko, thesis (3.2) and (3.7).
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import minimize_scalar

import onlinear as ol

__all__ = [
    "FREE",
    "LABELS",
    "SURPLUS",
    "Game",
    "Number",
    "Prefix",
    "Y",
    "games",
    "predictions",
    "prefix",
    "solve",
]

B, ROWS = 2.0, 100
Y = 10.0  # Forster's bound on the labels, as in the figure
FREE = 100.0  # the range of labels that stands for "no bound"
LABELS = np.linspace(-FREE, FREE, 41)
SURPLUS = (1.5, 3.0, 10.0)  # the last weight of case 1, divided by that of case 2


Number = TypeVar("Number", float, np.ndarray)


class Prefix(NamedTuple):
    """The rows before the last round, with labels and WEMM's weights; the last row x, and χ = xᵀΣx.

    Σ is WEMM's covariance matrix before the last round.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    x: np.ndarray
    chi: float


class Game(NamedTuple):
    """The last round of a stream as a game, described by its least costs in hindsight.

    The least cost of any u if the last label is y, minus the least cost if the last label is 0, is
    slope·y + bend·y².
    """

    slope: float
    bend: float
    misfit: float  # largest distance of this parabola from the costs, as a share of their range
    bound: float  # the largest absolute value of a label

    def value(self, y: Number, prediction: Number) -> Number:
        """Return G(y, ŷ) of this game."""
        value: Number = (y - prediction) ** 2 - (self.slope + self.bend * y) * y
        return value

    def worst(self, prediction: float) -> tuple[float, float]:
        """Return the adversary's best label y against a prediction ŷ, and the value of G(y, ŷ)."""
        inside = minimize_scalar(
            lambda y: -self.value(y, prediction),
            bounds=(-self.bound, self.bound),
            options={"xatol": 1e-10},
        ).x
        labels = (-self.bound, float(inside), self.bound)
        value, label = max((self.value(label, prediction), label) for label in labels)
        return label, value


def prefix(seed: int) -> Prefix:
    """Return a random stream whose last row has a larger norm than the others."""
    rng = np.random.default_rng(seed)
    truth, X, x = 25 * rng.normal(size=3), rng.normal(size=(ROWS, 3)), rng.normal(size=3)
    X *= rng.uniform(0.1, 0.4, size=(ROWS, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
    x *= 0.95 / np.linalg.norm(x)
    y = np.clip(X @ truth + rng.normal(size=ROWS), -Y, Y)
    model, covariance, weights = ol.WEMM(b=B), np.eye(3) / B, []
    for row, label in zip(X, y, strict=True):
        weights.append(1 / (1 - row @ covariance @ row))
        model.learn_one(row, label)
        covariance = model.covariance_
    return Prefix(X, y, np.array(weights), x, float(x @ covariance @ x))


def game(given: Prefix, weights: np.ndarray, last: float, bound: float) -> Game:
    """Return the last round as a game, whose parabola is fitted to the least costs for 41 labels.

    ``last`` is the weight of the last row's loss, and ``weights`` are those of the other losses.
    """
    root = np.sqrt(np.append(weights, last))
    rows = root[:, None] * np.vstack([given.X, given.x])
    costs = np.array(
        [ol.hindsight.best_fixed(rows, root * np.append(given.y, z), b=B)[-1] for z in LABELS]
    )
    costs -= costs[LABELS == 0]
    parabola = Polynomial.fit(LABELS, costs, 2)
    _, slope, bend = parabola.convert().coef.tolist()
    return Game(slope, bend, np.abs(parabola(LABELS) - costs).max() / np.ptp(costs), bound)


def games(given: Prefix) -> dict[str, Game]:
    """Return the games of Fig 3.1, by name; case 1 has one game for each entry of SURPLUS."""
    level = 1 / (1 - given.chi)
    return {
        "Forster": game(given, np.ones_like(given.y), 1.0, Y),
        **{f"case 1, {k:g}": game(given, given.weights, k * level, FREE) for k in SURPLUS},
        "case 2": game(given, given.weights, level, FREE),
    }


def solve(of: Game) -> tuple[float, float]:
    """Return the prediction with the smallest maximum of G over the labels, and this maximum."""
    best = minimize_scalar(
        lambda prediction: of.worst(prediction)[1],
        bounds=(-of.bound, of.bound),
        options={"xatol": 1e-10},
    )
    return float(best.x), float(best.fun)


def predictions(given: Prefix) -> tuple[float, float]:
    """Return AAR's prediction for the last row, clipped to [−Y, Y], and WEMM's."""
    forster, wemm = ol.AAR(b=B, clip=Y), ol.WEMM(b=B)
    for model in (forster, wemm):
        ol.replay(model, given.X, given.y)
    return forster.predict_one(given.x), wemm.predict_one(given.x)
