"""Every learner with its default and another setting, and streams inside its domain."""

import numpy as np

import onlinear as ol
from onlinear import extend, losses, sets
from onlinear.kernels import RBF, Linear, Polynomial, register
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
    _combined,
)


@register
def manhattan(Z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A user-defined kernel: the Laplacian."""
    return np.exp(-np.abs(Z - x).sum(axis=1))


@extend.kernel
def below_half(w: np.ndarray) -> None:
    """A user-defined projection: on the weights that are at most ½."""
    for i in range(w.size):
        w[i] = min(w[i], 0.5)


below = sets.register(Custom(below_half))

# default parameters within whose domain the stream below is, and one other setting
SETTINGS: dict[str, tuple[dict, dict]] = {
    "AAR": ({}, {"b": 0.1, "clip": 0.5}),
    "ARCOR": ({}, {"r": 0.3, "radius": 0.6, "thresholds": [0.4, 0.2, 0.1]}),
    "AROW": ({}, {"r": 0.3, "b": 2.0, "margin": 0.0}),
    "AROWR": ({}, {"r": 0.3, "b": 2.0}),
    "Auto": ({}, {"lags": 1, "units": "given"}),
    "CIRR": ({}, {"a": 0.3, "floor": 1e-3, "w0": [0.5, 1.0, 2.0, 0.1, 1.0]}),
    "CRRLS": ({}, {"forgetting": 0.9, "reset_every": 7}),
    "DriftNetwork": ({}, {"C": 2, "r": 0.3, "radius": 0.6}),
    "EG": ({}, {"eta": 0.3, "alpha": 0.5, "X": 2.0}),
    "EGPM": ({}, {"U": 2.0, "eta": 0.2, "alpha": 0.3, "X": 2.0}),
    "EGU": ({}, {"eta": 0.2, "alpha": 0.6, "Y": 2.0, "X": 3.0}),
    "GD": ({}, {"eta": 0.4, "radius": 0.5}),
    "KernelAAR": ({"b": 0.2}, {"kernel": Polynomial(2), "b": 0.3, "clip": 0.6, "budget": 12}),
    "KernelARCOR": (
        {"r": 0.3, "radius": 0.8, "q": 1.3},
        {"kernel": manhattan, "radius": 0.6, "thresholds": [0.4, 0.3], "budget": 15},
    ),
    "KernelCRRLS": ({}, {"kernel": manhattan, "forgetting": 0.9, "reset_every": 7, "budget": 12}),
    "KernelGD": ({}, {"kernel": manhattan, "eta": 0.3, "radius": 0.8, "budget": 15}),
    "KernelLASER": (
        {"b": 0.3, "c": 5.0},
        {"kernel": Linear(), "c": 2.0, "shrink": False, "clip": 0.7, "budget": 9},
    ),
    "KernelWEMM": ({}, {"kernel": manhattan, "b": 1.5}),
    "LASER": ({}, {"b": 3.0, "c": 2.0, "shrink": False, "clip": 0.7}),
    "LogisticLASER": ({}, {"b": 0.3, "c": 2.0, "reach": 2.0}),
    "NLMS": ({}, {"eta": 1.5, "epsilon": 0.1}),
    "OGD": ({}, {"eta": 0.3, "schedule": "sqrt"}),
    "ONS": ({}, {"gamma": 0.2, "epsilon": 3.0, "radius": 0.5}),
    "OSLOG": ({}, {"a": 0.3, "floor": 0.0, "first": "w0", "clip": 0.8}),
    "PNorm": ({}, {"p": 3.0, "eta": 0.2, "radius": 0.6, "loss": losses.Huber(0.2)}),
    "RLS": ({}, {"forgetting": 0.9, "b": 0.2}),
    "Ridge": ({}, {"b": 0.05, "clip": 0.8}),
    "Standardized": (
        {"learner": ol.LASER()},
        {"learner": ol.ARCOR(r=0.3, radius=0.6, q=1.0), "intercept": False},
    ),
    "WEMM": ({}, {"b": 1.3}),
}
# more settings, with losses for which the labels of the stream below are labels
WITH_LOSS: list[tuple[str, dict]] = [
    ("GD", {"eta": 0.3, "loss": losses.Logistic()}),
    ("GD", {"eta": 0.2, "radius": 0.8, "loss": losses.Poisson()}),
    ("GD", {"eta": 0.2, "loss": losses.Insensitive(0.05)}),
    ("EG", {"eta": 0.4, "loss": losses.Quantile(0.8)}),
    ("EGPM", {"U": 2.0, "eta": 0.2, "alpha": 0.3, "loss": losses.Absolute()}),
    ("EGU", {"eta": 0.2, "alpha": 0.6, "loss": losses.Quantile(0.7)}),
    ("PNorm", {"eta": 0.1, "loss": losses.Logistic()}),
]
# more settings, with a set in which the weights stay
LINE = HalfSpace([1.0, -1.0, 0.5, 0.0, 0.2], 0.1)
PLANE = HyperPlane([0.1, 0.2, 0.3, 0.2, 0.1], 0.15)
WITH_SET: dict[str, tuple[str, dict]] = {
    "GD-L1Ball": ("GD", {"eta": 0.3, "within": L1Ball(0.4)}),
    "GD-Box": ("GD", {"eta": 0.3, "within": Box([0, 0, -0.1, 0, 0], 0.3)}),
    "GD-one pass": ("GD", {"eta": 0.3, "radius": 0.4, "within": Intersection(LINE, Box(0.0))}),
    "GD-exact": (
        "GD",
        {"eta": 0.3, "within": Intersection(LINE, Box(0.05), Ball(0.5), exact=True)},
    ),
    "GD-Simplex": ("GD", {"eta": 0.2, "within": Simplex(1.5), "loss": losses.Absolute()}),
    "GD-Custom": ("GD", {"eta": 0.3, "within": below}),
    "PNorm-HalfSpace": ("PNorm", {"p": 3.0, "eta": 0.2, "radius": 0.6, "within": LINE}),
    "PNorm-HyperPlane": ("PNorm", {"p": 3.0, "eta": 0.1, "within": PLANE}),
    "EG-Capped": ("EG", {"eta": 0.5, "alpha": 0.3, "within": Capped(0.25)}),
    "EG-exact": ("EG", {"eta": 0.5, "within": Intersection(LINE, Capped(0.3), exact=True)}),
    "EGPM-HyperPlane": ("EGPM", {"U": 2.0, "eta": 0.2, "alpha": 0.1, "within": PLANE}),
    "EGPM-exact": (
        "EGPM",
        {"U": 2.0, "eta": 0.2, "within": Intersection(LINE, Capped(0.3), exact=True)},
    ),
    "EGU-Box": ("EGU", {"eta": 0.3, "within": Box(0.05, 0.4)}),
    "EGU-one pass": (
        "EGU",
        {"eta": 0.3, "alpha": 0.2, "within": Intersection(PLANE, Simplex(1.2))},
    ),
    "EGU-Custom": ("EGU", {"eta": 0.3, "within": below, "loss": losses.Quantile(0.7)}),
    "OGD-radius": ("OGD", {"eta": 0.3, "schedule": "sqrt", "radius": 0.5}),
}
CASES = [(name, params) for name, both in SETTINGS.items() for params in both] + WITH_LOSS
CASES += WITH_SET.values()
IDS = [f"{name}-{kind}" for name in SETTINGS for kind in ("default", "other")]
IDS += [f"{name}-{params['loss']}" for name, params in WITH_LOSS] + list(WITH_SET)
# WEMM with larger weights of the rows and with drift; implicit updates
VARIANTS: dict[str, tuple[str, dict]] = {
    "EG-implicit": ("EG", {"eta": 3.0, "alpha": 0.2, "implicit": True}),
    "EGU-implicit": ("EGU", {"eta": 2.0, "alpha": 0.4, "implicit": True}),
    "WEMM-weight": ("WEMM", {"b": 1.3, "weight": 1.5}),
    "WEMM-drift": ("WEMM", {"c": 1e5, "weight": 2.0}),
}
CASES += VARIANTS.values()
IDS += VARIANTS
# more settings, that change the state or the way in which a row is learnt
MORE: dict[str, tuple[str, dict]] = {
    "RLS-hint": ("RLS", {"forgetting": 0.9, "hint": "last"}),
    "Standardized-hint": (
        "Standardized",
        {"learner": ol.RLS(forgetting=0.95, clip=0.9, hint="last")},
    ),
    "CIRR-forgetting": ("CIRR", {"a": 0.3, "forgetting": 0.9, "clip": 0.7}),
    "OSLOG-forgetting": ("OSLOG", {"a": 0.3, "forgetting": 0.95}),
    "Auto-guaranteed": ("Auto", {"guaranteed": True}),
}
CASES += MORE.values()
IDS += MORE


def make(case: tuple[str, dict], **more: object) -> ol.Learner:
    """Return a new learner of a case."""
    name, params = case
    return getattr(ol, name)(**{**params, **more})


def stream(rows: int, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a drifting stream in every learner's domain: 0 ≤ x, ‖x‖ ≤ 1, 0 ≤ y ≤ 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    angle = np.arange(rows)[:, None] / 10 + np.arange(d)
    y = np.sum(X * (1 + np.cos(angle)) / 2, axis=1) + 0.1 * rng.normal(size=rows)
    return X, np.clip(y, 0.0, 1.0)


def stream_of(case: tuple[str, dict], rows: int, d: int = 5, seed: int = 0):
    """Return the stream, with labels that the learner of a case takes."""
    X, y = stream(rows, d, seed)
    return X, (y > np.median(y)).astype(float) if case[0] == "AROW" else y


def of_classes(case: tuple[str, dict], X: np.ndarray, y: np.ndarray):
    """Return the case with declared classes, and labels of them, if its learner is a classifier."""
    name, params = case
    if name not in ("AROW", "LogisticLASER"):
        return case, X, y
    return (name, {**params, "classes": (0, 1)}), X, (y > np.median(y)).astype(float)


def number(model: ol.Learner, x) -> float:
    """Return the number that a learner predicts, also where predict_one returns a class."""
    return model._number_one(x)


def numbers(model: ol.Learner, X) -> np.ndarray:
    """Return the numbers that a learner predicts for a table."""
    return model._fitted()._run(X, None, learn=False)[0]


def state(model: ol.Learner) -> bytes:
    """Return the bits of a learner's state."""
    return b"" if model._record is None else model._record.tobytes()


def one_by_one(model, X, y):
    """Return the predictions of predict_one, each followed by learn_one."""
    predictions = np.empty(len(X))
    for i in range(len(X)):
        predictions[i] = getattr(model, "_number_one", model.predict_one)(X[i])
        model.learn_one(X[i], y[i])
    return predictions


def same_bits(a, b) -> bool:
    """Return whether two arrays, or numbers, are the same in every bit."""
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


NAMES = {  # the names that occur in a learner's repr
    "inf": np.inf,
    "RBF": RBF,
    "Linear": Linear,
    "Polynomial": Polynomial,
    "manhattan": manhattan,
    **losses.BUILT_IN,
    **_combined.BUILT_IN,
    "Intersection": Intersection,
    "Custom": Custom,
    "below_half": below_half,
    **ol.LEARNERS,
    "Standardized": ol.Standardized,
}
