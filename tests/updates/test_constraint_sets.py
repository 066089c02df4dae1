"""Projections on constraint sets in every geometry, against a general-purpose optimiser."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from slow_projections import nearest

from onlinear._updates.constrained_step import excess, form_of, into
from onlinear._updates.projections import (
    EUCLIDEAN,
    P_NORM,
    POSITIVE,
    SHARES,
    duals_of,
    weights_from,
)
from onlinear.sets import (
    Ball,
    Box,
    Capped,
    HalfSpace,
    HyperPlane,
    L1Ball,
    Simplex,
)
from onlinear.sets._values import FLOOR

SEEDS = range(12)
P = 3.0


def powers(w, power):
    return np.linalg.norm(w, ord=power)


def potential(geometry, w):
    """Return F(w)."""
    if geometry == EUCLIDEAN:
        return 0.5 * w @ w
    if geometry == P_NORM:
        return 0.5 * powers(w, P / (P - 1)) ** 2
    log = np.log(np.where(w > 0, w, 1.0))
    return np.sum(w * log) - (np.sum(w) if geometry == POSITIVE else 0.0)


def gradient(geometry, w):
    """Return ∇F(w)."""
    if geometry == EUCLIDEAN:
        return w
    if geometry == P_NORM:
        q = P / (P - 1)
        size = powers(w, q)
        return np.sign(w) * np.abs(w) ** (q - 1) * size ** (2 - q) if size > 0 else 0.0 * w
    return np.log(np.maximum(w, 1e-300)) + (geometry == SHARES)


def distance(geometry, v, w):
    """Return the divergence D(v, w)."""
    gap = potential(geometry, v) - potential(geometry, w)
    return gap - gradient(geometry, w) @ (v - w)


def constraints(given, n):
    """Return a set as constraints and bounds of SLSQP."""
    if isinstance(given, Ball):
        return [{"type": "ineq", "fun": lambda v: given.radius**2 - v @ v}], {}
    if isinstance(given, (HalfSpace, HyperPlane)):
        a, c = np.array(given.a), given.c
        kind = "eq" if isinstance(given, HyperPlane) else "ineq"
        return [{"type": kind, "fun": lambda v: c - a @ v, "jac": lambda v: -a}], {}
    if isinstance(given, Simplex):
        whole = {"type": "eq", "fun": lambda v: v.sum() - given.total, "jac": np.ones_like}
        return [whole], {"low": 0.0}
    if isinstance(given, Capped):
        return [], {"high": given.cap}
    low, high = given.limits()
    return [], {"low": low, "high": high}


def broken(rule, v):
    """Return by how much v breaks a constraint."""
    value = rule["fun"](v)
    return abs(value) if rule["type"] == "eq" else -value


def optimum(geometry, w, members):
    """Return the least distance of w from the intersection of sets, by SLSQP."""
    n = w.size
    rules = []
    low = np.full(n, -math.inf if geometry in (EUCLIDEAN, P_NORM) else 1e-12)
    high = np.full(n, math.inf)
    for each in members:
        more, edges = constraints(each, n)
        rules += more
        low, high = (
            np.maximum(low, edges.get("low", low)),
            np.minimum(high, edges.get("high", high)),
        )
    if geometry == SHARES:
        rules.append({"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like})
    found = math.inf
    for start in (w, np.full(n, 1 / n), np.zeros(n)):
        start = np.clip(start, low, high)
        v = nearest(
            lambda v: distance(geometry, v, w),
            lambda v: gradient(geometry, v) - gradient(geometry, w),
            start,
            rules,
            list(zip(low, high, strict=True)),
        )
        if all(broken(rule, v) < 1e-6 for rule in rules):
            found = min(found, distance(geometry, v, w))
    return found


def projected(geometry, w, members, *, exact=False, p=P):
    """Return the library's projection of w, and by how much it misses the sets."""
    form = form_of([each.record() for each in members], len(members) * exact, p, geometry)
    theta, scratch = np.empty(w.size), np.empty(w.size)
    duals_of(geometry, p, w, theta)
    into(form, theta, scratch, np.empty((len(members) + 1, w.size)))
    v = np.empty(w.size)
    weights_from(geometry, p, theta, v)
    missed = excess(form, theta, scratch, *np.empty((2, w.size)))
    return v, missed


