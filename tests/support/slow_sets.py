"""Learners with constraint sets in plain formulas: sorting, root finding, textbook Dykstra."""

import math

import numpy as np
from first_order_oracles import Run
from scipy.optimize import brentq
from slow_losses import link, textbook
from slow_projections import median_simplex

import onlinear as ol
from onlinear.sets import (
    Ball,
    Box,
    Capped,
    Custom,
    HalfSpace,
    HyperPlane,
    Intersection,
    L1Ball,
    Simplex,
)

# a geometry: the map from weights to θ, and back
GEOMETRIES = {
    "GD": (lambda w: w, lambda theta: theta),
    "EG": (np.log, lambda theta: np.exp(theta - theta.max()) / np.exp(theta - theta.max()).sum()),
    "EGU": (np.log, np.exp),
}
GEOMETRIES["EGPM"] = GEOMETRIES["EG"]


def p_norm_link(theta, p):
    size = np.linalg.norm(theta, ord=p)
    return np.sign(theta) * np.abs(theta) ** (p - 1) * size ** (2 - p) if size > 0 else 0 * theta


def simplex(w, total):
    """Sort; keep the r largest, for the largest r with which they stay positive."""
    s = np.sort(w)[::-1]
    excess = np.cumsum(s) - total
    r = np.flatnonzero(s - excess / np.arange(1, w.size + 1) > 0)[-1]
    return np.maximum(w - excess[r] / (r + 1), 0.0)


def capped(w, cap):
    """The largest k weights are at the cap, the others scaled; the least k that works."""
    order = np.argsort(-w)
    for k in range(w.size):
        rest = order[k:]
        v = np.full(w.size, cap)
        v[rest] = w[rest] * (1 - k * cap) / w[rest].sum()
        if v.max() <= cap * (1 + 1e-14):
            return v
    return np.full(w.size, 1 / w.size)


def linear(name, w, a, c, equal, maps):
    to_theta, to_weights = maps
    a = np.array(a)
    if a @ w <= c and not equal:
        return w
    if name == "GD":
        return w - (a @ w - c) / (a @ a) * a
    theta = to_theta(w)

    def gap(lam):
        return a @ to_weights(theta - lam * a) - c

    sign = 1.0 if gap(0.0) > 0 else -1.0
    far = 1.0
    while sign * gap(sign * far) > 0:
        far *= 2
    low, high = sorted((0.0, sign * far))
    return to_weights(theta - brentq(gap, low, high, xtol=1e-15, rtol=1e-15) * a)


def project(name, w, given, maps, p):
    """Return the projection of w on a set, in the geometry of the learner ``name``."""
    if isinstance(given, (HalfSpace, HyperPlane)):
        return linear(name, w, given.a, given.c, isinstance(given, HyperPlane), maps)
    if isinstance(given, Custom):
        v = w.copy()
        given.project.py_func(v)
        return v
    if isinstance(given, Ball):
        q = 2.0 if name == "GD" else p / (p - 1)
        return w * min(1.0, given.radius / max(np.linalg.norm(w, ord=q), 1e-300))
    if isinstance(given, L1Ball):
        size = np.abs(w).sum()
        return w if size <= given.radius else np.sign(w) * simplex(np.abs(w), given.radius)
    if isinstance(given, Box):
        return np.clip(w, *given.limits())
    if isinstance(given, Capped):
        return capped(w, given.cap)
    assert isinstance(given, Simplex)
    return simplex(w, given.total) if name == "GD" else w * given.total / w.sum()


def into(name, w, within, maps, p):
    """Project on all sets: once each, or by Dykstra's algorithm with a thousand cycles."""
    to_theta, to_weights = maps
    if not isinstance(within, Intersection):
        return project(name, w, within, maps, p)
    if not within.exact:
        for each in within.sets:
            w = project(name, w, each, maps, p)
        return w
    theta = to_theta(w)
    corrections = [np.zeros(w.size) for _ in within.sets]
    for _ in range(1000):
        for i, each in enumerate(within.sets):
            whole = theta + corrections[i]
            theta = to_theta(project(name, to_weights(whole), each, maps, p))
            corrections[i] = whole - theta
    return to_weights(theta)


def for_pairs(within, U):
    """Return the sets of EG± for its 2n weights."""
    if isinstance(within, Intersection):
        return Intersection(*(for_pairs(each, U) for each in within.sets), exact=within.exact)
    if isinstance(within, (HalfSpace, HyperPlane)):
        a = U * np.array(within.a)
        return type(within)([*a, *-a], within.c)
    return within


def run(name, params, X, y):
    """Return what a learner with a set predicts, and its weights."""
    params = ol.LEARNERS[name](**params).get_params()
    loss, within, eta = params["loss"], params["within"], params["eta"]
    n, p = X.shape[1], params.get("p")
    maps = GEOMETRIES.get(name)
    if name == "PNorm":
        maps = (lambda w: p_norm_link(w, p / (p - 1)), lambda theta: p_norm_link(theta, p))
    if name == "EGPM":
        X = params["U"] * np.hstack([X, -X])
        within = for_pairs(within, params["U"])
    size = X.shape[1]
    w = (
        np.zeros(n)
        if name in ("GD", "PNorm")
        else np.full(size, 1 / (n if name == "EGU" else size))
    )
    alpha, radius = params.get("alpha"), params.get("radius")

    def kept(w):
        w = into(name, w, within, maps, p)
        if radius is not None:
            w = project(name, w, Ball(radius), maps, p)
        if alpha is not None and name == "EGU":
            return np.clip(w, alpha / n, n / alpha)
        return w if alpha is None else median_simplex(w / w.sum(), alpha)

    to_theta, to_weights = maps
    most = params["Y"] if name == "EGU" and loss == ol.losses.Square() else math.inf
    slope, predictions, w = textbook(loss)[1], [], kept(w)
    for x, label in zip(X, y, strict=True):
        a = min(x @ w, most)
        predictions.append(link(loss, a))
        w = kept(to_weights(to_theta(w) - eta * slope(a, label) * x))
    if name == "EGPM":
        w = params["U"] * (w[:n] - w[n:])
    return Run(np.array(predictions), w)
