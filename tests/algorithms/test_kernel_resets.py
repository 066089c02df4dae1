"""Kernel learners whose covariance is reset: golden numbers, resets, projections, a budget."""

import math

import kernel_oracles as slow
import numpy as np
import oracles
import pytest
from kernel_cases import each_kernel
from numpy.testing import assert_allclose
from small_streams import within_unit_ball
from table import manhattan, state, stream

import onlinear as ol
from onlinear.kernels import RBF, Linear, Polynomial

ROWS = np.arange(1, 6)[:, None]
WAVES = np.cos(ROWS * np.arange(1, 4)), np.sin(2 * ROWS[:, 0])


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (
            ol.KernelARCOR(RBF(gamma=0.5), r=0.5, radius=0.6, q=1.5),
            [0, 0.0551337676982, 0.0391507709785, -0.327376020072, 0.311196470077],
        ),
        (
            ol.KernelCRRLS(RBF(gamma=0.5), forgetting=0.8, reset_every=3),
            [0, 0.0464194380548, 0.0439038144118, -0.388829230307, 0.472235433016],
        ),
    ],
    ids=repr,
)
def test_they_predict_the_reference_numbers(model, wanted):
    """On x_ti = cos(t·i) and y_t = sin(2t), worked out once, to twelve digits."""
    assert_allclose(ol.replay(model, *WAVES).predictions, wanted, rtol=1e-9, atol=1e-12)


def jumps(seed, rows=80):
    """Return a stream whose true weights jump twice, and parameters of ARCOR."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, int(rng.integers(1, 6)))) / 2
    truth = 2 * rng.normal(size=(3, X.shape[1]))
    y = np.sum(X * truth[np.sort(rng.integers(0, 3, size=rows))], axis=1)
    params = {
        "r": float(10 ** rng.uniform(-1.5, 1)),
        "radius": float(rng.choice([0.1, 0.3, 1.0, math.inf])),
        "q": float(rng.choice([1.0, 1.5, 2.0, math.inf])),
    }
    if seed % 4 == 0:
        params["thresholds"] = np.sort(rng.uniform(0.01, 0.9, size=4))[::-1].tolist()
    return X, y + 0.1 * rng.normal(size=rows), params


@pytest.mark.parametrize("seed", range(60))
def test_with_the_linear_kernel_kernel_arcor_resets_and_projects_when_arcor_does(seed):
    X, y, params = jumps(seed)
    linear, kernel = ol.ARCOR(**params), ol.KernelARCOR(Linear(), **params)
    for x, label in zip(X, y, strict=True):
        scale = 1 + np.abs(y).max()
        assert abs(linear.predict_one(x) - kernel.predict_one(x)) <= 1e-12 * scale
        linear.learn_one(x, label)
        kernel.learn_one(x, label)
        assert linear.resets_ == kernel.resets_
        weights = kernel.dual_coef_ @ kernel.examples_
        assert_allclose(weights, linear.coef_, atol=1e-10 * scale)
        assert np.linalg.norm(weights) <= params["radius"] * (1 + 1e-9)


def test_the_streams_above_have_resets_and_projections():
    resets = projected = 0
    for seed in range(60):
        X, y, params = jumps(seed)
        model = ol.KernelARCOR(Linear(), **params)
        ol.replay(model, X, y)
        resets += model.resets_
        projected += math.sqrt(model._state.square[0]) >= params["radius"] * (1 - 1e-12)
    assert resets > 500
    assert projected > 10


def test_kernel_arcor_is_arcor_on_explicit_features():
    """(1 + xᵀz)² in two dimensions has six features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(np.arange(80) < 40, X[:, 0] ** 2, X[:, 0] * X[:, 1])
    a, b = X.T
    two = math.sqrt(2)
    F = np.column_stack([np.ones(80), two * a, two * b, a * a, b * b, two * a * b])
    linear = ol.ARCOR(r=0.5, radius=1.0, q=1.5)
    kernel = ol.KernelARCOR(Polynomial(2), r=0.5, radius=1.0, q=1.5)
    wanted = ol.replay(linear, F, y).predictions
    assert_allclose(ol.replay(kernel, X, y).predictions, wanted, rtol=1e-11, atol=1e-12)
    assert kernel.resets_ == linear.resets_ > 10


