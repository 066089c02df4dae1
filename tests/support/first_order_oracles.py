"""Oracles: the first-order learners in plain formulas, and the mirror step as a minimisation."""

import math
from typing import NamedTuple

import numpy as np
from slow_projections import median_simplex, nearest


class Run(NamedTuple):
    """Predictions, final weights, final Σ if there is one, 1-based rounds of resets."""

    predictions: np.ndarray
    w: np.ndarray
    S: np.ndarray | None = None
    resets: tuple[int, ...] = ()


def nlms(X, y, eta=0.5, epsilon=0.0):
    """Move the prediction by the share η toward the label, along x; a zero row changes nothing."""

    def update(w, x, error, t):
        return w - eta * error * x / (epsilon + x @ x) if x.any() else w

    return _descend(X, y, np.zeros(X.shape[1]), update)


def gd(X, y, eta=0.01, radius=None):
    def update(w, x, error, t):
        w = w - eta * 2 * error * x
        return w if radius is None else w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))

    return _descend(X, y, np.zeros(X.shape[1]), update)


def ogd(X, y, eta=0.01, schedule="constant"):
    def update(w, x, error, t):
        return w - (eta / math.sqrt(t) if schedule == "sqrt" else eta) * 2 * error * x

    return _descend(X, y, np.zeros(X.shape[1]), update)


def egu(X, y, /, eta=None, alpha=None, Y=1.0, **declared):
    n = X.shape[1]
    eta = 1 / (3 * declared.get("X", 1.0) * Y) if eta is None else eta
    box = (0.0, math.inf) if alpha is None else (alpha / n, n / alpha)

    def update(w, x, error, t):
        return np.clip(w * np.exp(-eta * 2 * error * x), *box)

    return _descend(X, y, np.full(n, 1 / n), update, Y)


def eg(X, y, /, eta=None, alpha=None, **declared):
    eta = 2 / (3 * declared.get("X", 1.0) ** 2) if eta is None else eta

    def update(w, x, error, t):
        w = w * np.exp(-eta * 2 * error * x)
        return w / w.sum() if alpha is None else median_simplex(w / w.sum(), alpha)

    return _descend(X, y, np.full(X.shape[1], 1 / X.shape[1]), update)


def egpm(X, y, /, U=1.0, eta=None, alpha=None, **declared):
    """EG on (Ux, −Ux), whose range in a row is 2UX."""
    eta = 1 / (3 * U**2 * declared.get("X", 1.0) ** 2) if eta is None else eta
    run = eg(U * np.hstack([X, -X]), y, eta, alpha)
    plus, minus = np.split(run.w, 2)
    return run._replace(w=U * (plus - minus))


def _descend(X, y, w, update, largest=math.inf):
    predictions = []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        predictions.append(min(x @ w, largest))
        w = update(w, x, predictions[-1] - label, t)
    return Run(np.array(predictions), w)


def mirror_step(w, slope, divergence, mirror, simplex=False, bounds=None):
    """Return argmin over u of D(u, w) + slopeᵀu by SLSQP; ``mirror`` is ∇_u D(u, w)."""
    whole = {"type": "eq", "fun": lambda u: u.sum() - 1, "jac": lambda u: np.ones(u.size)}
    return nearest(
        lambda u: divergence(u, w) + slope @ u,
        lambda u: mirror(u, w) + slope,
        w,
        whole if simplex else (),
        bounds,
    )
