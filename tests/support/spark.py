"""One small Spark session for all tests, which writes nothing into the tree and shows nothing."""

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec

from hushrec.data.dropped import Dropped


def missing():
    """Why there is no Spark on this machine, or None."""
    if find_spec("pyspark") is None:
        return "no pyspark in this environment; install it with pip install 'hushrec[spark]'"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "no Java on this machine; install it (Debian: apt-get install default-jre-headless)"
    return None


@contextmanager
def running(master="local[2,4]", **settings):
    """A session, stopped at the end.

    Args:
        master: where it runs; by default here on two cores, where a task may fail three times.
        settings: of Spark, by name, with ``_`` in place of ``.``.
    """
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="hushrec-spark-") as folder:
        fixed = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
            "spark.local.dir": folder,
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(master).appName("hushrec tests")
        for name, value in (
            fixed | {name.replace("_", "."): value for name, value in settings.items()}
        ).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()


def sent(session, source, n_blocks=1):
    """People in memory, or several of disjoint users, sent to the cluster, each in about so many blocks."""
    from hushrec.data.people import People
    from hushrec.data.spark.people import SparkPeople, table_of, to_row

    sources = [source] if isinstance(source, People) else [*source]
    size = max(max(people.n_entries for people in sources) // n_blocks, 1)
    blocks = [block for people in sources for block in people.cuts(size)]
    rows = session.createDataFrame(table_of(to_row(block, part) for part, block in enumerate(blocks)))
    rows = rows.repartitionById(len(blocks) or 1, "part")
    made = SparkPeople.keeping(rows, sources[0].domain, sources[0].has_personal_epsilon)
    return replace(made, dropped=sum((people.dropped for people in sources), Dropped()))
