"""The Spark face: tables, streams, and a query killed in the middle of a batch."""

import copy
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from documents import blocks, shown
from numpy.testing import assert_allclose, assert_array_equal
from places import ROOT
from table import make, stream

import onlinear as ol

pytest.importorskip("pyspark", reason='needs pyspark: pip install "onlinear[spark]"')
if os.name == "nt":
    pytest.skip("kills groups of processes, as Windows cannot", allow_module_level=True)
if shutil.which("java") is None:
    pytest.skip("needs Java 17 on the PATH", allow_module_level=True)

import spark_query
from pyspark.errors import PythonException, StreamingQueryException
from spark_query import COLUMNS, MODEL, keep_classes, session

from onlinear.spark import SETTINGS, learners, predict_and_learn, stationary_fit
from onlinear.spark._columns import Columns
from onlinear.spark._state import StateForm
from onlinear.spark._worker import run_rounds

BATCHES, KILLS = 6, 3
EVENTS = int(os.environ.get("ONLINEAR_SPARK_EVENTS", "240"))  # a key
KEYS = 200 if "ONLINEAR_SPARK_EVENTS" in os.environ else 40

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),  # which pyspark uses
]


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    keep_classes()
    running = session()
    yield running
    running.stop()


# --- killed -----------------------------------------------------------------------------------


