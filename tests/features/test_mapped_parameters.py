"""Parameters of maps and of learners behind them, column names, and scikit-learn."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from mapped_learners import X, Y, bits, make
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from table import stream

import onlinear as ol
from onlinear.features import Mapped, Nystroem, RandomFourier
from onlinear.kernels import RBF, Polynomial

# --- parameters --------------------------------------------------------------------------


def test_parameters_are_nested_and_clone_takes_nothing_learnt():
    model = make("waves").fit(X, Y)
    assert model.get_params(deep=False) == {"features": model.features, "learner": model.learner}
    params = model.get_params()
    assert (params["features__gamma"], params["learner__b"]) == (0.7, 0.2)
    twin = clone(model).set_params(learner__b=3.0, features__gamma=0.1, learner__on_bad="skip")
    assert (twin.learner.b, twin.features.gamma, twin.learner.on_bad) == (3.0, 0.1, "skip")
    assert (model.learner.b, model.features.gamma) == (0.2, 0.7)
    assert bits(twin) == (b"", b"")
    twin.set_params(learner__c=7.0, learner=ol.LASER())
    assert repr(twin.learner) == "LASER(c=7.0)"
    again = eval(repr(model), {"Mapped": Mapped, "RandomFourier": RandomFourier, "AAR": ol.AAR})
    assert again.fit(X, Y).predict(X).tobytes() == model.predict(X).tobytes()
    for wrong in ("gamma", "features__z", "map__gamma", "on_bad"):
        with pytest.raises(ValueError, match="Invalid parameter"):
            model.set_params(**{wrong: 1})


def test_what_the_features_mean_cannot_change_until_fit():
    model = make("waves").fit(X, Y)
    for call in (
        lambda: model.predict_one(X[0]),
        lambda: model.learn_one(X[0], 1.0),
        lambda: model.partial_fit(X, Y),
        lambda: model.save("model.onl"),
        lambda: model.features.transform(X),
    ):
        before = bits(model)
        model.set_params(features__gamma=2.0)
        with pytest.raises(ValueError, match=r"RandomFourier needs the gamma it began with, 0.7"):
            call()
        assert bits(model) == before
    assert model.fit(X, Y).features.frequencies_.std() > 1.5
    marks = make("landmarks").fit(X, Y)
    with pytest.raises(ValueError, match=r"Nystroem needs the landmarks it began with, 12, got"):
        marks.set_params(features__landmarks=13).predict(X)
    marks.set_params(features__landmarks=12, features__kernel=RBF(gamma=2.0)).predict(X)
    choosy = Mapped(Nystroem(landmarks=20, novelty=0.9), ol.AAR()).fit(X, Y)
    assert len(choosy.features.landmarks_) == 1
    choosy.set_params(features__novelty=1e-3).partial_fit(X, Y)
    assert len(choosy.features.landmarks_) == 20


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (RandomFourier(width=7), "RandomFourier needs an even width, got width=7"),
        (RandomFourier(width=0), "whole number 2 ≤ width"),
        (RandomFourier(width=10.0), "whole number 2 ≤ width ≤ 2⁵³, got width=10.0"),
        (RandomFourier(gamma=0.0), "RandomFourier needs a finite number 0 < gamma, got gamma=0.0"),
        (RandomFourier(seed=-1), "whole number 0 ≤ seed"),
        (RandomFourier(seed=None), "got seed=None"),
        (RandomFourier(width=10**14), "RandomFourier keeps its width times 5 columns, 2e+06 GB"),
        (Nystroem(landmarks=0), "whole number 1 ≤ landmarks ≤ 2⁵³, got landmarks=0"),
        (Nystroem(landmarks=1.5), "got landmarks=1.5"),
        (Nystroem(landmarks=None), "got landmarks=None"),
        (Nystroem(landmarks=[1.0, 2.0]), "Expected 2D array, got 1D"),
        (Nystroem(landmarks=np.ones((3, 2))), "landmarks of 5 columns, as the rows have, got 2"),
        (Nystroem(landmarks=np.full((3, 5), np.nan)), "needs finite landmarks"),
        (Nystroem(landmarks=10**8), "Nystroem keeps its width times 5 columns, 4e+07 GB"),
        (Nystroem(novelty=1.0), "0 ≤ novelty < 1, got novelty=1.0"),
        (Nystroem(novelty=-1e-9), "0 ≤ novelty < 1"),
        (Nystroem("rbf"), "needs a kernel such as onlinear.kernels.RBF"),
        (Nystroem(RBF(gamma=-1.0)), "RBF needs a finite number 0 < gamma"),
        (Nystroem(lambda Z, x: 1.0), "a number for each of the 1 rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_parameter_is_refused_by_its_rule_and_value(features, words):
    model = Mapped(features, ol.AAR())
    for call in (
        lambda: features.fit(X),
        lambda: features.learn_one(X[0]),
        lambda: features.transform_one(X[0]),
        lambda: model.predict_one(X[0]),
        lambda: model.learn_one(X[0], 1.0),
        lambda: model.fit(X, Y),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            call()
    assert bits(model) == (b"", b"")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Mapped("rbf", ol.AAR()), "Mapped needs features such as onlinear.features."),
        (Mapped(RandomFourier(), "AAR"), "Mapped needs a learner such as onlinear.AAR()"),
        (Mapped(RandomFourier(), ol.AAR), "Mapped needs a learner such as"),
        (Mapped(RandomFourier(), ol.AAR().fit(X, Y)), "that has learnt 60 rows"),
        (Mapped(RandomFourier(6).fit(X), ol.AAR().fit(X, Y)), "the map's 6 features, got one of 5"),
        (Mapped(RandomFourier(6), ol.AAR(b=-1.0)), "AAR needs a finite number 0 < b"),
    ],
)
def test_parts_that_do_not_fit_are_refused(model, words):
    for call in (
        lambda: model.predict_one(X[0]),
        lambda: model.learn_one(X[0], 1.0),
        lambda: ol.replay(model, X, Y),
        lambda: model.save("model.onl"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            call()


def test_a_map_may_have_seen_rows_before_its_learner():
    features = Nystroem(RBF(gamma=1.0), landmarks=20).fit(X[::-1])
    chosen = features.landmarks_
    model = Mapped(features, ol.AAR())
    with pytest.raises(NotFittedError, match="This Mapped instance is not fitted yet"):
        model.predict(X)
    with pytest.raises(ValueError, match="x needs 5 features"):
        model.learn_one([1.0, 2.0], 1.0)
    ol.replay(model, X, Y)
    assert_array_equal(features.landmarks_, chosen)
    assert model.fit(X, Y).features.landmarks_.tolist() != chosen.tolist()


# --- the faces ---------------------------------------------------------------------------


def test_column_names_are_kept_and_checked():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make().fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcde")
    assert model.n_features_in_ == 5
    with pytest.raises(ValueError, match="must be in the same order"):
        model.partial_fit(frame[list("edcba")], Y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict_one(frame[list("edcba")].iloc[0])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Mapped"):
        model.predict(X)
    with pytest.raises(ValueError, match="X has 4 features, but Mapped is expecting 5"):
        make().fit(X, Y).predict(X[:, :4])
    singly = make()
    for (_, row), label in zip(frame.iterrows(), Y, strict=True):
        singly.learn_one(row, label)
    assert bits(singly) == bits(model)
    assert singly.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(make().fit(X, Y), "feature_names_in_")


@pytest.mark.parametrize(
    "estimator",
    [
        RandomFourier(),
        RandomFourier(width=20, gamma=0.5, seed=3),
        Nystroem(),
        Nystroem(Polynomial(2), landmarks=30),
        Mapped(RandomFourier(), ol.AAR()),
        Mapped(Nystroem(landmarks=20), ol.LASER(shrink=False)),
    ],
    ids=repr,
)
def test_check_estimator_passes(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checks' own making
        results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] not in ("passed", "skipped")}
    # a Mapped fits the objects it is given, as a Pipeline does
    assert failed == ({"check_estimators_overwrite_params"} if type(estimator) is Mapped else set())


def test_maps_work_in_pipelines_and_searches():
    rows, labels = stream(200)
    pipeline = make_pipeline(Nystroem(landmarks=15), ol.Ridge(b=0.1)).fit(rows, labels)
    P = Nystroem(landmarks=15).fit_transform(rows)
    assert_array_equal(pipeline.predict(rows), ol.Ridge(b=0.1).fit(P, labels).predict(P))
    search = GridSearchCV(
        Mapped(RandomFourier(20), ol.AAR()),
        {"features__gamma": [0.01, 1.0], "learner__b": [0.01, 1.0]},
        cv=TimeSeriesSplit(3),
    ).fit(rows, labels)
    assert search.best_params_.keys() == {"features__gamma", "learner__b"}
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0
    assert pipeline[0].get_feature_names_out().tolist()[:2] == ["nystroem0", "nystroem1"]


def test_before_fit_it_says_so():
    for call in (
        lambda: RandomFourier().transform(X),
        lambda: RandomFourier().frequencies_,
        lambda: Nystroem().landmarks_,
        lambda: make().predict(X),
        lambda: make().rounds_,
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


def test_what_wants_a_learner_says_so():
    for call in (
        lambda: ol.certificate(make(), X, Y),
        lambda: ol.regret_plot(make(), X, Y),
        lambda: ol.replay(RandomFourier(), X, Y),
    ):
        with pytest.raises(TypeError, match="learner"):
            call()
