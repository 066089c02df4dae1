"""Sets without a point in common are refused when a learner begins, and no others are."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import onlinear as ol
from onlinear.sets import (
    Ball,
    Box,
    Capped,
    HalfSpace,
    HyperPlane,
    Intersection,
    L1Ball,
    Simplex,
)

RIGHT = HalfSpace([-1.0, 0.0], -1.0)  # w_1 ≥ 1
APART = [
    ol.GD(within=Intersection(HalfSpace([1.0, 0.0], -1.0), RIGHT)),
    ol.GD(within=Intersection(Ball(0.5), RIGHT)),
    ol.GD(within=Intersection(Ball(0.999), RIGHT, exact=True)),
    ol.GD(within=Intersection(Box(0.0), HalfSpace([1.0, 1.0], -0.01))),
    ol.GD(within=Intersection(Simplex(), Box(0.6))),
    ol.GD(within=Intersection(L1Ball(1.0), HyperPlane([1.0, 1.0], 1.001), exact=True)),
    ol.PNorm(p=3.0, within=Intersection(Ball(1.0), HyperPlane([1.0, 2.0], 4.0))),
    ol.EG(within=Intersection(Capped(0.6), HalfSpace([1.0, 0.0], 0.3))),
    ol.EG(within=Intersection(HalfSpace([1.0, 0.0], 0.3), HalfSpace([0.0, 1.0], 0.3))),
    ol.EGPM(U=2.0, within=Intersection(Capped(0.3), HyperPlane([1.0, 0.0], 1.8))),
    ol.EGU(within=Intersection(Simplex(1.0), Box(0.6, 2.0))),
]


@pytest.mark.parametrize("model", APART, ids=repr)
def test_sets_without_a_common_point_are_refused(model):
    with pytest.raises(ValueError, match=r"needs sets with a point in common, .* in all of them, "):
        model.learn_one([0.5, 0.25], 0.5)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ol.GD(radius=0.5, within=RIGHT), "allowed by radius, got .*, radius=0.5"),
        (ol.PNorm(p=3.0, radius=0.5, within=RIGHT), "allowed by radius"),
        (ol.EG(alpha=0.9, within=HalfSpace([1.0, 0.0], 0.3)), "allowed by alpha, got .*alpha=0.9"),
        (ol.EGU(alpha=0.9, within=HalfSpace([1.0, 1.0], 0.3)), "allowed by alpha"),
    ],
    ids=repr,
)
def test_a_radius_or_a_least_weight_is_one_of_the_sets(model, words):
    with pytest.raises(ValueError, match=words):
        model.learn_one([0.5, 0.25], 0.5)


TOUCHING = [
    ol.GD(within=Intersection(L1Ball(1.0), HyperPlane([1.0, 1.0], 1.0))),
    ol.GD(within=Intersection(Ball(1.0), HyperPlane([1.0, 2.0], math.sqrt(5.0)))),
    ol.GD(radius=1.0, within=RIGHT),
    # a common point only where w_2 ≤ −2000, and one where w_2 ≤ −200 000
    ol.GD(within=Intersection(HalfSpace([1.0, 0.0], -1.0), HalfSpace([-1.0, 1e-3], -1.0))),
    ol.GD(within=Intersection(HalfSpace([1.0, 0.0], -1.0), HalfSpace([-1.0, 1e-5], -1.0))),
    # and one, (1, −10⁷), that is within the limits given
    ol.GD(within=Intersection(HalfSpace([1.0, 1e-7], 0.0), RIGHT, Box(-1e9, 1e9))),
    ol.GD(within=Intersection(HalfSpace([1.0, 1e-7], 0.0), RIGHT, Ball(1e9))),
    ol.GD(within=Intersection(HalfSpace([1.0, 1e-11], 0.0), RIGHT, Ball(1e12))),
    ol.GD(radius=1e9, within=Intersection(HalfSpace([1.0, 1e-7], 0.0), RIGHT)),
    ol.GD(within=Intersection(HalfSpace([1.0, 1e-7], 0.0), RIGHT)),
    ol.PNorm(p=3.0, within=Intersection(HalfSpace([1.0, 0.0], -1.0), HalfSpace([-1.0, 0.01], -1))),
    ol.EG(within=Intersection(Capped(0.5), HalfSpace([1.0, 0.0], 0.5))),
    ol.EG(alpha=0.6, within=HalfSpace([1.0, 0.0], 0.3)),
    ol.EGU(within=Intersection(Simplex(1.0), Box(0.5, 2.0))),
]


@pytest.mark.parametrize("model", TOUCHING, ids=repr)
def test_sets_that_meet_in_a_point_or_far_away_are_taken(model):
    model.learn_one([0.5, 0.25], 0.5)
    assert model.rounds_ == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("scale", [1.0, 0.1, -3.0, 1e80])
@pytest.mark.parametrize("kind", [HalfSpace, HyperPlane])
def test_a_constraint_that_the_whole_simplex_satisfies_changes_nothing(kind, scale, n):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(20, n)), rng.normal(size=20)
    always = kind([scale] * n, scale)
    free, held = ol.EG(X=9.0, alpha=0.1), ol.EG(X=9.0, alpha=0.1, within=always)
    np.testing.assert_array_equal(held.fit(X, y).coef_, free.fit(X, y).coef_)
    capped, both = Capped(1 / n), Intersection(Capped(1 / n), always)
    np.testing.assert_allclose(ol.EG(X=9.0, within=both).fit(X, y).coef_, 1 / n)
    np.testing.assert_allclose(ol.EG(X=9.0, within=capped).fit(X, y).coef_, 1 / n)
    for c in (0.9 * scale, 1.1 * scale):
        if kind is HalfSpace and c >= scale:
            ol.EG(X=9.0, within=kind([scale] * n, c)).learn_one(X[0], y[0])
            continue
        with pytest.raises(ValueError, match="can reach"):
            ol.EG(X=9.0, within=kind([scale] * n, c)).learn_one(X[0], y[0])


def smallest_gap(geometry, walls, low, high):
    """Return the least s for which weights in [low, high] have aᵀw ≤ c + s for all a and c."""
    A = np.array([[*each.direction()[0], -1.0] for each in walls])
    c = np.array([each.direction()[1] for each in walls])
    n = A.shape[1] - 1
    sums = {"A_eq": [[1.0] * n + [0.0]], "b_eq": [1.0]} if geometry == "EG" else {}
    limits = [(low, high)] * n + [(None, None)]
    found = linprog([0.0] * n + [1.0], A_ub=A, b_ub=c, bounds=limits, **sums)
    assert found.status == 0
    return found.x[-1]


@pytest.mark.parametrize("geometry", ["GD", "EG", "EGU"])
def test_half_spaces_are_refused_if_a_linear_program_has_no_solution(geometry):
    refused, taken = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        middle = rng.dirichlet(np.ones(n))
        walls = []
        for a in rng.normal(size=(int(rng.integers(2, 6)), n)):
            walls.append(HalfSpace(a, float(a @ middle) - rng.uniform(-0.1, 0.3)))
        low, high = {"GD": (0.0, 1.0), "EG": (0.0, 1.0), "EGU": (0.1, 1.0)}[geometry]
        gap = smallest_gap(geometry, walls, low, high)
        if abs(gap) < 1e-3:
            continue
        own = [] if geometry == "EG" else [Box(low, high)]
        model = ol.LEARNERS[geometry](within=Intersection(*walls, *own))
        if gap < 0:
            model.learn_one(np.zeros(n), 0.0)
            taken += 1
        else:
            with pytest.raises(ValueError, match=r"a point in common|can reach"):
                model.learn_one(np.zeros(n), 0.0)
            refused += 1
    assert min(refused, taken) > 9, (refused, taken)
