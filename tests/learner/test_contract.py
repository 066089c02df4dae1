"""What every learner promises, whatever its mathematics."""

import copy
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from table import (
    CASES,
    IDS,
    NAMES,
    SETTINGS,
    make,
    number,
    numbers,
    one_by_one,
    state,
    stream,
    stream_of,
)

import onlinear as ol
from onlinear import sets

every_case = pytest.mark.parametrize("case", CASES, ids=IDS)
ROWS = 40


def test_the_table_has_every_learner():
    assert set(SETTINGS) == {*ol.LEARNERS, "Standardized"}


@every_case
def test_every_way_of_running_gives_the_same_bits(case, tmp_path):
    X, y = stream_of(case, ROWS)
    half = ROWS // 2
    whole = make(case)
    expected = ol.replay(whole, X, y).predictions
    assert np.isfinite(expected).all()

    def halves(between):
        model = make(case)
        first = ol.replay(model, X[:half], y[:half]).predictions
        model = between(model)
        second = ol.replay(model, X[half:], y[half:]).predictions
        return model, np.concatenate([first, second])

    def through_a_file(model):
        model.save(tmp_path / "model.onl")
        return ol.load(tmp_path / "model.onl")

    singly = make(case)
    runs = {
        "one by one": (singly, one_by_one(singly, X, y)),
        "two halves": halves(lambda model: model),
        "save and load": halves(through_a_file),
        "deep copy": halves(copy.deepcopy),
        "pickle": halves(lambda model: pickle.loads(pickle.dumps(model))),
    }
    for way, (model, predictions) in runs.items():
        assert predictions.tobytes() == expected.tobytes(), way
        assert state(model) == state(whole), way
        assert repr(model.get_params()) == repr(whole.get_params()), way
        assert model.rounds_ == ROWS, way


@every_case
def test_the_learner_learns(case):
    """The state moves, and so does the prediction: the tests here compare something."""
    X, y = stream_of(case, ROWS)
    model = make(case)
    seen = set()
    for i in range(5):
        model.learn_one(X[i], y[i])
        seen.add(state(model))
    assert len(seen) == 5
    assert len({number(model, x / 2) for x in X[:5]}) == 5


@every_case
def test_predicting_never_changes_the_learner(case):
    X, y = stream_of(case, ROWS)
    fresh = make(case)
    assert np.isfinite(number(fresh, X[0]))
    assert vars(fresh) == vars(make(case))
    model = make(case).fit(X, y)
    before = state(model)
    [number(model, x) for x in X]
    row_by_row = [number(model._for_tables(), x) for x in X]
    assert row_by_row == numbers(model, X).tolist()
    model.score(X, y)
    assert state(model) == before


@every_case
def test_fit_forgets_and_partial_fit_goes_on(case):
    X, y = stream_of(case, ROWS)
    model = make(case).fit(X[:7], y[:7])
    assert state(model.fit(X, y)) == state(make(case).partial_fit(X, y))
    assert state(model.partial_fit(X, y)) != state(make(case).fit(X, y))


@every_case
def test_a_copy_is_independent(case):
    X, y = stream_of(case, ROWS)
    model = make(case).fit(X, y)
    twin, before = copy.deepcopy(model), state(model)
    twin.learn_one(X[0], y[0])
    assert state(model) == before != state(twin)


@every_case
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_number_is_named_and_changes_nothing(case, bad):
    X, y = stream_of(case, ROWS)
    model = make(case).fit(X[:20], y[:20])
    before = state(model)
    X_bad, y_bad = X.copy(), y.copy()
    X_bad[7, 2] = bad
    y_bad[9] = bad
    shown = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=rf"{case[0]} .*{shown} in row 7, column 2"):
        ol.replay(model, X_bad, y)
    with pytest.raises(ValueError, match=rf"{case[0]} .*{shown} in row 9"):
        ol.replay(model, X, y_bad)
    with pytest.raises(ValueError, match=rf"{shown} in this row, column 2"):
        model.learn_one(X_bad[7], y[7])
    with pytest.raises(ValueError, match=rf"{shown} in this row"):
        model.learn_one(X[9], bad)
    with pytest.raises(ValueError, match=shown):
        number(model, X_bad[7])
    with pytest.raises(ValueError, match=shown):
        model.fit(X_bad, y)
    assert state(model) == before
    assert model.rounds_ == 20
    fresh = make(case)
    with pytest.raises(ValueError, match=shown):
        ol.replay(fresh, X_bad, y)
    with pytest.raises(ValueError, match=shown):
        fresh.learn_one(X_bad[7], 0.0)
    assert vars(fresh) == vars(make(case))


