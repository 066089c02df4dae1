"""The Spark face: a learner for each key of a stream, kept in Spark's own state store.

    stream = spark.readStream.schema(schema).parquet("events")
    model = LASER(c=100.0, shrink=False)
    rows = predict_and_learn(stream, model, key="sensor", features=["a", "b"], order="time")
    rows.writeStream.option("checkpointLocation", "checkpoint").start("predictions")

The learner of a key is one binary column of the state, which Spark commits with each batch:

    onls                       what it is
    version                    of this layout, 4 bytes
    learner, columns, start    8 bytes of a SHA-256 each: of class and parameters; of the names of
                               key, features and target; of what was learnt before the stream
    skipped, numbers           how many rows were skipped, how many numbers follow, 8 bytes each
    <numbers>                  the state, float64
    <16 bytes>                 of the SHA-256 of everything before

All is little-endian, and nothing in it is executed. So a query that goes on with another model is
refused, never misread. pyspark is imported when a function is called.
"""

import copy
import hashlib
import importlib
import itertools
import json
import struct
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from onlinear._learner import merging
from onlinear._learner.base import Learner, SecondOrder, _full_name
from onlinear._state_files import model_codec
from onlinear._state_files.file_format import StateFileError
from onlinear._validation import checks

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["SETTINGS", "learners", "predict_and_learn", "stationary_fit"]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SETTINGS = {  # for a session: SparkSession.builder.config(map=SETTINGS)
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

MAGIC = b"onls"
VERSION = 1
HEADER = struct.Struct("<4sI8s8s8sQQ")
CHECKSUM = 16
LITTLE = np.dtype("<f8")

Model = TypeVar("Model", bound=SecondOrder)


def predict_and_learn(
    df: "DataFrame",
    model: Learner,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str = "y",
    order: str | Sequence[str] | None = None,
    output: str = "prediction",
) -> "DataFrame":
    """Predict each row by the learner of its key, then learn its label.

    Of a stream, the learners are kept in Spark's state store and committed with each micro-batch:
    with a checkpoint directory every row is learnt exactly once, whatever is killed and started
    again. Of a table, which holds all rows, the predictions are the same: for history. The
    predictions and the learner of a key are, bit for bit, those of ``onlinear.replay(model, X, y,
    engine="rank-one")`` with a copy of the model and the rows of that key in order, however Spark
    cuts the stream.

    A row whose target is null (or NaN) has no label yet: it is predicted, not learnt. A row that
    breaks a rule, such as a null among its features, does what the model's ``on_bad`` says: "raise"
    fails the query with the learner's words and the key; "skip" leaves it out, its prediction null
    if none can be made, and counts it in the learner's ``n_skipped_``. The same holds for a row
    whose key is null: nobody knows whose it is.

    Parameters
    ----------
    df : DataFrame
        A stream or a table of Spark.
    model : Learner
        What every key begins with: a copy of it, with what it has learnt. It stays as it is.
    key : str or list of str
        The column, or columns, that say whose row it is.
    features : list of str
        The columns to predict from: numbers or booleans.
    target : str, default "y"
        The column of the labels.
    order : str or list of str, optional
        The column, or columns, that say in which order the rows of a key came. Inside a micro-batch
        or table they are sorted by it, nulls last; rows that tie are taken as Spark hands them
        over, which it does not promise to do alike twice. So are all rows of a stream without
        ``order``. A table is refused without it.
    output : str, default "prediction"
        What to call the column of the predictions, each made before its label was learnt.

    Returns
    -------
    DataFrame
        All columns of ``df`` (a NaN in them becomes null) and the predictions. A stream is to be
        written in append mode.
    """
    columns = _Columns.checked(df, model, key, features, target, order, output)
    form = _Form.of(model, columns)
    if df.isStreaming:
        _look_at_provider(df.sparkSession)
    elif order is None:
        raise ValueError(
            "predict_and_learn needs order for a table: the column that says in which order the "
            "rows of a key came (Spark keeps none), got order=None"
        )
    carried, places = _carried(df, columns.key)
    task = _Task(form, columns, places)
    groups = carried.groupBy(*(places[name].name for name in columns.key))
    schema = _like(carried, "prediction")
    if df.isStreaming:
        out = groups.applyInPandasWithState(
            _over_stream(task), schema, "learner binary", "append", "NoTimeout"
        )
    else:
        out = groups.applyInPandas(_over_table(task), schema)
    return _restored(out, df, places, output)


def stationary_fit(
    df: "DataFrame", model: Model, *, features: Sequence[str], target: str = "y"
) -> Model:
    """Return one learner of all rows of a table, whose partitions are learnt apart and merged.

    It is the learner that had learnt all rows by itself, to rounding; no row is collected, one
    state for each partition is. A row that breaks a rule, such as one whose target is null, does
    what the model's ``on_bad`` says.

    Parameters
    ----------
    df : DataFrame
        A table of Spark.
    model : Ridge, AAR or AROWR
        What to learn with (see :func:`onlinear.merge`); what it has learnt counts, too. It stays as
        it is.
    features : list of str
        The columns to predict from: numbers or booleans.
    target : str, default "y"
        The column of the labels.
    """
    merging._check([model])
    columns = _Columns.checked(df, model, [], features, target, None, None)
    from pyspark.sql.functions import col

    if df.isStreaming:
        raise ValueError("stationary_fit needs a table, got a stream: use predict_and_learn")
    form = _Form.of(model, columns)
    names = [*columns.features, columns.target]
    rows = df.select(*(col(_quoted(n)).cast("double").alias(f"c{i}") for i, n in enumerate(names)))
    states = rows.mapInPandas(_over_partition(form), "learner binary").collect()
    parts: list[Any] = [form.unpack(bytes(state.learner)) for state in states]
    if form.learnt or not parts:
        parts.append(form.start if form.learnt else model)
    merged: Model = merging.merge(parts)
    return merged


def learners(
    spark: "SparkSession",
    checkpoint: str,
    model: Learner,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str = "y",
) -> Iterator[tuple[Any, Learner]]:
    """Return the learners in the checkpoint of a stream, one after another, each with its key.

    They are those of the last batch that was committed. The arguments are those that
    :func:`predict_and_learn` was given; a key of several columns is a tuple.
    """
    who = "learners"
    columns = _Columns(_listed(who, "key", key), _listed(who, "features", features), target, [])
    form = _Form.of(model, columns)
    rows = spark.read.format("statestore").load(checkpoint).toLocalIterator()
    return (_read(form, row) for row in rows)


def _read(form: "_Form", row: Any) -> tuple[Any, Learner]:
    key = tuple(row["key"])
    learner = form.unpack(bytes(row["value"]["groupState"]["learner"]))
    return key if len(key) > 1 else key[0], learner


# --- arguments ------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """The columns by what they are for."""

    key: list[str]
    features: list[str]
    target: str
    order: list[str]

    @classmethod
    def checked(
        cls, df: Any, model: Any, key: Any, features: Any, target: Any, order: Any, output: Any
    ) -> Self:
        """Return the columns, or refuse arguments before anything runs; no output, no key."""
        who = "predict_and_learn" if output is not None else "stationary_fit"
        _check_kinds(who, df, model)
        if isinstance(features, str):
            raise TypeError(f"{who} needs features as a list of columns, got {features!r}")
        if not isinstance(target, str):
            raise TypeError(f"{who} needs target to be a column, got {target!r}")
        columns = cls(
            _listed(who, "key", key) if output is not None else [],
            _listed(who, "features", features),
            target,
            [] if order is None else _listed(who, "order", order),
        )
        columns._check_names(who, df.columns, output)
        columns._check_types(who, df)
        return columns

    def _by_role(self) -> Iterator[tuple[str, str]]:
        for name in self.key:
            yield "key", name
        for name in self.features:
            yield "features", name
        yield "target", self.target
        for name in self.order:
            yield "order", name

    def _check_names(self, who: str, there: list[str], output: Any) -> None:
        twice = sorted({name for name in there if there.count(name) > 1})
        if twice:
            raise ValueError(f"{who} needs unique column names, the DataFrame has {twice} twice")
        for role, name in self._by_role():
            if name not in there:
                raise ValueError(
                    f"{who} needs {role} among the columns {there} of the DataFrame, got {name!r}"
                )
        for role, names in (("features", self.features), ("key", self.key)):
            if self.target in names:
                raise ValueError(
                    f"{who} needs a target that is not among {role}, got {self.target!r}"
                )
        if output is None:
            return
        if not isinstance(output, str) or not output:
            raise TypeError(f"{who} needs output to be a name for a column, got {output!r}")
        if output.lower() in (name.lower() for name in there):  # Spark does not tell case apart
            raise ValueError(f"{who} needs a new name for output, got {output!r}, which is there")

    def _check_types(self, who: str, df: "DataFrame") -> None:
        from pyspark.sql import types as kinds
        from pyspark.sql.types import AtomicType, BooleanType, NumericType

        spans = kinds.DayTimeIntervalType, kinds.YearMonthIntervalType
        times = kinds.TimestampType, kinds.TimestampNTZType, *spans
        for role, name in self._by_role():
            kind = df.schema[name].dataType
            text = f"got {name!r} of type {kind.simpleString()}"
            if role in ("features", "target") and not isinstance(kind, (NumericType, BooleanType)):
                raise TypeError(f"{who} needs numbers or booleans for {role}, {text}")
            if not isinstance(kind, AtomicType):
                raise TypeError(f"{who} needs plain values for {role}, {text}")
            if role == "key" and isinstance(kind, times):
                raise TypeError(f"{who} needs a key that is no time (a date may be one), {text}")
            if role == "order" and isinstance(kind, spans):
                raise TypeError(f"{who} needs an order that is no interval, {text}")


def _check_kinds(who: str, df: Any, model: Any) -> None:
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ImportError('onlinear.spark needs pyspark: pip install "onlinear[spark]"') from error
    if not isinstance(df, DataFrame):
        got = f"{type(df).__module__}.{type(df).__name__}"
        raise TypeError(f"{who} needs a DataFrame of Spark, got {got}")
    if not isinstance(model, Learner):
        raise TypeError(f"{who} needs a learner, such as LASER(), got {model!r:.60}")


def _listed(who: str, role: str, names: Any) -> list[str]:
    """Return names of columns as a list, or refuse them."""
    listed = [names] if isinstance(names, str) else names
    listed = list(listed) if isinstance(listed, (list, tuple)) else []
    if not listed or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{who} needs {role} to be names of columns, got {names!r}")
    for name in listed:
        if listed.count(name) > 1:
            raise ValueError(f"{who} needs each column of {role} once, got {name!r} twice")
    return listed


def _look_at_provider(spark: "SparkSession") -> None:
    """Warn if the states of all keys would be kept in memory."""
    provider = spark.conf.get(PROVIDER) or ""
    if "RocksDB" not in provider:
        warnings.warn(
            f"the learners of all keys are kept in memory by {provider.rpartition('.')[2]}: "
            "onlinear.spark.SETTINGS has the setting to keep them in RocksDB, on disk",
            RuntimeWarning,
            stacklevel=3,
        )


# --- the state of a key ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """How the learners of a query are written down, and what each begins with."""

    start: Learner  # with the names of the features
    learnt: bool  # whether it has learnt anything
    columns: _Columns
    marks: tuple[bytes, bytes, bytes]

    @classmethod
    def of(cls, model: Learner, columns: _Columns) -> Self:
        """Return the form of a model's states; refuse a model that does not fit the columns."""
        header, arrays = model_codec.described(model, _full_name(type(model)))
        if model._state is not None:
            d, names = len(columns.features), model._names
            if names is not None:
                checks.same_names(names, columns.features)
            elif model.n_features_in_ != d:
                raise ValueError(
                    f"features need to be {model.n_features_in_} columns, as the model has learnt, "
                    f"got {d}"
                )
        params = {name: value for name, value in header["params"].items() if name != "on_bad"}
        marks = (
            _mark([header["learner"], params]),
            _mark(columns[:3]),
            _mark([array.tobytes().hex() for array in arrays.values()]),
        )
        start = copy.copy(model)
        if model._state is None:
            start._begin(len(columns.features))
        start._name_columns(columns.features)
        return cls(start, model._state is not None, columns, marks)

    def fresh(self) -> Learner:
        """Return a learner of the kind that has learnt nothing."""
        learner = type(self.start)(**self.start.get_params(deep=False))
        learner._begin(len(self.columns.features))
        learner._name_columns(self.columns.features)
        return learner

    def pack(self, learner: Learner) -> bytes:
        """Return a learner as bytes."""
        record = learner._record
        assert record is not None
        head = HEADER.pack(MAGIC, VERSION, *self.marks, learner.n_skipped_, record.size)
        body = head + record.astype(LITTLE).tobytes()
        return body + _checksum(body)

    def unpack(self, kept: bytes) -> Learner:
        """Return the learner that bytes hold, or refuse them in words."""
        if not kept.startswith(MAGIC) or len(kept) < HEADER.size + CHECKSUM:
            raise StateFileError("the state of this key is not one of onlinear, or is truncated")
        _, version, *marks, skipped, size = HEADER.unpack_from(kept)
        if version != VERSION:
            raise StateFileError(
                f"the state of this key has layout version {version}, this onlinear reads version "
                f"{VERSION}"
            )
        body = kept[:-CHECKSUM]
        if _checksum(body) != kept[-CHECKSUM:] or len(body) != HEADER.size + 8 * size:
            raise StateFileError(
                "the state of this key is truncated or altered: its checksum does not match"
            )
        self._check_marks(marks)
        learner = type(self.start)(**self.start.get_params(deep=False))
        record = np.frombuffer(body, LITTLE, offset=HEADER.size).astype(np.float64)
        learner._begin(len(self.columns.features), record)
        learner._name_columns(self.columns.features)
        learner.n_skipped_ = skipped
        return learner

    def _check_marks(self, marks: Sequence[bytes]) -> None:
        key, features, target, _ = self.columns
        words = (
            f"of another learner or other parameters than {self.start}",
            f"of other columns than key {key}, features {features} and target {target!r}",
            "begun by a model that had learnt something else than this one before the stream",
        )
        for mark, own, text in zip(marks, self.marks, words, strict=True):
            if mark != own:
                raise StateFileError(
                    f"the state of this key is {text}: go on with the model and columns that the "
                    "checkpoint was begun with, or begin a new checkpoint"
                )


def _mark(what: Any) -> bytes:
    """Return 8 bytes that tell things apart; 1 and 1.0 are the same thing."""
    plain = json.loads(json.dumps(what), parse_int=float)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).digest()[:8]


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:CHECKSUM]


