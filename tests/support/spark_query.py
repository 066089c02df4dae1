"""The Spark query that test_spark.py kills and restarts, and the session of all tests of Spark."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import onlinear as ol
from onlinear.spark import SETTINGS, learners, predict_and_learn

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


def class_archive() -> Path:
    """Return where the classes that Java has read for Spark are kept, so that it starts sooner.

    The file is in the user's cache folder, and may be deleted at any time.
    """
    java = subprocess.run(["java", "-version"], capture_output=True, check=True).stderr
    digest = hashlib.sha256(java + f"{pyspark.__version__} {pyspark.__file__}".encode())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "onlinear-spark" / f"classes-{digest.hexdigest()[:20]}.jsa"


def keep_classes() -> None:
    """Write the archive of classes, unless it is there: half a minute, once."""
    archive = class_archive()
    if archive.exists():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        command = [sys.executable, __file__, "--archive", f"{folder}/new.jsa"]
        subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
        if Path(folder, "new.jsa").exists():  # not every Java can write one; Spark runs without
            Path(folder, "new.jsa").replace(archive)


def session(archive: str | None = None) -> SparkSession:
    """Return the session; with ``archive``, Java writes its classes there at its end."""
    java = SESSION["spark.driver.extraJavaOptions"]
    if archive:
        java += f" -XX:ArchiveClassesAtExit={archive}"
    elif class_archive().exists():
        java += f" -XX:SharedArchiveFile={class_archive()}"
    settings = {**SESSION, "spark.driver.extraJavaOptions": java}
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def write_archive(archive: str) -> None:
    """Run a small query and end Java in order, so that it writes the archive."""
    spark = session(archive)
    with tempfile.TemporaryDirectory() as folder:
        rows = spark.range(4).selectExpr("int(id % 2) AS sensor", "int(id) AS t", "0.5D AS a")
        rows = rows.selectExpr("*", "a AS b", "a AS c", "a AS y")
        rows.write.parquet(f"{folder}/events")
        run(folder)
        spark.read.parquet(f"{folder}/out").toPandas()
        list(learners(spark, f"{folder}/checkpoint", MODEL, **COLUMNS))
        predict_and_learn(rows, MODEL, order="t", **COLUMNS).toPandas()
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


def run(folder: str) -> None:
    events = session().readStream.option("maxFilesPerTrigger", 1)
    events = events.schema("sensor int, t int, a double, b double, c double, y double")
    rows = predict_and_learn(events.parquet(f"{folder}/events"), MODEL, order="t", **COLUMNS)
    query = rows.select("sensor", "t", "prediction").writeStream.trigger(availableNow=True)
    query.option("checkpointLocation", f"{folder}/checkpoint").start(
        f"{folder}/out"
    ).awaitTermination()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if sys.argv[1] == "--archive":
        write_archive(sys.argv[2])
    else:
        run(sys.argv[1])
