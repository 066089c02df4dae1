"""Explicit features of kernels: against the formulas, and in front of learners."""

import copy
import json
import math
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from forgery import forge
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from small_streams import within_unit_ball
from table import manhattan, one_by_one, stream

import onlinear as ol
from onlinear.features import Mapped, Nystroem, RandomFourier
from onlinear.kernels import RBF, Linear, Polynomial

KERNELS = [Linear(), Polynomial(3, coef0=0.5, gamma=2.0), RBF(), RBF(gamma=3.0), manhattan]
each_kernel = pytest.mark.parametrize(
    "kernel", KERNELS, ids=lambda k: getattr(k, "__name__", repr(k))
)

X, Y = stream(60)
MAPS = {
    "waves": lambda: RandomFourier(width=14, gamma=0.7, seed=5),
    "landmarks": lambda: Nystroem(RBF(gamma=2.0), landmarks=12, novelty=0.05),
    "all landmarks": lambda: Nystroem(Polynomial(2), landmarks=70),
    "given landmarks": lambda: Nystroem(RBF(), landmarks=X[[3, 3, 9, 20]]),
    "own kernel": lambda: Nystroem(manhattan, landmarks=9, novelty=0.3),
}
LEARNERS = {
    "AAR": lambda **bad: ol.AAR(b=0.2, **bad),
    "LASER": lambda **bad: ol.LASER(c=5.0, shrink=False, **bad),
    "NLMS": lambda **bad: ol.NLMS(**bad),
    "KernelAAR": lambda **bad: ol.KernelAAR(b=0.3, budget=20, **bad),  # whose state grows
}
each_map = pytest.mark.parametrize("features", MAPS)
each_learner = pytest.mark.parametrize("learner", LEARNERS)


def make(features="landmarks", learner="AAR", **bad):
    return Mapped(MAPS[features](), LEARNERS[learner](**bad))


def record(part):
    return b"" if part._state is None else part._record.tobytes()


def bits(model):
    return record(model.features), record(model.learner)


def gram(kernel, A, B):
    return np.array([kernel(A, b) for b in B]).T


# --- random Fourier features -------------------------------------------------------------


def test_random_fourier_features_are_their_formula():
    features = RandomFourier(width=6, gamma=0.3, seed=4).fit(X)
    W = math.sqrt(2 * 0.3) * np.random.default_rng(4).standard_normal((3, 5))
    waves = np.stack([np.cos(X @ W.T), np.sin(X @ W.T)], axis=2).reshape(len(X), 6)
    assert_allclose(features.transform(X), math.sqrt(2 / 6) * waves, rtol=1e-12, atol=1e-15)
    assert_array_equal(features.frequencies_, W)
    default = RandomFourier(width=6, seed=4).fit(X)
    assert_allclose(default.frequencies_, W * math.sqrt(0.2 / 0.3), rtol=1e-14)  # gamma = 1/5


@pytest.mark.parametrize("width", [40, 160, 640])
def test_their_error_has_the_variance_of_the_theory(width):
    """(1 + K⁴ − 2K²)/width, which is less than (1 + K⁴/2 − K²)/width of cosines with phases."""
    gamma, A = 0.4, np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.4], [2.0, -2.0]])
    K = gram(RBF(gamma=gamma), A, A)
    drawn = [RandomFourier(width, gamma, seed=s).fit_transform(A) for s in range(600)]
    errors = np.array([P @ P.T for P in drawn]) - K
    wanted = (1 + K**4 - 2 * K**2) / width
    off = ~np.eye(4, dtype=bool)
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * np.sqrt(wanted / 600) + 1e-14)
    assert_allclose(errors.var(axis=0)[off], wanted[off], rtol=0.25)  # 4 standard errors
    assert_allclose([np.diag(P @ P.T) for P in drawn], 1.0, rtol=1e-13)


def test_a_seed_is_a_map():
    same = [RandomFourier(seed=7).fit_transform(X).tobytes() for _ in range(2)]
    assert same[0] == same[1] != RandomFourier(seed=8).fit_transform(X).tobytes()