def start(geometry, n, rng):
    if geometry in (EUCLIDEAN, P_NORM):
        return rng.normal(size=n) * 2
    w = rng.exponential(size=n) * 2
    return w / w.sum() if geometry == SHARES else w


def case(name, seed):
    """Return a geometry, weights and a set in which they are not."""
    geometry, kind = (
        {"GD": EUCLIDEAN, "PNorm": P_NORM, "EG": SHARES, "EGU": POSITIVE}[name.split()[0]],
        name.split()[1],
    )
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    w, a = start(geometry, n, rng), rng.normal(size=n)
    value = a @ w
    if geometry == SHARES:  # a value that aᵀw can have
        low, high = a.min(), a.max()
        c = low + (value - low) * rng.uniform(0.1, 0.9)
        other = low + (high - low) * rng.uniform(0.05, 0.95)
    elif geometry == POSITIVE:
        a[0], a[1] = -abs(a[0]), abs(a[1])
        value = a @ w
        c = other = value + rng.normal()
        c = min(c, value - 0.1)
    else:
        c, other = value - rng.exponential(), value + rng.normal()
    limits = np.sort(rng.normal(size=(2, n)), axis=0)
    made = {
        "Ball": lambda: Ball(rng.uniform(0.2, 1)),
        "L1Ball": lambda: L1Ball(rng.uniform(0.2, 1)),
        "Box": lambda: Box(*(np.exp(limits) if geometry == POSITIVE else limits)),
        "Simplex": lambda: Simplex(rng.uniform(0.5, 2)),
        "Capped": lambda: Capped(rng.uniform(1.02 / n, 1)),
        "HalfSpace": lambda: HalfSpace(a, c),
        "HyperPlane": lambda: HyperPlane(a, other),
    }
    return geometry, w, made[kind]()


ALL = [
    *(f"GD {kind}" for kind in ("Ball", "Box", "Simplex", "HalfSpace", "HyperPlane")),
    *(f"PNorm {kind}" for kind in ("HalfSpace", "HyperPlane")),
    *(f"EG {kind}" for kind in ("Capped", "HalfSpace", "HyperPlane")),
    *(f"EGU {kind}" for kind in ("Box", "Simplex", "HalfSpace", "HyperPlane")),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ALL)
def test_a_projection_is_the_nearest_point_of_the_set(name, seed):
    geometry, w, given = case(name, seed)
    v, missed = projected(geometry, w, [given])
    assert missed < 1e-13
    for each in constraints(given, w.size)[0]:
        assert broken(each, v) < 1e-12
    best = optimum(geometry, w, [given])
    assert distance(geometry, v, w) <= best + 1e-5 * (1 + best)
    assert best < math.inf


@pytest.mark.parametrize("seed", SEEDS)
def test_the_projection_on_the_l1_ball_is_the_nearest_point(seed):
    geometry, w, given = case("GD L1Ball", seed)
    v, _ = projected(geometry, w, [given])
    n = w.size
    assert np.abs(v).sum() <= given.radius * (1 + 1e-14)
    # as a difference of two non-negative vectors
    half = nearest(
        lambda z: 0.5 * np.sum((z[:n] - z[n:] - w) ** 2),
        lambda z: np.concatenate([z[:n] - z[n:] - w, w - z[:n] + z[n:]]),
        np.zeros(2 * n),
        {
            "type": "ineq",
            "fun": lambda z: given.radius - z.sum(),
            "jac": lambda z: -np.ones_like(z),
        },
        [(0, None)] * (2 * n),
    )
    assert_allclose(v, half[:n] - half[n:], atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_p_norm_ball_is_reached_by_scaling(seed):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=4)
    v, _ = projected(P_NORM, w, [Ball(0.3)])
    assert powers(v, P / (P - 1)) == pytest.approx(0.3)
    assert_allclose(v / w, np.full(4, v[0] / w[0]), rtol=1e-12)
    rule = {"type": "ineq", "fun": lambda u: 0.09 - powers(u, P / (P - 1)) ** 2}
    best = nearest(
        lambda u: distance(P_NORM, u, w),
        lambda u: gradient(P_NORM, u) - gradient(P_NORM, w),
        w * 0.1,
        rule,
    )
    assert distance(P_NORM, v, w) <= distance(P_NORM, best, w) + 1e-7


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("geometry", [EUCLIDEAN, P_NORM, SHARES, POSITIVE])
def test_points_of_the_set_stay_where_they_are(geometry, seed):
    kinds = {EUCLIDEAN: "GD", P_NORM: "PNorm", SHARES: "EG", POSITIVE: "EGU"}
    for name in ALL:
        if name.split()[0] == kinds[geometry]:
            _, w, given = case(name, seed)
            v, _ = projected(geometry, w, [given])
            assert_allclose(projected(geometry, v, [given])[0], v, rtol=1e-12, atol=1e-13)


