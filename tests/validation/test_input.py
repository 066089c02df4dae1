"""What a learner takes as a row, a table and a label, and how it refuses the rest."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from table import state, stream

import onlinear as ol

X, Y = stream(30)
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture
def model():
    return ol.LASER().fit(X, Y)


@pytest.mark.parametrize(
    "rows",
    [
        X.tolist(),
        np.asfortranarray(X),
        X[:, ::-1][:, ::-1],
        X.astype(object),
        pd.DataFrame(X, columns=NAMES),
        pl.DataFrame(dict(zip(NAMES, X.T, strict=True))),
    ],
    ids=["lists", "Fortran order", "negative strides", "objects", "pandas", "polars"],
)
def test_every_kind_of_table_gives_the_same_bits(rows):
    expected = ol.replay(ol.LASER(), X, Y)
    for labels in (Y, Y.tolist(), pd.Series(Y), pl.Series(Y)):
        run = ol.replay(ol.LASER(), rows, labels)
        assert run.predictions.tobytes() == expected.predictions.tobytes()


def test_a_read_only_table_is_read():
    locked = X.copy()
    locked.flags.writeable = False
    model = ol.Ridge()
    ol.replay(model, locked, Y)
    assert np.isfinite(model.predict_one(locked[0]))
    assert locked.tobytes() == X.tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.uint8, bool])
def test_other_real_types_are_taken_as_numbers(kind):
    rows = (X * 10).astype(kind)
    expected = ol.replay(ol.Ridge(), rows.astype(float), Y).predictions
    assert ol.replay(ol.Ridge(), rows, Y).predictions.tobytes() == expected.tobytes()


def test_every_kind_of_row_and_label_gives_the_same_bits():
    expected = ol.Ridge()
    expected.learn_one(X[0], 1.0)
    rows = [X[0].tolist(), tuple(X[0]), pd.Series(X[0], index=NAMES), np.repeat(X[0], 2)[::2]]
    for row in rows:
        for label in (1.0, 1, np.float64(1), np.float32(1), np.array(1.0), True):
            model = ol.Ridge()
            model.learn_one(row, label)
            assert state(model) == state(expected)
            assert model.predict_one(row) == expected.predict_one(X[0])


def test_column_names_are_kept_and_checked():
    frame = pd.DataFrame(X, columns=NAMES)
    model = ol.Ridge().fit(frame, Y)
    assert model.feature_names_in_.tolist() == NAMES
    before = state(model)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.partial_fit(frame[NAMES[::-1]], Y)
    with pytest.raises(ValueError, match="unseen at fit time:\n- z\n"):
        ol.replay(model, frame.rename(columns={"b": "z"}), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert state(model) == before
    series = frame.iloc[0]
    assert model.predict_one(series) == model.predict_one(X[0])
    for call in (model.predict_one, lambda row: model.learn_one(row, 0.0)):
        with pytest.raises(ValueError, match="must be in the same order"):
            call(series[NAMES[::-1]])
        with pytest.raises(ValueError, match="unseen at fit time:\n- z\n"):
            call(series.rename({"b": "z"}))
    singly = ol.Ridge()
    for _, row in frame.iterrows():
        singly.learn_one(row, 1.0)
    assert singly.feature_names_in_.tolist() == NAMES
    with pytest.warns(UserWarning, match="fitted without feature names"):
        ol.Ridge().fit(X, Y).predict(frame)


def test_a_bad_value_is_named_by_row_column_and_name():
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[4, "c"] = np.nan
    with pytest.raises(
        ValueError, match=r"Ridge needs finite input: X contains NaN in row 4, column 2 \('c'\)"
    ):
        ol.Ridge().fit(frame, Y)


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (X[:, :4], ValueError, r"X has 4 features, but LASER is expecting 5 features"),
        (X[0], ValueError, r"Expected 2D array, got 1D array.*Reshape your data"),
        (X[:0], ValueError, r"0 sample\(s\)"),
        (X[:, :0], ValueError, r"0 feature\(s\)"),
        (X.astype(complex), ValueError, r"Complex data not supported"),
        (X.astype(str), ValueError, r"X needs numbers, got dtype"),
        (np.full((3, 5), "1.5", dtype=object), ValueError, r"got '1.5' in row 0, column 0"),
        ([[1.0, 2.0], [3.0]], ValueError, r"not a rectangular array"),
        ([[1.0, None, 2.0, 3.0, 4.0]] * 30, (TypeError, ValueError), r"NaN|needs numbers"),
        (pd.DataFrame({"a": ["x"]}), ValueError, r"column 'a'"),
        (pd.DataFrame(X, columns=list("aabcd")), ValueError, r"unique column names"),
        (None, ValueError, r"X needs numbers, got None"),
        (np.ma.masked_array(X, X > 0.3), ValueError, r"X contains NaN"),
        ([[10**400, 1, 1, 1, 1]] * 30, ValueError, r"numbers that fit a float64"),
        (X.astype(np.longdouble) * np.longdouble("1e4000"), ValueError, r"X contains infinity"),
        (pl.DataFrame({"a": ["x"]}), ValueError, r"got String in column 'a'"),
        (pl.DataFrame({"a": [1.0]}).lazy(), TypeError, r"lazy .*collect it first"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), ValueError, r"Datetime.*'a'"),
        ([{"a": 1.0}], (TypeError, ValueError), r"needs numbers|dict"),
    ],
)
def test_a_table_that_is_none_is_refused_and_changes_nothing(model, rows, error, words):
    before = state(model)
    with pytest.raises(error, match=words):
        ol.replay(model, rows, Y)
    assert state(model) == before


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Y[:-1], "the same number of rows, got 30 and 29"),
        (np.column_stack([Y, Y]), r"one label per row \(1-D\), got shape \(30, 2\)"),
        (Y.astype(str), "y needs numbers"),
        (Y.astype(complex), "Complex"),
        (None, "requires y"),
    ],
)
def test_labels_that_are_none_are_refused_and_change_nothing(model, labels, words):
    before = state(model)
    with pytest.raises(ValueError, match=words):
        ol.replay(model, X, labels)
    assert state(model) == before


@pytest.mark.parametrize(
    ("row", "label", "error", "words"),
    [
        (X[0, :4], 1.0, ValueError, "x needs 5 features, as the first row had, got 4"),
        (X[:1], 1.0, ValueError, r"x needs one row \(1-D\), got shape \(1, 5\)"),
        ([], 1.0, ValueError, "at least one feature"),
        (list("abcde"), 1.0, ValueError, "x needs numbers"),
        (["1", 2.0, 3.0, 4.0, 5.0], 1.0, ValueError, "x needs numbers"),
        ({"a": 1.0}, 1.0, TypeError, r"onlinear.river.River"),
        (X[0] * 1j, 1.0, ValueError, "Complex"),
        (X[0], "1.0", ValueError, "y needs numbers"),
        (X[0], [1.0], ValueError, "y needs to be one number"),
        (X[0], None, (TypeError, ValueError), "y needs|NaN"),
    ],
)
def test_a_row_that_is_none_is_refused_and_changes_nothing(model, row, label, error, words):
    before = state(model)
    with pytest.raises(error, match=words):
        model.learn_one(row, label)
    assert state(model) == before


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (ol.LASER(b=0.0), r"LASER needs a finite number 0 < b, got b=0.0"),
        (ol.LASER(b=np.inf), r"0 < b, got b=inf"),
        (ol.LASER(c=np.nan), r"0 < c ≤ inf, got c=nan"),
        (ol.LASER(shrink=1), r"LASER needs shrink to be True or False, got shrink=1"),
        (ol.LASER(clip=-2), r"0 < clip, got clip=-2"),
        (ol.Ridge(b="1"), r"0 < b, got b='1'"),
        (ol.Ridge(on_bad="ignore"), r"on_bad to be 'raise' or 'skip', got on_bad='ignore'"),
        (ol.RLS(forgetting=1.1), r"0 < forgetting ≤ 1, got forgetting=1.1"),
        (ol.CRRLS(reset_every=0), r"whole number 1 ≤ reset_every ≤ 2⁵³, got reset_every=0"),
        (ol.CRRLS(reset_every=1.5), r"whole number 1 ≤ reset_every"),
        (ol.CRRLS(reset_every=10**30), r"reset_every ≤ 2⁵³"),
        (ol.Ridge(b=10**400), r"finite number 0 < b"),
        (ol.LASER(b=1e-320), r"0 < b, got b=1e-320"),
        (ol.ARCOR(q=0.5), r"1 ≤ q ≤ inf, got q=0.5"),
        (ol.ARCOR(thresholds=[0.2, 0.4]), r"1 > Λ_1 ≥ Λ_2 ≥ … > 0, got thresholds=\[0.2, 0.4\]"),
        (ol.ARCOR(thresholds=[]), r"thresholds=\[\]"),
        (ol.NLMS(eta=2.0), r"0 < eta < 2, got eta=2.0"),
        (ol.OGD(schedule="linear"), r"'constant' or 'sqrt', got schedule='linear'"),
        (ol.EG(alpha=0.0), r"0 < alpha ≤ 1, got alpha=0.0"),
        (ol.CIRR(w0=[1.0, 2.0]), r"w0 needs one number, or one for each of 5 features, got 2"),
        (ol.OSLOG(w0="x"), r"w0='x'"),
        (ol.OSLOG(first="mean"), r"'zero' or 'w0', got first='mean'"),
    ],
    ids=repr,
)
def test_a_wrong_parameter_is_refused_by_its_rule_and_value(learner, words):
    for call in (
        lambda: learner.learn_one(X[0], Y[0]),
        lambda: learner.predict_one(X[0]),
        lambda: ol.replay(learner, X, Y),
        lambda: learner.fit(X, Y),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert state(learner) == b""


@pytest.mark.parametrize(
    ("learner", "row", "label", "words"),
    [
        (ol.WEMM(b=1.0), [1.1], 0.0, r"WEMM needs xᵀΣx < 1 .*got xᵀΣx = 1\.1\d* in row 1"),
        (ol.GD(eta=0.5), [2.0], 0.0, r"GD needs eta·‖x‖² ≤ 1.*= 2 in row 1"),
        (ol.OGD(eta=0.5), [2.0], 0.0, r"OGD needs eta·‖x‖² ≤ 1.*= 2 in row 1"),
        (ol.EGU(), [0.5], -0.1, r"EGU needs labels 0 ≤ y ≤ Y = 1 .*got y = -0.1 in row 1"),
        (ol.EGU(), [0.5], 1.1, r"got y = 1.1 in row 1"),
        (ol.EGU(), [-0.5], 0.5, r"EGU needs x_i ≥ 0, got x_i = -0.5 .* in row 1, column 0"),
        (ol.EGU(), [1.5], 0.5, r"x_i ≤ X = 1 .*got x_i = 1.5 in row 1, column 0"),
        (ol.EGPM(), [-1.5], 0.5, r"EGPM needs \|x_i\| ≤ X = 1 .*got x_i = ±1.5 in row 1, column 0"),
    ],
    ids=lambda value: getattr(type(value), "__name__", ""),
)
def test_a_row_outside_a_theorems_domain_is_refused_and_changes_nothing(learner, row, label, words):
    before = learner.fit([[0.1]], [0.1])._record.tobytes()
    with pytest.raises(ValueError, match=words):
        ol.replay(learner, [[0.2], row], [0.2, label])
    with pytest.raises(ValueError, match=words.replace("row 1", "this row")):
        learner.learn_one(row, label)
    assert state(learner) == before


def test_the_range_of_a_row_is_checked_by_eg():
    with pytest.raises(ValueError, match=r"EG needs max x_i − min x_i ≤ X = 1 .*got 2 in row 0"):
        ol.EG().fit([[1.0, -1.0]], [0.0])


def test_wemm_refuses_the_boundary_too():
    with pytest.raises(ValueError, match="got xᵀΣx = 1 in this row"):
        ol.WEMM(b=1.0).learn_one([1.0], 0.0)
    ol.WEMM(b=1.0).learn_one([1.0 - 1e-12], 0.0)


def test_a_bad_first_row_that_is_skipped_does_not_fix_the_width():
    model = ol.Ridge(on_bad="skip")
    assert model.n_skipped_ == 0
    model.learn_one([np.nan] * 7, 1.0)
    model.learn_one([1.0, 2.0], np.inf)
    assert model.n_skipped_ == 2
    model.learn_one([1.0, 2.0], 1.0)
    assert model.n_features_in_ == 2
    assert model.n_skipped_ == 2


def test_a_replay_of_bad_rows_only_does_not_fix_the_width():
    model = ol.Ridge(on_bad="skip")
    ol.replay(model, np.full((3, 4), np.nan), np.ones(3))
    assert model.n_skipped_ == 3
    model.learn_one([1.0, 2.0], 1.0)
    assert model.n_features_in_ == 2


def test_replay_wants_a_learner():
    with pytest.raises(TypeError, match="replay needs a learner, got a str"):
        ol.replay("LASER", X, Y)
