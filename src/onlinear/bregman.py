"""Bregman divergences and projections of Herbster & Warmuth (JMLR 2001), Figures 1 and 3.

    squared                 D(u, w) = ½ Σ (u_i − w_i)²
    unnormalised_entropy    D(u, w) = Σ u_i ln(u_i/w_i) + w_i − u_i       u, w ≥ 0
    relative_entropy        D(u, w) = Σ u_i ln(u_i/w_i)                   on the simplex

In both entropies, 0·ln 0 = 0, and u_i ln(u_i/w_i) = ∞ where w_i = 0 < u_i. The projection of w on a
set is the set's point nearest to w, argmin over v of D(v, w).
"""

import math
from typing import Any

import numpy as np

from onlinear._numerics.linalg import kernel, norm

__all__ = [
    "project_ball",
    "project_box",
    "project_simplex",
    "relative_entropy",
    "squared",
    "unnormalised_entropy",
]


def squared(u: Any, w: Any) -> float:
    """Return half the squared Euclidean distance of u and w.

    >>> squared([1.0, 2.0], [0.0, 0.0])
    2.5
    """
    u, w = _pair(u, w)
    return float(0.5 * np.sum((u - w) ** 2))


def unnormalised_entropy(u: Any, w: Any) -> float:
    """Return the unnormalised relative entropy of non-negative vectors.

    >>> unnormalised_entropy([0.0, 1.0], [0.5, 1.0])
    0.5
    """
    u, w = _pair(u, w, least=0.0)
    return float(np.sum(_log_ratio(u, w) + (w - u)))


def relative_entropy(u: Any, w: Any) -> float:
    """Return the relative entropy (Kullback–Leibler divergence) of points of the simplex.

    >>> round(relative_entropy([1.0, 0.0], [0.5, 0.5]), 6)
    0.693147
    """
    u, w = _pair(u, w, least=0.0)
    return float(np.sum(_log_ratio(u, w)))


def project_ball(w: Any, radius: float) -> np.ndarray:
    """Return the point v with ‖v‖₂ ≤ radius that is nearest to w in squared distance.

    >>> project_ball([3.0, 4.0], 1.0)
    array([0.6, 0.8])
    """
    w = _vector(w)
    if not radius >= 0:
        raise ValueError(f"needs a radius ≥ 0, got radius={radius!r}")
    length = float(norm(w))
    return np.asarray(w / length * radius if length > radius else w.copy())


def project_box(w: Any, alpha: float) -> np.ndarray:
    """Return the point of [α/n, n/α]ⁿ nearest to w in unnormalised entropy: each w_i is clipped.

    >>> project_box([0.01, 1.0], 0.5)
    array([0.25, 1.  ])
    """
    w = _vector(w, least=0.0)
    _share(alpha)
    return np.asarray(w.copy() if alpha == 0 else np.clip(w, alpha / w.size, w.size / alpha))


def project_simplex(w: Any, alpha: float) -> np.ndarray:
    """Return the point of [α/n, 1]ⁿ ∩ simplex nearest to w in relative entropy.

    As few as possible of the smallest weights are raised to α/n, and the others are scaled so that
    the sum is one. Misprint resolved: lines 8 and 15 of Herbster & Warmuth's Figure 3 have one
    α/n too many in their denominators.

    >>> project_simplex([0.9, 0.06, 0.03, 0.01], 0.4)
    array([0.7, 0.1, 0.1, 0.1])
    """
    v = _vector(w, least=0.0).copy()
    _share(alpha)
    if not math.isclose(float(v.sum()), 1.0, rel_tol=1e-9):
        raise ValueError(f"project_simplex needs weights that sum to 1, got {v.sum()!r}")
    v /= v.sum()
    lift_simplex(v, alpha)
    return v


@kernel
def lift_simplex(w, alpha):
    """Project w in place as :func:`project_simplex` does; return whether w has changed.

    When some weights are raised to α/n, the others are scaled down, and more of them may fall below
    α/n. Those are raised in the next pass, and so on, until no weight is below α/n. A pass costs
    O(n), and a few passes usually suffice, though up to n are possible. Sorting the weights, or
    taking medians as in Herbster & Warmuth's Figure 3, has a better worst case.
    ``benchmarks/speed.py`` compares the passes with sorting: sorting is slower for hundreds of
    weights and equally fast for a million.
    """
    n = w.size
    floor = alpha / n
    if alpha >= 1.0:
        for i in range(n):
            w[i] = floor
        return True
    lifted, factor = 0, 1.0
    while True:
        count, kept = 0, 0.0
        for i in range(n):
            if w[i] * factor < floor:
                count += 1
            else:
                kept += w[i]
        if count <= lifted or count == n:
            break
        lifted = count
        factor = (1.0 - count * floor) / kept
    if lifted == 0:
        return False
    for i in range(n):
        w[i] = max(w[i] * factor, floor)
    return True


def _vector(w: Any, least: float = -math.inf) -> np.ndarray:
    array = np.array(w, dtype=float, order="C")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"needs a vector, got shape {array.shape}")
    if not np.isfinite(array).all() or array.min() < least:
        rule = "finite" if least == -math.inf else "finite and not negative"
        raise ValueError(f"needs entries that are {rule}, got {array}")
    return array


def _pair(u: Any, w: Any, least: float = -math.inf) -> tuple[np.ndarray, np.ndarray]:
    first, second = _vector(u, least), _vector(w, least)
    if first.shape != second.shape:
        raise ValueError(f"needs vectors of the same length, got {first.size} and {second.size}")
    return first, second


def _share(alpha: float) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"needs 0 ≤ alpha ≤ 1, got alpha={alpha!r}")


def _log_ratio(u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return u ln(u/w) with 0 ln 0 = 0 and ∞ where w = 0 < u."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(u == 0, 0.0, u * (np.log(u) - np.log(w)))
