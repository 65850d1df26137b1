"""Loading into Spark, and fits from memory, block files and Spark, on the same ratings and machine.

Loading is beside Spark's own reading, filtering and grouping by person of the same text, fits are beside
Spark's own ALS.

``python -m lab bench spark [MILLIONS OF RATINGS …]``, by default 1 and 10. Seconds are of a whole seeded
fit; the ratings are in Spark before, for ALS too. Bytes of the shuffle come from Spark's event log, peaks of
memory from looks at the processes every tenth of a second.
"""

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pyarrow as pa
from rows import report

import hushrec as hr
from hushrec.data.spark.intake import load_spark
from hushrec.data.spark.spark_feedback import SparkFeedback

BUDGET = hr.Budget(epsilon=4.0, delta=1e-7, unit="user", adjacency="add-remove")
CORES = 2
RANK, ITERATIONS = 20, 5
MODELS = {
    "CovarianceSVD": hr.CovarianceSVD(rank=RANK),
    "PosteriorMF, 10 rounds": hr.PosteriorMF(rank=RANK, epochs=10),
}


def session(folder):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.eventLog.compress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": folder,
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


class Peaks(threading.Thread):
    """Largest resident memory of this process, of the JVM, and of all Python workers together, in GB."""

    def __init__(self):
        super().__init__(daemon=True)
        self.found, self._done = {"driver": 0.0, "JVM": 0.0, "workers": 0.0}, threading.Event()

    def run(self):
        while not self._done.wait(0.1):
            now = {"driver": psutil.Process().memory_info().rss, "JVM": 0, "workers": 0}
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    now["JVM" if child.name() == "java" else "workers"] += child.memory_info().rss
            self.found = {name: max(self.found[name], value / 1e9) for name, value in now.items()}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self.join()


def shuffled(log, since):
    """Bytes that tasks wrote for a shuffle and read from one, and the log's length, from a place in it on."""
    wrote = read = 0
    text = log.read_bytes()[since:]
    text = text[: text.rfind(b"\n") + 1]  # the last line may not be complete
    for line in text.splitlines():
        if (event := json.loads(line))["Event"] == "SparkListenerTaskEnd":
            wrote += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            each = event["Task Metrics"]["Shuffle Read Metrics"]
            read += each["Local Bytes Read"] + each["Remote Bytes Read"]
    return wrote, read, since + len(text)


def processor():
    """Seconds of processor that this process and its living children took."""
    spent = 0.0
    for one in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            spent += times.user + times.system
    return spent


def timed(action):
    start, before = time.perf_counter(), processor()
    with Peaks() as peaks:
        action()
    return time.perf_counter() - start, processor() - before, peaks.found


def als(spark, ratings):
    from pyspark.ml.recommendation import ALS

    columns = [ratings.user_index(), ratings.items, ratings.values().astype("f4")]
    table = pa.table(dict(zip(("user", "item", "rating"), columns, strict=True)))
    frame = spark.createDataFrame(table).repartition(CORES).persist()
    frame.count()
    return lambda: ALS(rank=RANK, maxIter=ITERATIONS, userCol="user", itemCol="item", seed=1).fit(frame)


def grouped(spark, source, domain):
    """The people of a file of text, as Spark groups them."""
    from pyspark.sql import functions as sql

    text = spark.read.options(header=True, escape='"', enforceSchema=False).csv(str(source))
    low, high, _ = domain.scale
    kept = text.where(sql.col("rating").cast("double").between(low, high))
    people = kept.groupBy("user_id").agg(sql.collect_list(sql.struct("item_id", "rating")))
    return people.persist()


def loading(spark, made, source, size_told):
    """Both warm: the first of either starts workers and compiles."""
    for _ in range(2):
        theirs = grouped(spark, source, made.domain)
        theirs_s, theirs_cpu, _ = timed(theirs.count)
        theirs.unpersist()
        ours_s, ours_cpu, peaks = timed(lambda: load_spark(str(source), made.domain).__exit__())
    note = f"{ours_cpu:.0f} and {theirs_cpu:.0f} s of processor, workers {peaks['workers']:.2f} GB"
    peer = {"peer": "Spark's read, filter and group", "theirs": theirs_s, "mark": "≥ 0.333 ×"}
    report("Spark", "loading", size_told, "s", ours_s, amount=made.n_ratings, note=note, **peer)


def fitted(source, config):
    return lambda: hr.testing.fit(source, config, BUDGET, entropy=hr.testing.Seeded(1)).to_bytes()


def main(millions):
    with tempfile.TemporaryDirectory(prefix="hushrec-spark-") as folder:
        spark = session(folder)
        (log,) = (path for path in Path(folder).iterdir() if path.is_file())
        place = 0
        for size in millions:
            n = round(size * 1e6)
            made = hr.synthetic.netflix_like(n // 160, min(17_770, 1000 + n // 1000), n, 1)
            size_told = f"{len(made.items) / 1e6:.1f} M ratings, {made.domain.n_items:,} items"
            source = Path(folder) / f"records-{n}.csv"
            made.to_polars().sample(fraction=1.0, shuffle=True, seed=1).write_csv(source)
            loading(spark, made, source, size_told)
            source.unlink()
            files = hr.Blocks.write(made, Path(folder) / f"blocks-{n}")
            there = SparkFeedback.of(spark, made, n_blocks=8)
            learn = als(spark, made)
            runs = {"Spark's ALS, rank 20, 5 iterations": {"Spark": learn}}
            for name, config in MODELS.items():
                places = {"memory": made, "block files": files, "Spark": there}
                runs[name] = {where: fitted(source, config) for where, source in places.items()}
                fitted(hr.synthetic.netflix_like(50, 20, 300, 0), config)()  # compiles the kernels here
            fitted(there, hr.GlobalEffects())()  # starts the workers
            beside = None
            for name, places in runs.items():
                for where, action in places.items():
                    _, _, place = shuffled(log, place)
                    seconds, spent, peaks = timed(action)
                    wrote, read, place = shuffled(log, place)
                    beside = beside or seconds
                    note = f"driver {peaks['driver']:.2f} GB, {spent:.1f} s of processor"
                    if where == "Spark":
                        note += f", JVM {peaks['JVM']:.2f} GB, workers {peaks['workers']:.2f} GB"
                        note += f", shuffle {wrote / 1e6:.1f} MB written, {read / 1e6:.1f} MB read"
                    peer = {} if name.startswith("Spark") else {"peer": "Spark's ALS", "theirs": beside}
                    report("Spark", f"{name}: {where}", size_told, "s", seconds, amount=n, note=note, **peer)
            there.__exit__()
        spark.stop()


if __name__ == "__main__":
    main([float(given) for given in sys.argv[1:]] or [1, 10])
