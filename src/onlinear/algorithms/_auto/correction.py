"""Correct Auto's prediction so that a bound on its squared loss holds; off by default.

Let g be Auto's prediction, p_k those of its LASERs (its experts but the mean of the labels), and
z = (p_k − g)_k. The forward algorithm (AAR) on z predicts what is left of the label, y − g:

    ŷ  = g + zᵀv / (1 + χ)          χ = zᵀΣz,  Σ₀ = I/β,  v₀ = 0
    v ← v + Σz (y − g − zᵀv) / (1 + χ),   Σ ← Σ − Σz zᵀΣ / (1 + χ)

β is ten times the variance of the first ten labels, and the correction begins with the row after
them. (If these labels are all equal, it begins after the first that differs.) So the loss of the
rows from there on satisfies, on every stream,

    L ≤ min over v of (Σ (y − g − vᵀz)² + β‖v‖²) + Σ (y − g)²·χ/(1 + χ)

This minimum is at most the loss of Auto without the correction (v = 0), and at most that of each
LASER plus β (v a unit vector). A row whose label Auto takes for an outlier is an exception: the
correction learns the label as Auto clips it, or not at all, so that such a row does little harm.
Its loss in excess of that on the clipped label, or its whole loss, is then added to the bound.

Vovk 1998; Forster 1999 (the forward algorithm).
"""

import math

from onlinear._numerics.linalg import axpy, dot, kernel, observe, reset, symv
from onlinear.algorithms._auto.labels import FIRST, HIGH, LOW, MEAN
from onlinear.algorithms._auto.outliers import EARLY

__all__ = ["begin_to_correct", "corrected", "differences", "learn_to_correct"]

WEAK = 10.0  # β, in variances of the first labels


@kernel
def _prior(n, labels, early, y):
    """Return β after n rows, the last with the label y − y₁; 0 if all labels were equal so far."""
    if n < EARLY or labels[HIGH] <= labels[LOW]:
        return 0.0
    if n > EARLY:  # only the last label differs
        return WEAK * labels[MEAN] * (y - labels[MEAN])
    mean = variance = 0.0
    for i in range(EARLY):
        mean += (early[i, 0] - labels[FIRST]) / EARLY
    for i in range(EARLY):
        off = early[i, 0] - labels[FIRST] - mean
        variance += off * off / EARLY
    return WEAK * variance


@kernel
def begin_to_correct(n, labels, early, y, v, S):
    """Set Σ ← I/β after row n if β is known by then; Σ is 0 before."""
    if v.size > 0 and S[0, 0] == 0.0:
        beta = _prior(n, labels, early, y)
        if beta > 0.0 and math.isfinite(1.0 / beta):
            reset(1.0 / beta, S)


@kernel
def differences(f, middle, guess, z):
    """Write to z the LASERs' predictions minus Auto's; f has them minus the experts' mean."""
    for k in range(z.size):
        z[k] = f[k] + (middle - guess)


@kernel
def corrected(v, S, z, h):
    """Return the correction zᵀv/(1 + χ) of Auto's prediction; h is scratch."""
    symv(S, z, h)
    correction = dot(v, z) / (1.0 + dot(z, h))
    return correction if math.isfinite(correction) else 0.0


@kernel
def learn_to_correct(v, S, z, left, h, u):
    """Learn ``left``, the label minus Auto's prediction; h and u are scratch."""
    symv(S, z, h)
    chi, e = dot(z, h), left - dot(v, z)
    if math.isfinite(chi * e) and chi > 0.0:
        observe(S, z, h, chi, 1.0, u)  # h ← Σz/(1 + χ)
        axpy(e, h, v)
