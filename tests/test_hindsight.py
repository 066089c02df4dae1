"""The best predictors in hindsight, against brute-force least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from minmax_oracles import drifting_least_squares
from table import stream

import onlinear as ol
from onlinear import hindsight


@given(b=st.floats(0.01, 100), c=st.floats(0.01, 100), seed=st.integers(0, 100))
def test_best_drifting_is_the_least_of_the_objective_after_every_round(b, c, seed):
    X, y = stream(8, d=2, seed=seed)
    expected = [drifting_least_squares(X[:t], y[:t], b, c) for t in range(1, 9)]
    np.testing.assert_allclose(hindsight.best_drifting(X, y, b, c), expected, rtol=1e-9)


@given(b=st.floats(0.01, 100), seed=st.integers(0, 100))
def test_best_fixed_is_ridge_in_hindsight(b, seed):
    X, y = stream(20, seed=seed)
    u = np.linalg.solve(X.T @ X + b * np.eye(5), X.T @ y)
    expected = b * u @ u + np.sum((y - X @ u) ** 2)
    np.testing.assert_allclose(hindsight.best_fixed(X, y, b)[-1], expected, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_best_fixed_is_right_on_data_far_from_the_origin(offset):
    rng = np.random.default_rng(0)
    X = np.column_stack([offset + rng.normal(size=(2000, 2)), np.ones(2000)])
    y = rng.normal(size=2000) + 5
    rows, labels = np.vstack([np.eye(3), X]), np.concatenate([np.zeros(3), y])
    u = np.linalg.lstsq(rows, labels, rcond=None)[0]
    expected = np.sum((rows @ u - labels) ** 2)
    np.testing.assert_allclose(hindsight.best_fixed(X, y)[-1], expected, rtol=1e-5)


def test_best_fixed_is_right_on_a_column_of_timestamps():
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + 60.0 * np.arange(500), np.ones(500)])
    y = rng.normal(size=500)
    rows, labels = np.vstack([np.eye(2), X]), np.concatenate([np.zeros(2), y])
    units = np.array([1e9, 1.0])
    u = np.linalg.lstsq(rows / units, labels, rcond=None)[0]
    expected = np.sum((rows / units @ u - labels) ** 2)
    np.testing.assert_allclose(hindsight.best_fixed(X, y)[-1], expected, rtol=1e-3)


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
        hindsight.best_fixed(X, rng.normal(size=2000))


def test_a_bad_row_is_named():
    X, y = stream(10)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 3, column 1"):
        hindsight.best_fixed(X, y)
    with pytest.raises(ValueError, match="0 < b"):
        hindsight.best_drifting(X, y, b=0.0)


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