def write_events(folder: Path, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Write the events, each file a stretch of time of all keys, shuffled; return X and y."""
    X = rng.normal(size=(KEYS, EVENTS, 3))
    y = (X * rng.normal(size=(KEYS, 1, 3))).sum(axis=2) + 0.1 * rng.normal(size=(KEYS, EVENTS))
    folder.mkdir()
    for k, times in enumerate(np.array_split(np.arange(EVENTS), BATCHES)):
        key, t = (each.ravel() for each in np.meshgrid(np.arange(KEYS), times, indexing="ij"))
        mixed = rng.permutation(key.size)
        key, t = key[mixed].astype(np.int32), t[mixed].astype(np.int32)
        values = {"sensor": key, "t": t, "y": y[key, t]}
        values |= {name: X[key, t, j] for j, name in enumerate("abc")}
        pq.write_table(pa.table(values), folder / f"{k:02}.parquet")
        os.utime(folder / f"{k:02}.parquet", (k, k))  # Spark takes files by their time
    return X, y


def numbers(folder: Path) -> set[int]:
    """Return the batches that a log of Spark has."""
    return {int(file.name) for file in folder.glob("[0-9]*")}


def test_killed_three_times_every_event_is_predicted_and_learnt_exactly_once(spark, tmp_path):
    X, y = write_events(tmp_path / "events", np.random.default_rng(0))
    offsets, commits = tmp_path / "checkpoint" / "offsets", tmp_path / "checkpoint" / "commits"
    command = [sys.executable, spark_query.__file__, str(tmp_path)]
    dice = random.Random(0)
    torn = []
    for kill in range(KILLS):
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 300
            # it has committed a batch since the last kill, and is in the middle of another
            while len(numbers(commits)) <= kill or numbers(offsets) == numbers(commits):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(dice.uniform(0.0, 0.4))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        torn.append(numbers(offsets) - numbers(commits))
    assert any(torn)  # killed in the middle of a batch
    spark_query.run(str(tmp_path))
    assert numbers(offsets) == numbers(commits) == set(range(BATCHES))

    files = spark.read.parquet(str(tmp_path / "out")).inputFiles()
    out = pa.concat_tables(pq.read_table(file.removeprefix("file://")) for file in files)
    assert out.num_rows == KEYS * EVENTS
    predictions = np.full((KEYS, EVENTS), np.nan)
    predictions[out["sensor"].to_numpy(), out["t"].to_numpy()] = out["prediction"].to_numpy()
    states = dict(learners(spark, str(tmp_path / "checkpoint"), MODEL, **COLUMNS))
    assert set(states) == set(range(KEYS))
    for key, learner in states.items():
        alone = copy.deepcopy(MODEL)
        run = ol.replay(alone, X[key], y[key], engine="rank-one")
        assert_array_equal(predictions[key], run.predictions)
        assert learner._record.tobytes() == alone._record.tobytes()


# --- tables and streams -----------------------------------------------------------------------


def written(folder: Path, table: pd.DataFrame, files: int) -> str:
    """Write the rows as so many files, one after another, each in disorder."""
    folder.mkdir(exist_ok=True)
    there = len(list(folder.iterdir()))
    for k, rows in enumerate(np.array_split(np.arange(len(table)), files), start=there):
        file = folder / f"{k}.parquet"
        table.iloc[rows].sample(frac=1.0, random_state=0).to_parquet(file, index=False)
        os.utime(file, (k, k))
    return str(folder)


def streamed(spark, events: str, model: ol.Learner, to: Path, **columns) -> pd.DataFrame:
    """Run a stream over a folder up to its end, from its checkpoint; return all predictions."""
    source = spark.readStream.schema(spark.read.parquet(events).schema)
    rows = predict_and_learn(
        source.option("maxFilesPerTrigger", 1).parquet(events), model, **columns
    )
    query = rows.writeStream.option("checkpointLocation", str(to / "checkpoint"))
    query.trigger(availableNow=True).start(str(to / "out")).awaitTermination()
    return spark.read.parquet(str(to / "out")).toPandas()


def odd_table(rows: int) -> pd.DataFrame:
    """Rows of two sites with two units each, with all that pandas finds hard."""
    X, y = stream(rows, d=2)
    begin = pd.Timestamp("2024-11-03T05:30:00Z")  # in New York, one hour comes twice
    table = pd.DataFrame({"a.b": X[:, 0], "flag": X[:, 1] > 0.5, "y": y})
    table["when"] = begin + pd.to_timedelta(np.arange(rows) * 30, unit="s")
    table["site"] = np.where(np.arange(rows) % 3 == 0, "north", "south")
    table["unit"], table["n"] = np.arange(rows) // 2 % 2, np.arange(rows)
    table["id"] = pd.array(2**60 + np.arange(rows), dtype="Int64")
    table["count"] = pd.array(np.arange(rows) % 7, dtype="Int64")
    table.loc[::7, "id"] = pd.NA
    table.loc[3::5, "y"] = np.nan
    return table


def by_hand(model: ol.Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predict every row, and learn it if it has a label."""
    predictions = []
    for row, label in zip(X, y, strict=True):
        predictions.append(model.predict_one(row))
        if not np.isnan(label):
            model.learn_one(row, float(label))
    return np.array(predictions)


@pytest.mark.parametrize("kind", [ol.LASER, ol.Auto], ids=lambda kind: kind.__name__)
def test_a_table_and_a_stream_give_what_the_learner_gives_alone(spark, tmp_path, kind):
    table = odd_table(240)
    events = written(tmp_path / "events", table, 3)
    features = ["a.b", "flag", "count"]
    model = kind().fit(*stream(30, d=3, seed=1))  # every key begins with what it has learnt
    before = model._record.tobytes()
    columns = {"key": ["site", "unit"], "features": features}
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        past = predict_and_learn(spark.read.parquet(events), model, order="when", **columns)
        out = [past.toPandas()]
        if kind is ol.LASER:
            out.append(streamed(spark, events, model, tmp_path, order="when", **columns))
            changed = spark.read.parquet(events).exceptAll(
                spark.read.parquet(str(tmp_path / "out")).drop("prediction")
            )
            assert changed.count() == 0  # every column comes out as it went in
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    kept = {}
    if kind is ol.LASER:
        kept = dict(learners(spark, str(tmp_path / "checkpoint"), model, **columns))
        assert len(kept) == 4
    assert model._record.tobytes() == before
    for key, rows in table.groupby(["site", "unit"]):
        alone = copy.deepcopy(model)
        X = rows[features].to_numpy(dtype=float)
        expected = by_hand(alone, X, rows["y"].to_numpy())
        for given in out:
            here = given[(given["site"] == key[0]) & (given["unit"] == key[1])]
            here = here.sort_values("n")
            assert_array_equal(here["prediction"].to_numpy(dtype=float), expected)
        if kept:
            assert kept[key]._record.tobytes() == alone._record.tobytes()
            assert kept[key].rounds_ == alone.rounds_


def test_bad_rows_and_a_changed_model_at_a_restart(spark, tmp_path):
    X, y = stream(40, d=2)
    table = pd.DataFrame({"sensor": ["a", "b"] * 20, "t": range(40), "p": X[:, 0], "q": X[:, 1]})
    table = table.assign(y=y)
    events = written(tmp_path / "events", table[:20], 1)
    columns = {"key": "sensor", "features": ["p", "q"], "order": "t"}
    model = ol.Ridge(b=0.5)
    streamed(spark, events, model, tmp_path, **columns)

    table.loc[25, "p"] = np.nan  # of b
    written(tmp_path / "events", table[20:36], 1)
    words = r"key sensor='b': Ridge needs finite input: X contains NaN in row 2, column 0 \('p'\)"
    with pytest.raises(StreamingQueryException, match=words):
        streamed(spark, events, model, tmp_path, **columns)

    words = r"(?s)other parameters than Ridge\(b=0.6\).*start a new checkpoint"
    with pytest.raises(StreamingQueryException, match=words):
        streamed(spark, events, ol.Ridge(b=0.6), tmp_path, **columns)

    table.loc[36, "sensor"] = None
    written(tmp_path / "events", table[36:], 1)
    skipping = ol.Ridge(b=0.5, on_bad="skip")  # may go on: what is learnt means the same
    out = streamed(spark, events, skipping, tmp_path, **columns).sort_values("t")
    assert_array_equal(out["t"], table["t"])
    assert_array_equal(np.flatnonzero(out["prediction"].isna()), [25, 36])
    checkpoint = str(tmp_path / "checkpoint")
    kept = dict(learners(spark, checkpoint, model, key="sensor", features=["p", "q"]))
    assert {key: learner.n_skipped_ for key, learner in kept.items()} == {"a": 0, "b": 1, None: 1}
    for key in ("a", "b"):
        mine = table[table["sensor"] == key]
        alone = ol.Ridge(b=0.5, on_bad="skip")
        run = ol.replay(alone, mine[["p", "q"]], mine["y"], engine="rank-one")
        assert_array_equal(out["prediction"].to_numpy()[mine.index], run.predictions)
        assert kept[key]._record.tobytes() == alone._record.tobytes()
        assert kept[key].on_bad == "raise"
        assert list(kept[key].feature_names_in_) == ["p", "q"]
    nobodys = spark.read.parquet(events).where("sensor IS NULL")
    with pytest.raises(PythonException, match="key sensor=null: a row needs a key: fill it"):
        predict_and_learn(nobodys, model, **columns).collect()


def test_rows_of_a_stream_without_order_are_taken_as_they_come(spark, tmp_path):
    X, y = stream(30, d=1)
    table = pd.DataFrame({"key": 1, "x": X[:, 0], "y": y, "t": range(30)})
    events = written(tmp_path / "events", table[:10], 1)
    written(tmp_path / "events", table[10:], 1)
    shuffled = pd.concat([pd.read_parquet(f"{events}/{k}.parquet") for k in range(2)])
    out = streamed(spark, events, ol.Ridge(), tmp_path, key="key", features=["x"])
    alone = by_hand(ol.Ridge(), shuffled[["x"]].to_numpy(), shuffled["y"].to_numpy())
    assert_array_equal(out.set_index("t").loc[shuffled["t"], "prediction"], alone)


# --- one learner of a table -------------------------------------------------------------------


@pytest.mark.parametrize("model", [ol.Ridge(b=0.3, clip=0.9), ol.AROWR(r=0.2, b=2.0)], ids=str)
def test_partitions_learnt_apart_are_one_learner_of_all_rows(spark, model):
    X, y = stream(500, d=3)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    df = spark.createDataFrame(table).repartition(5)
    whole = stationary_fit(df, model, features=["a", "b", "c"])
    alone = copy.deepcopy(model).fit(X, y)
    assert (whole.rounds_, model._state) == (500, None)
    assert_allclose(whole.coef_, alone.coef_, rtol=1e-9)
    assert_allclose(whole.covariance_, alone.covariance_, rtol=1e-9, atol=1e-15)
    assert list(whole.feature_names_in_) == ["a", "b", "c"]


def test_a_learner_of_a_table_goes_on_and_does_as_on_bad_says(spark):
    X, y = stream(90, d=2)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    table.loc[70, "y"] = np.nan
    df = spark.createDataFrame(table[60:]).repartition(2)
    begun = ol.Ridge(on_bad="skip").fit(X[:60], y[:60])
    whole = stationary_fit(df, begun, features=["a", "b"])
    assert (whole.rounds_, whole.n_skipped_, begun.rounds_) == (89, 1, 60)
    alone = ol.Ridge(on_bad="skip").fit(X, table["y"])
    assert_allclose(whole.coef_, alone.coef_, rtol=1e-9)
    with pytest.raises(PythonException, match="Ridge needs finite labels: y contains NaN in row"):
        stationary_fit(df, ol.Ridge(), features=["a", "b"])
    nothing = stationary_fit(df.where("a > 9"), ol.Ridge(), features=["a", "b"])
    assert nothing._state is None
    with pytest.raises(TypeError, match="merge needs learners of class Ridge, AAR or AROWR"):
        stationary_fit(df, ol.LASER(), features=["a", "b"])


@pytest.mark.parametrize("names", [("ham", "spam"), (False, True), (1, 2)], ids=str)
def test_a_classifier_learns_labels_of_its_classes(spark, names):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] > X[:, 1]
    table = pd.DataFrame(X, columns=["a", "b"]).assign(k=np.arange(60) % 3, t=np.arange(60))
    table["y"] = [names[int(each)] for each in y]
    model = ol.LogisticLASER(classes=names)
    given = {"key": "k", "features": ["a", "b"], "order": "t"}
    done = predict_and_learn(spark.createDataFrame(table), model, **given).toPandas()
    done = done.sort_values("t")
    for key in range(3):
        own = np.arange(60) % 3 == key
        alone = ol.replay(ol.LogisticLASER(classes=(False, True)), X[own], y[own]).predictions
        assert_array_equal(done["prediction"].to_numpy()[own], alone)
    with pytest.raises(ValueError, match="needs a learner whose prediction is one number"):
        predict_and_learn(spark.createDataFrame(table), ol.AROW(classes=("a", "b", "c")), **given)
    if names == ("ham", "spam"):
        other = ol.AROW(classes=("ham", "eggs"))
        with pytest.raises(PythonException, match="needs labels 'ham' or 'eggs', its classes, got"):
            predict_and_learn(spark.createDataFrame(table), other, **given).collect()
        with pytest.raises(TypeError, match="numbers or booleans for target, got 'y' of type str"):
            predict_and_learn(spark.createDataFrame(table), ol.Ridge(), **given)