@every_case
def test_bad_rows_can_be_skipped_and_are_counted(case):
    X, y = stream_of(case, ROWS)
    X_bad, y_bad = X.copy(), y.copy()
    X_bad[[3, 30], 1] = np.nan
    y_bad[[5, 30]] = np.inf
    good = np.setdiff1d(np.arange(ROWS), [3, 5, 30])
    clean = make(case)
    expected = ol.replay(clean, X[good], y[good]).predictions
    model = make(case, on_bad="skip")
    run = ol.replay(model, X_bad, y_bad)
    assert run.bad_rows.tolist() == [3, 5, 30]
    assert model.n_skipped_ == 3
    assert run.predictions[good].tobytes() == expected.tobytes()
    assert np.isnan(run.predictions[[3, 30]]).all()
    assert np.isfinite(run.predictions[5])  # only its label was bad
    assert np.isnan(run.losses[[3, 5, 30]]).all()
    np.testing.assert_allclose(run.cumulative_loss[-1], np.sum(run.losses[good]), rtol=1e-12)
    assert "3 skipped" in repr(run)
    assert state(model) == state(clean)
    singly = make(case, on_bad="skip")
    for row, label in zip(X_bad, y_bad, strict=True):
        singly.learn_one(row, label)
    assert singly.n_skipped_ == 3
    assert state(singly) == state(clean)
    assert np.isnan(number(singly, X_bad[3]))


def test_a_replay_in_which_every_row_was_bad_has_no_error():
    run = ol.replay(ol.Ridge(on_bad="skip"), np.full((9, 2), np.nan), np.zeros(9))
    assert repr(run) == "<Replay of 9 rows, 9 skipped: mean squared error of no row>"


@every_case
@pytest.mark.parametrize("size", [1e-320, 1e-160, 1e60, 1e110, 1e150, 1e160, 1e308])
def test_numbers_too_large_are_refused_or_stay_finite(case, size):
    """Finite input may overflow inside: then the row is refused and nothing has changed."""
    X, y = stream_of(case, ROWS)
    for row, label in [(X[0] * size, y[0]), (X[0], y[0] * size), (X[0] * size, y[0] * size)]:
        model = make(case).fit(X, y)
        before = state(model)
        try:
            model.learn_one(row, label)
        except ValueError:
            assert state(model) == before
        assert np.isfinite(model._record).all()
        assert np.isfinite(number(model, X[1]))


def test_a_prediction_that_is_refused_undoes_nothing_learnt_meanwhile(monkeypatch):
    X, y = stream(20)
    model = ol.Ridge().fit(X, y)
    refuse = ol.Ridge._refusal

    def meanwhile(self, *args, **kwargs):
        model.learn_one(X[0], y[0])  # as another thread might
        return refuse(self, *args, **kwargs)

    monkeypatch.setattr(ol.Ridge, "_refusal", meanwhile)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((1, 5), np.nan))
    assert model.rounds_ == 21


@pytest.mark.parametrize("name", sorted(ol.LEARNERS))
def test_threads_may_predict_side_by_side(name):
    from concurrent.futures import ThreadPoolExecutor

    X, y = stream_of((name, {}), 3000, d=30)
    model = ol.LEARNERS[name]().fit(X[:50], y[:50])
    expected = model.predict(X).tobytes()
    with ThreadPoolExecutor(2) as pool:
        for predictions in pool.map(lambda _: model.predict(X), range(6)):
            assert predictions.tobytes() == expected


@every_case
def test_an_interrupted_replay_leaves_the_learner_as_it_was(case, monkeypatch):
    X, y = stream_of(case, ROWS)
    model = make(case).fit(X, y)
    before = state(model)
    monkeypatch.setattr("onlinear._engine.step.FIRST_BLOCK", 8)
    rows = []

    def interrupt(row, rows_in_all):
        rows.append(row)
        if len(rows) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model._run(X, y, learn=True, progress=interrupt)
    assert rows[0] == 8 < ROWS
    assert state(model) == before
    assert ol.replay(model, X, y).predictions.size == ROWS


@every_case
def test_the_repr_makes_the_learner_again(case):
    model = make(case)
    text = re.sub(r"<function (\w+) at \w+>", r"\1", repr(model))
    again = eval(text, NAMES)
    assert repr(again.get_params()) == repr(model.get_params())


def in_order(given, order):
    """Return starting weights, or a set, for columns in another order."""
    if isinstance(given, sets.Intersection):
        parts = (in_order(each, order) for each in given.sets)
        return sets.Intersection(*parts, exact=given.exact)
    if isinstance(given, sets.Set):
        vectors = {k: v for k, v in vars(given).items() if isinstance(v, tuple)}
        return replace(given, **{k: in_order(v, order) for k, v in vectors.items()})
    return np.array(given)[order].tolist() if np.ndim(given) else given


@every_case
def test_permuting_the_columns_permutes_the_weights(case):
    name, params = case
    X, y = stream_of(case, ROWS)
    order = np.array([3, 0, 4, 1, 2])
    shuffled = {k: in_order(v, order) if k in ("w0", "within") else v for k, v in params.items()}
    model, other = make((name, params)), make((name, shuffled))
    expected = ol.replay(model, X, y).predictions
    np.testing.assert_allclose(ol.replay(other, X[:, order], y).predictions, expected, rtol=1e-9)
    if hasattr(model, "coef_"):
        np.testing.assert_allclose(other.coef_, model.coef_[order], rtol=1e-8, atol=1e-12)
    else:
        np.testing.assert_array_equal(other.examples_, model.examples_[:, order])
        np.testing.assert_allclose(other.dual_coef_, model.dual_coef_, rtol=1e-8, atol=1e-12)
