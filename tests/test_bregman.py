"""Divergences and projections against definitions, general optimisers and Figure 3."""

import math

import numpy as np
import pytest
import slow_projections as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from onlinear import bregman
from onlinear._updates.ball_projection import SCRATCH, project_ellipsoid

SLSQP = 1e-6  # a numerical minimiser is known to the root of the precision of its minimum

steady = settings(derandomize=True, deadline=None)  # the first call compiles
sizes = st.integers(1, 12)
alphas = st.floats(0.0, 1.0)
vectors = sizes.flatmap(lambda n: arrays(float, n, elements=st.floats(-1e6, 1e6)))
weights = sizes.flatmap(
    lambda n: arrays(float, n, elements=st.one_of(st.just(0.0), st.floats(1e-12, 1e6)))
)
simplex = weights.filter(lambda w: w.sum() > 1e-6).map(lambda w: w / w.sum())


def simplex_point(rng, n, spread=3.0):
    """Draw a point of the simplex whose weights differ by factors of about e^spread."""
    w = np.exp(spread * rng.normal(size=n))
    return w / w.sum()


def in_floored_simplex(rng, n, alpha):
    return alpha / n + (1 - alpha) * simplex_point(rng, n)


# --- divergences -------------------------------------------------------------------------------


def test_divergences_are_what_their_convex_functions_leave_above_the_tangent():
    """D(u, w) = F(u) − F(w) − ∇F(w)ᵀ(u − w)."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        u, w = rng.uniform(0.1, 2.0, size=(2, 5))
        squares = u @ u / 2 - w @ w / 2 - w @ (u - w)
        assert_allclose(bregman.squared(u, w), squares, rtol=1e-10)
        entropy = np.sum(u * np.log(u) - u) - np.sum(w * np.log(w) - w) - np.log(w) @ (u - w)
        assert_allclose(bregman.unnormalised_entropy(u, w), entropy, rtol=1e-10)
        u, w = u / u.sum(), w / w.sum()
        both = bregman.relative_entropy(u, w), bregman.unnormalised_entropy(u, w)
        assert_allclose(*both, rtol=1e-10)


def test_zero_times_the_logarithm_of_zero_is_zero():
    assert bregman.relative_entropy([0.0, 1.0], [0.0, 1.0]) == 0.0
    assert bregman.relative_entropy([0.0, 1.0], [0.5, 0.5]) == pytest.approx(math.log(2))
    assert bregman.unnormalised_entropy([0.0, 1.0], [0.0, 1.0]) == 0.0
    assert bregman.unnormalised_entropy([0.0, 0.0], [3.0, 0.0]) == 3.0


def test_an_entropy_is_infinite_where_a_weight_is_missing():
    assert bregman.relative_entropy([0.5, 0.5], [1.0, 0.0]) == math.inf
    assert bregman.unnormalised_entropy([0.5, 1e-300], [1.0, 0.0]) == math.inf


@steady
@given(vectors)
def test_a_divergence_is_zero_from_a_point_to_itself(u):
    assert bregman.squared(u, u) == 0.0
    assert bregman.unnormalised_entropy(abs(u), abs(u)) == 0.0


@steady
@given(simplex, st.data())
def test_divergences_are_not_negative(u, data):
    w = data.draw(arrays(float, u.size, elements=st.floats(1e-3, 1.0)))
    rounding = 1e-12
    assert bregman.squared(u, w) >= 0
    assert bregman.unnormalised_entropy(u, w) >= -rounding
    assert bregman.relative_entropy(u, w / w.sum()) >= -rounding


# --- projections -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_ball_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    w, radius = rng.normal(size=4), rng.uniform(0.1, 3.0)
    assert_allclose(bregman.project_ball(w, radius), slow.slsqp_ball(w, radius), atol=SLSQP)


@pytest.mark.parametrize("seed", range(20))
def test_the_box_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    w, alpha = np.exp(3 * rng.normal(size=4)), rng.uniform(0.3, 1.0)
    assert_allclose(bregman.project_box(w, alpha), slow.slsqp_box(w, alpha), atol=SLSQP)


@pytest.mark.parametrize("seed", range(20))
def test_the_simplex_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    w, alpha = simplex_point(rng, int(rng.integers(2, 7)), spread=1.0), rng.uniform(0.05, 0.95)
    assert_allclose(bregman.project_simplex(w, alpha), slow.slsqp_simplex(w, alpha), atol=SLSQP)


@pytest.mark.parametrize("seed", range(200))
def test_the_simplex_projection_is_that_of_the_medians(seed):
    rng = np.random.default_rng(seed)
    w = simplex_point(rng, int(rng.integers(1, 300)), spread=rng.uniform(0.1, 5.0))
    if seed % 3 == 0:  # ties and zeros
        w = np.round(w * w.size) + 0.0
        w = w / w.sum() if w.any() else np.full(w.size, 1 / w.size)
    alpha = rng.choice([0.0, 0.01, rng.uniform(), 0.99, 1.0])
    assert_allclose(
        bregman.project_simplex(w, alpha), slow.median_simplex(w, alpha), rtol=1e-11, atol=1e-15
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_ellipsoid_projection_is_the_nearest_point_in_the_metric(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    half = rng.normal(size=(d, d))
    S = half @ half.T + 0.1 * np.eye(d)
    w, radius = 2 * rng.normal(size=d), rng.uniform(0.1, 3.0)
    by_search = slow.slsqp_ball(w, radius, metric=np.linalg.inv(S))
    by_eigenvalues = slow.project_ellipsoid(S, w, radius)
    project_ellipsoid(S, w, radius, np.empty((d + SCRATCH, d)))
    assert_allclose(w, by_eigenvalues, rtol=1e-9, atol=1e-12)
    # slower to converge along the long axes of the metric
    assert_allclose(w, by_search, atol=10 * SLSQP)


@pytest.mark.parametrize("seed", range(40))
def test_the_ellipsoid_projection_bears_long_and_flat_ellipsoids(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    S = turn * 10.0 ** rng.uniform(-4, 4, size=5) @ turn.T
    S = (S + S.T) / 2
    w, radius = rng.normal(size=5), 10.0 ** rng.uniform(-4, 0)
    wanted = slow.project_ellipsoid(S, w, radius)
    project_ellipsoid(S, w, radius, np.empty((5 + SCRATCH, 5)))
    assert np.linalg.norm(w) <= radius * (1 + 1e-12)
    # the eigenvalues of S are known to 1e-16 of the largest, the smallest to 1e-8 of itself
    assert_allclose(w, wanted, atol=1e-7 * radius)


@steady
@given(vectors, st.floats(1e-3, 1e3))
def test_ball_projections_are_inside_and_stay(w, radius):
    v = bregman.project_ball(w, radius)
    assert np.linalg.norm(v) <= radius * (1 + 1e-14)
    assert_allclose(bregman.project_ball(v, radius), v, rtol=1e-14)


@steady
@given(weights, alphas)
def test_box_projections_are_inside_and_stay(w, alpha):
    v = bregman.project_box(w, alpha)
    assert np.all(v >= alpha / w.size)
    assert alpha == 0 or np.all(v <= w.size / alpha)
    assert_array_equal(bregman.project_box(v, alpha), v)


@steady
@given(simplex, alphas)
def test_simplex_projections_are_inside_and_stay(w, alpha):
    v = bregman.project_simplex(w, alpha)
    assert np.all(v >= alpha / w.size)
    assert_allclose(v.sum(), 1.0, rtol=1e-12)
    assert_allclose(bregman.project_simplex(v, alpha), v, rtol=1e-9)


@steady
@given(simplex, alphas)
def test_the_simplex_projection_keeps_the_order_of_the_weights(w, alpha):
    v = bregman.project_simplex(w, alpha)
    assert np.all(np.diff(v[np.argsort(w)]) >= -1e-15)


@steady
@given(simplex, alphas, st.integers(0, 2**32 - 1))
def test_the_pythagorean_inequality_holds_on_the_simplex(w, alpha, seed):
    """D(u, w) ≥ D(u, v) + D(v, w) for every u of the set and the projection v of w."""
    v = bregman.project_simplex(w, alpha)
    u = in_floored_simplex(np.random.default_rng(seed), w.size, alpha)
    D = bregman.relative_entropy
    total = D(u, w)
    assert total == math.inf or total >= D(u, v) + D(v, w) - 1e-9 * (1 + total)


@steady
@given(vectors, st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_the_pythagorean_inequality_holds_on_the_ball(w, radius, seed):
    v = bregman.project_ball(w, radius)
    u = bregman.project_ball(radius * np.random.default_rng(seed).normal(size=w.size), radius)
    D = bregman.squared
    assert D(u, w) >= (D(u, v) + D(v, w)) * (1 - 1e-9)


@steady
@given(weights.filter(lambda w: w.min() > 0), st.floats(0.01, 1.0), st.integers(0, 2**32 - 1))
def test_the_pythagorean_inequality_holds_on_the_box(w, alpha, seed):
    v, n = bregman.project_box(w, alpha), w.size
    u = np.random.default_rng(seed).uniform(alpha / n, n / alpha, size=n)
    D = bregman.unnormalised_entropy
    assert D(u, w) >= (D(u, v) + D(v, w)) * (1 - 1e-9) - 1e-9


def test_huge_and_tiny_entries_are_projected_and_compared_too():
    assert_allclose(bregman.project_ball([3e200, 4e200], 1.0), [0.6, 0.8], rtol=1e-12)
    assert_allclose(bregman.project_simplex(np.full(4, 0.25) * (1 - 5e-10), 1 - 1e-10), 0.25)
    expected = -np.log(1e-320)
    assert_allclose(bregman.relative_entropy([1.0, 0.0], [1e-320, 1.0]), expected)
