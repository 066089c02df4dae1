"""Every learner with its default and another setting, and streams inside its domain."""

import numpy as np

import onlinear as ol
from onlinear import losses
from onlinear.kernels import RBF, Linear, Polynomial, register


@register
def manhattan(Z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A user-defined kernel: the Laplacian."""
    return np.exp(-np.abs(Z - x).sum(axis=1))


# default parameters within whose domain the stream below is, and one other setting
SETTINGS: dict[str, tuple[dict, dict]] = {
    "AAR": ({}, {"b": 0.1, "clip": 0.5}),
    "ARCOR": ({}, {"r": 0.3, "radius": 0.6, "thresholds": [0.4, 0.2, 0.1]}),
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
    "KernelGD": ({}, {"kernel": manhattan, "eta": 0.3, "radius": 0.8, "budget": 15}),
    "KernelLASER": (
        {"b": 0.3, "c": 5.0},
        {"kernel": Linear(), "c": 2.0, "shrink": False, "clip": 0.7, "budget": 9},
    ),
    "KernelWEMM": ({}, {"kernel": manhattan, "b": 1.5}),
    "LASER": ({}, {"b": 3.0, "c": 2.0, "shrink": False, "clip": 0.7}),
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
CASES = [(name, params) for name, both in SETTINGS.items() for params in both] + WITH_LOSS
CASES += MORE.values()
IDS = [f"{name}-{kind}" for name in SETTINGS for kind in ("default", "other")]
IDS += [f"{name}-{params['loss']}" for name, params in WITH_LOSS]
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


def state(model: ol.Learner) -> bytes:
    """Return the bits of a learner's state."""
    return b"" if model._record is None else model._record.tobytes()


def one_by_one(model, X, y):
    """Return the predictions of predict_one, each followed by learn_one."""
    predictions = np.empty(len(X))
    for i in range(len(X)):
        predictions[i] = model.predict_one(X[i])
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
    **ol.LEARNERS,
    "Standardized": ol.Standardized,
}