# --- the state of a key -----------------------------------------------------------------------

THREE = Columns(["key"], ["a", "b", "c"], "y", [])


@pytest.mark.parametrize("name", ["LASER", "Auto", "KernelAAR", "Standardized"])
def test_a_learner_is_packed_and_comes_back_with_the_same_bits(name):
    X, y = stream(60, d=3)
    params = {"KernelAAR": {"b": 0.2}, "Standardized": {"learner": ol.LASER()}}.get(name, {})
    model = make((name, {**params, "on_bad": "skip"}))
    form = StateForm.of(model, THREE)
    learner = form.start
    y[::9], X[10, 1] = np.nan, np.inf
    predictions = []
    for k in range(0, 60, 20):
        learner = form.unpack(form.pack(learner))
        predictions.append(run_rounds(learner, X[k : k + 20], y[k : k + 20]))
    alone = copy.deepcopy(model)
    assert_array_equal(np.concatenate(predictions), by_hand(alone, X, y))
    assert learner._record.tobytes() == alone._record.tobytes()
    assert learner.n_skipped_ == alone.n_skipped_ == 1


def test_a_state_that_is_altered_is_refused_in_words():
    model = ol.Ridge(b=2)
    form = StateForm.of(model, THREE)
    good = form.pack(form.start)
    for k in (8, 20, 30, 36, 50, len(good) - 1):
        bad = bytearray(good)
        bad[k] ^= 1
        with pytest.raises(ol.StateFileError, match="its checksum does not match"):
            form.unpack(bytes(bad))
    for cut in (0, 3, 40, len(good) - 8):
        with pytest.raises(ol.StateFileError, match="truncated"):
            form.unpack(good[:cut])
    with pytest.raises(ol.StateFileError, match="layout version 2, this onlinear reads version 1"):
        form.unpack(good[:4] + b"\2\0\0\0" + good[8:])
    same = StateForm.of(ol.Ridge(b=2.0, on_bad="skip"), THREE)
    assert same.unpack(good)._record.tobytes() == form.start._record.tobytes()


