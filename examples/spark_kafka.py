"""Stream a Kafka topic through Spark: one learner per sensor, predictions to another topic.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0 \
        examples/spark_kafka.py BROKERS CHECKPOINT

The version at the end of the Kafka package's name (``4.3.0``) is the version of Spark. Messages of
the topic "events" are JSON, with the sensor as message key, so that the events of a sensor are in
one partition, in order:

    {"sensor": "north", "a": 0.3, "b": -1.2, "c": 0.0, "y": 1.7}

If the label is not known, y is null or absent, and the event is only predicted. After a crash, a
batch may be written to Kafka twice, with the same predictions: readers of "predictions" should keep
one message per partition and offset.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json, struct, to_json

import onlinear as ol
from onlinear.spark import SETTINGS, predict_and_learn

SCHEMA = "sensor string, a double, b double, c double, y double"


def main(brokers: str, checkpoint: str) -> None:
    """Predict and learn the events of the topic until the query is stopped."""
    spark = SparkSession.builder.config(map=SETTINGS).getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", "events")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 100_000)  # bounds the memory of a batch
        .load()
    )
    events = messages.select(
        from_json(col("value").cast("string"), SCHEMA).alias("event"), "partition", "offset"
    ).select("event.*", "partition", "offset")
    rows = predict_and_learn(
        events,
        ol.LASER(c=100.0, shrink=False, on_bad="skip"),  # invalid JSON does not stop the query
        key="sensor",
        features=["a", "b", "c"],
        order=["partition", "offset"],
    )
    query = (
        rows.select(col("sensor").alias("key"), to_json(struct("*")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("topic", "predictions")
        .option("checkpointLocation", checkpoint)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
