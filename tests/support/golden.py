"""Predictions, losses and final states on streams given by formulas, to twelve digits.

The numbers are in ``tests/data/golden``. A case names the learner, its parameters, its stream, the
total loss, the predictions (of the given rounds), the final weights, the diagonal and the (1, 2)
entry of the final Σ, and, for ARCOR, the rounds of its resets, counted from 1.
"""

import json
from typing import Any, NamedTuple

import numpy as np
from places import ROOT


def golden_file(name: str) -> dict[str, Any]:
    """Return the contents of a file of golden numbers."""
    return json.loads((ROOT / "tests" / "data" / "golden" / name).read_text())


def tuples(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case with tuples for its lists of numbers, which then equal other tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in case.items()}


class Golden(NamedTuple):
    learner: str
    params: dict[str, Any]
    stream: str
    loss: float
    predictions: tuple[float, ...]
    w: tuple[float, ...]
    diagonal: tuple[float, ...] | None = None
    corner: float | None = None
    resets: tuple[int, ...] | None = None
    rounds: Any = slice(None)


def waves():
    t, i = np.arange(1, 61)[:, None], np.arange(1, 5)
    X = 0.49 * np.sin(0.37 * t * i + 0.5 * i * i)
    t = t[:, 0]
    drifting = X[:, 0] * np.cos(t / 20) + 0.8 * X[:, 1] * np.sin(t / 15)
    return X, drifting - 0.5 * X[:, 2] + 0.1 * np.sin(2.3 * t)


def residues():
    t, j = np.arange(1, 61)[:, None], np.arange(4)
    X = ((t * (3 + 2 * j) + 5 * j) % 17 - 8) / 8
    return X, X @ [2.0, -1.0, 0.25, 0.0] + (7 * t[:, 0] % 13 - 6) / 20


def signed():
    X = _raw() / 64 - 1
    return X, _switching(X, [0.5, -0.25, 0.125, 0.0], [-0.25, 0.0, 0.5, 0.25], 16)


def positive():
    X = _raw() / 128
    y = _switching(X, [0.5, 0.25, 0.0, 0.25], [0.0, 0.25, 0.5, 0.25], 32)
    return X, np.clip(y, 0.0, 1.0)


def _raw():
    t, i = np.arange(1, 41)[:, None], np.arange(1, 5)
    return (7 * t**2 + 31 * t * i + 53 * i**2) % 127


def _switching(X, before, after, fineness):
    t = np.arange(1, 41)
    return np.where(t <= 20, X @ before, X @ after) + (11 * t % 7 - 3) / fineness


STREAMS = {"waves": waves, "residues": residues, "signed": signed, "positive": positive}
CASES = {name: Golden(**tuples(case)) for name, case in golden_file("learners.json").items()}

_BREGMAN = golden_file("bregman.json")
SIMPLEX = [tuple(tuples(case).values()) for case in _BREGMAN["simplex"]]
BALL_METRIC = _BREGMAN["ball in a metric"]  # v of the unit ball is nearest to w in (v − w)ᵀA(v − w)
DIVERGENCES = _BREGMAN["divergences"]
