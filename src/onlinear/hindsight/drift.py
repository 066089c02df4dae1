"""Measures of drift: how far a sequence of predictors u_1..u_T moves."""

from typing import Any

import numpy as np

from onlinear._validation import checks

__all__ = ["squared_drift", "total_drift"]


def _moves(path: Any) -> np.ndarray:
    """Return the differences u_{t+1} − u_t of consecutive rows of ``path``."""
    path, names = checks.table(path, what="path")
    checks.finite_rows("a path", path, np.zeros(len(path)), names)
    return np.diff(path, axis=0)


def squared_drift(path: Any) -> float:
    """Return V = Σ ‖u_{t+1} − u_t‖², the drift in LASER's bound.

    >>> squared_drift([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    25.0
    """
    return float(np.sum(_moves(path) ** 2))


def total_drift(path: Any, norm: int = 2) -> float:
    """Return Σ ‖u_{t+1} − u_t‖, the drift in the bounds of ARCOR, C-GD and (``norm=1``) C-EG.

    >>> total_drift([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    5.0
    """
    if norm not in (1, 2):
        raise ValueError(f"total_drift needs norm to be 1 or 2, got norm={norm!r}")
    return float(np.sum(np.linalg.norm(_moves(path), ord=norm, axis=1)))
