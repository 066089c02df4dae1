"""The bounds of OGD with a falling rate, and of ONS in terms of its own loss."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from table import stream

import onlinear as ol


def moving(rows, d, radius, rng):
    """Return comparators in a ball that change now and then."""
    u = rng.normal(size=(4, d))
    u *= radius * rng.uniform(0.2, 1, size=(4, 1)) / np.linalg.norm(u, axis=1, keepdims=True)
    return u[np.sort(rng.integers(4, size=rows))]


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_with_a_falling_rate_is_the_sum_of_its_terms(seed):
    rng = np.random.default_rng(seed)
    X, y = stream(50, seed=seed)
    eta, radius = 0.7, 0.8
    u = moving(50, 5, radius, rng)
    proof = ol.certificate(ol.OGD(eta, "sqrt", radius), X, y, comparator=u)
    total, wanted = 0.0, []
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        t, size = i + 1, np.linalg.norm(u[i])
        rate = eta / math.sqrt(t)
        total += (label - u[i] @ x) ** 2
        total += 2 * rate * (x @ x) * (radius * np.linalg.norm(x) + abs(label)) ** 2
        if i == 0:
            total += size**2 / (2 * eta)
        else:
            last, before = eta / math.sqrt(i), np.linalg.norm(u[i - 1])
            total += 0.5 * (size + radius) ** 2 * (1 / rate - 1 / last)
            total += np.linalg.norm(u[i] - u[i - 1]) * (radius + (size + before) / 2) / last
        wanted.append(total)
    assert_allclose(proof.ceiling, wanted, rtol=1e-12)
    assert proof.holds.all()


def test_the_regret_with_a_falling_rate_grows_as_the_root_of_the_rounds():
    """With the rate for X, Y and γ, it is at most 4√2·γX(γX + Y)√T."""
    X, y = stream(400)
    gamma, Y = 1.0, float(np.abs(y).max())
    eta = gamma / (math.sqrt(2) * (gamma + Y))  # ‖x‖ ≤ 1
    proof = ol.certificate(ol.OGD(eta, "sqrt", gamma), X, y)
    most = 4 * math.sqrt(2) * gamma * (gamma + Y) * np.sqrt(np.arange(1, 401))
    u = np.linalg.lstsq(X, y, rcond=None)[0]
    u /= max(1.0, np.linalg.norm(u))
    given = ol.certificate(ol.OGD(eta, "sqrt", gamma), X, y, comparator=u)
    assert (given.bound <= most * (1 + 1e-12)).all()
    assert proof.holds.all()


def test_ogd_with_a_constant_rate_and_a_radius_is_gd():
    X, y = stream(100)
    one, other = (ol.certificate(m, X, y) for m in (ol.OGD(0.3, radius=0.5), ol.GD(0.3, 0.5)))
    assert one.loss.tobytes() == other.loss.tobytes()
    assert one.ceiling.tobytes() == other.ceiling.tobytes()


def test_with_a_radius_ogd_refuses_no_row_for_its_length():
    long = [[30.0, 0.0]]
    for schedule in ("constant", "sqrt"):
        model = ol.OGD(0.5, schedule, radius=2.0).fit(long, [1.0])
        assert np.linalg.norm(model.coef_) <= 2.0 * (1 + 1e-15)
        with pytest.raises(ValueError, match="overshoots"):
            ol.OGD(0.5, schedule).fit(long, [1.0])


def test_comparators_outside_of_the_ball_are_named():
    X, y = stream(10)
    u = np.tile([0.1, 0, 0, 0, 0], (10, 1))
    u[6, 0] = 2.0
    proof = ol.certificate(ol.OGD(0.5, "sqrt", 1.0), X, y, comparator=u)
    assert proof.failed_from == 6
    assert "‖u_t‖ ≤ radius" in proof.failed


# --- ONS ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_of_ons_is_the_smaller_of_both_forms(seed):
    rng = np.random.default_rng(seed)
    rows, d, radius, epsilon = 2000, 3, 1.0, float(10 ** rng.uniform(-2, 2))
    X = rng.normal(size=(rows, d)) / math.sqrt(d)
    u = np.array([0.5, -0.3, 0.2])
    y = X @ u + 0.1 * (seed % 2) * rng.normal(size=rows)
    lengths = np.linalg.norm(X, axis=1)
    gamma = 0.4 / np.max(radius * lengths + np.abs(y)) ** 2
    model = ol.ONS(gamma=gamma, epsilon=epsilon, radius=radius)
    proof = ol.certificate(model, X, y, comparator=u)
    cost = np.cumsum((y - X @ u) ** 2) + gamma * epsilon / 2 * u @ u
    k = d / (2 * gamma)
    steep = np.cumsum(4 * (radius * lengths + np.abs(y)) ** 2 * lengths**2)
    by_rows = cost + k * np.log1p(steep / (epsilon * d))
    by_loss = []
    for C, longest in zip(cost, np.maximum.accumulate(lengths), strict=True):
        scale = 4 * longest**2 / (epsilon * d)
        gap = lambda L, C=C, scale=scale: L - C - k * math.log1p(scale * L)  # noqa: E731
        by_loss.append(brentq(gap, C, 1e6, xtol=1e-14, rtol=1e-15))
    assert_allclose(proof.ceiling, np.minimum(by_rows, by_loss), rtol=1e-10)
    assert proof.holds.all()
    if seed % 2 == 0:  # u has no loss: in the end, the second form is smaller
        assert by_loss[-1] < by_rows[-1]


def test_where_a_u_has_no_loss_the_bound_of_ons_stays_constant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2)) / 3
    u = np.array([0.6, -0.4])
    gamma = 0.4 / np.max(np.linalg.norm(X, axis=1) + np.abs(X @ u)) ** 2
    proof = ol.certificate(ol.ONS(gamma, 1.0, radius=1.0), X, X @ u, comparator=u)
    assert proof.ceiling[-1] <= 1.3 * proof.ceiling[200]
    assert proof.holds.all()


def test_a_certificate_of_ons_from_an_earlier_version_goes_on(tmp_path):
    X, y = stream(60)
    model = ol.ONS(gamma=0.05, radius=1.0)
    watched = ol.Certified(model)
    earlier = type(watched._accounts)(model._guarantee().earlier[0])
    watched._accounts = earlier
    watched.replay(X[:30], y[:30])
    watched.save(tmp_path / "model.onl")
    again = ol.Certified.load(tmp_path / "model.onl")
    again.replay(X[30:], y[30:])
    whole = ol.certificate(ol.ONS(gamma=0.05, radius=1.0), X, y)
    assert again.loss == pytest.approx(whole.loss[-1], rel=1e-12)
    assert whole.ceiling[-1] <= again.ceiling
    assert again.holds
