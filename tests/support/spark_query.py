"""The Spark query that test_spark.py kills and restarts."""

import sys

from pyspark.sql import SparkSession

import onlinear as ol
from onlinear.spark import SETTINGS, predict_and_learn

MODEL = ol.LASER(c=30.0, shrink=False)
COLUMNS = {"key": "sensor", "features": ["a", "b", "c"]}
SESSION = {
    **SETTINGS,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts sooner
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def session() -> SparkSession:
    return SparkSession.builder.master("local[2]").config(map=SESSION).getOrCreate()


def run(folder: str) -> None:
    events = session().readStream.option("maxFilesPerTrigger", 1)
    events = events.schema("sensor int, t int, a double, b double, c double, y double")
    rows = predict_and_learn(events.parquet(f"{folder}/events"), MODEL, order="t", **COLUMNS)
    query = rows.select("sensor", "t", "prediction").writeStream.trigger(availableNow=True)
    query.option("checkpointLocation", f"{folder}/checkpoint").start(
        f"{folder}/out"
    ).awaitTermination()


if __name__ == "__main__":
    run(sys.argv[1])
