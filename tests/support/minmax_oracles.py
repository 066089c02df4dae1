"""The last-step min-max problem of Forster and of LASER, solved by search on tiny streams."""

import math

import numpy as np


def drifting_least_squares(X, y, b, c, weights=None):
    """Return the least of b‖u_1‖² + c Σ‖u_{s+1} − u_s‖² + Σ a_s(y_s − u_sᵀx_s)² over u_1..u_T.

    The ``weights`` a_s are 1 if they are not given. With c = ∞ there is one u. Solved as one
    stacked least-squares problem.
    """
    if weights is not None:
        root = np.sqrt(weights)
        X, y = root[:, None] * X, root * y
    T, d = X.shape
    if math.isinf(c):
        rows = np.vstack([math.sqrt(b) * np.eye(d), X])
    else:
        first = np.hstack([math.sqrt(b) * np.eye(d), np.zeros((d, (T - 1) * d))])
        steps = math.sqrt(c) * np.kron(np.diff(np.eye(T), axis=0), np.eye(d))
        data = np.vstack([np.kron(row, x) for row, x in zip(np.eye(T), X, strict=True)])
        rows = np.vstack([first, steps, data])
    targets = np.concatenate([np.zeros(len(rows) - T), y])
    u = np.linalg.lstsq(rows, targets, rcond=None)[0]
    return float(np.sum((rows @ u - targets) ** 2))


def last_step_minmax(X, y, b, c, Y):
    """Return argmin over ŷ of max over |y_T| ≤ Y of (y_T − ŷ)² − the comparators' best, by search.

    ``y`` are the labels before the last round. What depends on ŷ is the maximum of parabolas, so
    the search is for the lowest point of a convex function.
    """
    labels = np.linspace(-Y, Y, 21)
    best = np.array([drifting_least_squares(X, np.append(y, z), b, c) for z in labels])
    low, high = -Y, Y
    for _ in range(200):  # ternary search
        a, z = low + (high - low) / 3, high - (high - low) / 3
        if np.max((labels - a) ** 2 - best) < np.max((labels - z) ** 2 - best):
            high = z
        else:
            low = a
    return (low + high) / 2
