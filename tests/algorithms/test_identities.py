"""What the papers prove of the learners, checked on numbers."""

import math

import numpy as np
import oracles
import pytest
from first_order_oracles import mirror_step
from minmax_oracles import drifting_least_squares, last_step_minmax
from numpy.testing import assert_allclose
from slow_projections import nearest
from small_streams import gaussian, heavy_tails, rotating_truth, switching_truth, within_unit_ball

import onlinear as ol


def predictions(model, X, y):
    return ol.replay(model, X, y).predictions


def certainties(model, X, y):
    """Return χ_t = x_tᵀΣ_{t−1}x_t of every round, and the losses."""
    chi, losses = [], []
    for x, label in zip(X, y, strict=True):
        losses.append((label - model.predict_one(x)) ** 2)
        S = np.eye(x.size) / model.b if len(chi) == 0 else model.covariance_
        chi.append(x @ S @ x)
        model.learn_one(x, label)
    return np.array(chi), np.array(losses)


def best(X, y, weights, prior):
    """Return the least of prior·‖u‖² + Σ weight (y − uᵀx)²."""
    u, _ = oracles.weighted_least_squares(X, y, weights, prior)
    return prior * u @ u + np.sum(weights * (y - X @ u) ** 2)


@pytest.mark.parametrize(("r", "b"), [(0.1, 1.0), (3.0, 0.5), (20.0, 2.0)])
def test_arowr_predicts_as_ridge_with_penalty_rb(r, b):
    X, y = heavy_tails(np.random.default_rng(0))
    arowr, ridge = ol.AROWR(r=r, b=b), ol.Ridge(b=r * b)
    assert_allclose(predictions(arowr, X, y), predictions(ridge, X, y), rtol=1e-9, atol=1e-12)
    assert_allclose(arowr.covariance_, r * ridge.covariance_, rtol=1e-9, atol=1e-12)


def test_laser_without_drift_is_the_forward_algorithm():
    X, y = rotating_truth(np.random.default_rng(0))
    laser, aar = ol.LASER(b=0.7, c=math.inf), ol.AAR(b=0.7)
    assert_allclose(predictions(laser, X, y), predictions(aar, X, y), rtol=1e-12)
    assert_allclose(laser.covariance_, aar.covariance_, rtol=1e-12)


def test_laser_with_little_drift_tends_to_the_forward_algorithm():
    X, y = switching_truth(np.random.default_rng(0))
    wanted = predictions(ol.AAR(), X, y)
    gaps = [np.abs(predictions(ol.LASER(c=c), X, y) - wanted).max() for c in (1e3, 1e6, 1e9)]
    assert gaps[0] > 100 * gaps[1] > 10_000 * gaps[2] > 0


