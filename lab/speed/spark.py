"""Loading into Spark, and fits from memory, a folder and Spark, on the same ratings and machine.

Loading is beside Spark's own reading, filtering and grouping by person of the same text, fits are beside
Spark's own ALS.

``python -m lab bench spark [MILLIONS OF RATINGS …]``, by default 1, 10 and 100. Seconds are of a whole
seeded fit, whose release must have the same bytes from each place; the ratings are in Spark before, for ALS
too. Bytes of the shuffle come from Spark's event log, peaks of memory from looks at the processes every tenth
of a second: in memory, the driver's is with the ratings.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from rows import report

import hushrec as hr

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
        "spark.driver.memory": "8g",
        "spark.eventLog.compress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": folder,
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
    """Seconds of processor of this process and of each living child, by process."""
    spent = {}
    for one in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            spent[one.pid] = times.user + times.system
    return spent


def timed(action):
    """Seconds, those of processor, and peaks of memory; idle workers that end meanwhile do not count."""
    start, before = time.perf_counter(), processor()
    with Peaks() as peaks:
        action()
    spent = sum(after - before.get(pid, 0.0) for pid, after in processor().items())
    return time.perf_counter() - start, spent, peaks.found


def als(spark, source):
    from pyspark.ml.recommendation import ALS

    frame = spark.read.parquet(str(source)).repartition(CORES).persist()
    frame.count()

    def learn():
        ALS(rank=RANK, maxIter=ITERATIONS, userCol="user", itemCol="item", seed=1).fit(frame)
        frame.unpersist()

    return learn


def grouped(spark, source, domain):
    """The people of a file of text, as Spark groups them."""
    from pyspark.sql import functions as sql

    text = spark.read.options(header=True, escape='"', enforceSchema=False).csv(str(source))
    low, high, _ = domain.scale
    kept = text.where(sql.col("rating").cast("double").between(low, high))
    people = kept.groupBy("user_id").agg(sql.collect_list(sql.struct("item_id", "rating")))
    return people.persist()


def written(made, folder):
    """Write ratings as text in random order, as numbers for ALS, and as a folder of people."""
    source, numbers = folder / "records.csv", folder / "numbers.parquet"
    pl.DataFrame(made.table()).sample(fraction=1.0, shuffle=True, seed=1).write_csv(source)
    columns = [made.user_index().astype("i4"), made.items, made.numbers().astype("f4")]
    pq.write_table(pa.table(dict(zip(("user", "item", "rating"), columns, strict=True))), numbers)
    return source, numbers, hr.load(made.table(), made.domain, where=folder / "blocks")


def loaded(spark, source, domain, n, size_told):
    """Load a file of text into Spark, and report; first as Spark does it itself."""
    theirs = grouped(spark, source, domain)
    theirs_s, theirs_cpu, _ = timed(theirs.count)
    theirs.unpersist()
    kept = []
    ours_s, ours_cpu, peaks = timed(lambda: kept.append(hr.load(str(source), domain, where="spark")))
    note = f"{ours_cpu:.0f} and {theirs_cpu:.0f} s of processor, workers {peaks['workers']:.2f} GB"
    peer = {"peer": "Spark's read, filter and group", "theirs": theirs_s, "mark": "≥ 0.333 ×"}
    report("Spark", "loading", size_told, "s", ours_s, amount=n, note=note, **peer)
    return kept.pop()


def fit(source, config):
    return hr.testing.fit(source, config, BUDGET, entropy=hr.testing.Seeded(1)).to_bytes()


class Fits:
    """Whole fits, reported beside Spark's ALS, their releases compared between places."""

    def __init__(self, log, n, size_told):
        self.log, self.n, self.size_told = log, n, size_told
        self.als, self.releases = None, {}

    def report(self, name, where, action):
        place = shuffled(self.log, 0)[2]
        seconds, spent, peaks = timed(action)
        wrote, read, _ = shuffled(self.log, place)
        note = f"driver {peaks['driver']:.2f} GB, {spent:.1f} s of processor"
        if where == "Spark":
            note += f", JVM {peaks['JVM']:.2f} GB, workers {peaks['workers']:.2f} GB"
            note += f", shuffle {wrote / 1e6:.1f} MB written, {read / 1e6:.1f} MB read"
        peer = {} if self.als is None else {"peer": "Spark's ALS", "theirs": self.als}
        report("Spark", f"{name}: {where}", self.size_told, "s", seconds, amount=self.n, note=note, **peer)
        return seconds

    def of(self, source, where):
        for name, config in MODELS.items():

            def fitted(name=name, config=config):
                made = fit(source, config)
                if self.releases.setdefault(name, made) != made:
                    raise SystemExit(f"{name}: the release from {where} has other bytes")

            self.report(name, where, fitted)


def warmed(spark, folder):
    """Start workers and compile everything on few ratings."""
    made = hr.synthetic.netflix_like(500, 200, 50_000, 0)
    source, numbers, files = written(made, folder)
    grouped(spark, source, made.domain).count()
    als(spark, numbers)()
    with hr.load(str(source), made.domain, where="spark") as there:
        for config in MODELS.values():
            for place in (made, files, there):
                fit(place, config)


def measured(spark, log, folder, n):
    made = hr.synthetic.netflix_like(min(n // 160, 480_189), min(17_770, 1000 + n // 1000), n, 1)
    size_told = f"{len(made.items) / 1e6:.1f} M ratings, {made.domain.n_items:,} items"
    domain = made.domain
    source, numbers, files = written(made, folder)
    fits = Fits(log, n, size_told)
    fits.als = fits.report(f"Spark's ALS, rank {RANK}, {ITERATIONS} iterations", "Spark", als(spark, numbers))
    fits.of(made, "memory")
    del made  # so that it does not count as memory of the others
    with loaded(spark, source, domain, n, size_told) as there:
        fits.of(files, "a folder")
        fits.of(there, "Spark")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("millions", type=float, nargs="*", default=[1, 10, 100], help="of ratings")
    millions = parser.parse_args().millions
    with tempfile.TemporaryDirectory(prefix="hushrec-spark-") as folder:
        spark = session(folder)
        (log,) = (path for path in Path(folder).iterdir() if path.is_file())
        with tempfile.TemporaryDirectory(dir=folder) as of_few:
            warmed(spark, Path(of_few))
        for size in millions:
            with tempfile.TemporaryDirectory(dir=folder) as of_size:
                measured(spark, log, Path(of_size), round(size * 1e6))
        spark.stop()


if __name__ == "__main__":
    main()