# --- intersections ------------------------------------------------------------------------------


def several(geometry, seed):
    """Return weights, and sets with a point in common."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    w, inside, a = start(geometry, n, rng), start(geometry, n, rng), rng.normal(size=(2, n))
    if geometry == EUCLIDEAN:
        radius = float(np.linalg.norm(inside)) * 1.05
        sets = [Ball(radius), Box(inside - 0.3, inside + 0.4)]
    elif geometry == P_NORM:
        sets = []
    elif geometry == SHARES:
        sets = [Capped(min(1.0, 1.05 * inside.max()))]
    else:
        sets = [Box(inside / 1.5, inside * 1.5)]
    sets += [HalfSpace(each, float(each @ inside) + 0.05) for each in a]
    return w, sets, inside


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("geometry", [EUCLIDEAN, P_NORM, SHARES, POSITIVE])
def test_dykstras_algorithm_finds_the_nearest_point_of_the_intersection(geometry, seed):
    w, sets, _ = several(geometry, seed)
    v, missed = projected(geometry, w, sets, exact=True)
    assert missed < 1e-8
    best = optimum(geometry, w, sets)
    assert best < math.inf
    assert distance(geometry, v, w) == pytest.approx(best, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("geometry", [EUCLIDEAN, P_NORM, SHARES, POSITIVE])
def test_no_point_of_the_intersection_gets_farther_away(geometry, exact, seed):
    w, sets, inside = several(geometry, seed)
    v, _ = projected(geometry, w, sets, exact=exact)
    assert distance(geometry, inside, v) <= distance(geometry, inside, w) + 1e-12


def test_one_pass_is_not_the_projection_on_an_intersection():
    far = 0.0
    for seed in SEEDS:
        w, sets, _ = several(EUCLIDEAN, seed)
        once, exact = (projected(EUCLIDEAN, w, sets, exact=each)[0] for each in (False, True))
        far = max(far, float(np.abs(once - exact).max()))
    assert far > 0.1


def test_dykstras_algorithm_goes_on_where_the_weights_stand_still():
    """The first two cycles end at (1/3, 3/2), but the nearest point is (1/3, 5/6)."""
    sets = [HalfSpace([-2.0, 2.0], 1.0), HalfSpace([0.0, 2.0], 3.0), HalfSpace([3.0, 0.0], 1.0)]
    v, missed = projected(EUCLIDEAN, np.array([-4.0, 8.0]), sets, exact=True)
    assert missed < 1e-12
    assert_allclose(v, [1 / 3, 5 / 6], rtol=1e-12)
    start, corrections, seen = np.array([-4.0, 8.0]), np.zeros((3, 2)), []
    for _ in range(2):
        for k, (a, c) in enumerate(each.direction() for each in sets):
            whole = start + corrections[k]
            start = whole - max(a @ whole - c, 0.0) * a
            corrections[k] = whole - start
        seen.append(start)
    assert_allclose(seen, np.tile([1 / 3, 3 / 2], (2, 1)), rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_floor_after_a_cap_keeps_shares_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(6, 0.2))
    cap = float(rng.uniform(0.2, 0.9))
    form = form_of([Capped(cap).record(), [float(FLOOR), 3.0, 0.5]], 0, 0.0, SHARES)
    theta, v = np.log(np.maximum(w, 1e-300)), np.empty(6)
    into(form, theta, v, np.empty((1, 6)))
    weights_from(SHARES, 0.0, theta, v)
    assert v.sum() == pytest.approx(1.0, abs=1e-14)
    assert v.min() >= 0.5 / 6 * (1 - 1e-14)
    assert v.max() <= cap * (1 + 1e-14)
