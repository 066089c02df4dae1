"""Streams whose true weights drift by given steps, and the bounds of LASER and ARCOR on them."""

from typing import NamedTuple

import numpy as np

import onlinear as ol
from onlinear.papers.thesis.drift_bounds import corollary

__all__ = ["DECAYS", "DRIFTS", "STEPS", "Bounds", "Drift", "look", "stream"]

STEPS = (0.001, 0.01, 0.1, 0.5)  # lengths ν of constant steps
DECAYS = (0.25, 0.5, 0.6, 2 / 3, 0.75, 1.0, 1.5)  # decays κ of steps t^−κ
NOISE = 0.1


class Drift(NamedTuple):
    """The drift of the true weights, whose step in round t has the length size·t^−decay."""

    size: float
    decay: float


DRIFTS = (*(Drift(nu, 0.0) for nu in STEPS), *(Drift(1.0, kappa) for kappa in DECAYS))


class Bounds(NamedTuple):
    """Bounds and regrets of LASER and ARCOR after T rounds, and the thesis' bound (6.9)."""

    laser: float
    arcor: float
    laser_regret: float
    arcor_regret: float
    unshrunk: float  # the regret of LASER(shrink=False), with the same b and c
    nimble: float  # the regret of LASER(shrink=False), with the same b and c/100
    corollary: float


def stream(drift: Drift, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of length 1, labels, and true weights of length 1 that move by ``drift``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    chords = drift.size * np.arange(1.0, rows) ** -drift.decay
    angle = np.append(0.0, np.cumsum(2 * np.arcsin(chords / 2)))
    u = np.column_stack([np.cos(angle), np.sin(angle)])
    return X, np.sum(X * u, axis=1) + NOISE * rng.uniform(-1, 1, size=rows), u


def look(item: tuple[Drift, int, int]) -> Bounds:
    """Return the bounds and regrets on one stream, given its drift, number of rows and seed."""
    drift, rows, seed = item
    X, y, u = stream(drift, rows, seed)
    V, Y, d = ol.hindsight.squared_drift(u), float(np.abs(y).max()), X.shape[1]
    laser = ol.LASER.from_drift(T=rows, V=V, X=1.0, Y=Y, d=d)
    arcor = ol.ARCOR.from_drift(T=rows, V=ol.hindsight.total_drift(u), radius=1.0)
    of_laser, of_arcor = (ol.certificate(model, X, y, comparator=u) for model in (laser, arcor))
    freer = ol.Bank([ol.LASER(b=laser.b, c=laser.c / k, shrink=False) for k in (1, 100)], threads=1)
    unshrunk, nimble = ol.replay(freer, X, y).cumulative_loss[-1] - of_laser.comparator[-1]
    log_det = -np.linalg.slogdet(laser.b * laser.covariance_)[1]  # ln|D_T/b|
    return Bounds(
        of_laser.bound[-1],
        of_arcor.bound[-1],
        of_laser.regret[-1],
        of_arcor.regret[-1],
        unshrunk,
        nimble,
        corollary(laser.b, laser.c, rows, V, Y, d, log_det),
    )
