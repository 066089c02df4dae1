"""Random points and their projections, for Herbster & Warmuth (2001): Theorems 2, 5, 6, 7, Fig 3.

Let D be a Bregman divergence, w any point, p the projection of w on a convex set Γ, and u a point
of Γ. By Theorem 2

    D(u, w) ≥ D(u, p) + D(p, w),    with equality if Γ is affine
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from onlinear import bregman

__all__ = [
    "GEOMETRIES",
    "Geometry",
    "Projected",
    "definition",
    "figure_3",
    "project_plane",
    "projected",
]

RADIUS, ALPHA = 1.0, 0.3  # of the ball; of the box and the simplex
MOST = 20  # a point has at most this many coordinates

Vector = np.ndarray
Random = np.random.Generator


class Geometry(NamedTuple):
    """A row of the paper's Figure 1: a function F, its divergence, and the set to project on."""

    name: str
    region: str
    divergence: Callable[[Vector, Vector], float]
    F: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]  # ∇F
    moved: Callable[[Vector, Vector], Vector]  # the v with ∇F(v) = ∇F(w) − s
    anywhere: Callable[[Random, int], Vector]  # a random w
    inside: Callable[[Random, int], Vector]  # a random u of Γ
    project: Callable[[Vector], Vector]


class Projected(NamedTuple):
    """Both sides of Theorem 2, and related quantities: numbers for one w, or arrays for many."""

    whole: Any  # D(u, w)
    parts: Any  # D(u, p) + D(p, w), p on Γ
    parts_plane: Any  # D(u, p) + D(p, w), p on a hyperplane through u
    definition: Any  # D(u, w) by (3), F(u) minus the tangent of F at w
    nearest: Any  # D(p, w)
    farther: Any  # D(q, w) of another point q of Γ, on the way from p to u


def _entropy(v: Vector) -> float:
    return float(np.sum(v * np.log(v) - v))


def _normalised(v: Vector) -> Vector:
    return np.asarray(v / v.sum())


def _in_ball(rng: Random, n: int) -> Vector:
    v = rng.normal(size=n)
    return np.asarray(RADIUS * rng.uniform() ** (1 / n) * v / np.linalg.norm(v))


GEOMETRIES = (
    Geometry(
        "squared distance",
        "ball",
        bregman.squared,
        lambda v: float(0.5 * np.sum(v * v)),
        lambda v: v,
        lambda w, s: w - s,
        lambda rng, n: rng.normal(size=n),
        _in_ball,
        lambda w: bregman.project_ball(w, RADIUS),
    ),
    Geometry(
        "unnormalised entropy",
        "box",
        bregman.unnormalised_entropy,
        _entropy,
        np.log,
        lambda w, s: w * np.exp(-s),
        lambda rng, n: np.exp(3 * rng.normal(size=n)),
        lambda rng, n: np.asarray((n / ALPHA) ** rng.uniform(-1, 1, size=n)),
        lambda w: bregman.project_box(w, ALPHA),
    ),
    Geometry(
        "relative entropy",
        "simplex with a floor",
        bregman.relative_entropy,
        _entropy,
        np.log,
        lambda w, s: _normalised(w * np.exp(s.min() - s)),
        lambda rng, n: _normalised(np.exp(3 * rng.normal(size=n))),
        lambda rng, n: ALPHA / n + (1 - ALPHA) * rng.dirichlet(np.full(n, 0.5)),
        lambda w: bregman.project_simplex(w, ALPHA),
    ),
)


def definition(geometry: Geometry, u: Vector, w: Vector) -> float:
    """Return D(u, w) by its definition (3): F(u) minus the value at u of the tangent of F at w."""
    return float(geometry.F(u) - geometry.F(w) - (u - w) @ geometry.gradient(w))


def project_plane(geometry: Geometry, w: Vector, x: Vector, level: float) -> Vector:
    """Return the projection of w on the hyperplane of the points v with v·x = ``level``.

    By the paper's equation (57), ∇F at the projection is ∇F(w) minus a multiple of x.
    """

    def excess(multiplier: float) -> float:
        return float(geometry.moved(w, multiplier * x) @ x - level)

    reach = 1.0
    while excess(reach) > 0 or excess(-reach) < 0:
        reach *= 2
    return geometry.moved(w, brentq(excess, -reach, reach, xtol=1e-15) * x)


def projected(geometry: Geometry, rng: Random) -> Projected:
    """Return both sides of Theorem 2 for a random w outside of Γ and a random u in it."""
    n = int(rng.integers(2, MOST + 1))
    u, w = geometry.inside(rng, n), geometry.anywhere(rng, n)
    while np.allclose(p := geometry.project(w), w):
        w = geometry.anywhere(rng, n)
    q = p + 10 ** -rng.uniform(0, 4) * (u - p)
    x = rng.normal(size=n)
    r = project_plane(geometry, w, x, float(u @ x))
    D = geometry.divergence
    return Projected(
        whole=D(u, w),
        parts=D(u, p) + D(p, w),
        parts_plane=D(u, r) + D(r, w),
        definition=definition(geometry, u, w),
        nearest=D(p, w),
        farther=D(q, w),
    )


def figure_3(w: Vector, alpha: float, *, printed: bool) -> tuple[Vector, int]:
    """Run the algorithm of Figure 3; return its result v*, and of how many numbers it took medians.

    The algorithm projects w on the points v of the simplex with all v_i ≥ α/n. If ``printed``,
    lines 8 and 15 of Figure 3 are as printed, else without the α/n in the denominator, as in Claim
    1. With lines 8 and 15 as printed, line 11 may take the minimum of an empty set, which raises a
    ValueError.
    """
    floor = alpha / w.size
    below = floor if printed else 1.0
    pool, count, mass, looked = w, 0, 0.0, 0  # W, C# and C%
    while pool.size:
        looked += pool.size
        omega = np.sort(pool)[pool.size // 2]
        L, M, H = pool[pool < omega], pool[pool == omega], pool[pool > omega]
        m0 = (1 - (count + L.size) * floor) / (1 - (mass + L.sum()) * below)  # line 8
        if omega * m0 < floor:
            count, mass = count + L.size + M.size, mass + L.sum() + M.sum()
            if not H.size:
                omega = np.min(w[w > omega])  # line 11
            pool = H
        else:
            pool = L
    m0 = (1 - count * floor) / (1 - mass * below)  # line 15
    return np.where(w < omega, floor, w * m0), looked
