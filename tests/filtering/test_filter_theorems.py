"""The theorems of the filters, and the regret that they bound."""

import math

import numpy as np
import pytest
from filters import stream
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import onlinear as ol
from onlinear.filtering.laser import forward_regret, static_cost
from onlinear.filtering.pridge import theorem_3
from onlinear.filtering.ridge import ellipsoid_regret
from onlinear.filtering.simple import theorem_1


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 5),
    a=st.sampled_from([0.01, 0.3, 1.0, 10.0]),
    p=st.sampled_from([0.0, 0.3, 1.0]),
    adversary=st.booleans(),
)
def test_lemma_2_holds_at_every_update_of_the_probabilistic_filter(seed, d, a, p, adversary):
    """½(Δ̂−y)² − ½(Δ−y)² ≤ 2 ln|A_{k+1}|/|A_k| + d_k(u, w_k) − d_{k+1}(u, w_{k+1}), any ‖u‖ ≤ 1."""
    X, y, u = stream(80, d, seed)
    f = ol.PRidgeFilter(a, p, seed=seed % 1000)
    w, A, updates = np.zeros(d), a * np.eye(d), 0
    for x, label in zip(X, y, strict=True):
        margin = f.margin(x)
        if not f.decide(x):
            continue
        if adversary:
            label = -1.0 if margin >= 0 else 1.0
        f.feedback(x, label)
        learner = f._model.learner
        new_w, new_A = learner.coef_, a * np.linalg.inv(learner.covariance_)
        assert_allclose(new_A, A + np.outer(x, x), rtol=1e-8, atol=1e-8)
        new_A = A + np.outer(x, x)
        assert np.linalg.norm(new_w) <= 1 + 1e-12
        for v in (u, -u, x, 0.5 * u):
            left = 0.5 * (margin - label) ** 2 - 0.5 * (v @ x - label) ** 2
            growth = 2 * (np.linalg.slogdet(new_A)[1] - np.linalg.slogdet(A)[1])
            before, after = (v - w) @ A @ (v - w) / 2, (v - new_w) @ new_A @ (v - new_w) / 2
            assert left <= growth + before - after + 1e-9 * (1 + before)
        w, A, updates = new_w, new_A, updates + 1
    assert updates > 0


@pytest.mark.parametrize("delta", [-0.4, -0.3, -0.2, 0.2, 0.4])  # else it is above 2|δ|n
def test_theorem_1_bounds_the_regret_of_the_simple_filter(delta):
    n, runs = 10_000, 10
    rng = np.random.default_rng(0)
    regrets = []
    for _ in range(runs):
        y = np.where(rng.uniform(size=n) < 0.5 + delta, 1, -1)
        run = ol.filter_replay(ol.SimpleFilter(), np.ones((n, 1)), y, u=[2 * delta])
        regrets.append(run.regret)
    mean = np.mean(regrets, axis=0)
    bound = np.array([theorem_1(delta, t) for t in range(1, n + 1)])
    assert np.all(mean <= bound)
    assert bound[-1] < 2 * abs(delta) * n  # the bound could fail
    if delta < 0:
        assert mean[-1] > 0.02 * bound[-1]  # and it says something
    else:
        assert mean[-1] < 1.0


def test_theorem_3_bounds_the_regret_of_the_probabilistic_filter():
    """In one dimension, rows ±1: else the bound is above what any filter can lose."""
    n = 60_000
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(n, 1))
    run = ol.filter_replay(ol.PRidgeFilter(horizon=n), X, X[:, 0], u=[1.0])
    bound = theorem_3(1.0, n, 1)
    assert 0 < run.regret[-1] <= bound
    everything = ol.FilterReplay(np.ones(n, dtype=bool), run.labels, run.expected)
    assert everything.regret[-1] > bound  # the bound says something


