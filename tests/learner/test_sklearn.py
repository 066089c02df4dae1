"""The scikit-learn face."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from table import SETTINGS, stream

import onlinear as ol

# The checks' data have rows with ‖x‖² up to 2e4 and labels up to 300, outside the domain of the
# defaults of these learners; here are parameters that admit them.
DOMAIN = {
    "EG": {"X": 1e3},
    "EGPM": {"X": 1e3},
    "EGU": {"X": 1e3, "Y": 1e3},
    "GD": {"eta": 1e-5},
    "OGD": {"eta": 1e-5},
    "PNorm": {"eta": 1e-6},
    "WEMM": {"b": 1e6},
}
OTHER = {
    **{name: other for name, (_, other) in SETTINGS.items()},
    "CIRR": {"a": 0.3, "floor": 1e-3},  # w0 of length 5 fits only one of the checks' data sets
    "EG": {"eta": 1e-6, "alpha": 0.5, "X": 1e3},
    "EGPM": {"U": 2.0, "eta": 1e-6, "alpha": 0.3, "X": 1e3},
    "EGU": {"eta": 1e-6, "alpha": 0.6, "X": 1e3, "Y": 1e3},
    "OGD": {"eta": 1e-5, "schedule": "sqrt"},
    "PNorm": {"p": 3.0, "eta": 1e-6, "loss": ol.losses.Huber(1e3)},
    "WEMM": {"b": 1e7},
}
# With clip = 0.5 or a radius of 0.5 or 0.6 a learner cannot reach the scale of the checks' labels.
OTHER["AAR"] = {"b": 0.1, "clip": 1e3}
OTHER["LASER"] = {"b": 3.0, "c": 2.0, "shrink": False, "clip": 1e3}
OTHER["ARCOR"] = {"r": 0.3, "radius": 1e3, "thresholds": [0.4, 0.2, 0.1]}
OTHER["ONS"] = {"gamma": 0.4, "epsilon": 0.5, "radius": 1e3}


@pytest.mark.parametrize("setting", ["default", "other"])
@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_every_learner_passes_check_estimator(name, setting):
    params = DOMAIN.get(name, {}) if setting == "default" else OTHER[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checks' own making
        results = check_estimator(ol.LEARNERS[name](**params), on_fail=None)
    failed = [
        (result["check_name"], str(result["exception"]))
        for result in results
        if result["status"] not in ("passed", "skipped")
    ]
    assert failed == []
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}  # needs SCIPY_ARRAY_API in the environment


def test_a_learner_works_in_a_pipeline_and_a_grid_search():
    X, y = stream(200)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ol.LASER(shrink=False)),
        {"laser__c": [1.0, 100.0, 1e6]},
        cv=TimeSeriesSplit(3),
    ).fit(X, y)
    assert search.best_params_["laser__c"] in (1.0, 100.0, 1e6)
    assert np.isfinite(search.predict(X)).all()


def test_it_works_under_metadata_routing():
    X, y = stream(60)
    pipeline = make_pipeline(StandardScaler(), ol.Ridge())
    expected = cross_val_score(pipeline, X, y, cv=3)
    with sklearn.config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(cross_val_score(pipeline, X, y, cv=3), expected)
    assert np.isfinite(expected).all()


def test_clone_copies_parameters_and_nothing_learnt():
    X, y = stream(20)
    twin = clone(ol.ARCOR(thresholds=[0.5, 0.25]).fit(X, y))
    assert twin.thresholds == [0.5, 0.25]
    with pytest.raises(NotFittedError):
        twin.predict(X)


def test_before_fit_predict_and_the_weights_raise_not_fitted():
    model = ol.Ridge()
    for call in (
        lambda: model.predict([[1.0]]),
        lambda: model.score([[1.0]], [1.0]),
        lambda: model.coef_,
        lambda: model.covariance_,
        lambda: model.rounds_,
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()
    assert not hasattr(model, "coef_")


def test_score_is_r_squared():
    from sklearn.metrics import r2_score

    X, y = stream(50)
    model = ol.Ridge().fit(X, y)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))
    weight = np.arange(50.0)
    expected = r2_score(y, model.predict(X), sample_weight=weight)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected)
    assert model.score(X[:3], np.ones(3)) == 0.0


def test_score_leaves_out_skipped_rows_and_refuses_bad_labels():
    X, y = stream(50)
    model = ol.Ridge(on_bad="skip").fit(X, y)
    X_bad = X.copy()
    X_bad[7, 0] = np.nan
    rest = np.arange(50) != 7
    assert model.score(X_bad, y) == pytest.approx(model.score(X[rest], y[rest]))
    with pytest.raises(ValueError, match="a row that can be predicted"):
        model.score(np.full((2, 5), np.nan), y[:2])
    with pytest.raises(ValueError, match="score needs finite labels, got nan"):
        model.score(X, np.where(rest, y, np.nan))


def test_parameters_may_be_changed_and_are_checked_at_the_next_round():
    X, y = stream(20)
    model = ol.LASER(c=10.0).fit(X, y)
    before = model.predict_one(X[0])
    model.set_params(shrink=False)
    assert model.predict_one(X[0]) != before
    model.c = -1.0
    with pytest.raises(ValueError, match=r"LASER needs a number 0 < c ≤ inf, got c=-1.0"):
        model.learn_one(X[0], y[0])
    with pytest.raises(ValueError, match=r"Invalid parameter 'z'.*it has.*shrink"):
        model.set_params(z=1)