def test_laser_takes_a_prior_stronger_than_the_price_of_drift():
    """The thesis' Σ₀ = (1/b − 1/c)I is negative there; the batch problem is not troubled."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    for t in range(1, 6):
        model = ol.LASER(b=5.0, c=0.5)
        model.fit(X[:t], y[:t])
        wanted = last_step_minmax(X[: t + 1], y[:t], 5.0, 0.5, 10.0)
        assert_allclose(model.predict_one(X[t]), wanted, atol=1e-7)


@pytest.mark.parametrize("c", [math.inf, 100.0, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_the_last_step_minmax_predictions_are_those_found_by_search(c, seed):
    rng = np.random.default_rng(seed)
    T, d = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    X, y = rng.normal(size=(T, d)), rng.uniform(-1, 1, size=T - 1)
    b, Y = rng.uniform(0.3, 2.0), rng.choice([0.1, 1.0])
    models = [ol.LASER(b=b, c=c, clip=Y)] + ([ol.AAR(b=b, clip=Y)] if math.isinf(c) else [])
    for model in models:
        model.fit(X[:-1], y)
        wanted = last_step_minmax(X, y, b, c, Y)
        # the searched function is flat to second order where the prediction is cut to Y
        assert_allclose(model.predict_one(X[-1]), wanted, atol=1e-6)


def test_the_minimum_over_drifting_comparators_is_that_of_the_recursion():
    """Lemma 10 and (5.6), with Σ (y − xᵀw)²/(1 + χ) for the least of P_T."""
    rng = np.random.default_rng(0)
    X, y, b, c = rng.normal(size=(5, 2)), rng.normal(size=5), 0.8, 3.0
    model = ol.LASER(b=b, c=c, shrink=False)
    innovations = []
    for x, label in zip(X, y, strict=True):
        m = model.predict_one(x)
        S = model.covariance_ + np.eye(2) / c if innovations else np.eye(2) / b
        innovations.append((label - m) ** 2 / (1 + x @ S @ x))
        model.learn_one(x, label)
    assert_allclose(sum(innovations), drifting_least_squares(X, y, b, c), rtol=1e-10)


def test_rls_that_forgets_nothing_is_ridge():
    X, y = gaussian(np.random.default_rng(0))
    rls, ridge = ol.RLS(forgetting=1.0, b=0.3), ol.Ridge(b=0.3)
    assert_allclose(predictions(rls, X, y), predictions(ridge, X, y), rtol=1e-12)
    assert_allclose(rls.covariance_, ridge.covariance_, rtol=1e-12)


def test_crrls_that_never_resets_is_rls():
    X, y = gaussian(np.random.default_rng(0))
    crrls, rls = ol.CRRLS(forgetting=0.9, reset_every=1000), ol.RLS(forgetting=0.9, b=1.0)
    assert_allclose(predictions(crrls, X, y), predictions(rls, X, y), rtol=1e-12)


def test_arcor_that_never_resets_is_arowr():
    X, y = gaussian(np.random.default_rng(0))
    arcor, arowr = ol.ARCOR(r=0.4, q=math.inf), ol.AROWR(r=0.4)
    assert_allclose(predictions(arcor, X, y), predictions(arowr, X, y), rtol=1e-12)


def test_cirr_and_oslog_walk_one_weight_path():
    X, y = gaussian(np.random.default_rng(0))
    cirr, oslog = ol.CIRR(a=2.0).fit(X, y), ol.OSLOG(a=2.0).fit(X, y)
    assert_allclose(cirr.coef_, oslog.coef_, rtol=1e-12)


@pytest.mark.parametrize("b", [1.01, 1.5, 10.0])
def test_the_loss_of_wemm_is_the_weighted_loss_of_the_best_comparator(b):
    """Theorem 4, an equality for a_t = 1/(1 − χ_t)."""
    X, y = within_unit_ball(*switching_truth(np.random.default_rng(0)))
    chi, losses = certainties(ol.WEMM(b=b), X, y)
    assert_allclose(losses.sum(), best(X, y, 1 / (1 - chi), b), rtol=1e-10)


@pytest.mark.parametrize(
    ("b", "weight", "c"), [(1.2, 1.0, 500.0), (1.2, 1.5, math.inf), (2.0, 4.0, 200.0)]
)
def test_wemm_with_other_weights_and_drift_has_theorem_4s_account(b, weight, c):
    """Σ ℓ_t/(1/a_t + χ_t) is the least weighted cost of a sequence; for weight = 1 it is Σ ℓ_t."""
    X, y = within_unit_ball(*switching_truth(np.random.default_rng(0)))
    X, y = X[::3][:60], y[::3][:60]
    a = oracles.wemm_weights(X, b, weight, c)
    chi = 1 - weight / a
    proof = ol.certificate(ol.WEMM(b=b, weight=weight, c=c), X, y)
    losses = np.diff(proof.loss, prepend=0.0)
    least = drifting_least_squares(X, y, b, c, a)
    assert_allclose(np.sum(losses / (1 / a + chi)), least, rtol=1e-9)
    assert_allclose(proof.comparator[-1], least, rtol=1e-9)
    assert_allclose(proof.ceiling[-1], np.max(1 / a + chi) * least, rtol=1e-9)
    if weight == 1.0:
        assert_allclose(proof.loss[-1], least, rtol=1e-9)  # exactly, as without drift
    else:
        assert proof.loss[-1] < proof.ceiling[-1] < least


def test_wemms_prediction_is_last_step_minmax_for_larger_weights_and_with_drift():
    """Case 1 of Theorem 2 of the thesis, and what its chapter 9 asks for."""
    rng = np.random.default_rng(0)
    X, y = within_unit_ball(*gaussian(rng))
    X, y = X[:5], y[:5]
    for weight, c in ((1.0, math.inf), (3.0, math.inf), (1.0, 20.0), (2.0, 20.0)):
        a = oracles.wemm_weights(X, 3.0, weight, c)
        said = ol.WEMM(b=3.0, weight=weight, c=c).fit(X[:4], y[:4]).predict_one(X[4])
        labels = np.linspace(-1e3, 1e3, 41)
        costs = [drifting_least_squares(X, np.append(y[:4], z), 3.0, c, a) for z in labels]

        def worst(guess, labels=labels, costs=costs):
            return np.max((labels - guess) ** 2 - costs)

        assert worst(said) < min(worst(said - 0.5), worst(said + 0.5))
        if weight == 1.0:  # all labels are equally bad
            regrets = (labels - said) ** 2 - np.array(costs)
            assert np.ptp(regrets) < 1e-6 * np.max(costs)


def test_a_constant_weight_of_case_1_is_ridge_regression():
    """The a = b/(b − X²) is at least 1/(1 − χ) in every round; WEMM with it is Ridge(b − X²)."""
    X, y = within_unit_ball(*gaussian(np.random.default_rng(0)))
    b = 1.7  # X = 1
    a = b / (b - 1)
    said = oracles.arowr(X, y, r=1 / a, b=b).predictions
    assert_allclose(predictions(ol.Ridge(b=b - 1), X, y), said, rtol=1e-9)
    A, chi = b * np.eye(X.shape[1]), []
    for x in X:
        chi.append(x @ np.linalg.solve(A, x))
        A = A + a * np.outer(x, x)
    assert np.all(a >= 1 / (1 - np.array(chi)))
    loss = ol.replay(ol.Ridge(b=b - 1), X, y).losses.sum()
    assert loss <= best(X, y, np.full(len(y), a), b) * (1 + 1e-12)  # Theorem 4


@pytest.mark.parametrize("b", [0.1, 1.0, 30.0])
def test_the_discounted_loss_of_ridge_is_the_loss_of_the_best_comparator(b):
    X, y = heavy_tails(np.random.default_rng(0))
    chi, losses = certainties(ol.Ridge(b=b), X, y)
    assert_allclose(np.sum(losses / (1 + chi)), best(X, y, np.ones(len(y)), b), rtol=1e-10)


@pytest.mark.parametrize(("r", "b"), [(0.1, 1.0), (3.0, 0.5)])
def test_the_discounted_loss_of_arowr_is_the_weighted_loss_of_the_best_comparator(r, b):
    X, y = heavy_tails(np.random.default_rng(0))
    chi, losses = certainties(ol.AROWR(r=r, b=b), X, y)
    assert_allclose(np.sum(losses / (r + chi)), best(X, y, np.full(len(y), 1 / r), b), rtol=1e-10)


def test_cirr_settles_where_the_loss_plus_2a_times_the_1_norm_is_least():
    """Rows of zeros iterate the ridge step on fixed data: they leave S and b alone."""
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(40, 4)), 6.0
    y = X @ np.array([2.0, -1.0, 0.0, 0.0]) + rng.normal(size=40)
    model = ol.CIRR(a=a, floor=0.0).fit(X, y).partial_fit(np.zeros((20_000, 4)), np.zeros(20_000))
    w = model.coef_
    slope = 2 * X.T @ (X @ w - y)  # −2a·sign(w_i) where w_i ≠ 0, within ±2a where w_i = 0
    active = np.abs(w) > 1e-6
    assert 0 < active.sum() < 4
    assert_allclose(slope[active], -2 * a * np.sign(w[active]), rtol=1e-8)
    assert np.all(np.abs(slope[~active]) <= 2 * a)


def entropic(u, w):
    return np.sum(u * np.log(u / w) + w - u)


def log_ratio(u, w):
    return np.log(u / w)


@pytest.mark.parametrize("name", ["EG", "EGU"])
@pytest.mark.parametrize("eta", [0.2, 5.0])
def test_one_implicit_step_minimises_divergence_plus_loss(name, eta):
    """w' = argmin over v of D(v, w) + η(vᵀx − y)², after Herbster & Warmuth's (4)."""
    rng = np.random.default_rng(0)
    model = getattr(ol, name)(eta=eta, implicit=True)
    whole = {"type": "eq", "fun": lambda v: v.sum() - 1, "jac": lambda v: np.ones(v.size)}
    for _ in range(5):
        x, y = rng.uniform(size=3), rng.uniform()
        w = model.coef_ if model._state is not None else np.full(3, 1 / 3)
        model.learn_one(x, y)
        wanted = nearest(
            lambda v, w=w, x=x, y=y: entropic(v, w) + eta * (v @ x - y) ** 2,
            lambda v, w=w, x=x, y=y: log_ratio(v, w) + 2 * eta * (v @ x - y) * x,
            w,
            whole if name == "EG" else (),
            [(1e-9, None)] * 3,
        )
        assert_allclose(model.coef_, wanted, atol=1e-5)


@pytest.mark.parametrize("eta", [0.1, 1.0, 100.0])
def test_the_bound_of_implicit_updates_holds_at_every_rate_and_is_nearly_attained(eta):
    """L ≤ (1 + 2q)(L(u) + P/η), where the usual update has no bound at large rates."""
    X, y = np.array([[1.0, 0.0]]), np.array([2.0])  # one row, u = (1, 0): P = ln 2, L(u) = 1
    proof = ol.certificate(ol.EG(eta=eta, implicit=True), X, y, comparator=[1.0, 0.0])
    assert proof.ceiling[-1] == pytest.approx((1 + eta / 2) * (1 + np.log(2) / eta))
    assert proof.loss[-1] <= proof.ceiling[-1]
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    y = np.where(rng.random(300) < 0.5, X[:, 0], X[:, 1])
    proof = ol.certificate(ol.EG(eta=eta, implicit=True), X, y)
    assert proof.holds.all()
    usual = ol.certificate(ol.EG(eta=eta), X, y)
    assert (usual.failed is None) == (eta < 4)


def test_implicit_updates_need_the_square_loss():
    with pytest.raises(ValueError, match=r"EG needs loss=Square\(\) for implicit=True"):
        ol.EG(implicit=True, loss=ol.losses.Absolute()).predict_one([1.0, 0.5])


@pytest.mark.parametrize("seed", range(5))
def test_one_step_of_the_mirror_learners_minimises_divergence_plus_slope(seed):
    """w' = argmin over u of D(u, w) + η·∇ᵀu, to the accuracy of a numerical minimiser."""
    rng = np.random.default_rng(seed)
    before, x = rng.uniform(0.0, 1.0, size=(2, 3))
    earlier, y = rng.uniform(0.0, 1.0, size=2)
    eta, bounds = 0.3, [(1e-9, None)] * 3
    for model, D, mirror, limits in (
        (ol.GD(eta=eta), lambda u, w: (u - w) @ (u - w) / 2, lambda u, w: u - w, None),
        (ol.EGU(eta=eta), entropic, log_ratio, bounds),
        (ol.EG(eta=eta), entropic, log_ratio, bounds),
    ):
        model.learn_one(before, earlier)
        w, m = model.coef_, model.predict_one(x)
        model.learn_one(x, y)
        simplex = isinstance(model, ol.EG)
        wanted = mirror_step(w, eta * 2 * (m - y) * x, D, mirror, simplex, limits)
        assert_allclose(model.coef_, wanted, atol=1e-6)


