"""Calls of the public API with the usual kinds of input; wheels contain what they compile.

What is compiled depends on the types of the input, not on the numbers, so streams are short. A test
(``tests/native/test_library.py``) fails if an example of the documentation still compiles anything.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import onlinear as ol
from onlinear._numerics import linalg

__all__ = ["workload"]

ROWS, WIDTH = 12, 5
BULK_ROWS, BULK_WIDTH = 30, 64


@ol.kernels.register
def own_kernel(Z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Stand for a kernel function that a user wrote."""
    return np.asarray(np.exp(-np.abs(Z - x).sum(axis=1)))


KERNELS: list[Any] = [ol.kernels.RBF(), ol.kernels.Linear(), ol.kernels.Polynomial(2), own_kernel]


def _stream(rows: int, width: int = WIDTH) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in every learner's domain: 0 ≤ x, ‖x‖ ≤ 1, labels 0 and 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, width)) / width
    return X, np.arange(rows) % 2.0


def workload() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a name and a function without arguments for each call of the workload."""
    for name in ol.LEARNERS:
        for k, make in enumerate(_models(name)):
            for way in WAYS[:-2] if name.startswith("Kernel") else WAYS:
                yield f"{name} {k} {way.__name__}", partial(way, make)
    for other in OTHERS:
        yield other.__name__, other


RANGES: dict[str, dict[str, Any]] = {  # of rates for a known loss or number of rows
    "EG": {"X": 1.0, "n": WIDTH},
    "EGPM": {"X": 1.0, "n": WIDTH},
    "GD": {"X": 1.0, "radius": 1.0},
    "PNorm": {"X": 1.0, "p": 3.0, "radius": 1.0},
}
SETTINGS: dict[str, list[dict[str, Any]]] = {  # settings that change types, besides the defaults
    "ARCOR": [{"radius": 0.6, "thresholds": [0.4, 0.2]}],
    "Auto": [{"lags": 0}, {"units": "given"}, {"guaranteed": True}],
    "CIRR": [{"w0": [1.0] * WIDTH}],
    "EG": [{"implicit": True}],
    "EGU": [{"implicit": True}],
    "KernelARCOR": [{"radius": 0.6}],
    "OGD": [{"schedule": "sqrt"}, {"schedule": "sqrt", "radius": 2.0}],
    "ONS": [{"radius": 0.5}],
    "OSLOG": [{"w0": [1.0] * WIDTH}],
    "RLS": [{"hint": "last"}],
}


def _models(name: str) -> list[Callable[[], Any]]:
    """Return functions that create a learner, in each setting that changes the compiled types."""
    kind: Any = ol.LEARNERS[name]
    if name.startswith("Kernel"):
        return [
            partial(kind, kernel=kernel, **each)
            for each in ({}, *SETTINGS.get(name, []))
            for kernel in KERNELS
        ]
    makers: list[Callable[[], Any]] = [partial(kind, **each) for each in SETTINGS.get(name, [])]
    selective = name in ("CIRR", "OSLOG")
    if selective or (issubclass(kind, ol.extend.SecondOrder) and name != "DriftNetwork"):
        settings = {"b": 1e3} if name == "WEMM" else {}
        for intercept in (True, False):
            makers.append(partial(ol.Standardized, kind(**settings), intercept=intercept))
    return [kind, *makers]


# --- ways to run a learner ------------------------------------------------------------------------


def _rounds(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    model = make()
    model.predict_one(X[0])
    model.learn_one(X[0], y[0])
    model.predict_one(list(X[1]))
    X.setflags(write=False)  # like the rows of a DataFrame
    model.predict_one(X[1])
    kept = model.remember(X[1])
    model.learn_late(kept, y[1])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.onl")
        ol.load(Path(folder) / "model.onl").predict_one(X[2])


def _replay(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    model = make()
    ol.replay(model, X, y, engine="rank-one")
    model.predict(X)
    X[3, 1] = np.nan
    ol.replay(make().set_params(on_bad="skip"), X, y)


def _bulk(make: Callable[[], Any]) -> None:
    model = make()
    if model._step.in_bulk is not None:
        ol.replay(model, *_stream(BULK_ROWS), engine="bulk")


def _certificate(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    certified = ol.Certified(make())
    certified.learn_one(X[0], y[0])
    ol.certificate(make(), X, y, engine="rank-one")


def _certificate_in_bulk(make: Callable[[], Any]) -> None:
    if make()._step.in_bulk is not None:
        ol.certificate(make(), *_stream(BULK_ROWS, BULK_WIDTH), engine="bulk")


def _sparse(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    rows = scipy.sparse.csr_array(X)
    model = make()
    ol.replay(model, rows, y)
    model.learn_one(rows[[0]], y[0])
    model.predict_one(rows[[0]])


def _bank(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    bank = ol.Bank([make(), make()])
    bank.learn_one(X[0], y[0])
    bank.predict_one(X[0])
    ol.replay(bank, X, y)


def _keyed(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    for keys in (np.array(["a", "b"] * (ROWS // 2)), np.arange(ROWS) % 3):
        keyed = ol.Keyed(make())
        keyed.learn_one(keys[0], X[0], y[0])
        keyed.predict_one(keys[0], X[0], id=1)
        keyed.learn_one(id=1, y=y[0])
        keyed.replay(keys, X, y)
        keyed.predict(keys, X)
        keyed.statistics()


def _late(make: Callable[[], Any]) -> None:
    X, y = _stream(ROWS)
    late = ol.Late(make())
    late.predict_one(X[0], id=1)
    late.predict_one(X[1], id=2)
    late.learn_one(id=2, y=y[1])
    late.learn_one(id=1, y=y[0])


WAYS = [
    _rounds,
    _replay,
    _bulk,
    _certificate,
    _certificate_in_bulk,
    _sparse,
    _late,
    _bank,  # the last two: not for learners whose state grows
    _keyed,
]


# --- everything else ------------------------------------------------------------------------------


def _hindsight() -> None:
    X, y = _stream(ROWS)
    both: list[Any] = [ol.hindsight.BestFixed(), ol.hindsight.BestDrifting(b=1.0, c=2.0)]
    for running in both:
        running.learn_one(X[0], y[0])
        running.learn_many(X, y)
    ol.hindsight.best_fixed(X, y)
    ol.hindsight.best_drifting(X, y, b=1.0, c=2.0)
    ol.hindsight.drifting_path(X, y, b=1.0, c=2.0)
    ol.hindsight.best_shifting(X, y, 2)
    ol.hindsight.best_sparse(X, y, a=0.1)


def _comparators() -> None:
    X, y = _stream(ROWS)
    for make in (ol.EG, ol.EGU, ol.EGPM, ol.GD, ol.PNorm, ol.RLS, ol.CRRLS):
        ol.certificate(make(), X, y, comparator=np.full((ROWS, WIDTH), 1 / WIDTH))


def _functions() -> None:
    X, y = _stream(ROWS)
    for make in (ol.KernelGD, partial(ol.KernelARCOR, radius=1.0), ol.KernelCRRLS):
        for kernel in KERNELS:
            ol.certificate(make(kernel=kernel), X, y, comparator=(X[:2], np.ones(2) / 9))


def _sets() -> None:
    """Learners whose weights stay in a set, in every way, and certificates of them."""
    X, y = _stream(ROWS)
    line = ol.sets.HalfSpace(np.ones(WIDTH), 0.9 * WIDTH)
    within: dict[str, Any] = {
        "GD": ol.sets.Intersection(ol.sets.Box(0.0), line, ol.sets.Ball(2.0)),
        "PNorm": ol.sets.Intersection(line, ol.sets.Ball(2.0)),
        "EG": ol.sets.Capped(0.9),
        "EGPM": ol.sets.Capped(0.9),
        "EGU": ol.sets.Box(0.01, 2.0),
    }
    for name, given in within.items():
        kind: Any = ol.LEARNERS[name]
        make = partial(kind, within=given)
        for way in WAYS:
            way(make)
        ol.certificate(make(), X, y, comparator=np.full(WIDTH, 1 / WIDTH))
    exact = ol.sets.Intersection(*within["GD"].sets, exact=True)
    ol.GD(within=exact).fit(X, y)
    apart = ol.sets.Intersection(ol.sets.HalfSpace(np.ones(WIDTH), -2.0), ol.sets.Box(0.0))
    with contextlib.suppress(ValueError):
        ol.GD(within=apart).fit(X, y)
    ol.certificate(ol.ONS(gamma=0.01, radius=1.0), X, y, comparator=np.zeros(WIDTH))


def _losses() -> None:
    X, y = _stream(ROWS)
    loss = ol.losses.Logistic()
    loss(y, y)
    loss.link(y)
    model = ol.GD(loss=loss).fit(X, y)
    model.decision_function(X)
    ol.certificate(ol.EGU(eta=0.1, loss=ol.losses.Quantile(0.5)), X, y, comparator=np.ones(WIDTH))
    for kind in (ol.GD, ol.EG, ol.EGPM, ol.PNorm):
        kind.from_loss(**RANGES[kind.__name__], K=1.0, loss=loss)
        kind.from_horizon(**RANGES[kind.__name__], T=10, loss=ol.losses.Hinge())


def _features() -> None:
    X, y = _stream(ROWS)
    maps = [
        ol.features.RandomFourier(width=6),
        *(ol.features.Nystroem(each, landmarks=4) for each in KERNELS),
    ]
    for features in maps:
        model = ol.features.Mapped(features, ol.LASER())
        model.learn_one(X[0], y[0])
        model.predict_one(X[0])
        ol.replay(model, X, y)
        model.predict(X)


def _filters() -> None:
    X, y = _stream(ROWS)
    labels = np.where(y > y.mean(), 1.0, -1.0)
    makers: list[Callable[[], Any]] = [
        ol.RidgeFilter,
        partial(ol.RidgeFilter, form="dual", feedback="full"),
        partial(ol.RidgeFilter, rule="variance", drift=50.0),
        partial(ol.RidgeFilter, rule="ellipsoid"),
        ol.PRidgeFilter,
        partial(ol.PRidgeFilter, form="dual"),
        partial(ol.PRidgeFilter, margin="forward"),
        ol.LaserFilter,
        partial(ol.LaserFilter, form="dual"),
        ol.AppleTasting,
        ol.Perceptron,
        *(partial(ol.RidgeFilter, kernel=each) for each in KERNELS[:3]),
        *(partial(ol.RidgeFilter, kernel=each, drift=50.0) for each in KERNELS[:3]),
        *(partial(ol.PRidgeFilter, kernel=each) for each in KERNELS[:3]),
    ]
    for make in makers:
        for rows in (X, scipy.sparse.csr_array(X)):
            ol.filter_replay(make(), rows, labels)
        with tempfile.TemporaryDirectory() as folder:
            model = make()
            ol.filter_replay(model, X, labels)
            model.save(Path(folder) / "filter.onl")
            ol.load(Path(folder) / "filter.onl")


def _bregman() -> None:
    X, _ = _stream(ROWS)
    w, simplex = X[0] + 0.1, np.full(WIDTH, 1 / WIDTH)
    ol.bregman.squared(w, simplex)
    ol.bregman.relative_entropy(w / w.sum(), simplex)
    ol.bregman.project_simplex(simplex, 0.5)
    ol.bregman.project_ball(w, 0.1)


def _keyed_with_limits() -> None:
    X, y = _stream(ROWS)
    keyed = ol.Keyed(ol.Ridge(), memory_limit=12_000, max_age=10)
    for _ in range(2):
        keyed.replay(np.arange(ROWS), X, y)
    with tempfile.TemporaryDirectory() as folder:
        keyed.save(Path(folder) / "keyed.onl")
        ol.load(Path(folder) / "keyed.onl")
    many = ol.Keyed(ol.NLMS(), threads=2)
    for first in (0, 300):  # the index of keys grows
        keys = np.arange(first, first + 300)
        many.replay(keys, np.ones((300, 2)), np.ones(300))
    many.replay(np.arange(5000) % 7, np.ones((5000, 2)), np.ones(5000))
    pooled = ol.Keyed(ol.Ridge(), pooled=True)
    pooled.replay(np.arange(ROWS) % 3, X, y)
    del keyed[next(iter(keyed))]


def _kernels_called_from_python() -> None:
    X, _ = _stream(ROWS)
    linalg.finite(X[0])
    for kernel in KERNELS[:3]:
        kernel(X, X[0])


OTHERS = [
    _hindsight,
    _comparators,
    _functions,
    _losses,
    _sets,
    _features,
    _filters,
    _bregman,
    _keyed_with_limits,
    _kernels_called_from_python,
]