@pytest.mark.parametrize(
    ("model", "columns", "text"),
    [
        (ol.Ridge(b=0.6), THREE, r"another learner or other parameters than Ridge\(b=0.6\)"),
        (ol.AAR(b=0.5), THREE, "another learner or other parameters than AAR"),
        (
            ol.Ridge(b=0.5),
            THREE._replace(features=["b", "a", "c"]),
            r"other columns than .* features \['b', 'a', 'c'\]",
        ),
        (ol.Ridge(b=0.5), THREE._replace(key=["other"]), r"other columns than key \['other'\]"),
        (ol.Ridge(b=0.5), THREE._replace(target="z"), "other columns than .* target 'z'"),
        (ol.Ridge(b=0.5).fit(*stream(9, d=3)), THREE, "a model that had learnt other rows"),
    ],
)
def test_a_state_of_another_model_is_refused_in_words(model, columns, text):
    form = StateForm.of(ol.Ridge(b=0.5), THREE)
    kept = form.pack(form.start)
    with pytest.raises(ol.StateFileError, match=f"{text}.*start a new checkpoint"):
        StateForm.of(model, columns).unpack(kept)


# --- arguments --------------------------------------------------------------------------------

FITTED = ol.Ridge().fit(pd.DataFrame({"b": [1.0], "a": [2.0]}), [1.0])


