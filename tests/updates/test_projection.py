"""The projection in the metric of Σ⁻¹, by Lanczos' recursion and by Cholesky's factors."""

import numpy as np
import pytest
import slow_projections as slow
from numpy.testing import assert_allclose, assert_array_equal

import onlinear as ol
from onlinear._updates.ball_projection import (
    MORE,
    SCRATCH,
    STEEP,
    by_cholesky,
    by_lanczos,
    project_ellipsoid,
)


def work(d):
    """Scratch that shows when it is read before it is written."""
    return np.full((d + SCRATCH, d), np.nan)


def projected(S, w, radius):
    u = w.copy()
    project_ellipsoid(S, u, radius, work(w.size))
    return u


def lanczos(S, w, radius):
    """Return the projection, whether Lanczos' recursion gave it, and of how many vectors."""
    u, scratch = w.copy(), work(w.size)
    done = by_lanczos(S, u, np.linalg.norm(w), radius, scratch)
    return u, done, int(np.isfinite(scratch[12:, 0]).sum()) - 1


def ellipsoid(rng, d, condition, turned):
    """Return Σ with eigenvalues spread over ``condition``, and its eigenvectors."""
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0] if turned else np.eye(d)
    values = condition ** -rng.uniform(size=d)
    if rng.uniform() < 0.2:
        values = np.where(rng.uniform(size=d) < 0.5, 1.0, 1 / condition)
    S = turn * values @ turn.T
    return (S + S.T) / 2, turn


def steepness(S, w, u):
    """α‖Σ‖, with w − u = αΣu."""
    return np.linalg.norm(w - u) / np.linalg.norm(S @ u) * np.linalg.norm(S, 2)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("seed", range(300))
def test_it_is_what_the_eigenvalues_say(seed, turned):
    """Up to the rounding of a turned Σ, which no method can know better: a share of α‖Σ‖."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 41))
    S, axes = ellipsoid(rng, d, 10.0 ** rng.choice([0, 1, 3, 6, 12]), turned)
    S *= 10.0 ** rng.choice([-60, -5, 0, 0, 8, 60])
    w = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3)
    if seed % 5 == 1:
        w = 3.0 * axes[:, 0]
    if seed % 5 == 2:
        w = 3.0 * axes[:, 0] + 1e-9 * rng.normal(size=d)
    if seed % 5 == 3:
        w = S @ w / np.trace(S)
    inside = rng.choice([1e-12, 1e-6, 0.02, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-8])
    radius = (1 - inside) * np.linalg.norm(w)
    wanted = slow.project_ellipsoid(S, w, radius)
    u = projected(S, w, radius)
    assert abs(np.linalg.norm(u) / radius - 1) <= 1e-15
    rounding = 1e-15 * steepness(S, w, u) if turned else 0.0
    assert np.linalg.norm(u - wanted) <= (1e-12 + rounding) * radius


@pytest.mark.parametrize("seed", range(40))
def test_both_methods_find_the_same(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 60))
    S, _ = ellipsoid(rng, d, 10.0 ** rng.uniform(0, 12), True)
    w = rng.normal(size=d)
    radius = rng.uniform(0.05, 0.95) * np.linalg.norm(w)
    exact = w.copy()
    by_cholesky(S, exact, radius, work(d))
    u, done, vectors = lanczos(S, w, radius)
    steep = steepness(S, w, exact)
    assert done or steep > STEEP / 4
    if done:
        assert vectors <= min(2 * d, d + MORE)
        assert_allclose(u, exact, rtol=0, atol=(1e-13 + 1e-15 * steep) * radius)


def test_the_rounds_of_a_learner_take_few_vectors_and_never_a_factorisation():
    rng = np.random.default_rng(0)
    d, radius = 60, 0.1
    u = rng.normal(size=d)
    model, used = ol.ARCOR(), []
    for _ in range(300):
        x = rng.normal(size=d)
        model.learn_one(x, x @ u)
        _, done, vectors = lanczos(model.covariance_, model.coef_, radius)
        assert done
        used.append(vectors)
    assert np.mean(used) < d / 3


def test_vectors_that_lose_their_orthogonality_only_add_to_their_number():
    """One large eigenvalue is found at once, and found again: more than d vectors are taken."""
    rng = np.random.default_rng(1)
    d = 20
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    S = turn * np.geomspace(1e-2, 1.0, d) @ turn.T
    S = (S + S.T) / 2
    w = rng.normal(size=d)
    radius = 0.1 * np.linalg.norm(w)
    u, done, vectors = lanczos(S, w, radius)
    assert done
    assert vectors > d
    assert_allclose(u, slow.project_ellipsoid(S, w, radius), rtol=0, atol=1e-12 * radius)


def test_a_steep_ellipsoid_is_left_to_the_factorisation():
    """Of a graded Σ that keeps every digit, where Lanczos' recursion would have 1e-16·α‖Σ‖."""
    S = np.diag(10.0 ** -np.arange(0.0, 12.0))
    w = np.ones(12)
    u, done, _ = lanczos(S, w, 1e-3)
    assert not done
    assert_array_equal(u, w)
    assert_allclose(projected(S, w, 1e-3), slow.project_ellipsoid(S, w, 1e-3), rtol=1e-13)


def test_where_the_vectors_run_out_the_factorisation_takes_over():
    rng = np.random.default_rng(6)
    d = int(rng.integers(1, 60))
    S, _ = ellipsoid(rng, d, 10.0 ** rng.uniform(0, 12), True)
    w = rng.normal(size=d)
    radius = rng.uniform(0.05, 0.95) * np.linalg.norm(w)
    u, done, vectors = lanczos(S, w, radius)
    assert not done
    assert vectors == min(2 * d, d + MORE)
    assert_array_equal(u, w)
    wanted = slow.project_ellipsoid(S, w, radius)
    assert_allclose(projected(S, w, radius), wanted, rtol=0, atol=1e-12 * radius)


@pytest.mark.parametrize("d", [1, 2, 30])
def test_an_eigenvector_is_shortened_in_one_step(d):
    rng = np.random.default_rng(d)
    w = rng.normal(size=d)
    for scale in (1e-300, 1e-9, 1.0, 1e300):
        u, done, vectors = lanczos(scale * np.eye(d), w, 0.5 * np.linalg.norm(w))
        assert done
        assert vectors <= 2
        assert_allclose(u, 0.5 * w, rtol=1e-15)


def test_a_point_inside_stays():
    w = np.array([0.6, 0.8])
    for radius in (np.linalg.norm(w), 2.0, np.inf):
        assert_array_equal(projected(np.diag([1.0, 3.0]), w, radius), w)
