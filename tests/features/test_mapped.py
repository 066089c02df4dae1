"""A learner behind a map of features: the same bits, however it is run."""

import copy
import pickle

import numpy as np
import pytest
from mapped_learners import (
    LEARNERS,
    MAPS,
    X,
    Y,
    bits,
    each_learner,
    each_map,
    make,
    record,
)
from numpy.testing import assert_array_equal
from scipy import sparse
from table import one_by_one, stream

import onlinear as ol
from onlinear.features import Nystroem
from onlinear.kernels import RBF


@each_learner
@each_map
def test_every_way_of_running_gives_the_same_bits(features, learner, tmp_path):
    whole = make(features, learner)
    expected = ol.replay(whole, X, Y).predictions
    assert np.isfinite(expected).all()
    assert len(set(expected)) > 40

    def parts(between, *cuts):
        model, predictions = make(features, learner), []
        for rows in np.split(np.arange(60), cuts):
            predictions.append(ol.replay(model, X[rows], Y[rows]).predictions)
            model = between(model)
        return model, np.concatenate(predictions)

    def through_a_file(model):
        model.save(tmp_path / "model.onl")
        return ol.load(tmp_path / "model.onl")

    singly = make(features, learner)
    runs = {
        "one by one": (singly, one_by_one(singly, X, Y)),
        "parts": parts(lambda model: model, 1, 5, 6, 33),
        "save and load": parts(through_a_file, 4, 30),
        "deep copy": parts(copy.deepcopy, 4, 30),
        "pickle": parts(lambda model: pickle.loads(pickle.dumps(model)), 4, 30),
    }
    for way, (model, predictions) in runs.items():
        assert predictions.tobytes() == expected.tobytes(), way
        assert bits(model) == bits(whole), way
        assert repr(model.features) == repr(whole.features), way
        assert model.rounds_ == 60, way


@each_map
@pytest.mark.parametrize("numbers", [1, 50, 200])
def test_the_size_of_blocks_changes_nothing(features, numbers, monkeypatch):
    whole = make(features).fit(X, Y)
    alone, P = MAPS[features]().fit(X), whole.features.transform(X)
    monkeypatch.setattr("onlinear.features._steps.NUMBERS", numbers)
    monkeypatch.setattr("onlinear.features._map.NUMBERS", numbers)
    assert bits(make(features).fit(X, Y)) == bits(whole)
    assert record(MAPS[features]().fit(X)) == record(alone) == record(whole.features)
    assert alone.transform(X).tobytes() == P.tobytes()


@each_map
def test_sparse_rows_and_frames_give_the_same_bits(features):
    thin = X * (X > 0.35)
    whole = make(features)
    expected = ol.replay(whole, thin, Y).predictions
    kinds = (sparse.csr_array, sparse.csc_matrix, np.ndarray.tolist, np.asfortranarray)
    for rows in (kind(thin) for kind in kinds):
        model = make(features)
        assert ol.replay(model, rows, Y).predictions.tobytes() == expected.tobytes()
        assert bits(model) == bits(whole)
        assert model.features.transform(rows).tobytes() == whole.features.transform(thin).tobytes()
    singly = make(features)
    for row, label in zip(thin, Y, strict=True):
        singly.learn_one(sparse.csr_array(row[None]), label)
    assert bits(singly) == bits(whole)
    assert singly.predict_one(sparse.csr_array(thin[:1])) == whole.predict_one(thin[0])


@each_map
def test_looking_changes_nothing(features):
    fresh = make(features)
    assert fresh.predict_one(X[0]) == 0.0
    assert fresh.features.transform_one(X[0]).shape == (fresh.features._width(),)
    assert bits(fresh) == (b"", b"")
    assert not hasattr(fresh, "n_features_in_")
    model = make(features).fit(X[:20], Y[:20])
    before = bits(model)
    singly = [model.predict_one(x) for x in X]
    assert model.predict(X).tolist() == singly
    assert [model.features.transform_one(x).tolist() for x in X] == (
        model.features.transform(X).tolist()
    )
    model.score(X, Y)
    assert bits(model) == before


def test_what_is_predicted_is_what_the_learner_makes_of_the_features():
    model = make("landmarks").fit(X, Y)
    assert_array_equal(model.predict(X), model.learner.predict(model.features.transform(X)))
    waves = make("waves")
    run = ol.replay(waves, X, Y)
    alone = ol.replay(LEARNERS["AAR"](), MAPS["waves"]().fit_transform(X), Y)
    assert_array_equal(run.predictions, alone.predictions)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_is_independent(copied):
    features = Nystroem(RBF(gamma=2.0), landmarks=12).fit(X[:3])
    twin, before = copied(features), record(features)
    twin.learn_one(X[5])
    assert record(features) == before != record(twin)


@pytest.mark.parametrize("features", ["waves", "landmarks"])
def test_threads_may_predict_side_by_side(features):
    from concurrent.futures import ThreadPoolExecutor

    rows, labels = stream(4000)
    model = make(features).fit(rows[:50], labels[:50])
    expected = model.predict(rows).tobytes()
    with ThreadPoolExecutor(2) as pool:
        for predictions in pool.map(lambda _: model.predict(rows), range(6)):
            assert predictions.tobytes() == expected