# --- columns on their way through a worker -----------------------------------------------------
#
# pandas has no null for whole numbers, it would turn those of 64 bits into rounded floats; nor can
# it tell the two hours apart when a clock is put back. So such columns go as whole numbers, with a
# column beside that says where they are null. All go by numbers for names: Spark would take "a.b"
# for a part of a.


class _Place(NamedTuple):
    """The name of a column on its way, and of the column that says where it is null, if any."""

    name: str
    nulls: str | None


def _carried(df: "DataFrame", key: list[str]) -> tuple["DataFrame", dict[str, _Place]]:
    """Return the columns as they go through a worker, and their places."""
    from pyspark.sql.functions import coalesce, col, lit, unix_micros
    from pyspark.sql.types import LongType, TimestampType

    places: dict[str, _Place] = {}
    sent: list[Column] = []
    for i, field in enumerate(df.schema.fields):
        place = _Place(f"c{i}", None)
        column = col(_quoted(field.name))
        if isinstance(field.dataType, TimestampType):
            column = unix_micros(column)
        if isinstance(field.dataType, (LongType, TimestampType)) and field.name not in key:
            place = _Place(f"c{i}", f"null{i}")
            sent.append(column.isNull().alias(f"null{i}"))
            column = coalesce(column, lit(0))
        sent.append(column.alias(place.name))
        places[field.name] = place
    return df.select(*sent), places