@each_kernel
@pytest.mark.parametrize("radius", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("r", [1e-4, 0.1, 30.0])
def test_the_projection_is_the_one_with_the_eigenvalues(kernel, radius, r):
    rng = np.random.default_rng(5)
    X, y = within_unit_ball(rng.normal(size=(40, 3)), 3 * rng.normal(size=40))
    model = ol.KernelARCOR(kernel, r=r, radius=radius, q=math.inf)
    got = ol.replay(model, X, y).predictions
    wanted = oracles.arcor(slow.features(kernel, X), y, r, radius, math.inf).predictions
    assert_allclose(got, wanted, rtol=1e-8, atol=1e-8 * min(1.0, radius))
    K, alpha = slow.gram(kernel, model.examples_), model.dual_coef_
    cancelled = np.abs(K).max() * np.abs(alpha).sum() ** 2  # what may cancel in αᵀKα
    assert_allclose(alpha @ K @ alpha, model._state.square[0], rtol=1e-12, atol=1e-15 * cancelled)
    if kernel == Linear():
        square = np.sum((alpha @ model.examples_) ** 2)
        assert_allclose(square, model._state.square[0], rtol=1e-12, atol=1e-15 * cancelled)
    p = model._state.p[: len(X)]
    assert_allclose(p, model.predict(model.examples_), rtol=1e-6, atol=1e-8 * radius)


@pytest.mark.parametrize("label", [1e3, 1e10, 1e70, 1e140])
@pytest.mark.parametrize("before", [0, 3])
def test_a_huge_step_ends_on_the_edge_of_the_ball_where_arcors_does(label, before):
    kernel, linear = ol.KernelARCOR(Linear(), radius=1.0), ol.ARCOR(radius=1.0)
    rows = [([0.1 * i, 0.3], 0.5) for i in range(before)] + [([1.0, 0.0], label), ([1.0, 0.5], 0.3)]
    for x, y in rows:
        kernel.learn_one(x, y)
        linear.learn_one(x, y)
        assert_allclose(kernel.dual_coef_ @ kernel.examples_, linear.coef_, rtol=1e-9)


def test_a_tie_causes_no_reset():
    """One-hot rows and r = 1: λ_max(K) is the count of the most frequent row, θ = i."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(4, size=300)
    wanted, counts, segment = 0, np.zeros(4), 1
    for i in chosen:
        counts[i] += 1
        if counts.max() > segment:
            counts[:], segment, wanted = 0, segment + 1, wanted + 1
    assert wanted > 10
    for seed in range(30):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
        model = ol.KernelARCOR(Linear()).fit(np.eye(4)[chosen] @ turn, np.ones(300))
        assert model.resets_ == wanted


def test_a_change_of_r_or_q_takes_effect_with_the_next_segment():
    X, y = stream(60)
    model = ol.KernelARCOR(r=0.3, q=math.inf).fit(X[:20], y[:20])
    model.set_params(q=1.0, r=5.0).partial_fit(X[20:], y[20:])
    assert model.resets_ == 0
    assert np.isfinite(model.predict(X)).all()


# --- a budget -----------------------------------------------------------------------------


@each_kernel
def test_a_budget_drops_the_term_of_the_oldest_example(kernel):
    rng = np.random.default_rng(3)
    X, y = within_unit_ball(rng.normal(size=(60, 3)), rng.normal(size=60))
    models = [
        ol.KernelARCOR(kernel, r=0.3, q=1.2, radius=0.7, budget=20),
        ol.KernelCRRLS(kernel, reset_every=6, budget=20),
    ]
    for model in models:
        model.fit(X, y)
        alpha, Z = model.dual_coef_, model.examples_
        np.testing.assert_array_equal(Z, X[-20:])
        K = slow.gram(kernel, Z)
        assert_allclose(model.predict(X), [alpha @ kernel(Z, x) for x in X], rtol=1e-9, atol=1e-12)
        if isinstance(model, ol.KernelARCOR):
            assert_allclose(model._state.square[0], alpha @ K @ alpha, rtol=1e-9)
            kept = int(model._state.kept[0])
            p = model._state.p[:kept]
            assert_allclose(p, (K @ alpha)[20 - kept :], rtol=1e-8, atol=1e-10)


def test_a_segment_that_fills_the_budget_ends():
    X, y = stream(100)
    model = ol.KernelARCOR(q=math.inf, budget=30)
    kept = []
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        kept.append(int(model._state.kept[0]))
    assert max(kept) == 30
    assert kept[30] == 0
    assert kept[61] == 0
    assert model.resets_ == 0


def test_parameters_that_do_not_go_together_are_refused():
    X, y = stream(5)
    rule = r"forgetting\^\(−reset_every\) ≤ 1e10.*got forgetting=0.5 and reset_every=40.*≤ 33"
    with pytest.raises(ValueError, match=rule):
        ol.KernelCRRLS(forgetting=0.5, reset_every=40).fit(X, y)
    ol.KernelCRRLS(forgetting=0.5, reset_every=33).fit(X, y)
    with pytest.raises(ValueError, match="budget ≥ reset_every = 100, got budget=20"):
        ol.KernelCRRLS(budget=20).fit(X, y)
    with pytest.raises(ValueError, match=r"KernelARCOR needs 1 > Λ_1 ≥ Λ_2"):
        ol.KernelARCOR(thresholds=[0.2, 0.4]).fit(X, y)
    with pytest.raises(ValueError, match=r"needs K\(x, x\) ≤ 1e10 times the variance.*larger r"):
        ol.KernelARCOR(r=1e-11).fit(X, y)


# --- growing -----------------------------------------------------------------------------


def test_examples_of_old_segments_take_no_room_in_the_factor(monkeypatch):
    X, y = stream(600)
    model = ol.KernelARCOR(manhattan, r=0.3, q=1.0).fit(X, y)
    assert model.resets_ > 10
    assert len(model.examples_) == 600
    assert model._state.depth[0] < 100
    assert model._record.size < 13 + 800 * 6 + 100 * 103
    again = ol.KernelARCOR(manhattan, r=0.3, q=1.0)
    for x, label in zip(X, y, strict=True):
        again.learn_one(x, label)
    assert state(again) == state(model)
