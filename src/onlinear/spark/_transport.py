"""Send the columns of a Spark DataFrame to pandas workers and back without loss.

pandas has no null for integers: it would turn 64-bit integers with nulls into rounded floats.
pandas also does not distinguish the two hours that have the same local time when clocks are set
back. So columns of 64-bit integers and of timestamps are sent as integers, each column with a
second column that marks its nulls. All columns are sent under generated names, since Spark would
take "a.b" for field b of column a.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["SentColumn", "carried", "quoted", "restored", "with_number"]


class SentColumn(NamedTuple):
    """The name under which a column is sent, and that of the column that marks its nulls."""

    name: str
    nulls: str | None


def carried(df: "DataFrame", key: list[str]) -> tuple["DataFrame", dict[str, SentColumn]]:
    """Return the DataFrame to send to a worker, and the names under which columns are sent."""
    from pyspark.sql.functions import coalesce, col, lit, unix_micros
    from pyspark.sql.types import LongType, TimestampType

    places: dict[str, SentColumn] = {}
    sent: list[Column] = []
    for i, field in enumerate(df.schema.fields):
        place = SentColumn(f"c{i}", None)
        column = col(quoted(field.name))
        if isinstance(field.dataType, TimestampType):
            column = unix_micros(column)
        if isinstance(field.dataType, (LongType, TimestampType)) and field.name not in key:
            place = SentColumn(f"c{i}", f"null{i}")
            sent.append(column.isNull().alias(f"null{i}"))
            column = coalesce(column, lit(0))
        sent.append(column.alias(place.name))
        places[field.name] = place
    return df.select(*sent), places


def restored(
    out: "DataFrame", df: "DataFrame", places: dict[str, SentColumn], output: str
) -> "DataFrame":
    """Return the columns of ``df``, restored from the workers' ``out``, and the predictions."""
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


def with_number(df: "DataFrame", more: str) -> Any:
    """Return the schema of a DataFrame extended by a column of doubles, named ``more``."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    fields = [StructField(field.name, field.dataType) for field in df.schema.fields]
    return StructType([*fields, StructField(more, DoubleType())])


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
