"""Filters of every kind, and streams of the paper's model, that several test files use."""

import copy

import numpy as np
import pytest

import onlinear as ol
from onlinear.kernels import RBF, Linear

FORMS = {  # the same filter, three ways
    "primal": {"form": "primal"},
    "dual": {"form": "dual"},
    "kernel": {"kernel": Linear()},
}
FILTERS = {
    "simple": lambda: ol.SimpleFilter(),
    "ridge": lambda: ol.RidgeFilter(c=0.3),
    "ridge-dual": lambda: ol.RidgeFilter(c=0.3, form="dual"),
    "ridge-rbf": lambda: ol.RidgeFilter(c=0.3, kernel=RBF(gamma=2.0)),
    "ridge-full": lambda: ol.RidgeFilter(c=0.0, feedback="full"),
    "ridge-full-dual": lambda: ol.RidgeFilter(c=0.0, form="dual", feedback="full"),
    "ridge-drift": lambda: ol.RidgeFilter(c=0.3, drift=50.0),
    "ridge-drift-dual": lambda: ol.RidgeFilter(c=0.3, drift=50.0, form="dual"),
    "ridge-drift-rbf": lambda: ol.RidgeFilter(c=0.3, drift=50.0, kernel=RBF(gamma=2.0)),
    "ridge-drift-full-dual": lambda: ol.RidgeFilter(
        c=0.0, drift=50.0, form="dual", feedback="full"
    ),
    "ridge-variance": lambda: ol.RidgeFilter(c=0.1, rule="variance", drift=300.0),
    "ridge-variance-dual": lambda: ol.RidgeFilter(c=0.1, rule="variance", form="dual"),
    "ridge-ellipsoid": lambda: ol.RidgeFilter(rule="ellipsoid", delta=0.2),
    "ridge-ellipsoid-dual": lambda: ol.RidgeFilter(rule="ellipsoid", delta=0.2, form="dual"),
    "ridge-ellipsoid-kernel": lambda: ol.RidgeFilter(rule="ellipsoid", kernel=Linear()),
    "laser": lambda: ol.LaserFilter(c=50.0, p=0.3, seed=8),
    "laser-dual": lambda: ol.LaserFilter(c=50.0, p=None, horizon=300, seed=9, form="dual"),
    "laser-rbf": lambda: ol.LaserFilter(c=50.0, p=0.3, kernel=RBF(gamma=2.0)),
    "p-ridge-dual": lambda: ol.PRidgeFilter(a=0.5, p=0.2, seed=4, form="dual"),
    "p-ridge-rbf": lambda: ol.PRidgeFilter(a=0.5, p=0.2, kernel=RBF(gamma=2.0)),
    "p-ridge-forward": lambda: ol.PRidgeFilter(p=0.2, margin="forward"),
    "p-ridge-forward-dual": lambda: ol.PRidgeFilter(p=0.2, margin="forward", form="dual"),
    "p-ridge": lambda: ol.PRidgeFilter(seed=3),
    "p-ridge-p": lambda: ol.PRidgeFilter(a=0.5, p=0.2, seed=4),
    "apple": lambda: ol.AppleTasting(seed=5),
    "apple-perceptron": lambda: ol.AppleTasting(ol.Perceptron(), p=0.3, seed=6),
    "apple-drift": lambda: ol.AppleTasting(ol.RidgeFilter(c=0.0, drift=50.0), p=0.3, seed=2),
    "perceptron": lambda: ol.Perceptron(),
    "perceptron-partial": lambda: ol.Perceptron(feedback="forwarded"),
}
every_filter = pytest.mark.parametrize("name", FILTERS)


def stream(rows=300, d=4, seed=0, near=0.0):
    """Return unit rows, labels of the paper's model, and u; a large ``near`` puts rows near ±u."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    if near:
        X += near * np.sign(X @ u)[:, None] * u
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(rng.uniform(size=rows) < (1 + X @ u) / 2, 1.0, -1.0), u


def one_by_one(f, X, y):
    decisions = []
    for i in range(X.shape[0]):
        x = X[i] if isinstance(X, np.ndarray) else X[[i]]
        decisions.append(f.decide(x))
        if decisions[-1] or f.get_params().get("feedback") == "full":
            f.feedback(x, y[i])
    return np.array(decisions)


def described(f):
    """Return the full state of a filter: its header, and the bits of its arrays."""
    f = copy.deepcopy(f)
    f._params.pop("seed", None)
    if hasattr(f, "_seed"):
        f._seed = 0
        f._params["seed"] = 0
    header, arrays = f._described()
    return header, {name: array.tobytes() for name, array in arrays.items()}
