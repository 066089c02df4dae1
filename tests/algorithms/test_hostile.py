"""Hostile streams: scales from 1e-8 to 1e8, collinear, zero and rounded rows, all mixed."""

import numpy as np
import pytest

import onlinear as ol

MODELS = [
    ol.Ridge(),
    ol.AAR(b=1e-6),
    ol.AROWR(r=1e-3),
    ol.RLS(forgetting=0.5),
    ol.RLS(forgetting=0.98),
    ol.CRRLS(forgetting=0.7, reset_every=40),
    ol.LASER(c=1e-8),
    ol.LASER(c=1e6),
    ol.ARCOR(radius=1.0),
    ol.ARCOR(q=np.inf),
    ol.ONS(),
    ol.ONS(radius=1.0),
    ol.WEMM(),
    ol.CIRR(),
    ol.OSLOG(),
    ol.NLMS(),
]


def hostile(seed):
    rng = np.random.default_rng(seed)
    rows, d = rng.integers(1, 300), rng.integers(1, 7)
    by_column = rng.random() < 0.5
    X = rng.normal(size=(rows, d)) * 10.0 ** rng.uniform(-8, 8, size=(1 if by_column else rows, d))
    if rng.random() < 0.5:
        X = X[:, [0]] @ rng.normal(size=(1, d)) * 10.0 ** rng.integers(-3, 9)
    if rng.random() < 0.3:
        X[rng.random(rows) < 0.5] = 0.0
    if rng.random() < 0.3:
        X = np.round(X)
    return X, rng.normal(size=rows) * 10.0 ** rng.uniform(-6, 6)


def check(model, seed):
    X, y = hostile(seed)
    if isinstance(model, ol.WEMM):
        model.set_params(b=1.01 * np.max(np.sum(X * X, axis=1)) + 1e-12)
    assert np.isfinite(ol.replay(model.fit(X[:1], y[:1]), X, y).predictions).all(), seed
    assert np.isfinite(model._record).all(), seed
    if hasattr(model, "covariance_"):
        S = model.covariance_
        root = np.sqrt(np.diag(S))
        assert np.array_equal(S, S.T), seed
        assert np.linalg.eigvalsh(S / root[:, None] / root)[0] > 0, seed


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_numbers_stay_finite_and_sigma_symmetric_and_positive(model):
    for seed in range(100):
        check(model, seed)


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (ol.ARCOR(radius=1.0), 1e140),
        (ol.GD(eta=0.1, radius=1.0), 1e140),
        (ol.ONS(radius=1.0, gamma=1e-140), 1.0),
    ],
    ids=repr,
)
def test_a_huge_step_ends_on_the_edge_of_the_ball(model, label):
    model.learn_one([1.0, 0.0], label)
    np.testing.assert_allclose(model.coef_, [1.0, 0.0], rtol=1e-9)
