"""Constraint sets around random comparators, for the hostile streams of ``hostile.py``."""

import math

import numpy as np

from onlinear.sets import (
    Ball,
    Box,
    Capped,
    HalfSpace,
    HyperPlane,
    Intersection,
    L1Ball,
    Set,
    Simplex,
)

IN_SETS = ("GD", "PNorm", "EG", "EGPM", "EGU")
LOSSES_IN_SETS = ("Square", "Absolute", "Huber", "Quantile")
POINTS: dict[Set, np.ndarray] = {}  # comparators that are in a set made by ``within``


def half_space(points, rng):
    a = rng.normal(size=points.shape[1])
    top = float(np.max(points @ a))
    return HalfSpace(a, top + abs(top) * rng.choice([1e-12, 0.3]) + 1e-300)


def within(name, params, rng, X, y):
    """Return a set for a learner, and remember three comparators that are in it."""
    d = X.shape[1]
    scale = (np.abs(y).max() + 1e-9) / (np.abs(X).max() + 1e-9) * 10 ** rng.uniform(-1, 1)
    if name in ("GD", "PNorm"):
        made, points = free(name, params, rng, rng.normal(size=(3, d)) * scale)
    elif name == "EGU":
        made, points = positive(params, rng, rng.dirichlet(np.full(d, 0.5), size=3))
    else:
        made, points = shares(name, params, rng, rng.dirichlet(np.full(d, 0.3), size=3))
    POINTS[made] = points
    return made


def together(sets, rng):
    """Return sets as one, if there are several; one pass or exact."""
    return sets[0] if len(sets) == 1 else Intersection(*sets, exact=bool(rng.integers(2)))


def free(name, params, rng, points):
    """Return a set for GD or PNorm, and points in it."""
    d = points.shape[1]
    q = 2.0
    if name == "PNorm":
        p = max(2.0, 2.0 * math.log(d)) if params["p"] is None else params["p"]
        q = p / (p - 1)
    ball = Ball(float(np.linalg.norm(points, ord=q, axis=1).max()) * 1.001)
    if params["radius"] is not None:
        params["radius"] = ball.radius * 1.5
    kind = rng.integers(6 if name == "GD" else 3)
    if kind == 0:
        return together([half_space(points, rng)], rng), points
    if kind == 1:
        parts = [half_space(points, rng) for _ in range(rng.integers(1, 4))]
        return together([*parts, ball], rng), points
    if kind == 2:
        a = rng.normal(size=d)
        points = points - np.outer((points @ a - points[0] @ a) / (a @ a), a)
        ball = Ball(float(np.linalg.norm(points, ord=q, axis=1).max()) * 1.001)
        params["radius"] = None
        plane = HyperPlane(a, float(points[0] @ a))
        return together([plane, ball][: rng.integers(1, 3)], rng), points
    if kind == 3:
        return L1Ball(float(np.abs(points).sum(axis=1).max()) * 1.001), points
    if kind == 4:
        box = Box(points.min(axis=0), points.max(axis=0) + 1e-3 * np.abs(points).max())
        return together([half_space(points, rng), box], rng), points
    size = float(np.abs(points).max())
    points = size * rng.dirichlet(np.ones(d), size=3)
    params["radius"] = None
    return Simplex(size), points


def shares(name, params, rng, points):
    """Return a set for EG or EGPM, and points in it (for EGPM, as weights u)."""
    alpha = params["alpha"] or 0.0
    if rng.integers(2):
        points = (1 - alpha) * points + alpha / points.shape[1]
    if name == "EGPM":
        points = params["U"] * points * rng.choice([-1, 1], size=points.shape) * (1 - alpha)
        spare = (1 - np.abs(points).sum(axis=1, keepdims=True) / params["U"]) / (
            2 * points.shape[1]
        )
        parts = np.hstack([np.maximum(points, 0), np.maximum(-points, 0)]) / params["U"] + spare
    else:
        parts = points
    cap = Capped(min(1.0, float(parts.max()) * 1.001))
    slack = 0.1 * float(np.abs(points).max())
    even = np.full((1, points.shape[1]), (name == "EG") / points.shape[1])  # is at least alpha/n
    lines = [half_space(np.vstack([points, even]), rng) for _ in range(2)]
    lines = [HalfSpace(each.a, each.c + slack) for each in lines]  # more than one point
    if rng.integers(3) == 0:
        return cap, points
    return together([*lines, cap][: rng.integers(1, 4)], rng), points


def positive(params, rng, points):
    """Return a set for EGU, and points in it."""
    kind = rng.integers(4)
    if kind == 0:
        return Simplex(1.0), points
    params["alpha"] = None  # a set need not have a point with weights of at least α/n
    points = points * rng.uniform(0.3, 1.0, size=(3, 1)) + 1e-3
    points = points / max(1.0, float(points.max()))
    box = Box(points.min(axis=0) * 0.99, points.max(axis=0) * 1.01)
    line = half_space(points, rng)
    line = HalfSpace(line.a, line.c + 0.05)
    if kind == 1:
        return box, points
    if kind == 2:
        return line, points
    return together([line, box], rng), points


def path(model, params, segments):
    """Return comparators in the learner's set that change, if its bound allows that."""
    points = POINTS[model.within]
    last = last_is_bounded(model)
    still = params.get("radius") is None and params.get("alpha") is None and not last
    return points[np.zeros_like(segments) if still else segments]


def last_is_bounded(model):
    """Return whether the last set allows comparators that change."""
    made = model.within
    made = made.sets[-1] if isinstance(made, Intersection) else made
    if type(model).__name__ == "GD":
        return made.bounded
    if type(model).__name__ == "PNorm":
        return isinstance(made, Ball)
    if type(model).__name__ == "EGU":
        return isinstance(made, Box)
    return False
