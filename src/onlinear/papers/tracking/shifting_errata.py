"""Counterexamples to statements of Herbster & Warmuth (2001), with their corrected forms."""

import math
from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear import bregman

__all__ = ["Counterexample", "counterexamples"]


class Counterexample(NamedTuple):
    """A statement "left ≤ right" and an example: both sides as printed, and both as corrected."""

    name: str
    statement: str
    example: str
    printed: tuple[float, float]  # left, right
    mended: tuple[float, float]
    how: str

    @property
    def holds(self) -> bool:
        """Whether the statement as printed holds for the example."""
        return self.printed[0] <= self.printed[1]


def counterexamples() -> list[Counterexample]:
    """Compute and return the counterexamples."""
    return [_box(), _exponent_12(), _exponent_13(), _beyond(), _tail()]


def _box() -> Counterexample:
    x, u, y = np.array([0.0, 10.0]), np.array([0.95, 0.05]), 0.5
    loss = ol.replay(ol.EG(eta=2 / 3, alpha=0.1, X=10.0), [x], [y]).losses[0]
    proof = ol.certificate(ol.EG.from_range(X=10.0, alpha=0.1), [x], [y], comparator=u)
    return Counterexample(
        "theorem-16",
        "Theorem 16: (45) for x in a box of width X, wherever the box is",
        "n = 2, X = 1, x = (0, 10), y = .5, u = (.95, .05), α = .1",
        (float(loss), 1.5 * float(u @ x - y) ** 2 + 1.5 * math.log(2)),
        (float(proof.loss[-1]), float(proof.ceiling[-1])),
        "max x_i − min x_i ≤ X in every row: here X = 10",
    )


def _exponent_12() -> Counterexample:
    w, y, u, eta = 0.5, 1.0, 1.0, 1 / 3  # n = X = Y = x = 1
    D = bregman.unnormalised_entropy

    def progress(factor: float) -> float:
        return D([u], [w]) - D([u], [w * math.exp(-factor * eta * (w - y))])

    left = eta * (w - y) ** 2
    return Counterexample(
        "lemma-12",
        "Lemma 12: (41), for the exponent −ηx(w·x − y)",
        "n = X = Y = x = 1, w = .5, y = u = 1",
        (left, progress(1.0)),
        (left, progress(2.0)),
        "the exponent of Fig 1, −2ηx(w·x − y)",
    )


def _exponent_13() -> Counterexample:
    w, x, y, eta = np.array([0.5, 0.5]), np.array([1.0, 0.0]), 1.0, 2 / 3  # X = 1, u = x
    D = bregman.relative_entropy

    def progress(factor: float) -> float:
        moved = w * np.exp(-factor * eta * (w @ x - y) * x)
        return D(x, w) - D(x, moved / moved.sum())

    left = eta * float(w @ x - y) ** 2
    return Counterexample(
        "lemma-13",
        "Lemma 13: (42), for the exponent −ηx(w·x − y)",
        "X = 1, w = (.5, .5), x = u = (1, 0), y = 1",
        (left, progress(1.0)),
        (left, progress(2.0)),
        "the exponent of Fig 1, −2ηx(w·x − y)",
    )


def _beyond() -> Counterexample:
    X, x, y, u = 10.0, [[10.0]], [1.0], 0.1
    loss = ol.replay(ol.EGU(eta=1 / (3 * X), alpha=0.1, X=X, Y=X), x, y).losses[0]  # no clipping
    proof = ol.certificate(ol.EGU.from_range(X=X, Y=1.0, alpha=0.1), x, y, comparator=[u])
    return Counterexample(
        "theorems-15-18-19",
        "Theorems 15 and 18, Corollary 19: (44), (50), (51), for the prediction w·x",
        "n = 1, X = x = 10, Y = y = 1, u = .1, α = .1; (51) with ℓ̂ = 2, Û = .1, the largest",
        (float(loss), 3 * X * (_size(u) + 1 + 0.1)),
        (float(proof.loss[-1]), float(proof.ceiling[-1])),
        "the prediction min(w·x, Y)",
    )


def _tail() -> Counterexample:
    u = 10.0
    proof = ol.certificate(ol.EGU.from_range(X=1.0, Y=1.0, alpha=0.1), [[0.1]], [1.0], [u])
    return Counterexample(
        "tail",
        "Theorems 15 and 18, Corollary 19: the tail + ‖u_ℓ‖₁ + H(u_ℓ) + 1 of (44), (50), (51)",
        "n = X = Y = 1, x = .1, y = 1, u = 10, α = .1: no prediction exceeds Y",
        (float(proof.loss[-1]), 3 * (_size(u) + 1)),
        (float(proof.loss[-1]), float(proof.ceiling[-1])),
        "the tail − ‖u_ℓ‖₁ − H(u_ℓ) + 1",
    )


def _size(u: float) -> float:
    """Return ‖u‖₁ + H(u) for a vector u of one weight; H is the entropy."""
    return u - u * math.log(u)