def _restored(
    out: "DataFrame", df: "DataFrame", places: dict[str, _Place], output: str
) -> "DataFrame":
    """Return the columns of df as they were, and the predictions."""
    from pyspark.sql.functions import col, timestamp_micros, when
    from pyspark.sql.types import TimestampType

    columns = []
    for field in df.schema.fields:
        name, nulls = places[field.name]
        column = col(name)
        if isinstance(field.dataType, TimestampType):
            column = timestamp_micros(column)
        if nulls is not None:
            column = when(~col(nulls), column)
        columns.append(column.alias(field.name))
    return out.select(*columns, col("prediction").alias(output))


def _like(df: "DataFrame", more: str) -> Any:
    """Return the schema of a DataFrame with a column of numbers more."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    fields = [StructField(field.name, field.dataType) for field in df.schema.fields]
    return StructType([*fields, StructField(more, DoubleType())])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- in a worker ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """What a worker does with the rows of a key."""

    form: _Form
    columns: _Columns
    places: dict[str, _Place]

    def round(self, key: tuple[Any, ...], table: Any, kept: bytes | None) -> tuple[Any, Learner]:
        """Return the rows in order with their predictions, and the learner after them."""
        if self.columns.order:
            by = [each for name in self.columns.order for each in self.places[name][::-1] if each]
            table = table.sort_values(by, kind="stable", ignore_index=True)
        X = np.column_stack([self._numbers(table, name) for name in self.columns.features])
        y = self._numbers(table, self.columns.target)
        try:
            learner = copy.copy(self.form.start) if kept is None else self.form.unpack(kept)
            rounds = _nobodys if any(map(_null, key)) else _rounds
            predictions = rounds(learner, X, y)
        except ValueError as error:
            pairs = zip(self.columns.key, key, strict=True)
            whose = ", ".join(f"{name}={_shown(value)}" for name, value in pairs)
            raise ValueError(f"key {whose}: {error}") from None
        return table.assign(prediction=predictions), learner

    def _numbers(self, table: Any, name: str) -> np.ndarray:
        """Return a column as float64, NaN where it is null."""
        place = self.places[name]
        values = np.array(table[place.name].to_numpy(dtype=np.float64, na_value=np.nan))
        if place.nulls is not None:
            values[table[place.nulls].to_numpy(dtype=bool)] = np.nan
        return values


def _rounds(learner: Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predict every row and learn those with a label; return the predictions."""
    predictions = np.empty(len(y))
    labelled = ~np.isnan(y)
    edges = [0, *(np.flatnonzero(labelled[1:] != labelled[:-1]) + 1).tolist(), len(y)]
    for first, last in itertools.pairwise(edges):
        rows = slice(first, last)
        learn = bool(labelled[first])
        predictions[rows], _ = learner._run_table(
            X[rows], learner._names, y[rows], learn=learn, first=first
        )
    return predictions