# --- Nyström features --------------------------------------------------------------------


@each_kernel
def test_nystroem_features_are_a_cholesky_factor_and_solves_with_it(kernel):
    A = np.random.default_rng(0).normal(size=(5, 5))
    features = Nystroem(kernel, landmarks=5, novelty=1e-4).fit(A)
    assert_array_equal(features.landmarks_, A)
    L = np.linalg.cholesky(gram(kernel, A, A))
    assert_allclose(features.transform(X), np.linalg.solve(L, gram(kernel, A, X)).T, rtol=1e-9)


@each_kernel
def test_their_inner_products_with_landmarks_are_the_kernel(kernel):
    rows = np.random.default_rng(1).normal(size=(300, 3))
    features = Nystroem(kernel, landmarks=40).fit(rows)
    chosen, P = features.landmarks_, features.transform(rows)
    assert len(chosen) == {"Linear()": 3, repr(KERNELS[1]): 20}.get(repr(kernel), 40)
    scale = np.sqrt(np.outer(*[[kernel(r[None], r)[0] for r in S] for S in (rows, chosen)]))
    error = np.abs(P @ features.transform(chosen).T - gram(kernel, rows, chosen))
    assert (error / scale).max() < 1e-12


@each_kernel
@pytest.mark.parametrize(
    ("name", "linear", "params"),
    [
        ("KernelAAR", "AAR", {"b": 0.3}),
        ("KernelLASER", "LASER", {"b": 0.5, "c": 3.0}),
        ("KernelWEMM", "WEMM", {"b": 40.0}),
        ("KernelGD", "GD", {"eta": 0.02}),
    ],
)
def test_while_every_row_is_a_landmark_it_is_the_kernel_learner(kernel, name, linear, params):
    rng = np.random.default_rng(2)  # as many columns as rows, or those of Linear() are not new
    rows, labels = within_unit_ball(1.0 + rng.normal(size=(40, 40)), 1.0 + rng.normal(size=40))
    model = Mapped(Nystroem(kernel, landmarks=50), ol.LEARNERS[linear](**params))
    got = ol.replay(model, rows, labels).predictions
    wanted = ol.replay(ol.LEARNERS[name](kernel, **params), rows, labels).predictions
    assert len(model.features.landmarks_) == 40
    assert np.abs(wanted).max() > 0.01
    assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_a_new_row_has_a_coordinate_of_its_own_already_before_it_is_taken():
    features = Nystroem(RBF(gamma=1.0), landmarks=30)
    for i, x in enumerate(X[:30]):
        before = features.transform_one(x)
        assert before[i] > 0 == np.abs(before[i + 1 :]).sum()
        assert before @ before == pytest.approx(1.0)  # K(x, x)
        others = features.transform(X)[:, :i] if i else np.zeros((60, 0))
        features.learn_one(x)
        assert_allclose(features.transform_one(x), before, rtol=0, atol=1e-9)
        assert features.transform(X)[:, :i].tobytes() == others.tobytes()


def test_a_row_is_taken_if_its_residual_is_more_than_the_share_asked_for():
    z, x = np.zeros(1), np.array([0.5])
    rest = 1 - math.exp(-0.25) ** 2  # of K(x, x) = 1, after z
    for novelty, taken in [(rest * 1.001, 1), (rest * 0.999, 2)]:
        features = Nystroem(RBF(gamma=1.0), landmarks=5, novelty=novelty)
        features.fit([z, z, x, x])
        assert len(features.landmarks_) == taken
    for novelty, taken in [(1.001 / 101, 1), (0.999 / 101, 2)]:  # K(x, x) = 101, residual 1
        features = Nystroem(Linear(), landmarks=5, novelty=novelty).fit([[10.0, 0.0], [10.0, 1.0]])
        assert len(features.landmarks_) == taken
    full = Nystroem(RBF(gamma=1.0), landmarks=1).fit([z, x])
    assert full.landmarks_.tolist() == [[0.0]]
    assert full.transform_one(x).tolist() == [math.exp(-0.25)]