def turning(rows, d, speed, rng):
    """Return unit rows, labels with the mean u_tᵀx_t, and u_t, which turns by ``speed`` a row."""
    angle = speed * np.arange(rows)
    u = np.zeros((rows, d))
    u[:, 0] = np.cos(angle)
    if d > 1:
        u[:, 1] = np.sin(angle)
    X = rng.normal(size=(rows, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if d == 1:
        X[:] = -0.2
    y = np.where(rng.random(rows) < (1 + np.sum(X * u, axis=1)) / 2, 1.0, -1.0)
    return X, y, u


def sides(f, rows, d, speed, p, rng, deaf):
    """Return Σ q(Δ̂ − Δ)² and Σ χ/(1 + χ) of one run; a deaf filter learns the labels reversed."""
    X, y, u = turning(rows, d, speed, rng)
    left = right = 0.0
    f._start(d, None)
    for x, label, mean in zip(X, y, np.sum(X * u, axis=1), strict=True):
        margin = f.margin(x)
        chi = f._regression(x).look(x, f._elapsed(f.seen_ + 1))[1]
        left += (1.0 if margin >= 0 else p) * (margin - mean) ** 2
        if f.decide(x):
            right += chi / (1 + chi)
            f.feedback(x, -label if deaf else label)
    return left, right


@pytest.mark.parametrize(
    ("d", "b", "c", "speed", "p"),
    [
        (1, 1.0, math.inf, 0.0, 0.1),
        (3, 0.1, math.inf, 0.0, 0.3),
        (3, 1.0, 100.0, 0.02, 0.2),
        (2, 1.0, 20.0, 0.1, 0.5),
    ],
)
def test_the_forward_margin_is_as_near_the_truth_as_the_theorem_says(d, b, c, speed, p):
    """E Σ q(Δ̂ − Δ)² ≤ b‖u_1‖² + cΣ‖u_{t+1} − u_t‖² + E Σ χ/(1 + χ), within three errors."""
    rows, runs = 200, 40
    drift = 0.0 if math.isinf(c) else c * (rows - 1) * (2 * math.sin(speed / 2)) ** 2

    def both(deaf):
        """Return the left and the right side of the inequality in each run."""
        rng = np.random.default_rng(0)
        made = [ol.LaserFilter(b, c, p, seed=seed) for seed in range(runs)]
        left, right = np.array([sides(f, rows, d, speed, p, rng, deaf) for f in made]).T
        return left, b + drift + right

    left, right = both(deaf=False)
    assert (left - right).mean() < 3 * (left - right).std() / math.sqrt(runs)
    assert left.mean() > 0.2 * right.mean()  # the bound is near
    if p >= 0.2:
        left, right = both(deaf=True)
        assert left.mean() > right.mean()  # the test could fail


def test_the_bound_of_the_forward_margin_is_that_of_the_formulas():
    n, gamma = 10_000, 0.2
    wanted = {1: (1429, 2014), 2: (1899, 2434), 5: (2793, 3148)}  # with and without the margin
    for d, (with_margin, without) in wanted.items():
        B = static_cost(n, d)
        assert round(forward_regret(B, n, math.sqrt(B / (gamma * n)), gamma)) == with_margin
        assert round(forward_regret(B, n, (B / n) ** (1 / 3))) == without
        assert with_margin < theorem_3(gamma, n, d) / 20
    falling = np.linspace(0.5, 0.1, n)
    assert_allclose(forward_regret(10.0, n, falling, gamma), 10 / (0.1 * gamma) + falling.sum())
    for p in ([0.1, 0.2], 0.0, 1.5):
        with pytest.raises(ValueError, match="needs 1 ≥ p_1 ≥ … ≥ p_n > 0"):
            forward_regret(1.0, 2, p)


@pytest.mark.parametrize("gamma", [1.0, None])
def test_the_forward_margin_has_less_regret_than_its_bound(gamma):
    """In one dimension, rows ±1, where the bounds are below what any filter can lose."""
    n = 10_000
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(n, 1))
    B = static_cost(n, 1)
    p = math.sqrt(B / n) if gamma else (B / (4 * n)) ** (1 / 3)
    for f in (ol.LaserFilter(c=math.inf, p=p), ol.PRidgeFilter(p=p, margin="forward")):
        run = ol.filter_replay(f, X, X[:, 0], u=[1.0])
        everything = ol.FilterReplay(np.ones(n, dtype=bool), run.labels, run.expected)
        assert 0 < run.regret[-1] <= forward_regret(B, n, p, gamma) < everything.regret[-1]


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_ellipsoid_contains_the_truth_and_no_relevant_row_is_held_back(adaptive):
    """|m − Δ| ≤ β√χ in all rounds with probability 1 − δ; then the theorem holds in this run."""
    delta, runs, rows, d = 0.2, 60, 150, 3
    rng = np.random.default_rng(3)
    outside, nearest = 0, 0.0
    for _ in range(runs):
        u = rng.normal(size=d)
        u /= np.linalg.norm(u)
        f, inside = ol.RidgeFilter(rule="ellipsoid", delta=delta), True
        f._start(d, None)
        bound = regret = held = 0
        for _ in range(rows):
            x = rng.normal(size=d)
            if adaptive and f.labels_:  # rows that are near the plane of the filter
                w = f._model.learner.coef_
                x -= w * (w @ x) / max(w @ w, 1e-9)
            x /= np.linalg.norm(x)
            mean = u @ x
            m, chi = f._regression(x).look(x)
            A = np.linalg.inv(f._model.learner.covariance_) if f.labels_ else np.eye(d)
            width = 1 + math.sqrt(np.linalg.slogdet(A)[1] + 2 * math.log(1 / delta))
            inside &= abs(m - mean) <= width * math.sqrt(chi)
            if f.decide(x):
                regret -= min(mean, 0.0)
                bound += min(1.0, 2 * width * math.sqrt(chi))
                f.feedback(x, 1 if rng.random() < (1 + mean) / 2 else -1)
            else:
                regret += max(mean, 0.0)
                held += mean >= 0
        outside += not inside
        if inside:
            assert held == 0
            assert regret <= bound
            nearest = max(nearest, regret / bound)
    assert outside <= delta * runs
    assert nearest > 0.03


@pytest.mark.parametrize("gamma", [1.0, None])
def test_the_ellipsoid_filter_has_less_regret_than_its_bound(gamma):
    n = 60_000 if gamma is None else 10_000
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(n, 1))
    run = ol.filter_replay(ol.RidgeFilter(rule="ellipsoid"), X, X[:, 0], u=[1.0])
    everything = ol.FilterReplay(np.ones(n, dtype=bool), run.labels, run.expected)
    assert 0 < run.regret[-1] <= ellipsoid_regret(n, 1, gamma=gamma) < everything.regret[-1]


