"""Bad rows and interrupts leave map and learner as they were."""

import numpy as np
import pandas as pd
import pytest
from mapped_learners import MAPS, X, Y, bits, each_learner, each_map, make, record
from table import one_by_one

import onlinear as ol
from onlinear.features import Mapped, Nystroem, RandomFourier
from onlinear.kernels import Linear, Polynomial


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