@pytest.mark.parametrize("novelty", [0.0, 1e-14, 1e-9])
@pytest.mark.parametrize(
    ("kernel", "rank", "size"),
    [
        (Linear(), 3, 1.0),
        (Linear(), 3, np.array([1e-3, 1.0, 1e3])),
        (Polynomial(2), 10, 1.0),
        (Polynomial(3), 20, 3.0),
    ],
)
def test_rounding_is_not_taken_for_news(kernel, rank, size, novelty):
    rows = np.random.default_rng(3).normal(size=(500, 3)) * size
    features = Nystroem(kernel, landmarks=60, novelty=novelty).fit(rows)
    assert len(features.landmarks_) == rank


@pytest.mark.parametrize("novelty", [0.0, 1e-6])
def test_a_smooth_kernel_with_many_landmarks_keeps_its_digits(novelty):
    rows = np.random.default_rng(4).uniform(-3, 3, size=(800, 1))
    features = Nystroem(RBF(gamma=0.5), landmarks=200, novelty=novelty).fit(rows)
    assert 10 < len(features.landmarks_) < 40  # the numerical rank
    P = features.transform(rows)
    assert np.abs(P @ P.T - gram(RBF(gamma=0.5), rows, rows)).max() < 1e-5


def test_landmarks_may_be_given_and_those_that_are_not_new_leave_their_place():
    given = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    features = Nystroem(RBF(gamma=1.0), landmarks=given)
    assert features.transform_one([0.0, 0.0]).tolist() == [1.0, 0.0, 0.0, 0.0]
    features.learn_one([0.0, 0.0])
    assert_array_equal(features.landmarks_, given[[0, 1, 3]])
    features.partial_fit([[5.0, 5.0], [6.0, 6.0]])
    assert_array_equal(features.landmarks_, [*given[[0, 1, 3]], [5.0, 5.0]])
    frame = Nystroem(RBF(gamma=1.0), landmarks=pd.DataFrame(given)).fit(given)
    assert_array_equal(frame.landmarks_, given[[0, 1, 3]])


def test_a_kernel_that_is_no_inner_product_is_refused():
    with pytest.raises(ValueError, match=r"needs a kernel that is an inner product.*row 0"):
        Nystroem(lambda Z, x: -(Z @ x)).fit(X)
    far = Nystroem(lambda Z, x: 1.0 + ((Z - x) ** 2).sum(axis=1))
    with pytest.raises(ValueError, match=r"residual K\(x, x\) − ‖φ‖² = -.*the map is unchanged"):
        far.fit(30 * X)
    assert not hasattr(far, "n_features_in_")


# --- the same bits -----------------------------------------------------------------------


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


# --- bad rows ----------------------------------------------------------------------------


