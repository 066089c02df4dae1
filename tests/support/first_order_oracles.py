"""Oracles: the first-order learners in plain formulas, and the mirror step as a minimisation."""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from slow_losses import link, textbook
from slow_projections import median_simplex, nearest

import onlinear as ol

SQUARE = ol.losses.Square()


class Run(NamedTuple):
    """Predictions, final weights, final Σ if there is one, 1-based rounds of resets."""

    predictions: np.ndarray
    w: np.ndarray
    S: np.ndarray | None = None
    resets: tuple[int, ...] = ()


def nlms(X, y, eta=0.5, epsilon=0.0):
    """Move the prediction by the share η toward the label, along x; a zero row changes nothing."""

    def update(w, x, slope, t):
        return w - eta * slope / 2 * x / (epsilon + x @ x) if x.any() else w

    return _descend(X, y, np.zeros(X.shape[1]), update)


def gd(X, y, eta=0.01, radius=None, loss=SQUARE):
    def update(w, x, slope, t):
        w = w - eta * slope * x
        return w if radius is None else w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))

    return _descend(X, y, np.zeros(X.shape[1]), update, loss=loss)


def pnorm(X, y, p=None, eta=0.01, radius=None, loss=SQUARE):
    """Keep w only; θ is found from w by the inverse of the map from θ to w, which has q for p."""
    n = X.shape[1]
    p = max(2, 2 * math.log(n)) if p is None else p

    def to_weights(theta):
        size = np.linalg.norm(theta, ord=p)
        if size == 0:
            return np.zeros(n)
        return np.sign(theta) * np.abs(theta) ** (p - 1) / size ** (p - 2)

    def to_theta(w):  # the inverse map is the same with q
        q = p / (p - 1)
        size = np.linalg.norm(w, ord=q)
        if size == 0:
            return np.zeros(n)
        return np.sign(w) * np.abs(w) ** (q - 1) / size ** (q - 2)

    def update(w, x, slope, t):
        theta = to_theta(w) - eta * slope * x
        size = np.linalg.norm(theta, ord=p)
        if radius is not None and size > radius:
            theta = theta * radius / size
        return to_weights(theta)

    return _descend(X, y, np.zeros(n), update, loss=loss)


def ogd(X, y, eta=0.01, schedule="constant", radius=None):
    def update(w, x, slope, t):
        w = w - (eta / math.sqrt(t) if schedule == "sqrt" else eta) * slope * x
        return w if radius is None else w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))

    return _descend(X, y, np.zeros(X.shape[1]), update)


def implicit(X, y, w, eta, moved, project, largest=math.inf):
    """argmin over v of D(v, w) + η(vᵀx − y)², which is ``moved(w, s·x)`` with s = 2η(vᵀx − y)."""
    predictions = []
    for x, label in zip(X, y, strict=True):
        predictions.append(min(x @ w, largest))

        def gap(s, w=w, x=x, label=label):
            return s - 2 * eta * (moved(w, s * x) @ x - label)

        first = 2 * eta * (x @ w - label)
        s = brentq(gap, *sorted((0.0, first)), xtol=1e-15, rtol=1e-15) if first else 0.0
        w = project(moved(w, s * x))
    return Run(np.array(predictions), w)


def egu(X, y, /, eta=None, alpha=None, Y=1.0, loss=SQUARE, **declared):
    n = X.shape[1]
    eta = 1 / (3 * declared.get("X", 1.0) * Y) if eta is None else eta
    box = (0.0, math.inf) if alpha is None else (alpha / n, n / alpha)
    if declared.get("implicit"):

        def moved(w, step):
            return w * np.exp(-step)

        return implicit(X, y, np.full(n, 1 / n), eta, moved, lambda w: np.clip(w, *box), Y)

    def update(w, x, slope, t):
        return np.clip(w * np.exp(-eta * slope * x), *box)

    return _descend(X, y, np.full(n, 1 / n), update, Y if loss == SQUARE else math.inf, loss)


def eg(X, y, /, eta=None, alpha=None, loss=SQUARE, **declared):
    eta = 2 / (3 * declared.get("X", 1.0) ** 2) if eta is None else eta
    if declared.get("implicit"):

        def moved(w, step):
            w = w * np.exp(-step)
            return w / w.sum()

        def project(w):
            return w if alpha is None else median_simplex(w, alpha)

        return implicit(X, y, np.full(X.shape[1], 1 / X.shape[1]), eta, moved, project)

    def update(w, x, slope, t):
        w = w * np.exp(-eta * slope * x)
        return w / w.sum() if alpha is None else median_simplex(w / w.sum(), alpha)

    return _descend(X, y, np.full(X.shape[1], 1 / X.shape[1]), update, loss=loss)


def egpm(X, y, /, U=1.0, eta=None, alpha=None, loss=SQUARE, **declared):
    """EG on (Ux, −Ux), whose range in a row is 2UX."""
    eta = 1 / (3 * U**2 * declared.get("X", 1.0) ** 2) if eta is None else eta
    run = eg(U * np.hstack([X, -X]), y, eta, alpha, loss)
    plus, minus = np.split(run.w, 2)
    return run._replace(w=U * (plus - minus))


def _descend(X, y, w, update, largest=math.inf, loss=SQUARE):
    predictions, (_, slope) = [], textbook(loss)
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        a = min(x @ w, largest)
        predictions.append(link(loss, a))
        w = update(w, x, slope(a, label), t)
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
