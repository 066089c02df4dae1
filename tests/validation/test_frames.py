"""DataFrames: indexes of pandas, missing values, kinds of columns, and what a message says of them.

polars has no index.
"""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from table import state, stream

import onlinear as ol
from onlinear import hindsight

X, Y = stream(30, d=3)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
LABELS = pd.Series(Y)
SHUFFLED = np.random.default_rng(0).permutation(30)
ROTATED = np.roll(np.arange(30), 1)


# --- indexes --------------------------------------------------------------------------------


TAKES_BOTH = {
    "replay": lambda X, y: ol.replay(ol.Ridge(), X, y),
    "fit": lambda X, y: ol.Ridge().fit(X, y),
    "partial_fit": lambda X, y: ol.Ridge().partial_fit(X, y),
    "score": lambda X, y: ol.Ridge().fit(FRAME, Y).score(X, y),
    "Bank": lambda X, y: ol.replay(ol.Bank([ol.Ridge()]), X, y),
    "Mapped": lambda X, y: ol.replay(
        ol.features.Mapped(ol.features.RandomFourier(width=4), ol.Ridge()), X, y
    ),
    "certificate": lambda X, y: ol.certificate(ol.Ridge(), X, y),
    "Certified": lambda X, y: ol.Certified(ol.Ridge()).replay(X, y),
    "report": lambda X, y: ol.report(ol.Ridge(), X, y, "never.html"),
    "regret_plot": lambda X, y: ol.regret_plot(ol.Ridge(), X, y),
    "Keyed": lambda X, y: ol.Keyed(ol.Ridge()).replay([0] * len(X), X, y),
    "filter_replay": lambda X, y: ol.filter_replay(ol.RidgeFilter(), X / 99, y > 0),
    "best_fixed": hindsight.best_fixed,
    "best_drifting": hindsight.best_drifting,
    "drifting_path": hindsight.drifting_path,
    "best_shifting": lambda X, y: hindsight.best_shifting(X, y, 2),
    "best_sparse": lambda X, y: hindsight.best_sparse(X, y, 1.0),
}
every_function = pytest.mark.parametrize("function", TAKES_BOTH.values(), ids=TAKES_BOTH)


@every_function
def test_labels_in_another_order_than_their_rows_are_refused(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"X and y need the same index, got 0 and 29 in row 0: al"):
        function(FRAME, LABELS.iloc[ROTATED])
    assert list(tmp_path.iterdir()) == []


@every_function
def test_the_same_index_however_it_is_made_is_accepted(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = FRAME.iloc[SHUFFLED]
    function(rows, LABELS.loc[rows.index])
    function(FRAME, pd.Series(Y, index=np.arange(30.0)))  # 0.0 equals 0
    function(rows, LABELS.loc[rows.index].to_numpy())


def test_keys_and_sample_weights_need_the_index_of_the_table_too():
    keys = pd.Series(["a", "b"] * 15)
    with pytest.raises(ValueError, match=r"X and keys need the same index.*keys\.loc\[X\.index\]"):
        ol.Keyed(ol.Ridge()).replay(keys.iloc[ROTATED], FRAME, LABELS)
    with pytest.raises(ValueError, match="X and keys need the same index"):
        ol.Keyed(ol.Ridge()).predict(keys.iloc[ROTATED], FRAME)
    with pytest.raises(ValueError, match="X and sample_weight need the same index"):
        ol.Ridge().fit(FRAME, Y).score(FRAME, Y, sample_weight=LABELS.iloc[ROTATED])


def test_a_model_is_unchanged_by_labels_with_another_index():
    model = ol.Ridge().fit(FRAME, Y)
    before = state(model)
    with pytest.raises(ValueError, match="the same index"):
        model.partial_fit(FRAME, LABELS.iloc[ROTATED])
    assert state(model) == before


def test_a_filtered_table_and_a_fresh_series_are_refused():
    some = FRAME[FRAME["a"] > FRAME["a"].median()]
    with pytest.raises(ValueError, match=r"y\.to_numpy\(\) if their rows are in the same order"):
        ol.replay(ol.Ridge(), some, pd.Series(np.zeros(len(some))))


def test_indexes_of_times_in_two_zones_are_the_same():
    utc = pd.date_range("2024-01-01", periods=30, freq="h", tz="UTC")
    here = utc.tz_convert("Europe/Vienna")
    ol.replay(ol.Ridge(), FRAME.set_index(utc), pd.Series(Y, index=here))
    with pytest.raises(ValueError, match="the same index"):
        ol.replay(ol.Ridge(), FRAME.set_index(utc), pd.Series(Y, index=here[::-1]))


# --- columns --------------------------------------------------------------------------------


SIGNS = X[:, 0] > 0
NUMERIC = {
    "bool": (SIGNS, SIGNS),
    "boolean": (pd.array(SIGNS, dtype="boolean"), SIGNS),
    "Int64": (pd.array(range(30), dtype="Int64"), range(30)),
    "Float64": (pd.array(X[:, 0], dtype="Float64"), X[:, 0]),
    "pyarrow": (pd.array(X[:, 0], dtype="double[pyarrow]"), X[:, 0]),
    "Decimal": ([decimal.Decimal("1.5")] * 30, [1.5] * 30),
    "sparse": (pd.arrays.SparseArray([0.0, 1.0] * 15), [0.0, 1.0] * 15),
}


@pytest.mark.parametrize(("column", "numbers"), NUMERIC.values(), ids=NUMERIC)
def test_every_kind_of_number_is_taken(column, numbers):
    expected = ol.replay(ol.Ridge(), FRAME.assign(a=np.array(numbers, dtype=float)), Y)
    run = ol.replay(ol.Ridge(), FRAME.assign(a=column), pd.Series(Y, dtype="Float64"))
    assert run.predictions.tobytes() == expected.predictions.tobytes()


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "Float64", "double[pyarrow]", "object"])
def test_a_missing_value_of_pandas_is_named_and_can_be_skipped(dtype):
    column = pd.Series([1, pd.NA, 0] * 10, dtype=dtype)
    frame = FRAME.assign(b=column)
    with pytest.raises(ValueError, match=r"X contains NaN in row 1, column 1 \('b'\)"):
        ol.replay(ol.Ridge(), frame, Y)
    with pytest.raises(ValueError, match=r"y contains NaN in row 1"):
        ol.replay(ol.Ridge(), FRAME, column)
    assert ol.replay(ol.Ridge(on_bad="skip"), frame, Y).bad_rows.tolist() == list(range(1, 30, 3))
    model = ol.Ridge().fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"X contains NaN in this row, column 1 \('b'\)"):
        model.predict_one(frame.iloc[1])
    with pytest.raises(ValueError, match="y contains NaN in this row"):
        model.learn_one(X[0], pd.NA)