@each_map
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_is_named_in_its_own_column_and_changes_nothing(features, bad):
    model = make(features).fit(X[:5], Y[:5])
    before = bits(model)
    X_bad, y_bad = X.copy(), Y.copy()
    X_bad[37, 2] = bad
    y_bad[39] = bad
    shown = "NaN" if np.isnan(bad) else "infinity"
    for call, words in [
        (lambda m: ol.replay(m, X_bad, Y), f"Mapped needs finite input.*{shown} in row 37, col"),
        (lambda m: m.fit(X_bad, Y), f"{shown} in row 37, column 2"),
        (lambda m: m.predict_one(X_bad[37]), f"{shown} in this row, column 2"),
        (lambda m: m.learn_one(X_bad[37], 0.0), f"{shown} in this row, column 2; the model is un"),
        (lambda m: ol.replay(m, X, y_bad), f"Mapped needs finite labels.*{shown} in row 39"),
        (lambda m: m.learn_one(X[39], bad), f"y contains -?{shown} in this row"),
    ]:
        with pytest.raises(ValueError, match=words):
            call(model)
        assert bits(model) == before
        fresh = make(features)
        with pytest.raises(ValueError, match=words):
            call(fresh)
        assert bits(fresh) == (b"", b"")
        assert not hasattr(fresh, "n_features_in_")
    frame = pd.DataFrame(X_bad, columns=list("abcde"))
    with pytest.raises(ValueError, match=r"row 37, column 2 \('c'\)"):
        make(features).fit(frame, Y)
    alone = MAPS[features]().fit(X[:5])
    kept = record(alone)
    name = type(alone).__name__
    for call, words in [
        (lambda: alone.partial_fit(X_bad), f"{name} needs finite input.*row 37, column 2; the map"),
        (lambda: alone.transform(X_bad), f"{name} needs finite input.*row 37, column 2"),
        (lambda: alone.learn_one(X_bad[37]), "this row, column 2"),
        (lambda: alone.transform_one(X_bad[37]), "this row, column 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
        assert record(alone) == kept


@each_learner
@each_map
def test_bad_rows_can_be_skipped_and_leave_no_trace_in_the_map(features, learner):
    bad_inputs, bad_labels = [0, 3, 30, 31], [5, 30, 45]
    X_bad, y_bad = X.copy(), Y.copy()
    X_bad[bad_inputs, 1] = np.nan
    y_bad[bad_labels] = np.inf
    rest = np.setdiff1d(np.arange(60), bad_inputs + bad_labels)
    clean = make(features, learner)
    expected = ol.replay(clean, X[rest], Y[rest]).predictions
    model, singly = make(features, learner, on_bad="skip"), make(features, learner, on_bad="skip")
    run = ol.replay(model, X_bad, y_bad)
    assert run.bad_rows.tolist() == sorted({*bad_inputs, *bad_labels})
    assert run.predictions[rest].tobytes() == expected.tobytes()
    assert np.isnan(run.predictions[bad_inputs]).all()
    assert np.isfinite(run.predictions[5])  # only its label was bad
    one_by_one(singly, X_bad, y_bad)
    assert np.isnan(singly.predict_one(X_bad[3]))
    for skipping in (model, singly):
        assert bits(skipping) == bits(clean)
        assert skipping.n_skipped_ == 6
        assert skipping.rounds_ == 54


def test_a_row_that_the_learner_refuses_is_no_landmark():
    """GD takes η‖φ‖² ≤ 1, ‖φ(x)‖² being K(x, x): rows that are too long break its rule."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(900, 3))
    long = np.flatnonzero(rng.uniform(size=900) < 0.2)
    rows[long] *= 100.0
    labels, rest = np.sin(rows.sum(axis=1)), np.setdiff1d(np.arange(900), long)

    def fresh(**bad):
        return Mapped(Nystroem(Polynomial(2), landmarks=9, novelty=0.01), ol.GD(eta=1e-4, **bad))

    clean = fresh()
    expected = ol.replay(clean, rows[rest], labels[rest]).predictions
    model, singly = fresh(on_bad="skip"), fresh(on_bad="skip")
    run = ol.replay(model, rows, labels)
    assert run.bad_rows.tolist() == long.tolist()
    assert run.predictions[rest].tobytes() == expected.tobytes()
    assert np.isfinite(run.predictions).all()
    one_by_one(singly, rows, labels)
    assert bits(model) == bits(singly) == bits(clean)
    assert model.n_skipped_ == singly.n_skipped_ == long.size
    strict = fresh().fit(rows[rest[:2]], labels[rest[:2]])
    before = bits(strict)
    words = r"GD needs eta·‖x‖² ≤ 1.*in row %d; the model is unchanged"
    with pytest.raises(ValueError, match=words % long[0]):
        ol.replay(strict, rows, labels)
    with pytest.raises(ValueError, match=r"GD needs eta·‖x‖² ≤ 1.*in this row"):
        strict.learn_one(rows[long[0]], 0.0)
    assert bits(strict) == before


def test_a_learners_rule_on_its_inputs_names_the_feature():
    with pytest.raises(ValueError, match=r"EGU needs x_i ≥ 0.*column \d+ \('randomfourier\d+'\)"):
        Mapped(RandomFourier(6, gamma=9.0), ol.EGU()).fit(X, Y)


def test_bad_rows_alone_do_not_fix_the_width():
    model = make(on_bad="skip")
    model.learn_one([np.nan] * 7, 1.0)
    ol.replay(model, np.full((3, 4), np.nan), np.ones(3))
    assert model.n_skipped_ == 4
    assert bits(model) == (b"", b"")
    model.learn_one([1.0, 2.0], 1.0)
    assert model.n_features_in_ == 2
    shown = make(on_bad="skip")
    shown.features.fit(X)
    kept = record(shown.features)
    ol.replay(shown, np.full((3, 5), np.nan), np.ones(3))
    assert bits(shown) == (kept, b"")  # the map had seen rows before, and keeps them


@pytest.mark.parametrize("size", [1e160, 1e308])
def test_numbers_too_large_are_refused_or_stay_finite(size):
    compiled = [features for name, features in MAPS.items() if name != "own kernel"]
    refused = 0
    for features in (*compiled, lambda: Nystroem(Linear(), 4)):
        model = Mapped(features(), ol.AAR()).fit(X[:5], Y[:5])
        before = bits(model)
        try:
            model.learn_one(size * X[7], 1.0)
        except ValueError:
            refused += 1
            assert bits(model) == before
        assert np.isfinite(model.features._record).all()
        assert np.isfinite(model.learner._record).all()
    assert refused >= 2  # the polynomials
    with pytest.raises(
        ValueError, match=r"Nystroem needs numbers whose squares.*this row would ov"
    ):
        model.learn_one(1e308 * X[7], 1.0)


@pytest.mark.parametrize("features", ["waves", "landmarks", "own kernel"])
def test_an_interrupt_restores_both(features, monkeypatch):
    model = make(features).fit(X[:3], Y[:3])
    before = bits(model)
    monkeypatch.setattr("onlinear._engine.step.FIRST_BLOCK", 8)
    reached = []

    def interrupt(row, rows):
        reached.append(row)
        if row >= 8:
            assert record(model.learner) != before[1]
            assert features == "waves" or record(model.features) != before[0]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model._run(X, Y, learn=True, progress=interrupt)
    assert reached == [8]
    assert bits(model) == before
    model, before, reached = make(features), (b"", b""), []
    with pytest.raises(KeyboardInterrupt):
        model._run(X, Y, learn=True, progress=interrupt)
    assert bits(model) == before


def test_an_interrupt_between_learner_and_map_restores_both(monkeypatch):
    model = make("landmarks").fit(X[:3], Y[:3])
    before, look = bits(model), Nystroem._look

    def interrupted(self, x, *, learn=False):
        found = look(self, x, learn=learn)
        if learn:
            assert record(model.learner) != before[1]
            assert record(model.features) != before[0]
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Nystroem, "_look", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn_one([5.0] * 5, 1.0)
    assert bits(model) == before


def test_an_error_of_the_kernel_itself_comes_through_and_changes_nothing():
    calls = []

    def moody(Z, x):
        calls.append(1)
        if len(calls) > 70:
            raise RuntimeError("not today")
        return np.exp(-((Z - x) ** 2).sum(axis=1))

    model = Mapped(Nystroem(moody, landmarks=40), ol.AAR(on_bad="skip")).fit(X[:20], Y[:20])
    before = bits(model)
    with pytest.raises(RuntimeError, match="not today"):
        ol.replay(model, X, Y)
    assert len(calls) == 71
    assert bits(model) == before


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


# --- state files -------------------------------------------------------------------------


def test_what_has_not_begun_is_saved_too(tmp_path):
    path = tmp_path / "model.onl"
    Mapped(Nystroem(landmarks=np.int64(7), novelty=np.float64(0.5)), ol.AAR(b=3.0)).save(path)
    model = ol.load(path)
    assert repr(model) == "Mapped(features=Nystroem(landmarks=7, novelty=0.5), learner=AAR(b=3.0))"
    assert bits(model) == (b"", b"")
    half = make("landmarks", on_bad="skip")
    half.features.fit(pd.DataFrame(X, columns=list("abcde")))
    half.learner.n_skipped_ = 4
    half.save(path)
    model = ol.load(path)
    assert bits(model) == bits(half) != (b"", b"")
    assert model.feature_names_in_.tolist() == list("abcde")
    assert model.n_skipped_ == 4
    assert model.fit(X, Y).rounds_ == 60


def test_a_kernel_that_is_not_registered_is_not_saved(tmp_path):
    model = Mapped(Nystroem(lambda Z, x: Z @ x, landmarks=5), ol.AAR()).fit(X, Y)
    with pytest.raises(ValueError, match=r"needs onlinear\.kernels\.register"):
        model.save(tmp_path / "model.onl")
    assert list(tmp_path.iterdir()) == []


def test_every_altered_byte_and_truncation_is_refused(tmp_path):
    path = tmp_path / "model.onl"
    make().fit(X, Y).save(path)
    content = path.read_bytes()
    for position in range(0, len(content), 37):
        altered = bytearray(content)
        altered[position] ^= 0x10
        for forged in (bytes(altered), content[:position]):
            path.write_bytes(forged)
            with pytest.raises(ol.StateFileError):
                ol.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Learner"}, "no map 'Learner' here"),
        ({"name": "FeatureMap"}, "no map 'FeatureMap' here"),
        ({"name": ["Nystroem"]}, "does not describe"),
        ({"params": {"z": 1}}, "does not describe"),
        ({"landmarks": 10**12}, "numbers, got"),
        ({"landmarks": [[1.0], [2.0, 3.0]]}, "not a rectangular array"),
        ({"novelty": 2.0}, "0 ≤ novelty < 1"),
        ({"kernel": {"name": "system"}}, "does not describe"),
        ({"kernel": {"registered": "os.system"}}, "no kernel 'os.system' here"),
        ({"kernel": {"module": "os", "function": "system"}}, "does not describe"),
        ({"features": 10**9}, "1000000000 features"),
        ({"features": 4}, "at 4 columns is"),
        ({"names": ["a"]}, "names them"),
        ({"count": 13.0}, "13.0 landmarks were chosen"),
        ({"count": 1.5}, "1.5 landmarks were chosen"),
        ({"count": math.nan}, "not finite"),
        ({"diagonal": 0.0}, "a diagonal that is not positive"),
    ],
    ids=repr,
)
def test_a_hostile_file_with_a_right_checksum_is_refused(tmp_path, change, words):
    path = tmp_path / "model.onl"
    make().fit(X, Y).save(path)
    _, text, numbers = path.read_bytes()[:-32].split(b"\n", 2)
    header = json.loads(text)
    arrays = np.frombuffer(numbers).copy()
    first = math.prod(header["arrays"]["state"])  # the map's numbers follow the learner's
    for key, value in change.items():
        if key in ("count", "diagonal"):
            arrays[first + (key == "diagonal")] = value
        elif key in header["map"]["params"]:
            header["map"]["params"][key] = value
        else:
            header["map"][key] = value
    forge(path, header, arrays.tobytes())
    with pytest.raises(ol.StateFileError, match=words):
        ol.load(path)


def test_a_learner_of_another_width_in_a_file_is_refused(tmp_path):
    path = tmp_path / "model.onl"
    ol.AAR().fit(X, Y).save(path)
    _, text, numbers = path.read_bytes()[:-32].split(b"\n", 2)
    header = json.loads(text)
    header["map"] = {"name": "RandomFourier", "params": {"width": 6}}
    forge(path, header, numbers)
    with pytest.raises(ol.StateFileError, match="that has learnt 60 rows"):
        ol.load(path)
    header["map"] |= {"features": 5, "names": None}
    header["arrays"]["map"] = [15]
    forge(path, header, numbers + bytes(8 * 15))
    with pytest.raises(ol.StateFileError, match="the map's 6 features, got one of 5"):
        ol.load(path)


def test_the_frequencies_are_in_the_file_not_drawn_anew(tmp_path, monkeypatch):
    """A later NumPy may draw other numbers from the same seed."""
    model = make("waves").fit(X, Y)
    model.save(tmp_path / "model.onl")
    monkeypatch.setattr(RandomFourier, "_initial", lambda self, d: 1 / 0)
    assert bits(ol.load(tmp_path / "model.onl")) == bits(model)
