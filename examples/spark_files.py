"""Stream a folder of Parquet files through Spark: one learner per sensor.

    python examples/spark_files.py [FOLDER]

Every file in FOLDER/events is processed exactly once, even if the query is killed: run the script
again, and the query continues from FOLDER/checkpoint. Predictions are written to
FOLDER/predictions. The first run generates some events.
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
    """Write two files of events of four sensors, each with its own rotating target weights."""
    new = folder.with_name("events being made")
    new.mkdir(parents=True, exist_ok=True)
    tables = []
    for k, sensor in enumerate(["north", "east", "south", "west"]):
        X, y = ol.streams.rotating(rows=1000, d=3, degrees=0.2, seed=k)
        events = pd.DataFrame(X, columns=["a", "b", "c"])
        tables.append(events.assign(sensor=sensor, time=range(len(y)), y=y))
    events = pd.concat(tables).sort_values("time", ignore_index=True)
    events[:2000].to_parquet(new / "monday.parquet")
    os.utime(new / "monday.parquet", (0, 0))  # Spark reads files in the order of their times
    events[2000:].to_parquet(new / "tuesday.parquet")
    new.rename(folder)  # atomically


def main(spark: SparkSession, folder: Path) -> None:
    """Predict and learn the new events, and show the weights of the learners."""
    if not (folder / "events").exists():
        make_events(folder / "events")
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = predict_and_learn(events.parquet(str(folder / "events")), MODEL, order="time", **COLUMNS)
    query = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)  # process all files, then stop; leave it out to run for ever
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
    session = builder.config("spark.sql.shuffle.partitions", 4).getOrCreate()  # default: 200
    main(session, Path(sys.argv[1] if len(sys.argv) > 1 else "spark_files"))
    session.stop()
