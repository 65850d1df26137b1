"""Killed executors, tasks that fail and tasks that run twice change no bit of a release."""

import json
import os
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.spark import missing

pytestmark = [pytest.mark.spark, pytest.mark.full]
ROOT = Path(__file__).resolve().parents[2]
TROUBLES = ("failed", "failed at the end", "killed while summing", "killed while adding")


@pytest.fixture(scope="module", autouse=True)
def _installed():
    if reason := missing():
        pytest.skip(reason)


def told(master, folder, *troubles):
    """What came of each trouble, on two executors of one core each, in a process of its own."""
    script = ROOT / "tests" / "support" / "cluster.py"
    done = subprocess.run(
        [sys.executable, str(script), master, str(folder), *troubles],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def environment():
    """Variables by which workers find what is tested."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    more = {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **more}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return told("local-cluster[2,1,1024]", tmp_path_factory.mktemp("markers"), *TROUBLES)


@contextmanager
def deployed(program, host, folder, *more):
    """A master or a worker of a cluster, until the end; its output is in a file of the folder."""
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{program}", "--host", host, *more]
    settings = {"SPARK_HOME": str(home), "SPARK_WORKER_DIR": str(folder)}
    log = folder / f"{host}.log" if more[-1].startswith("spark:") else folder / "master.log"
    with log.open("wb") as file:
        running = subprocess.Popen(command, stdout=file, stderr=file, env=environment() | settings)
    try:
        yield log, running
    finally:
        running.terminate()
        running.wait()


def address(log, running):
    """The address that a master tells once it listens."""
    while running.poll() is None:
        if (told := re.search(r"spark://127\.0\.0\.1:\d+", log.read_text())) is not None:
            return told[0]
    raise AssertionError(log.read_text()[-3000:])


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_release_is_the_same_whatever_happens_to_executors(found, trouble):
    assert found[trouble]["happened"]
    assert found[trouble]["same"]


def test_what_is_counted_beside_the_rows_of_tasks_is_wrong(found):
    """Accumulators count blocks again whose sums were lost with their executor and made again."""
    more = {trouble: told["counted"] - told["blocks"] for trouble, told in found.items()}
    assert more["killed while adding"] > 0


def test_a_release_is_the_same_if_a_task_runs_twice_at_once(tmp_path):
    """Spark starts a second attempt on another host only, so each executor has an address of its own."""
    with ExitStack() as cluster:
        master = deployed("master.Master", "127.0.0.1", tmp_path, "--port", "0", "--webui-port", "0")
        url = address(*cluster.enter_context(master))
        for host in ("127.0.0.1", "127.0.0.2"):
            size = ("--cores", "1", "--memory", "700m", "--webui-port", "0")
            cluster.enter_context(deployed("worker.Worker", host, tmp_path, *size, url))
        found = told(url, tmp_path, "overtaken")
    assert found["overtaken"]["happened"]
    assert found["overtaken"]["same"]