ENCODE = r"drop it, or one-hot encode it \(pandas.get_dummies, polars' to_dummies\)"
DATES = "drop it, or convert it to numbers, such as the hour"
WORDS = {
    "text": (["x"] * 30, f"X needs numbers, got String in column 'b': {ENCODE}"),
    "categories": (pd.Categorical(["x"] * 30), f"got Categorical in column 'b': {ENCODE}"),
    "times": (pd.date_range("2024", periods=30), f"got Datetime in column 'b': {DATES}"),
    "spans": (pd.to_timedelta(range(30), "h"), f"got Duration in column 'b': {DATES}"),
    "text among numbers": ([1.0, "2"] * 15, rf"'2' in row 1, column 1 \('b'\): {ENCODE}"),
    "periods": (
        pd.period_range("2024", periods=30),
        r"got Period.* in row 0, column 1 \('b'\): convert it to a number first",
    ),
}


@pytest.mark.parametrize(("column", "words"), WORDS.values(), ids=WORDS)
def test_a_column_that_is_not_numeric_is_refused_with_advice(column, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ol.replay(ol.Ridge(), FRAME.assign(b=column), Y)


def test_columns_of_polars_are_refused_with_advice():
    frame = pl.DataFrame(X, schema=NAMES)
    day = pl.Series([datetime.date(2024, 1, 1)] * 30)
    with pytest.raises(ValueError, match=f"got Date in column 'b': {DATES}"):
        ol.replay(ol.Ridge(), frame.with_columns(b=day), Y)
    with pytest.raises(ValueError, match="got List in column 'b': give each number a column"):
        ol.replay(ol.Ridge(), frame.with_columns(b=pl.Series([[1.0]] * 30)), Y)


# --- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (FRAME.iloc[[0]], r"x needs one row \(1-D\), got shape \(1, 3\): write x\.iloc\[0\]"),
        (pl.DataFrame(X[:1], schema=NAMES), r"got shape \(1, 3\): write x\.row\(0\)"),
        (X[:1], r"got shape \(1, 3\): write x\[0\]"),
        (X[:1].tolist(), r"got shape \(1, 3\): write x\[0\]"),
        (FRAME, r"got shape \(30, 3\): predict, partial_fit and onlinear.replay take tables"),
        (1.0, r"got shape \(\): write \[x\] for a row of one feature"),
        (FRAME.iloc[0][["c", "b", "a"]], r"Write X\[model.feature_names_in_\]"),
        (pd.Series([1.0, "u", 2.0], index=NAMES), rf"got 'u' in column 1 \('b'\): {ENCODE}"),
        (pd.Series([1.0, pd.Timestamp(0), 2.0], index=NAMES), r"in column 1 \('b'\): convert it"),
    ],
)
def test_what_is_not_a_row_is_refused_with_advice(row, words):
    model = ol.Ridge().fit(FRAME, Y)
    for call in (model.predict_one, lambda row: model.learn_one(row, 1.0)):
        with pytest.raises((TypeError, ValueError), match=words):
            call(row)


def test_a_series_is_not_a_table_or_a_label_and_a_dict_is_not_a_table():
    with pytest.raises(ValueError, match=r"X\.to_frame\(\) for one feature"):
        ol.replay(ol.Ridge(), FRAME["a"], Y)
    with pytest.raises(ValueError, match=r"one number, got shape \(1,\): write y\.iloc\[0\]"):
        ol.Ridge().learn_one(X[0], LABELS[:1])
    with pytest.raises(ValueError, match=r"y needs numbers, got '1\.0': convert text"):
        ol.Ridge().learn_one(X[0], "1.0")
    with pytest.raises(TypeError, match=r"X is a dict; make it a table, such as pandas.DataFrame"):
        ol.replay(ol.Ridge(), dict(FRAME), Y)
