"""The bounds of RLS and CR-RLS against sums that are computed anew from their definitions."""

import numpy as np
import pytest

import onlinear as ol

ROWS, D = 40, 3
SETTINGS = [
    ol.RLS(0.9, b=0.5),
    ol.RLS(0.7, b=2.0, shrink=True),
    ol.RLS(0.95, clip=30.0),
    ol.RLS(0.5, shrink=True, clip=30.0),
    ol.CRRLS(0.8, reset_every=9),
    ol.CRRLS(1.0, reset_every=15),
]


def drifting(seed):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=D) + np.cumsum(0.2 * rng.normal(size=(ROWS, D)), axis=0)
    X = rng.normal(size=(ROWS, D))
    return X, np.sum(X * u, axis=1) + 0.1 * rng.normal(size=ROWS), u


def solved(X, y, r, b, start):
    """Return A, w and the minimum of F(u) = rᵗb‖u − start‖² + Σ r^(t−s)(y_s − uᵀx_s)²."""
    weights = r ** np.arange(len(y) - 1.0, -1.0, -1.0)
    A = r ** len(y) * b * np.eye(D) + (X.T * weights) @ X
    w = start + np.linalg.solve(A, (X.T * weights) @ (y - X @ start))
    away = w - start
    return A, w, r ** len(y) * b * away @ away + weights @ (y - X @ w) ** 2


def segments(model):
    """Return the first row and the end of every segment, and r and b."""
    if isinstance(model, ol.CRRLS):
        firsts = range(0, ROWS, model.reset_every)
        return [(i, min(i + model.reset_every, ROWS)) for i in firsts], model.forgetting, 1.0
    return [(0, ROWS)], model.forgetting, model.b


def written_out(model, X, y, u):
    """Return the cost C of the best sequence, the cost of u, and r·(χ/r) of each row: all anew.

    The cost of u is that of the theorem: L(u) + rb‖u_1 − w_0‖² + r Σ (F_t(u_{t+1}) − F_t(u_t)).
    """
    parts, r, b = segments(model)
    best, cost, chis = 0.0, np.sum((y - np.sum(X * u, axis=1)) ** 2), []
    start = np.zeros(D)
    for first, end in parts:
        cost += r * b * (u[first] - start) @ (u[first] - start)
        minima = []
        for t in range(first, end):
            A, w, _ = solved(X[first:t], y[first:t], r, b, start)
            chis.append(X[t] @ np.linalg.solve(A, X[t]))
            if t > first:
                here, there = u[t - 1] - w, u[t] - w
                cost += r * (there @ A @ there - here @ A @ here)
            minima.append(solved(X[first : t + 1], y[first : t + 1], r, b, start)[2])
        best += minima[-1] + (1 - r) * sum(minima[:-1])
        start = solved(X[first:end], y[first:end], r, b, start)[1]
    return best, cost, np.array(chis)


def widened(model, comparator, y, chis):
    """Return the bound, from a comparator's cost."""
    r = model.forgetting
    share = chis / (r + chis)
    if getattr(model, "shrink", False):
        return comparator + np.sum(y**2 * share)
    if getattr(model, "clip", None) is not None:
        return comparator + np.sum((np.abs(y) + model.clip) ** 2 * share)
    return comparator * (1.0 + chis.max() / r)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_the_bound_is_the_theorems(model, seed):
    X, y, u = drifting(seed)
    best, cost, chis = written_out(model, X, y, u)
    proof = ol.certificate(type(model)(**model.get_params()), X, y)
    assert proof.failed is None
    assert proof.comparator[-1] == pytest.approx(best, rel=1e-9)
    assert proof.ceiling[-1] == pytest.approx(widened(model, best, y, chis), rel=1e-9)
    assert proof.holds.all()
    given = ol.certificate(type(model)(**model.get_params()), X, y, comparator=u)
    assert given.ceiling[-1] == pytest.approx(widened(model, cost, y, chis), rel=1e-8)
    assert given.holds.all()
    assert cost >= best


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_the_best_sequence_is_the_learners_own_weights(model):
    X, y, _ = drifting(1)
    learner = type(model)(**model.get_params())
    w = np.empty_like(X)
    for i, x in enumerate(X):
        learner.learn_one(x, y[i])
        w[i] = learner.coef_
    free = ol.certificate(type(model)(**model.get_params()), X, y)
    own = ol.certificate(type(model)(**model.get_params()), X, y, comparator=w)
    np.testing.assert_allclose(own.ceiling, free.ceiling, rtol=1e-9)


