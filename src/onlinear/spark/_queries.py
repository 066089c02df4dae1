"""The public functions of ``onlinear.spark``: to predict and learn, to train, to read learners."""

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from onlinear._learner import merging
from onlinear._learner.base import Learner
from onlinear._learner.second_order import SecondOrder
from onlinear.spark._columns import Columns, names_of
from onlinear.spark._state import StateForm
from onlinear.spark._transport import carried, quoted, restored, with_number
from onlinear.spark._worker import KeyTask, over_partition, over_stream, over_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SETTINGS", "learners", "predict_and_learn", "stationary_fit"]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SETTINGS = {  # use it as SparkSession.builder.config(map=SETTINGS)
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

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
    """Predict each row with the learner of its key, then learn its label.

    If ``df`` is a stream, the learners are kept in Spark's state store and committed with each
    micro-batch. With a checkpoint directory, every row is learnt exactly once, even if the query is
    killed and restarted. If ``df`` is a table, for example of historical rows, its predictions are
    those that a stream of the same rows would get. The predictions and the learner of a key are,
    bit for bit, those of ``onlinear.replay(model, X, y, engine="rank-one")`` with a copy of the
    model and the rows of that key in order, however Spark splits the stream.

    A row whose target is null (or NaN) has no label yet: it is predicted, not learnt. A bad row,
    for example with a null among its features, is handled as the model's ``on_bad`` says: "raise"
    fails the query with the learner's message and the key; "skip" leaves the row out and counts it
    in the learner's ``n_skipped_``. The prediction of a bad row is null if none can be made. A row
    whose key is null is handled as ``on_bad`` says, too.

    Parameters
    ----------
    df : DataFrame
        A streaming or static Spark DataFrame.
    model : Learner
        The learner that every key starts with, as a copy, including what it has learnt. The given
        model is not changed.
    key : str or list of str
        The column, or columns, that identify the learner of a row.
    features : list of str
        The columns to predict from: numbers or booleans.
    target : str, default "y"
        The column of the labels: numbers or booleans or, for a classifier, also text.
    order : str or list of str, optional
        The column, or columns, that give the order of the rows of a key. Each micro-batch, or the
        table, is sorted by the columns in ``order``, nulls last. Rows with equal values in these
        columns are taken in the order in which Spark delivers them, which may differ between runs.
        Without ``order``, all rows of a stream are taken as Spark delivers them; a table needs
        ``order``.
    output : str, default "prediction"
        The name of the column of predictions, each made before its label was learnt.

    Returns
    -------
    DataFrame
        All columns of ``df`` (a NaN in them becomes null) and the predictions. If ``df`` is a
        stream, write the result in append mode.
    """
    columns = Columns.checked(df, model, key, features, target, order, output)
    form = StateForm.of(model, columns)
    if df.isStreaming:
        _warn_of_memory(df.sparkSession)
    elif order is None:
        raise ValueError(
            "predict_and_learn needs order for a table: a column by which to sort the rows of a "
            "key, as Spark keeps no order, got order=None"
        )
    sent, places = carried(df, columns.key)
    task = KeyTask(form, columns, places)
    groups = sent.groupBy(*(places[name].name for name in columns.key))
    schema = with_number(sent, "prediction")
    if df.isStreaming:
        out = groups.applyInPandasWithState(
            over_stream(task), schema, "learner binary", "append", "NoTimeout"
        )
    else:
        out = groups.applyInPandas(over_table(task), schema)
    return restored(out, df, places, output)


def stationary_fit(
    df: "DataFrame", model: Model, *, features: Sequence[str], target: str = "y"
) -> Model:
    """Train one learner on a table: its partitions are learnt in parallel, the results merged.

    Up to rounding, the result equals a learner that learns all rows in one process. Spark collects
    one state per partition, but no rows. A bad row, for example with a null target, is handled as
    the model's ``on_bad`` says.

    Parameters
    ----------
    df : DataFrame
        A static Spark DataFrame.
    model : Ridge, AAR or AROWR
        The learner to start from, including what it has learnt (see :func:`onlinear.merge`). The
        given model is not changed.
    features : list of str
        The columns to predict from: numbers or booleans.
    target : str, default "y"
        The column of the labels.
    """
    merging._check([model])
    columns = Columns.checked(df, model, [], features, target, None, None)
    from pyspark.sql.functions import col

    if df.isStreaming:
        raise ValueError("stationary_fit needs a table, got a stream: use predict_and_learn")
    form = StateForm.of(model, columns)
    names = [*columns.features, columns.target]
    rows = df.select(*(col(quoted(n)).cast("double").alias(f"c{i}") for i, n in enumerate(names)))
    states = rows.mapInPandas(over_partition(form), "learner binary").collect()
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
    """Yield the learners in the checkpoint of a stream, each with its key.

    Each learner has the state that it had after the last committed batch. ``model``, ``key``,
    ``features`` and ``target`` must be as given to :func:`predict_and_learn`. A key of several
    columns is a tuple.
    """
    who = "learners"
    columns = Columns(names_of(who, "key", key), names_of(who, "features", features), target, [])
    form = StateForm.of(model, columns)
    rows = spark.read.format("statestore").load(checkpoint).toLocalIterator()
    return (_read(form, row) for row in rows)


def _read(form: StateForm, row: Any) -> tuple[Any, Learner]:
    key = tuple(row["key"])
    learner = form.unpack(bytes(row["value"]["groupState"]["learner"]))
    return key if len(key) > 1 else key[0], learner


def _warn_of_memory(spark: "SparkSession") -> None:
    """Warn if Spark would keep the states of all keys in memory."""
    provider = spark.conf.get(PROVIDER) or ""
    if "RocksDB" not in provider:
        warnings.warn(
            f"the learners of all keys are kept in memory by {provider.rpartition('.')[2]}: "
            "onlinear.spark.SETTINGS has the setting to keep them in RocksDB, on disk",
            RuntimeWarning,
            stacklevel=3,
        )
