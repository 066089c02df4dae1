"""Projections by general-purpose optimisation, by eigenvalues, and by Figure 3's medians."""

import numpy as np
from scipy.optimize import brentq, minimize


def project_ellipsoid(S, w, radius):
    """Return argmin over ‖u‖ ≤ radius of (u − w)ᵀΣ⁻¹(u − w): (I + αΣ)⁻¹w at the norm's root α."""
    if np.linalg.norm(w) <= radius:
        return w
    values, vectors = np.linalg.eigh(S)
    values, z = np.maximum(values, 0.0), vectors.T @ w

    def excess(log_alpha):
        return np.linalg.norm(z / (1 + np.exp(log_alpha) * values)) - radius

    if excess(-200.0) <= 0.0:  # outside by rounding only, which is another in these coordinates
        return w
    root = brentq(excess, -200.0, 200.0, xtol=1e-15, rtol=1e-15)
    return vectors @ (z / (1 + np.exp(root) * values))


def nearest(gap, gradient, start, constraints=(), bounds=None):
    """Return the minimiser of a smooth convex function over a convex set, by SLSQP.

    The minimiser is known to about the square root of the precision of the minimum: 1e-7.
    """
    found = minimize(
        gap,
        start,
        jac=gradient,
        method="SLSQP",
        bounds=bounds,
        constraints=constraints,
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return found.x


def slsqp_ball(w, radius, metric=None):
    """The nearest point of a ball in (v − w)ᵀA(v − w)."""
    A = np.eye(w.size) if metric is None else metric
    inside = {
        "type": "ineq",
        "fun": lambda v: radius**2 - v @ v,
        "jac": lambda v: -2 * v,
    }
    start = w * min(1.0, radius / np.linalg.norm(w))
    return nearest(lambda v: (v - w) @ A @ (v - w), lambda v: 2 * A @ (v - w), start, inside)


def slsqp_box(w, alpha):
    """The nearest point of [α/n, n/α]ⁿ in unnormalised entropy."""
    n = w.size
    bounds = [(alpha / n, n / alpha)] * n
    return nearest(
        lambda v: np.sum(v * np.log(v / w) + w - v),
        lambda v: np.log(v / w),
        np.full(n, 1.0),
        bounds=bounds,
    )


def slsqp_simplex(w, alpha):
    """The nearest point of [α/n, 1]ⁿ ∩ simplex in relative entropy."""
    n = w.size
    whole = {"type": "eq", "fun": lambda v: v.sum() - 1, "jac": lambda v: np.ones(n)}
    return nearest(
        lambda v: np.sum(v * np.log(v / w)),
        lambda v: np.log(v / w) + 1,
        np.full(n, 1.0 / n),
        whole,
        [(max(alpha / n, 1e-12), 1.0)] * n,
    )


def median_simplex(w, alpha):
    """Herbster & Warmuth, Figure 3, with the denominators of lines 8 and 15 put right.

    They are 1 − (C% + L%) and 1 − C%; α ≥ 1 is the uniform point, and line 11 may find no weight
    above ω, when every one is lifted.
    """
    n = w.size
    floor = alpha / n
    if alpha >= 1:
        return np.full(n, 1.0 / n)
    pool = w
    lifted, mass = 0, 0.0  # C# and C%
    omega = w.min()
    while pool.size:
        omega = np.sort(pool)[pool.size // 2]  # line 4
        L, M, H = pool[pool < omega], pool[pool == omega], pool[pool > omega]
        kept = 1 - (mass + L.sum())
        if kept > 0 and omega * (1 - (lifted + L.size) * floor) < floor * kept:  # lines 8 and 9
            lifted, mass = lifted + L.size + M.size, mass + L.sum() + M.sum()
            if not H.size:
                omega = min(w[w > omega], default=np.inf)
            pool = H
        else:
            pool = L
    factor = (1 - lifted * floor) / (1 - mass) if lifted < n else 0.0
    return np.where(w < omega, floor, w * factor)