def test_egpm_is_eg_on_the_inputs_and_their_negatives():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(60, 3)), rng.uniform(-1, 1, size=60)
    U, eta, alpha = 1.5, 0.2, 0.3
    doubled = U * np.hstack([X, -X])
    assert_allclose(
        predictions(ol.EGPM(U=U, eta=eta, alpha=alpha), X, y),
        predictions(ol.EG(eta=eta, alpha=alpha, X=2 * U), doubled, y),
        rtol=1e-12,
        atol=1e-14,
    )


def test_laser_in_a_kernel_space_without_drift_or_shrinkage_is_kernel_ridge():
    X, y = gaussian(np.random.default_rng(0))
    kernel, b = ol.kernels.RBF(gamma=0.3), 0.5
    K = np.exp(-0.3 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    expected = [0.0] + [
        K[t, :t] @ np.linalg.solve(K[:t, :t] + b * np.eye(t), y[:t]) for t in range(1, len(y))
    ]
    model = ol.KernelLASER(kernel, b=b, c=math.inf, shrink=False)
    assert_allclose(predictions(model, X, y), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("eta", [0.01, 0.5, 20.0])
def test_nlms_with_the_whole_step_is_implicit_gradient_descent(eta):
    """The next weights minimise ½‖v − w‖² + η(vᵀx − y)², which is solved here as it stands."""
    X, y = gaussian(np.random.default_rng(0))
    w, expected = np.zeros(4), []
    for x, label in zip(X, y, strict=True):
        expected.append(w @ x)
        w = np.linalg.solve(np.eye(4) + 2 * eta * np.outer(x, x), w + 2 * eta * label * x)
    model = ol.NLMS(eta=1.0, epsilon=1 / (2 * eta))
    assert_allclose(predictions(model, X, y), expected, rtol=1e-9, atol=1e-12)
