"""Learners on Spark: one learner per key of a stream, stored in Spark's state store.

    stream = spark.readStream.schema(schema).parquet("events")
    model = LASER(c=100.0, shrink=False)
    rows = predict_and_learn(stream, model, key="sensor", features=["a", "b"], order="time")
    rows.writeStream.option("checkpointLocation", "checkpoint").start("predictions")

pyspark is imported only when a function is called.
"""

from onlinear.spark._queries import SETTINGS, learners, predict_and_learn, stationary_fit

__all__ = ["SETTINGS", "learners", "predict_and_learn", "stationary_fit"]
