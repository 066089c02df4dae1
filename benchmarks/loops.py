"""Loops of recursive least squares without checks, as baselines; they predict like Ridge(b=1).

v = Σx,  χ = xᵀv,   w ← w + v (y − xᵀw) / (1 + χ),   Σ ← Σ − vvᵀ / (1 + χ),   Σ₀ = I
"""

import math

import numpy as np
from numba import njit

from onlinear._numerics.linalg import dot, subtract_square_and_multiply


def as_written(X: np.ndarray, y: np.ndarray, drift: float = 0.0) -> np.ndarray:
    """Return the predictions by the equations in this module's docstring, as written, in NumPy.

    With ``drift`` > 0, the predictions are those of LASER(c=1/drift, shrink=False).
    """
    rows, d = X.shape
    w, S, predictions = np.zeros(d), np.eye(d), np.empty(rows)
    step = drift * np.eye(d)
    for t in range(rows):
        x = X[t]
        if drift and t:
            S = S + step
        v = S @ x
        chi = x @ v
        predictions[t] = m = w @ x
        w = w + v * (y[t] - m) / (1 + chi)
        S = S - np.outer(v, v) / (1 + chi)
    return predictions


def careful(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the predictions by in-place NumPy operations, with one temporary matrix."""
    rows, d = X.shape
    w, S, predictions = np.zeros(d), np.eye(d), np.empty(rows)
    v, u, square = np.empty(d), np.empty(d), np.empty((d, d))
    for t in range(rows):
        x = X[t]
        np.dot(S, x, out=v)
        predictions[t] = m = w.dot(x)
        np.divide(v, 1.0 + x.dot(v), out=u)
        np.multiply(u[:, None], v, out=square)
        S -= square
        u *= y[t] - m
        w += u
    return predictions


@njit(error_model="numpy")
def compiled(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the predictions by plain loops that Numba compiles."""
    rows, d = X.shape
    w, v, S, predictions = np.zeros(d), np.zeros(d), np.eye(d), np.empty(rows)
    for t in range(rows):
        x = X[t]
        for j in range(d):
            v[j] = 0.0
        for i in range(d):
            for j in range(d):
                v[j] += x[i] * S[i, j]
        chi = m = 0.0
        for j in range(d):
            chi += x[j] * v[j]
            m += w[j] * x[j]
        predictions[t] = m
        gain = 1.0 / (1.0 + chi)
        for i in range(d):
            w[i] += gain * (y[t] - m) * v[i]
            a = gain * v[i]
            for j in range(d):
                S[i, j] -= a * v[j]
    return predictions


@njit(error_model="numpy")
def _fused(X: np.ndarray, y: np.ndarray, S: np.ndarray) -> np.ndarray:
    rows, d = X.shape
    w, u, v, predictions = np.zeros(d), np.zeros(d), np.zeros(d), np.empty(rows)
    subtract_square_and_multiply(u, S, X[0], v)
    for t in range(rows):
        x = X[t]
        chi, m = dot(x, v), dot(w, x)
        predictions[t] = m
        gain = 1.0 / (1.0 + chi)
        root = math.sqrt(gain)
        for i in range(d):
            u[i] = root * v[i]
            w[i] += (y[t] - m) * (gain * v[i])
        subtract_square_and_multiply(u, S, X[min(t + 1, rows - 1)], v)
    return predictions


def fused(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the predictions by the fastest loop, which updates Σ and computes Σx in one pass.

    The predictions equal those of a replay with ``engine="rank-one"`` to the bit, because every sum
    is taken in the same order.
    """
    d = X.shape[1]
    flat = np.zeros(d * d + 8)
    first = -flat.ctypes.data % 64 // 8  # Σ starts at a cache line
    S = flat[first : first + d * d].reshape(d, d)
    np.fill_diagonal(S, 1.0)
    return np.asarray(_fused(X, y, S))
