"""One small Spark session for all tests, which writes nothing into the tree and shows nothing."""

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec


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