@pytest.mark.parametrize(
    ("changed", "kind", "text"),
    [
        ({"df": pd.DataFrame()}, TypeError, "needs a Spark DataFrame, got pandas"),
        ({"model": ol.Ridge}, TypeError, "needs a learner, such as LASER"),
        ({"model": ol.Bank([ol.Ridge()])}, TypeError, "needs a learner, such as LASER"),
        ({"model": ol.Ridge(b=-1.0)}, ValueError, "Ridge needs a finite number 0 < b, got b=-1.0"),
        ({"model": FITTED}, ValueError, "names must be in the same order"),
        ({"model": ol.Ridge().fit([[1.0]], [1.0])}, ValueError, "features need to be 1 columns"),
        ({"key": "sensors"}, ValueError, "needs key among the columns .*, got 'sensors'"),
        ({"key": []}, TypeError, "needs key to be names of columns, got \\[\\]"),
        ({"key": "list"}, TypeError, "plain values for key, got 'list' of type array"),
        ({"key": "when"}, TypeError, "a key that is not a time .*, got 'when' of type timestamp"),
        (
            {"key": "local"},
            TypeError,
            "a key that is not a time .*'local' of type timestamp_n",
        ),
        ({"key": "span"}, TypeError, "a key that is not a time .*, got 'span' of type interval"),
        (
            {"order": "span"},
            TypeError,
            "an order that is not an interval, got 'span'",
        ),
        ({"key": "y"}, ValueError, "a target that is not among key, got 'y'"),
        ({"features": "a"}, TypeError, "needs features as a list of columns, got 'a'"),
        ({"features": ["a", "a"]}, ValueError, "each column of features once, got 'a' twice"),
        ({"features": ["a", "y"]}, ValueError, "a target that is not among features, got 'y'"),
        ({"features": ["a", "z"]}, ValueError, "needs features among the columns .*, got 'z'"),
        ({"features": ["a", "sensor"]}, TypeError, "numbers .* got 'sensor' of type string"),
        ({"target": "when"}, TypeError, "booleans for target, got 'when' of type timestamp"),
        ({"target": ["y"]}, TypeError, "needs target to be a column, got \\['y'\\]"),
        ({"order": "list"}, TypeError, "plain values for order, got 'list' of type array"),
        ({"order": None}, ValueError, "needs order for a table"),
        ({"output": "A"}, ValueError, "a new name for output, got 'A', which exists"),
        ({"output": ""}, TypeError, "output to be a name for a column, got ''"),
    ],
)
def test_arguments_are_refused_before_anything_runs(spark, changed, kind, text):
    schema = "sensor string, a double, b int, y double, when timestamp, list array<int>"
    schema += ", local timestamp_ntz, span interval day to second"
    given = {"df": spark.createDataFrame([], schema), "model": ol.Ridge(), "order": "when"}
    given |= {"key": "sensor", "features": ["a", "b"], **changed}
    with pytest.raises(kind, match=text):
        predict_and_learn(given.pop("df"), given.pop("model"), **given)


