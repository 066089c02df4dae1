"""The orders of the bounds of LASER and ARCOR as functions of the drift (thesis, section 6.1).

V is the sum of the squared lengths of the comparator's steps, V′ the sum of their lengths. After T
rounds, LASER's bound is of the order T^{2/3}V^{1/3}, and ARCOR's of the order √(TV′)·ln T. The
orders are computed as logarithms, since they are also compared for T far beyond the range of
floating point.

Moroshko, thesis sections 6 and 6.1.
"""

import math

import numpy as np
from scipy.optimize import brentq

import onlinear as ol

__all__ = [
    "closed_form",
    "corollary",
    "crossover",
    "lead",
    "log_closed_form",
    "only_laser",
    "price_of_6_8",
]

STEEPEST = 1e6  # the largest decay κ; all steps but the first are then 0
LARGEST = 700.0  # e to this power fits in a double


def closed_form(T: int, kappa: float) -> tuple[float, float]:
    """Return the thesis' closed-form bound on Σ_{t<T} t^−κ, κ ≠ 1: as printed, and corrected."""
    printed = ((T - 1) ** (1 - kappa) - 1) / (1 - kappa)
    return printed, ((T - 1) ** (1 - kappa) - kappa) / (1 - kappa)


def log_closed_form(log_T: float, kappa: float) -> float:
    """Return ln(1 + (T^{1−κ} − 1)/(1 − κ)): the corrected closed form with T in place of T − 1."""
    share = 1 - kappa
    if share == 0:
        return math.log1p(log_T)
    if share * log_T > LARGEST:
        return share * log_T - math.log(share)
    return math.log1p(math.expm1(share * log_T) / share)


def lead(log_T: float, log_V: float, log_total: float) -> float:
    """Return ln(ARCOR's order / LASER's order), which is positive where LASER's order is smaller.

    ``log_total`` is ln V′.
    """
    arcor = (log_T + log_total) / 2 + math.log(log_T)
    return arcor - (2 * log_T + log_V) / 3


def decaying_lead(log_T: float, kappa: float) -> float:
    """Return ln(ARCOR's order / LASER's order) if the comparator's steps have length t^−κ."""
    return lead(log_T, log_closed_form(log_T, 2 * kappa), log_closed_form(log_T, kappa))


def crossover(log_T: float) -> float:
    """Return the κ up to which LASER's order is smaller than ARCOR's; infinity if it always is.

    The comparator's steps have length t^−κ.
    """
    if decaying_lead(log_T, STEEPEST) >= 0:
        return math.inf
    return float(brentq(lambda kappa: decaying_lead(log_T, kappa), 0.5, STEEPEST, xtol=1e-12))


def only_laser() -> float:
    """Return log₁₀ of the largest T at which LASER's order is smaller than ARCOR's for every κ."""
    log_T = brentq(lambda log_T: decaying_lead(log_T, STEEPEST), 10.0, 30.0)
    return float(log_T) / math.log(10)


def corollary(b: float, c: float, T: int, V: float, Y: float, d: int, log_det: float) -> float:
    """Return the bound (6.9) on LASER's regret against comparators of norm 1, for X = 1.

    In the thesis b is εc, so the ε/(1 − ε) of (6.9) is b/(c − b) here. ``log_det`` is ln|D_T/b|,
    where D_T is the inverse of LASER's Σ after T rounds.
    """
    drift: float = 3 * (math.sqrt(2) * Y**2 * d * T) ** (2 / 3) * V ** (1 / 3)
    return b + drift + b / (c - b) * Y**2 * d + Y**2 * log_det


def price_of_6_8(rows: int = 1000) -> dict[str, tuple[float, float, float]]:
    """Return c, LASER's loss and the bound (6.9), for c as printed in (6.8) and for c corrected.

    In every row of the stream, x = 1 and y = u_t, where u_t rises evenly from −1 to 1;
    d = X = Y = b = 1.
    """
    u = np.linspace(-1, 1, rows)[:, None]
    V, K = ol.hindsight.squared_drift(u), math.sqrt(2) * rows
    found = {}
    for name, c in (("printed", K / V ** (2 / 3)), ("right", (K / V) ** (2 / 3))):
        model = ol.LASER(b=1.0, c=c)
        proof = ol.certificate(model, np.ones((rows, 1)), u[:, 0], comparator=u)
        log_det = -math.log(model.covariance_[0, 0])
        allowed = corollary(1.0, c, rows, V, 1.0, 1, log_det)
        found[name] = (c, float(proof.loss[-1]), allowed)
    return found
