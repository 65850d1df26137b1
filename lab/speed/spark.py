"""Loading into Spark, and fits from memory, a folder and Spark, on the same ratings and machine.

Loading is beside Spark's own reading, filtering and grouping by person of the same text, fits are beside
Spark's own ALS.

``python -m lab bench spark [MILLIONS OF RATINGS …]``, by default 1, 10 and 100. Seconds are of a whole
seeded fit, whose release must have the same bytes from each place; the ratings are in Spark before, for ALS
too.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench import report

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


def processor():
    """Seconds of processor of this process and of each living child, by process."""
    spent = {}
    for one in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            spent[one.pid] = times.user + times.system
    return spent


def timed(action):
    """Seconds, and those of processor; idle workers that end meanwhile do not count."""
    start, before = time.perf_counter(), processor()
    action()
    spent = sum(after - before.get(pid, 0.0) for pid, after in processor().items())
    return time.perf_counter() - start, spent


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
    theirs_s, theirs_cpu = timed(theirs.count)
    theirs.unpersist()
    kept = []
    ours_s, ours_cpu = timed(lambda: kept.append(hr.load(str(source), domain, where="spark")))
    note = f"{ours_cpu:.0f} and {theirs_cpu:.0f} s of processor"
    peer = {"peer": "Spark's read, filter and group", "theirs": theirs_s, "mark": "≥ 0.333 ×"}
    report("Spark", "loading", size_told, "s", ours_s, amount=n, note=note, **peer)
    return kept.pop()


def fit(source, config):
    return hr.testing.fit(source, config, BUDGET, entropy=hr.testing.Seeded(1)).to_bytes()


class Fits:
    """Whole fits, reported beside Spark's ALS, their releases compared between places."""

    def __init__(self, n, size_told):
        self.n, self.size_told = n, size_told
        self.als, self.releases = None, {}

    def report(self, name, where, action):
        seconds, spent = timed(action)
        note = f"{spent:.1f} s of processor"
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


def measured(spark, folder, n):
    made = hr.synthetic.netflix_like(min(n // 160, 480_189), min(17_770, 1000 + n // 1000), n, 1)
    size_told = f"{len(made.items) / 1e6:.1f} M ratings, {made.domain.n_items:,} items"
    domain = made.domain
    source, numbers, files = written(made, folder)
    fits = Fits(n, size_told)
    fits.als = fits.report(f"Spark's ALS, rank {RANK}, {ITERATIONS} iterations", "Spark", als(spark, numbers))
    fits.of(made, "memory")
    with loaded(spark, source, domain, n, size_told) as there:
        fits.of(files, "a folder")
        fits.of(there, "Spark")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("millions", type=float, nargs="*", default=[1, 10, 100], help="of ratings")
    millions = parser.parse_args().millions
    with tempfile.TemporaryDirectory(prefix="hushrec-spark-") as folder:
        spark = session(folder)
        with tempfile.TemporaryDirectory(dir=folder) as of_few:
            warmed(spark, Path(of_few))
        for size in millions:
            with tempfile.TemporaryDirectory(dir=folder) as of_size:
                measured(spark, Path(of_size), round(size * 1e6))
        spark.stop()


if __name__ == "__main__":
    main()
