"""The theorems of the filters, and the regret that they bound."""

import math

import numpy as np
import pytest
from filters import stream
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import onlinear as ol
from onlinear.filtering.pridge import theorem_3
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