def _nobodys(learner: Learner, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Refuse rows without a key, or count them and predict nothing."""
    if learner.on_bad == "raise":
        raise ValueError('a row needs a key: fill it, filter such rows, or use on_bad="skip"')
    learner.n_skipped_ += int(np.count_nonzero(~np.isnan(y)))
    return np.full(len(y), np.nan)


def _pandas() -> Any:
    return importlib.import_module("pandas")


def _null(value: Any) -> bool:
    return bool(_pandas().isna(value))


def _shown(value: Any) -> str:
    if _null(value):
        return "null"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _over_stream(task: _Task) -> Callable[..., Any]:
    """Return what Spark calls with the rows of a key in a micro-batch, and its state."""

    def rounds(key: Any, tables: Any, state: Any) -> Iterator[Any]:
        kept = bytes(state.get[0]) if state.exists else None
        table, learner = task.round(key, _pandas().concat(list(tables), ignore_index=True), kept)
        packed = task.form.pack(learner)
        if packed != kept:
            state.update((packed,))
        yield table

    return rounds


def _over_table(task: _Task) -> Callable[..., Any]:
    """Return what Spark calls with all rows of a key."""

    def rounds(key: Any, table: Any) -> Any:
        return task.round(key, table, None)[0]

    return rounds


def _over_partition(form: _Form) -> Callable[..., Any]:
    """Return what Spark calls with the rows of a partition: it gives one state."""

    def rounds(tables: Any) -> Iterator[Any]:
        learner, first = form.fresh(), 0
        for table in tables:
            rows = np.ascontiguousarray(table.to_numpy(dtype=np.float64, na_value=np.nan))
            X, y = np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])
            learner._run_table(X, learner._names, y, learn=True, engine="auto", first=first)
            first += len(table)
        if first:
            yield _pandas().DataFrame({"learner": [form.pack(learner)]})

    return rounds
