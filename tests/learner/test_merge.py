"""Learners of different rows made one: as if it had learnt all of them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import onlinear as ol

MODELS = [ol.Ridge(b=0.3), ol.AAR(b=2.0, clip=1.5), ol.AROWR(r=0.2, b=3.0)]


def rows(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def learnt(model, X, y):
    fresh = type(model)(**model.get_params())
    ol.replay(fresh, X, y)
    return fresh


@pytest.mark.parametrize("model", MODELS, ids=str)
@given(
    d=st.integers(1, 12),
    cuts=st.lists(st.integers(0, 60), min_size=0, max_size=4),
    seed=st.integers(0, 2**16),
)
def test_merged_learners_are_one_that_learnt_all_rows(model, d, cuts, seed):
    X, y = rows(60, d, seed)
    edges = [0, *sorted(cuts), 60]
    parts = [slice(a, b) for a, b in itertools.pairwise(edges)]
    apart = [learnt(model, X[part], y[part]) if X[part].size else model for part in parts]
    merged, whole = ol.merge(apart), learnt(model, X, y)
    assert merged.rounds_ == whole.rounds_ == 60
    scale = np.sqrt(np.outer(*2 * [np.diag(whole.covariance_)]))
    assert_allclose(merged.covariance_ / scale, whole.covariance_ / scale, atol=1e-10)
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-9, atol=1e-10)
    new = rows(5, d, seed + 1)[0]
    assert_allclose(merged.predict(new), whole.predict(new), rtol=1e-8, atol=1e-9)


def test_a_merged_learner_goes_on_is_saved_and_leaves_the_others_alone():
    X, y = rows(40, 3, 0)
    one, two = learnt(ol.Ridge(), X[:20], y[:20]), learnt(ol.Ridge(), X[20:30], y[20:30])
    before = one.covariance_, two.coef_
    merged = ol.merge([one, two])
    ol.replay(merged, X[30:], y[30:])
    assert_allclose(merged.coef_, learnt(ol.Ridge(), X, y).coef_, rtol=1e-10)
    assert_array_equal(merged.covariance_, merged.covariance_.T)
    merged.save("merged.onl")
    assert_array_equal(ol.load("merged.onl").coef_, merged.coef_)
    assert_array_equal(before[0], one.covariance_)
    assert_array_equal(before[1], two.coef_)


def test_the_order_does_not_matter():
    X, y = rows(30, 4, 1)
    a, b, c = (learnt(ol.AAR(), X[k::3], y[k::3]) for k in range(3))
    step_by_step = ol.merge([c, ol.merge([b, a])])
    assert_allclose(ol.merge([a, b, c]).coef_, step_by_step.coef_, rtol=1e-12)


def test_columns_and_skipped_rows_are_kept():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.nan]})
    model = ol.Ridge(on_bad="skip")
    ol.replay(model, table, [1.0, 2.0])
    merged = ol.merge([ol.Ridge(on_bad="skip"), model, model])
    assert list(merged.feature_names_in_) == ["a", "b"]
    assert (merged.rounds_, merged.n_skipped_) == (2, 2)
    nothing = ol.merge([ol.Ridge(), ol.Ridge()])
    assert nothing.predict_one([1.0]) == 0.0


def named(*names):
    model = ol.Ridge()
    ol.replay(model, pd.DataFrame(np.ones((2, len(names))), columns=list(names)), [1.0, 2.0])
    return model


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ([], ValueError, "at least one learner, got none"),
        ([ol.LASER()], TypeError, "Ridge, AAR or AROWR, got LASER"),
        ([ol.Ridge(), 3], TypeError, "Ridge, AAR or AROWR, got 3"),
        ([ol.Ridge(), ol.Ridge(b=2.0)], ValueError, r"same parameters, got Ridge\(\), Ridge\(b=2"),
        ([ol.Ridge(), ol.AAR()], ValueError, r"same parameters, got Ridge\(\), AAR\(\)"),
        ([named("a", "b"), named("b", "a")], ValueError, r"columns, got \['a', 'b'\] and \['b'"),
        ([named("a"), named("a", "b")], ValueError, r"columns, got \['a'\] and"),
    ],
)
def test_what_does_not_make_one_learner_is_refused(models, error, message):
    with pytest.raises(error, match=message):
        ol.merge(models)
