"""A fit on a Spark cluster in which something goes wrong, in a process of its own; prints what came of it.

Run as ``python cluster.py MASTER FOLDER TROUBLE…``. The troubles, each of which happens once:

- ``killed while summing``: a task kills its executor when it has added one batch of blocks.
- ``killed while adding``: as above, when sums are added, so that finished sums of its are lost with it.
- ``failed``: a task fails when it has added one batch.
- ``failed at the end``: a task fails when it has handed on all its sums.
- ``overtaken``: a task waits until Spark has started it a second time elsewhere.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import psutil

from hushrec.data.spark import people as on_spark
from hushrec.data.spark.people import _add_same_places, _Adding

FIT = ("CovarianceSVD", ("user", "add-remove"))
RIGHT = _Adding
WAIT = 120
"""Seconds after which a task no longer waits to be overtaken."""


def once(marker):
    """Whether this is the first call, of all machines and attempts."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def kill_executor():
    java = next(parent for parent in psutil.Process().parents() if parent.name() == "java")
    os.kill(java.pid, signal.SIGKILL)


def wait_for(marker):
    until = time.monotonic() + WAIT
    while not Path(marker).exists() and time.monotonic() < until:
        time.sleep(0.05)


class Troubled(_Adding):
    """Adds up blocks, with trouble. It also counts blocks beside its sums, as nobody should."""

    def having(self, trouble, marker, counter):
        self.trouble, self.marker, self.counter = trouble, marker, counter
        return self

    def __call__(self, batches):
        if self.trouble == "overtaken":
            self.overtaken()
        yield from super().__call__(self.watched(batches))
        if self.trouble == "failed at the end" and once(self.marker):
            raise RuntimeError

    def watched(self, batches):
        for batch in batches:
            yield batch
            self.counter.add(batch.num_rows)
            if self.trouble == "killed while summing" and once(self.marker):
                kill_executor()
            if self.trouble == "failed" and once(self.marker):
                raise RuntimeError

    def overtaken(self):
        from pyspark import TaskContext

        task = TaskContext.get()
        if task.partitionId() == 0:
            if task.attemptNumber() == 0 and once(self.marker + ".waits"):
                wait_for(self.marker)
            elif task.attemptNumber() > 0:
                once(self.marker)


class TroubledAdder:
    """Adds chunks of the same place, and kills its executor."""

    def __init__(self, trouble, marker):
        self.trouble, self.marker = trouble, marker

    def __call__(self, batches):
        if self.trouble == "killed while adding" and once(self.marker):
            kill_executor()
        yield from _add_same_places(batches)


def main(master, folder, *troubles):
    from support.everywhere import made, world
    from support.spark import running, sent

    memory = world(300, 40, 4000)
    right, found = made(*FIT, memory), {}
    settings = {"spark_executor_memory": "512m", "spark_sql_execution_arrow_maxRecordsPerBatch": "1"}
    if "overtaken" in troubles:
        settings |= {"spark_speculation": "true", "spark_speculation_interval": "50ms"}
        settings |= {"spark_speculation_quantile": "0.5", "spark_speculation_multiplier": "1.1"}
    with running(master, **settings) as session, sent(session, memory, 8) as there:
        for trouble in troubles:
            marker, counter = str(Path(folder).absolute() / trouble), session.sparkContext.accumulator(0)
            passes = []

            def work(*given, having=(trouble, marker, counter), passes=passes):
                passes.append(given)
                return Troubled(*given).having(*having)

            on_spark._Adding, on_spark._add_same_places = work, TroubledAdder(trouble, marker)
            same = made(*FIT, there) == right
            happened, blocks = Path(marker).exists(), len(passes) * there.n_blocks
            found[trouble] = {"same": same, "happened": happened, "blocks": blocks, "counted": counter.value}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
