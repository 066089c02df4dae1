"""Algorithms that the papers mention for finite pools of experts, as learners of the package."""

import numpy as np
from numpy.testing import assert_allclose

import onlinear as ol
from onlinear import losses


def test_hedge_is_eg_on_the_losses_of_the_experts():
    """Freund & Schapire: weights proportional to exp(−η · cumulative loss)."""
    rng = np.random.default_rng(0)
    L, eta = rng.uniform(size=(200, 5)) * [1, 0.8, 0.6, 0.8, 1], 0.3
    model = ol.EG(eta=eta, X=1.0, loss=losses.Absolute())
    weights = []
    for row in L:
        model.learn_one(row, -1.0)  # |a + 1| = a + 1
        weights.append(model.coef_)
    hedge = np.exp(-eta * np.cumsum(L, axis=0))
    assert_allclose(weights, hedge / hedge.sum(axis=1, keepdims=True), rtol=1e-10)
    fresh = ol.EG(eta=eta, loss=losses.Absolute())
    proof = ol.certificate(fresh, L, np.full(200, -1.0), np.eye(5)[2])
    assert proof.holds.all()
    assert proof.regret[-1] <= np.log(5) / eta + eta * 200 / 8  # Hedge's bound


def test_hedge_with_a_floor_tracks_an_expert_that_changes():
    L = np.ones((400, 4))
    L[:200, 0] = L[200:, 1] = 0.0  # the best expert, and then another one
    totals = []
    for alpha in (None, 0.02):
        model = ol.EG(eta=0.5, alpha=alpha, loss=losses.Absolute())
        totals.append(ol.replay(model, L, np.full(400, -1.0)).predictions.sum())
    assert totals[1] < 0.2 * totals[0]


def test_weighted_majority_is_eg_on_the_votes_of_the_experts():
    """Littlestone & Warmuth: after a mistake, the weights of those who were wrong times β."""
    rng = np.random.default_rng(0)
    n, beta = 7, 0.6
    y = rng.choice([-1.0, 1.0], size=300)
    votes = y[:, None] * np.where(rng.random((300, n)) < np.linspace(0.1, 0.5, n), -1.0, 1.0)
    model = ol.EG(eta=0.5 * np.log(1 / beta), X=2.0, loss=losses.Mistakes())
    w, mistakes = np.ones(n), 0
    for vote, label in zip(votes, y, strict=True):
        if label * (vote @ w) <= 0:
            w = w * np.where(vote == label, 1.0, beta)
            mistakes += 1
        model.learn_one(vote, label)
        assert_allclose(model.coef_, w / w.sum(), rtol=1e-9)
    fresh = ol.EG(eta=0.5 * np.log(1 / beta), X=2.0, loss=losses.Mistakes())
    proof = ol.certificate(fresh, votes, y, np.eye(n)[0])
    assert proof.loss[-1] == mistakes
    assert proof.holds.all()


def test_balanced_winnow_is_eg_pm_that_learns_from_mistakes():
    """Littlestone: two weights per input, multiplied and divided by e^(ηUyx) after a mistake."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(200, 20))
    y = np.sign(X[:, 0] + X[:, 3] + X[:, 7])  # a majority of three inputs
    U, eta = 3.0, 0.1
    model = ol.EGPM(U=U, eta=eta, X=1.0, loss=losses.Mistakes())
    up, down, mistakes = np.ones(20), np.ones(20), 0
    for x, label in zip(X, y, strict=True):
        if label * ((up - down) @ x) <= 0:
            up, down = up * np.exp(eta * U * label * x), down * np.exp(-eta * U * label * x)
            mistakes += 1
        model.learn_one(x, label)
        w = U * (up - down) / np.sum(up + down)
        assert_allclose(model.coef_, w, rtol=1e-9, atol=1e-12)
    fresh = ol.EGPM(U=U, eta=eta, X=1.0, loss=losses.Mistakes())
    assert ol.certificate(fresh, X, y).loss[-1] == mistakes
    assert mistakes < 60


def test_the_penalty_of_cirr_can_be_chosen_while_it_learns():
    """AAR on the predictions of CIRRs loses at most as much as the best, plus a logarithm."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = X[:, 0] - 2 * X[:, 4] + rng.normal(size=400)
    penalties = (0.01, 1.0, 100.0, 10_000.0)
    run = ol.replay(ol.Bank([ol.CIRR(a=a) for a in penalties]), X, y)
    of_each = run.losses.sum(axis=0)
    best = int(of_each.argmin())
    b = 1.0
    proof = ol.certificate(ol.AAR(b=b), run.predictions, y, np.eye(len(penalties))[best])
    assert proof.holds.all()
    P, Y = np.abs(run.predictions).max(), np.abs(y).max()
    K, T = len(penalties), len(y)
    ceiling = of_each[best] + b + K * Y**2 * np.log1p(T * P**2 / b)
    assert proof.loss[-1] <= ceiling
    assert proof.loss[-1] < 1.15 * of_each[best]
    assert of_each.max() > 1.5 * of_each[best]
