"""Losses, their slopes and links in textbook formulas, and labels that a loss allows."""

import math

import numpy as np

import onlinear as ol

L = ol.losses


def plogp(p):
    return p * math.log(p) if p > 0 else 0.0


def cross_entropy(a, y):
    """Return KL(y ‖ σ(a)) with the probabilities written out."""
    p = 1 / (1 + math.exp(-a))
    return plogp(y) + plogp(1 - y) - y * math.log(p) - (1 - y) * math.log(1 - p)


def textbook(loss):
    """Return the loss and its slope as functions of the activation a and the label y."""
    name = type(loss).__name__
    if name == "Insensitive":
        eps = loss.epsilon
        return (
            lambda a, y: max(abs(a - y) - eps, 0.0),
            lambda a, y: float(np.sign(a - y)) if abs(a - y) > eps else 0.0,
        )
    if name == "Huber":
        k = loss.delta
        return (
            lambda a, y: (a - y) ** 2 / 2 if abs(a - y) < k else k * (abs(a - y) - k / 2),
            lambda a, y: float(np.clip(a - y, -k, k)),
        )
    if name == "Quantile":
        q = loss.tau
        return (
            lambda a, y: max(q * (y - a), (q - 1) * (y - a)),
            lambda a, y: -q if y > a else 1 - q if y < a else 0.0,
        )
    return {
        "Square": (lambda a, y: (a - y) ** 2, lambda a, y: 2 * (a - y)),
        "Logistic": (cross_entropy, lambda a, y: 1 / (1 + math.exp(-a)) - y),
        "Hinge": (lambda a, y: max(0.0, 1 - y * a), lambda a, y: -y if y * a < 1 else 0.0),
        "SquaredHinge": (
            lambda a, y: max(0.0, 1 - y * a) ** 2,
            lambda a, y: -2 * y * max(0.0, 1 - y * a),
        ),
        "Mistakes": (lambda a, y: float(y * a <= 0), lambda a, y: -y if y * a <= 0 else 0.0),
        "Absolute": (lambda a, y: abs(a - y), lambda a, y: float(np.sign(a - y))),
        "Poisson": (
            lambda a, y: math.exp(a) - y * a + plogp(y) - y,
            lambda a, y: math.exp(a) - y,
        ),
    }[name]


LOSSES = {
    "Square": L.Square(),
    "Logistic": L.Logistic(),
    "Hinge": L.Hinge(),
    "SquaredHinge": L.SquaredHinge(),
    "Mistakes": L.Mistakes(),
    "Absolute": L.Absolute(),
    "Insensitive": L.Insensitive(0.3),
    "Huber": L.Huber(0.5),
    "Quantile": L.Quantile(0.8),
    "Poisson": L.Poisson(),
}
SIGNS = ("Hinge", "SquaredHinge", "Mistakes")


def link(loss, a):
    """Return the prediction for the activation a."""
    name = type(loss).__name__
    return {"Logistic": lambda: 1 / (1 + math.exp(-a)), "Poisson": lambda: math.exp(a)}.get(
        name, lambda: a
    )()


def labels_for(name, y, rng=None):
    """Return labels that a loss allows, made of real labels y."""
    if name in SIGNS:
        return np.where(y >= 0, 1.0, -1.0)
    if name == "Logistic":
        hard = rng is None or rng.random() < 0.5
        scale = max(float(np.abs(y).max()), 1e-9)
        return np.where(y >= 0, 1.0, 0.0) if hard else 0.5 + 0.5 * np.clip(y / scale, -1, 1)
    if name == "Poisson":
        return np.floor(np.minimum(5 * np.abs(y) / max(float(np.abs(y).max()), 1e-9), 5.0))
    return y
