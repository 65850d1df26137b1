"""The Spark session, active or new on this machine, and its failures."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from hushrec.errors import DataError

Result = TypeVar("Result")

_ELSEWHERE = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE")
"""Variables that spark-submit or an administrator sets to choose where and how Spark runs."""
_HERE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session on this machine."""

_OURS = re.compile(r"^hushrec\.errors\.DataError: (.+)$", re.MULTILINE)
"""An error of hushrec in a worker's output that Spark repeats."""


def session() -> Any:
    """Return the active Spark session, or a new one.

    A new one follows spark-submit, SPARK_REMOTE, SPARK_HOME or SPARK_CONF_DIR if there is any of them.
    Otherwise it runs on this machine alone, with all of its cores and this Python: it listens on no address
    but 127.0.0.1 and has no web page.

    Privacy: public.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError("Spark needs pip install 'hushrec[spark]', and Java 17 or newer") from None
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    builder = SparkSession.builder.appName("hushrec")
    if not any(name in os.environ for name in _ELSEWHERE):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # which no setting says as well
        for name, value in _HERE.items():
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception:  # which class depends on what fails: Java, its port, or the cluster
        pass
    raise DataError(
        "Spark does not start; install Java 17 or newer (Debian: apt-get install default-jre-headless) and "
        "set JAVA_HOME if it is not on the PATH, and check the address of the cluster if you name one"
    )


def contained(action: Callable[[], Result]) -> Result:
    """Run a job of Spark; if it fails, show only hushrec's own words: Spark's may hold cells.

    Privacy: private.
    """
    try:
        with _unlogged():
            return action()
    except DataError:
        raise
    except Exception as error:  # of Spark, of py4j, or of its sockets
        message = str(error)
    if (ours := _OURS.search(message)) is not None:
        raise DataError(ours[1])
    if "ModuleNotFoundError" in message:
        raise DataError(
            "a Python module is missing on an executor of Spark; install hushrec[spark] there, in the "
            "Python that PYSPARK_PYTHON names (docs/large.md says how)"
        )
    raise DataError(
        "Spark failed; the logs of its executors say where, and may hold cells: keep them private. "
        "If a cast or a file fails there, read the columns as text; if memory ran out, use more parts; if "
        "Spark was stopped or lost, start it again. The same call goes on under the same charge"
    )


@contextmanager
def _unlogged() -> Iterator[None]:
    """Silence pyspark's own messages to standard error when a job fails: they quote cells."""
    loggers = []
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