def test_regret_against_weights_that_drift_is_that_of_each_rows_own():
    X, y, u = turning(60, 4, 0.1, np.random.default_rng(0))
    run = ol.filter_replay(ol.LaserFilter(), X, y, u=u)
    means = np.sum(X * u, axis=1)
    assert_allclose(run.expected, means)
    sparse = ol.filter_replay(ol.LaserFilter(), csr_array(X), y, u=u)
    assert_allclose(sparse.expected, means)
    wanted = sum(
        abs(m) for m, forward in zip(means, run.decisions, strict=True) if forward != (m >= 0)
    )
    assert_allclose(run.regret[-1], wanted)
    with pytest.raises(ValueError, match="or a row of 4 numbers for each row of X"):
        ol.filter_replay(ol.LaserFilter(), X, y, u=u[:9])


def test_regret_is_what_wrong_decisions_cost_in_expectation():
    X, y, u = stream(50)
    run = ol.filter_replay(ol.RidgeFilter(c=0.0), X, y, u=u)
    margin = X @ u
    wanted = sum(
        abs(m) for m, forward in zip(margin, run.decisions, strict=True) if forward != (m >= 0)
    )
    assert_allclose(run.regret[-1], wanted)
    with pytest.raises(ValueError, match="regret needs u"):
        _ = ol.filter_replay(ol.RidgeFilter(), X, y).regret
    with pytest.raises(ValueError, match="u needs 4 finite numbers"):
        ol.filter_replay(ol.RidgeFilter(), X, y, u=[math.nan, 0, 0, 0])
    with pytest.raises(ValueError, match=r"u needs \|uᵀx\| ≤ 1"):
        ol.filter_replay(ol.RidgeFilter(), X, y, u=5 * u)
