"""A folder of Parquet files as a stream: one learner a sensor, predictions in another folder.

    python examples/spark_files.py [FOLDER]

Files that come into FOLDER/events are read once each, whatever is killed: run it again and it goes
on from FOLDER/checkpoint. The first time it makes some events up.
"""

import os
import sys
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession

import onlinear as ol
from onlinear.spark import SETTINGS, learners, predict_and_learn

SCHEMA = "sensor string, time long, a double, b double, c double, y double"
COLUMNS = {"key": "sensor", "features": ["a", "b", "c"], "target": "y"}
MODEL = ol.LASER(c=100.0, shrink=False)


def make_events(folder: Path) -> None:
    """Write two files of events of four sensors, each with a truth of its own that turns."""
    new = folder.with_name("events being made")
    new.mkdir(parents=True, exist_ok=True)
    tables = []
    for k, sensor in enumerate(["north", "east", "south", "west"]):
        X, y = ol.streams.rotating(rows=1000, d=3, degrees=0.2, seed=k)
        events = pd.DataFrame(X, columns=["a", "b", "c"])
        tables.append(events.assign(sensor=sensor, time=range(len(y)), y=y))
    events = pd.concat(tables).sort_values("time", ignore_index=True)
    events[:2000].to_parquet(new / "monday.parquet")
    os.utime(new / "monday.parquet", (0, 0))  # Spark takes files by their time
    events[2000:].to_parquet(new / "tuesday.parquet")
    new.rename(folder)  # all of it, or nothing


def main(spark: SparkSession, folder: Path) -> None:
    """Read what has come, predict and learn it, and show what the learners know."""
    if not (folder / "events").exists():
        make_events(folder / "events")
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = predict_and_learn(events.parquet(str(folder / "events")), MODEL, order="time", **COLUMNS)
    query = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)  # all there is, then stop; leave it out to go on for ever
        .start(str(folder / "predictions"))
    )
    query.awaitTermination()

    predictions = spark.read.parquet(str(folder / "predictions"))
    predictions.selectExpr("count(*) AS rows", "avg(pow(y - prediction, 2)) AS mse").show()
    for sensor, learner in learners(spark, str(folder / "checkpoint"), MODEL, **COLUMNS):
        print(sensor, learner.rounds_, learner.coef_.round(2))


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for the workers on this machine
    builder = SparkSession.builder.master("local[2]").config(map=SETTINGS)
    session = builder.config("spark.sql.shuffle.partitions", 4).getOrCreate()  # Spark's own is 200
    main(session, Path(sys.argv[1] if len(sys.argv) > 1 else "spark_files"))
    session.stop()
