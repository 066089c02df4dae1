"""The best predictors in hindsight, against brute force."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from minmax_oracles import drifting_least_squares
from sklearn.linear_model import Lasso
from small_streams import STREAMS
from table import stream

import onlinear as ol
from onlinear import hindsight


def least_squares(X, y, b=0.0):
    """Return min b‖u‖² + ‖y − Xu‖², by an orthogonal factorisation of the scaled rows."""
    scale = np.abs(X).max(axis=0)
    scale[scale == 0] = 1.0
    rows = np.vstack([np.sqrt(b) * np.diag(1 / scale), X / scale])
    labels = np.concatenate([np.zeros(X.shape[1]), y])
    u = np.linalg.lstsq(rows, labels, rcond=1e-12)[0]
    return np.sum((labels - rows @ u) ** 2)


# --- fixed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [0.0, 0.3, 40.0])
@pytest.mark.parametrize("name", STREAMS)
def test_best_fixed_is_least_squares_after_every_round(name, b):
    X, y = STREAMS[name](np.random.default_rng(0))
    expected = [least_squares(X[:t], y[:t], b) for t in range(1, len(y) + 1)]
    scale = 1e-12 * np.sum(y * y)
    np.testing.assert_allclose(hindsight.best_fixed(X, y, b), expected, rtol=1e-10, atol=scale)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_best_fixed_is_right_on_data_far_from_the_origin(offset):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(2000, 2))
    X, y = np.column_stack([offset + near, np.ones(2000)]), rng.normal(size=2000) + 5
    centred = np.column_stack([near, np.ones(2000)])  # the same columns' span
    expected = least_squares(centred, y)
    tolerance = {1e3: 1e-10, 1e6: 1e-8, 1e8: 1e-5}[offset]
    assert hindsight.best_fixed(X, y)[-1] == pytest.approx(expected, rel=tolerance)


def test_best_fixed_is_right_on_a_column_of_timestamps():
    X = np.column_stack([1.7e9 + 60.0 * np.arange(500), np.ones(500)])
    y = np.random.default_rng(0).normal(size=500)
    minutes = np.column_stack([np.arange(500), np.ones(500)])
    assert hindsight.best_fixed(X, y)[-1] == pytest.approx(least_squares(minutes, y), rel=1e-8)


@given(seed=st.integers(0, 50), power=st.integers(-8, 8))
def test_best_fixed_does_not_care_for_the_units_of_a_column(seed, power):
    X, y = stream(30, d=3, seed=seed)
    other = X * np.array([1.0, 10.0**power, 1.0])
    np.testing.assert_allclose(
        hindsight.best_fixed(other, y), hindsight.best_fixed(X, y), rtol=1e-8, atol=1e-12
    )


def test_a_copied_column_changes_nothing():
    X, y = stream(300, d=3)
    doubled = np.column_stack([X, X[:, 0], X[:, 1] - X[:, 2]])
    np.testing.assert_allclose(
        hindsight.best_fixed(doubled, y), hindsight.best_fixed(X, y), rtol=1e-10, atol=1e-13
    )


# --- drifting -------------------------------------------------------------------------------


@given(b=st.floats(0.01, 100), c=st.floats(0.01, 100), seed=st.integers(0, 100))
def test_best_drifting_is_the_least_of_the_objective_after_every_round(b, c, seed):
    X, y = stream(8, d=2, seed=seed)
    expected = [drifting_least_squares(X[:t], y[:t], b, c) for t in range(1, 9)]
    np.testing.assert_allclose(hindsight.best_drifting(X, y, b, c), expected, rtol=1e-9)


def test_best_drifting_without_drift_is_best_fixed():
    X, y = stream(200)
    np.testing.assert_allclose(
        hindsight.best_drifting(X, y, 0.7, np.inf), hindsight.best_fixed(X, y, 0.7), rtol=1e-12
    )


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(("b", "c"), [(1.0, 10.0), (0.1, 0.1), (5.0, np.inf)])
def test_the_drifting_path_costs_what_the_recursion_says(name, b, c):
    X, y = STREAMS[name](np.random.default_rng(1))
    path = hindsight.drifting_path(X, y, b, c)
    drift = 0.0 if np.isinf(c) else c * hindsight.squared_drift(path)
    cost = b * path[0] @ path[0] + drift + np.sum((y - np.sum(X * path, axis=1)) ** 2)
    assert cost == pytest.approx(hindsight.best_drifting(X, y, b, c)[-1], rel=1e-10)


def test_no_other_path_near_the_drifting_path_is_better():
    X, y = stream(30, d=2)
    path, rng = hindsight.drifting_path(X, y, 1.0, 3.0), np.random.default_rng(0)

    def cost(u):
        misses = np.sum((y - np.sum(X * u, axis=1)) ** 2)
        return u[0] @ u[0] + 3.0 * hindsight.squared_drift(u) + misses

    for _ in range(100):
        assert cost(path + 1e-3 * rng.normal(size=path.shape)) > cost(path)


def test_where_hindsight_refuses_the_textbook_form_loses_the_sign():
    X = np.column_stack([1e8 + np.random.default_rng(0).normal(size=(2000, 2)), np.ones(2000)])
    S = np.eye(3)
    for x in X:
        v = S @ x
        S -= np.outer(v, v) / (1 + x @ v)
    assert np.linalg.eigvalsh(S)[0] < 0
    assert np.linalg.eigvalsh(ol.Ridge().fit(X, X[:, 0]).covariance_)[0] > 0


def test_data_beyond_double_precision_are_refused_not_guessed():
    rng = np.random.default_rng(0)
    X = np.column_stack([1e8 + rng.normal(size=(2000, 2)), np.ones(2000)])
    with pytest.raises(ValueError, match="double precision can tell apart"):
        hindsight.best_drifting(X, rng.normal(size=2000), c=np.inf)


# --- shifting -------------------------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_best_shifting_is_the_best_of_all_divisions(segments):
    X, y = stream(9, d=2, seed=3)
    y[4:] *= -3.0

    def cost(cuts):
        ends = [0, *cuts, 9]
        return sum(
            least_squares(X[a:b], y[a:b]) if a < b else 0.0 for a, b in itertools.pairwise(ends)
        )

    expected = min(
        cost(cuts) for cuts in itertools.combinations_with_replacement(range(10), segments - 1)
    )
    best = hindsight.best_shifting(X, y, segments)
    assert best.loss[-1] == pytest.approx(expected, abs=1e-12)
    assert np.sum((y - np.sum(X * best.path, axis=1)) ** 2) == pytest.approx(expected, abs=1e-12)
    assert len(best.starts) <= segments


def test_best_shifting_finds_the_switches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    truth = np.repeat(rng.normal(size=(3, 3)), 30, axis=0)
    best = hindsight.best_shifting(X, np.sum(truth * X, axis=1), segments=3)
    assert best.starts.tolist() == [0, 30, 60]
    np.testing.assert_allclose(best.path, truth, atol=1e-10)


@pytest.mark.parametrize("units", [(1e8, 1.0), (1e-15, 1e15)])
def test_the_shifting_path_has_the_loss_it_is_said_to_have(units):
    rng = np.random.default_rng(0)
    X = np.column_stack([units[0] + rng.normal(size=40), np.ones(40)]) * units[::-1]
    y = rng.normal(size=40)
    best = hindsight.best_shifting(X, y, 10**9)
    assert best.loss[-1] == pytest.approx(0.0, abs=1e-12)
    best = hindsight.best_shifting(X, y, 2)
    assert np.sum((y - np.sum(X * best.path, axis=1)) ** 2) == pytest.approx(
        best.loss[-1], rel=1e-4
    )


def test_more_segments_never_cost_more_and_one_is_best_fixed():
    X, y = stream(60, d=2)
    losses = [hindsight.best_shifting(X, y, k).loss for k in (1, 2, 5)]
    np.testing.assert_allclose(losses[0], hindsight.best_fixed(X, y), atol=1e-14)
    assert np.all(losses[0] >= losses[1])
    assert np.all(losses[1] >= losses[2])


# --- sparse ---------------------------------------------------------------------------------


@given(seed=st.integers(0, 200), power=st.floats(-3, 3))
def test_best_sparse_is_the_lasso(seed, power):
    rng = np.random.default_rng(seed)
    rows, d = int(rng.integers(12, 80)), int(rng.integers(1, 10))
    X = rng.normal(size=(rows, d))
    y = X @ (rng.normal(size=d) * rng.choice([0, 1], size=d)) + rng.normal(size=rows)
    a = 10.0**power
    best = hindsight.best_sparse(X, y, a)
    lasso = Lasso(alpha=a / rows, fit_intercept=False, tol=1e-12, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(best.weights, lasso.coef_, atol=1e-6)
    at_lasso = np.sum((y - X @ lasso.coef_) ** 2) + 2 * a * np.abs(lasso.coef_).sum()
    assert best.objective <= at_lasso * (1 + 1e-12)
    assert best.loss == pytest.approx(np.sum((y - X @ best.weights) ** 2))


def test_best_sparse_of_collinear_inputs_is_still_the_least_objective():
    X, y = STREAMS["collinear_columns"](np.random.default_rng(0))
    best = hindsight.best_sparse(X, y, 1.0)
    lasso = Lasso(alpha=1.0 / len(y), fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X, y)
    at_lasso = np.sum((y - X @ lasso.coef_) ** 2) + 2 * np.abs(lasso.coef_).sum()
    assert best.objective == pytest.approx(at_lasso, rel=1e-8)


def test_best_sparse_settles_where_several_weights_are_as_good():
    X, y = np.array([[-2.0, 2.0, 0.0], [0.0, 2.0, -1.0]]), np.array([-1.0, -2.0])
    best = hindsight.best_sparse(X, y, 0.5)
    lasso = Lasso(alpha=0.25, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X, y)
    at_lasso = np.sum((y - X @ lasso.coef_) ** 2) + np.abs(lasso.coef_).sum()
    assert best.objective == pytest.approx(at_lasso, rel=1e-9)


def test_best_sparse_with_more_inputs_than_rows_and_next_to_no_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 9)), rng.normal(size=5)
    norms = [hindsight.best_sparse(X, y, a).objective / a for a in (1e-4, 1e-6, 1e-8)]
    assert norms[0] <= norms[1] * (1 + 1e-3)
    assert norms[1] == pytest.approx(norms[2], rel=1e-4)  # 2‖w‖₁ of the least exact fit
    with pytest.raises(ValueError, match="above rounding"):
        hindsight.best_sparse(X, y, 1e-12)


def test_a_penalty_beyond_all_correlation_leaves_nothing():
    X, y = stream(50)
    assert not hindsight.best_sparse(X, y, a=1e4).weights.any()


# --- all of them ----------------------------------------------------------------------------


@pytest.mark.parametrize("best", [hindsight.BestFixed, hindsight.BestDrifting])
def test_row_by_row_in_bulk_and_in_parts_give_the_same_bits(best):
    X, y = stream(50)
    bulk = best().learn_many(X, y)
    single, parts = best(), best()
    rows = [single.learn_one(x, label).loss for x, label in zip(X, y, strict=True)]
    assert np.array(rows).tobytes() == bulk.tobytes()
    assert (
        np.concatenate([parts.learn_many(X[:7], y[:7]), parts.learn_many(X[7:], y[7:])]).tobytes()
        == bulk.tobytes()
    )
    assert single.rounds_ == parts.rounds_ == 50


@pytest.mark.parametrize("best", [hindsight.BestFixed(0.5), hindsight.BestDrifting(2.0, 3.0)])
def test_copied_and_pickled_they_go_on_with_the_same_bits(best):
    X, y = stream(50)
    fresh = pickle.loads(pickle.dumps(best))
    assert fresh.learn_many(X, y).tobytes() == best.learn_many(X, y).tobytes()
    for other in (pickle.loads(pickle.dumps(best)), copy.deepcopy(best)):
        assert repr(other) == repr(best)
        again = copy.deepcopy(best).learn_one(X[0], 2.0)
        assert other.learn_one(X[0], 2.0).loss == again.loss


def test_the_best_predictors_themselves():
    X, y = stream(50)
    fixed, drifting = hindsight.BestFixed(), hindsight.BestDrifting(1.0, 10.0)
    with pytest.raises(ValueError, match="not seen a row"):
        _ = fixed.coef_
    fixed.learn_many(X, y)
    drifting.learn_many(X, y)
    np.testing.assert_allclose(fixed.coef_, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-9)
    assert np.sum((y - X @ fixed.coef_) ** 2) == pytest.approx(fixed.loss)
    path = hindsight.drifting_path(X, y, 1.0, 10.0)
    np.testing.assert_allclose(drifting.coef_, path[-1], rtol=1e-9)


@pytest.mark.parametrize("b", [0.0, 0.7])
def test_an_intercept_is_a_column_of_ones_without_a_penalty(b):
    X, y = stream(40)
    y = y + 100.0
    best = hindsight.BestFixed(b, intercept=True)
    losses = best.learn_many(X, y)
    Z = np.column_stack([X, np.ones(40)])
    u = np.linalg.solve(Z.T @ Z + b * np.diag([1.0] * 5 + [0.0]), Z.T @ y)
    np.testing.assert_allclose(best.coef_, u[:-1], rtol=1e-9)
    assert best.intercept_ == pytest.approx(u[-1])
    np.testing.assert_allclose(best.predict(X), Z @ u, rtol=1e-9)
    assert losses[-1] == pytest.approx(np.sum((y - Z @ u) ** 2) + b * u[:-1] @ u[:-1])
    np.testing.assert_array_equal(losses, hindsight.best_fixed(X, y, b, intercept=True))
    single = hindsight.BestFixed(b, intercept=True)
    rows = [single.learn_one(x, label).loss for x, label in zip(X, y, strict=True)]
    assert np.array(rows).tobytes() == losses.tobytes()
    other = pickle.loads(pickle.dumps(best))
    assert (
        repr(other)
        == repr(best)
        == f"<BestFixed({b:g}, intercept=True) after 40 rounds: " + (f"{best.loss:.6g}>")
    )
    assert other.learn_one(X[0], 1.0).loss == best.learn_one(X[0], 1.0).loss


def test_the_best_fixed_predictor_predicts_rows_like_those_it_has_seen():
    X, y = stream(20)
    plain, free = hindsight.BestFixed(), hindsight.BestFixed(intercept=True)
    with pytest.raises(ValueError, match="not seen a row"):
        plain.predict(X)
    for best in (plain, free):
        best.learn_many(X, y)
        with pytest.raises(ValueError, match="needs 5 features, as before, got 4"):
            best.predict(X[:, :4])
    np.testing.assert_allclose(plain.predict(X), X @ plain.coef_, rtol=1e-12)
    assert plain.intercept_ == 0.0
    with pytest.raises(ValueError, match="needs 5 features, as before, got 4"):
        free.learn_many(X[:, :4], y)
    with pytest.raises(ValueError, match="needs intercept to be True or False, got intercept=1"):
        hindsight.BestFixed(intercept=1)


@pytest.mark.parametrize("best", [hindsight.BestFixed, hindsight.BestDrifting])
def test_a_bad_row_changes_nothing(best):
    X, y = stream(20)
    running = best()
    running.learn_many(X, y)
    before = running.loss
    for x, label in (
        ([np.nan] * 5, 1.0),
        ([1.0] * 5, np.inf),
        ([1.0] * 4, 1.0),
        ([1e200] * 5, 1.0),
    ):
        with pytest.raises(ValueError, match=r"finite|features|overflow"):
            running.learn_one(x, label)
    worse = np.vstack([X, np.full((1, 5), np.nan)])
    with pytest.raises(ValueError, match="NaN in row 20, column 0"):
        running.learn_many(worse, np.ones(21))
    assert running.loss == before
    twin = best()
    twin.learn_many(X, y)
    assert running.learn_one(X[0], 3.0).loss == twin.learn_one(X[0], 3.0).loss


def test_a_bad_row_is_named():
    X, y = stream(10)
    X[3, 1] = np.nan
    for function in (
        hindsight.best_fixed,
        hindsight.best_drifting,
        hindsight.drifting_path,
        lambda X, y: hindsight.best_shifting(X, y, 2),
        lambda X, y: hindsight.best_sparse(X, y, 1.0),
    ):
        with pytest.raises(ValueError, match="NaN in row 3, column 1"):
            function(X, y)


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda X, y: hindsight.best_fixed(X, y, b=-1.0), "0 ≤ b"),
        (lambda X, y: hindsight.best_drifting(X, y, b=0.0), "0 < b"),
        (lambda X, y: hindsight.drifting_path(X, y, c=0.0), "0 < c"),
        (lambda X, y: hindsight.best_shifting(X, y, 0), "1 ≤ segments"),
        (lambda X, y: hindsight.best_shifting(X, y, 1.5), "whole number"),
        (lambda X, y: hindsight.best_sparse(X, y, 0.0), "0 < a"),
        (lambda X, y: hindsight.total_drift(X, norm=3), "norm"),
    ],
)
def test_a_parameter_out_of_range_is_refused_with_the_rule(call, rule):
    with pytest.raises(ValueError, match=rule):
        call(*stream(10))


def test_the_turning_truth_of_the_demo_is_what_it_says():
    X, y = ol.streams.rotating(rows=721, d=5, degrees=0.5, noise=0.0, seed=1)
    again = ol.streams.rotating(rows=721, d=5, degrees=0.5, noise=0.0, seed=1)
    assert X.tobytes() == again[0].tobytes()
    still = ol.streams.rotating(rows=50, d=5, degrees=0.0, noise=0.0, seed=1)
    w = np.linalg.lstsq(*still, rcond=None)[0]
    assert np.linalg.norm(w) == pytest.approx(1.0)
    np.testing.assert_allclose(X[0] @ w, y[0], rtol=1e-9)
    np.testing.assert_allclose(X[720] @ w, y[720], rtol=1e-9)  # once round
    np.testing.assert_allclose(X[360] @ (w * [-1, -1, -1, -1, 1]), y[360], rtol=1e-9)