def test_a_fixed_comparator_pays_only_its_loss_and_the_prior():
    X, y, u = drifting(2)
    r, b = 0.8, 0.7
    proof = ol.certificate(ol.RLS(r, b, shrink=True), X, y, comparator=u[0])
    _, _, chis = written_out(ol.RLS(r, b), X, y, np.tile(u[0], (ROWS, 1)))
    cost = np.sum((y - X @ u[0]) ** 2) + r * b * u[0] @ u[0]
    assert proof.ceiling[-1] == pytest.approx(cost + np.sum(y**2 * chis / (r + chis)), rel=1e-9)


def test_the_guard_against_wind_up_costs_a_comparator_what_it_confirms():
    """A column that is silent for long: Σ₁₁ is divided by four, again and again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[20:390, 1] = 0.0
    y = X @ np.array([1.0, -2.0]) + 0.1 * rng.normal(size=400)
    model = ol.RLS(0.5, shrink=True)
    for u in ([1.0, -2.0], [1.0, 500.0]):
        proof = ol.certificate(ol.RLS(0.5, shrink=True), X, y, comparator=np.array(u))
        assert proof.failed is None
        assert proof.holds.all()
    run = ol.replay(model, X, y)
    proof = ol.certificate(ol.RLS(0.5, shrink=True), X, y)
    assert proof.loss[-1] == pytest.approx(run.cumulative_loss[-1])
    assert proof.holds.all()


@pytest.mark.parametrize("forgetting", [0.3, 0.9, 1.0])
def test_the_discounted_forward_algorithm_learns_the_row_with_label_0_first(forgetting):
    """Its prediction is xᵀ(rA + xxᵀ)⁻¹rθ: that of RLS after a row with label 0."""
    X, y, _ = drifting(3)
    shrunk = ol.replay(ol.RLS(forgetting, shrink=True), X, y).predictions
    for t in (0, 1, 7, 39):
        model = ol.RLS(forgetting)
        for x, label in zip(X[:t], y[:t], strict=True):
            model.learn_one(x, label)
        model.learn_one(X[t], 0.0)
        assert shrunk[t] == pytest.approx(model.predict_one(X[t]), rel=1e-9, abs=1e-12)


def test_shrunk_predictions_without_forgetting_are_those_of_aar():
    X, y, _ = drifting(4)
    ours = ol.replay(ol.RLS(1.0, b=0.5, shrink=True), X, y).predictions
    np.testing.assert_allclose(ours, ol.replay(ol.AAR(0.5), X, y).predictions, rtol=1e-9)


def test_golden_numbers_of_the_discounted_forward_algorithm():
    rows = np.arange(1, 6)
    X, y = np.cos(np.outer(rows, [1, 2, 3])), np.sin(2 * rows)
    golden = [0, -0.130170850237, 0.0452161188014, -0.377588778864, 0.0663046067071]
    found = ol.replay(ol.RLS(0.8, shrink=True), X, y).predictions
    np.testing.assert_allclose(found, golden, rtol=1e-9, atol=1e-12)


def test_labels_beyond_the_clip_end_the_bound():
    X, y, _ = drifting(5)
    proof = ol.certificate(ol.RLS(0.9, clip=0.1), X, y)
    assert "|y| ≤ clip" in proof.failed
