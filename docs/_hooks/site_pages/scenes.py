"""Scenes for the site's figures: for each learner, settings and a stream that suits it.

A learner without its own scene is shown with default settings, on rows that every learner accepts.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import onlinear as ol

__all__ = ["SCENES", "Scene", "items", "scene"]

Stream = tuple[np.ndarray, np.ndarray]


class Scene(NamedTuple):
    """What a figure shows: a learner, a stream and its description, and further curves to draw."""

    model: ol.Learner
    X: np.ndarray
    y: np.ndarray
    words: str
    also: dict[str, np.ndarray] = {}  # noqa: RUF012 (never changed)


def _turning(model: ol.Learner, degrees: float = 0.5, rows: int = 2000, d: int = 6) -> Scene:
    """Return a stream whose true weights turn at a constant rate."""
    X, y = ol.streams.rotating(rows, d, degrees)
    words = f"{rows:,} rows of {d} features; the true weights turn by {degrees:g}° per row"
    best = ol.hindsight.best_drifting(X, y, b=1.0, c=30.0)
    return Scene(model, X, y, words, {"best drifting + 30·‖Δu‖²": best})


def _switching(model: ol.Learner, rows: int = 1200, d: int = 6, segments: int = 4) -> Scene:
    """Return a stream whose true weights are fixed for a while and then change; ‖x‖ = 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    truths = rng.normal(size=(segments, d))
    truths /= np.linalg.norm(truths, axis=1, keepdims=True)
    truth = np.repeat(truths, rows // segments, axis=0)
    y = np.sum(X * truth, axis=1) + 0.05 * rng.normal(size=rows)
    words = (
        f"{rows:,} rows of {d} features and length 1; the true weights change every "
        f"{rows // segments} rows"
    )
    best = ol.hindsight.best_shifting(X, y, segments).loss
    return Scene(model, X, y, words, {f"best of {segments} segments": best})


def _still(model: ol.Learner, rows: int = 1000, d: int = 6) -> Scene:
    """Return a stream whose true weights are fixed; rows have length 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = rng.normal(size=d)
    y = X @ (u / np.linalg.norm(u)) + 0.1 * rng.normal(size=rows)
    return Scene(model, X, y, f"{rows:,} rows of {d} features and length 1; fixed true weights")


def _sparse(model: ol.Learner, rows: int = 500, d: int = 40, few: int = 3) -> Scene:
    """Return a stream with many features, few of which matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    y = X[:, :few] @ [1.0, -2.0, 1.5] + 0.5 * rng.normal(size=rows)
    words = f"{rows:,} rows of {d} features, {few} of which matter"
    ridge = ol.replay(ol.AAR(), X, y).cumulative_loss
    return Scene(model, X, y, words, {"AAR": ridge})


def _classes(model: ol.Learner, rows: int = 2000, d: int = 6, degrees: float = 0.0) -> Scene:
    """Return a stream of two classes, with some wrong labels, whose boundary may turn."""
    X, y = ol.streams.rotating(rows, d, degrees)
    rng = np.random.default_rng(0)
    labels = (y > 0) ^ (rng.uniform(size=rows) < 0.1)
    turns = f"turns by {degrees:g}° per row" if degrees else "is fixed"
    words = (
        f"{rows:,} rows of {d} features in two classes, whose boundary {turns}; a tenth of the "
        "labels are wrong"
    )
    return Scene(model, X, labels * 1.0, words)


def _simplex(model: ol.Learner, rows: int = 2000, d: int = 40, *, signs: bool = False) -> Scene:
    """Return a stream with few nonzero weights, whose absolute values sum to 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0 if signs else 0.0, 1.0, size=(rows, d))
    weights = np.array([0.5, -0.3, 0.2]) if signs else np.array([0.5, 0.3, 0.2])
    y = np.clip(X[:, :3] @ weights + 0.05 * rng.normal(size=rows), -1.0 if signs else 0.0, 1.0)
    size = "absolute weights sum" if signs else "weights sum"
    words = f"{rows:,} rows of {d} features, 3 of which matter; their {size} to 1"
    return Scene(model, X, y, words)


def _curved(
    model: ol.Learner, rows: int = 600, moves: float = 0.0, *, jumps: bool = False
) -> Scene:
    """Return a stream whose label is a wave over one feature; the wave may move, or jump once."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(rows, 1))
    phase = moves * np.arange(rows) + np.where(np.arange(rows) < rows // 2, 0.0, np.pi * jumps)
    y = np.sin(2 * X[:, 0] + phase) + 0.1 * rng.normal(size=rows)
    words = f"{rows:,} rows of one feature; the true function is a {'moving ' * bool(moves)}wave"
    words += " that changes its sign halfway" * jumps
    straight = ol.replay(ol.AAR(), X, y).cumulative_loss
    return Scene(model, X, y, words, {"AAR, linear": straight})


def _odd_units(model: ol.Learner) -> Scene:
    """Return a scene in odd units, whose true weights turn; also draw LASER without scaling."""
    X, y = ol.streams.rotating(rows=2000, d=4, degrees=0.5)
    raw = X * [1e3, 1.0, 1.0, 1e-3] + [0.0, 300.0, 0.0, 0.0]
    words = "2,000 rows of 4 features in odd units; the true weights turn by 0.5° per row"
    plain = ol.replay(ol.LASER(c=30.0, shrink=False), raw, y).cumulative_loss
    return Scene(model, raw, y, words, {"LASER, not scaled": plain})


def _plain(model: ol.Learner, rows: int = 1000, d: int = 5) -> Scene:
    """Return a drifting stream that every learner accepts: 0 ≤ x, ‖x‖ ≤ 1, 0 ≤ y ≤ 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    angle = np.arange(rows)[:, None] / 100 + np.arange(d)
    y = np.clip(np.sum(X * (1 + np.cos(angle)) / 2, axis=1), 0.0, 1.0)
    words = f"{rows:,} rows of {d} features; each weight oscillates with a period of 628 rows"
    return Scene(model, X, y, words)


WAVE = ol.kernels.RBF(gamma=2.0)

SCENES: dict[str, Callable[[], Scene]] = {
    "AAR": lambda: _still(ol.AAR()),
    "ARCOR": lambda: _switching(ol.ARCOR(r=0.3, radius=1.0, q=1.5)),
    "AROW": lambda: _classes(ol.AROW(b=0.1)),
    "AROWR": lambda: _still(ol.AROWR(r=0.5)),
    "Auto": lambda: _odd_units(ol.Auto()),
    "CIRR": lambda: _sparse(ol.CIRR(a=5.0)),
    "CRRLS": lambda: _switching(ol.CRRLS(forgetting=0.98, reset_every=100)),
    "DriftNetwork": lambda: _turning(ol.DriftNetwork(r=0.1)),
    "EG": lambda: _simplex(ol.EG()),
    "EGPM": lambda: _simplex(ol.EGPM(), signs=True),
    "EGU": lambda: _simplex(ol.EGU()),
    "GD": lambda: _switching(ol.GD(eta=0.25, radius=1.0)),
    "KernelAAR": lambda: _curved(ol.KernelAAR(WAVE, b=0.1)),
    "KernelARCOR": lambda: _curved(ol.KernelARCOR(WAVE, r=0.1, q=1.5, radius=12.0), jumps=True),
    "KernelCRRLS": lambda: _curved(
        ol.KernelCRRLS(WAVE, forgetting=0.97, reset_every=60), moves=0.02
    ),
    "KernelGD": lambda: _curved(ol.KernelGD(WAVE)),
    "KernelLASER": lambda: _curved(
        ol.KernelLASER(WAVE, b=0.1, c=3.0, shrink=False, budget=100), moves=0.02
    ),
    "KernelWEMM": lambda: _curved(ol.KernelWEMM(WAVE, b=1.1)),
    "LASER": lambda: _turning(ol.LASER(c=30.0, shrink=False)),
    "LogisticLASER": lambda: _classes(ol.LogisticLASER(b=0.1, c=30.0, reach=4.0), degrees=0.1),
    "NLMS": lambda: _turning(ol.NLMS()),
    "OGD": lambda: _turning(ol.OGD(eta=0.02)),
    "ONS": lambda: _still(ol.ONS(gamma=0.05, radius=1.0)),
    "OSLOG": lambda: _sparse(ol.OSLOG(a=5.0)),
    "PNorm": lambda: _switching(ol.PNorm(p=3.0, eta=0.125, radius=1.5)),
    "RLS": lambda: _turning(ol.RLS(forgetting=0.95)),
    "Ridge": lambda: _still(ol.Ridge()),
    "Standardized": lambda: _odd_units(ol.Standardized(ol.LASER(c=30.0, shrink=False))),
    "WEMM": lambda: _still(ol.WEMM(b=2.0)),
}


def scene(cls: type[ol.Learner]) -> Scene:
    """Return the scene of a learner's figure."""
    make = SCENES.get(cls.__name__)
    return make() if make else _plain(cls())


def items(rows: int = 4000) -> tuple[np.ndarray, np.ndarray, str]:
    """Return rows for filters, whether each row is relevant, and a description of the stream."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(rows, 10)), np.ones(rows)])
    relevant = X[:, 0] + X[:, 1] > 2.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, relevant, f"{rows:,} rows, {relevant.sum():,} of them relevant"