def test_two_columns_of_a_name_and_streams_to_fit_are_refused(spark):
    twice = spark.createDataFrame([], "a double, a double, y double")
    with pytest.raises(ValueError, match="unique column names, the DataFrame has"):
        stationary_fit(twice, ol.Ridge(), features=["a"])
    rate = spark.readStream.format("rate").load().selectExpr("value AS a", "value AS y")
    with pytest.raises(ValueError, match="stationary_fit needs a table, got a stream"):
        stationary_fit(rate, ol.Ridge(), features=["a"])


def test_state_in_memory_is_warned_of(spark):
    rate = spark.readStream.format("rate").load().selectExpr("value % 3 AS k", "value", "1 AS y")
    provider, own = next(iter(SETTINGS.items()))
    spark.conf.set(provider, own.replace("RocksDB", "HDFSBacked"))
    try:
        with pytest.warns(RuntimeWarning, match="in memory by HDFSBackedStateStoreProvider"):
            predict_and_learn(rate, ol.Ridge(), key="k", features=["value"])
    finally:
        spark.conf.set(provider, own)


# --- what is shown ----------------------------------------------------------------------------


def test_the_guide_prints_what_it_says(spark, tmp_path, capsys):
    space: dict = {}
    for block in blocks("docs/guide/spark.md", "py"):  # Spark runs in another folder
        at_home = re.sub(r'"(events|checkpoint|predictions)(?=["/])', rf'"{tmp_path}/\1', block)
        exec(at_home, space)
        assert capsys.readouterr().out.splitlines() == shown(block)


def test_the_example_of_files_runs(spark, tmp_path, capsys):
    file = ROOT / "examples" / "spark_files.py"
    spec = importlib.util.spec_from_file_location("spark_files", file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(spark, tmp_path)
    example.main(spark, tmp_path)  # nothing new has come
    shown = capsys.readouterr().out
    for sensor in ("north", "east", "south", "west"):
        assert len(re.findall(rf"^{sensor} 1000 \[.*\]$", shown, re.M)) == 2


def test_pyspark_is_imported_only_when_it_is_used():
    code = "import sys, onlinear, onlinear.spark; print({'pyspark', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
