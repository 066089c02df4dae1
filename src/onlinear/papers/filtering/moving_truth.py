"""Simulated rows whose relevance drifts, and the scores of filters on them.

The mean of a label is u_tᵀx_t, as in the model of Cesa-Bianchi, Conconi & Gentile (2003), section
2, but u_t turns or jumps. Most rows are irrelevant at the time when they come.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear.filtering import Filter

__all__ = ["FILTERS", "KNOWN", "ROWS", "TRUTHS", "D", "Result", "Truth", "result", "stream"]

ROWS, D = 6000, 10
AWAY = 0.7  # this share of the relevant rows is turned round
APART = 1.5  # how far rows are moved away from the plane that separates the relevant ones
KNOWN = "knows u"


class Truth(NamedTuple):
    """How the true weights move: they turn by an angle per row, or jump between pieces."""

    angle: float = 0.0
    pieces: int = 1


TRUTHS = {
    "stays": Truth(),
    "turns by .001 a row": Truth(angle=0.001),
    "turns by .005 a row": Truth(angle=0.005),
    "turns by .02 a row": Truth(angle=0.02),
    "4 pieces": Truth(pieces=4),
    "20 pieces": Truth(pieces=20),
}

# for each name, a function that makes the filter, given the seed
FILTERS: dict[str, Callable[[int], Filter]] = {
    "RIDGE-FIL": lambda seed: ol.RidgeFilter(),
    "drift 10⁴": lambda seed: ol.RidgeFilter(drift=1e4),
    "drift 300": lambda seed: ol.RidgeFilter(drift=300.0),
    "drift 10⁴, variance": lambda seed: ol.RidgeFilter(0.2, rule="variance", drift=1e4),
    "drift 300, variance": lambda seed: ol.RidgeFilter(0.05, rule="variance", drift=300.0),
    "LASER-FIL": lambda seed: ol.LaserFilter(c=1e3, p=0.05, seed=seed),
    "P-RIDGE-FIL": lambda seed: ol.PRidgeFilter(p=0.05, margin="forward", seed=seed),
}


class Result(NamedTuple):
    """A filter's F-measure, its regret after each twentieth of the stream, and forwarded rows."""

    f: float
    regret: np.ndarray
    forwarded: int


def path(truth: Truth, rng: np.random.Generator) -> np.ndarray:
    """Return the true weights u_t of each row, of length 1."""
    if truth.pieces > 1:
        u = rng.normal(size=(truth.pieces, D))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        return np.asarray(u[np.arange(ROWS) * truth.pieces // ROWS])
    angle = truth.angle * np.arange(ROWS)
    return np.column_stack([np.cos(angle), np.sin(angle), np.zeros((ROWS, D - 2))])


def unit(X: np.ndarray) -> np.ndarray:
    """Return rows of length 1."""
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def stream(truth: Truth, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of length 1, their labels, and the true weights of each row."""
    rng = np.random.default_rng(seed)
    u = path(truth, rng)
    X = unit(rng.normal(size=(ROWS, D)))
    X[(np.sum(X * u, axis=1) > 0) & (rng.random(ROWS) < AWAY)] *= -1.0
    X = unit(X + APART * np.sign(np.sum(X * u, axis=1))[:, None] * u)
    y = np.where(rng.random(ROWS) < (1.0 + np.sum(X * u, axis=1)) / 2.0, 1.0, -1.0)
    return X, y, u


def result(item: tuple[str, str, int]) -> Result:
    """Return the result of a filter on a stream, given the names of the truth and filter, a seed.

    The filter named ``KNOWN`` knows the true weights.
    """
    truth, name, seed = item
    X, y, u = stream(TRUTHS[truth], seed)
    expected = np.sum(X * u, axis=1)
    if name == KNOWN:
        run = ol.FilterReplay(expected >= 0.0, y, expected)
    else:
        run = ol.filter_replay(FILTERS[name](seed), X, y, u=u)
    ends = ROWS * np.arange(1, 21) // 20 - 1
    return Result(run.f_measure, run.regret[ends], int(run.decisions.sum()))
