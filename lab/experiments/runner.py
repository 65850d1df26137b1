"""Runs an experiment in several processes, and goes on where an earlier start stopped."""

import multiprocessing
import os
import platform
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic

import numpy as np
import polars as pl

import hushrec
from hushrec.errors import ConfigError
from lab.experiments.results import Results
from lab.experiments.work import Bench, C, Work

_VERSIONS = {
    "hushrec": hushrec.__version__,
    "numpy": np.__version__,
    "python": platform.python_version(),
}
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass(frozen=True, slots=True)
class Done(Generic[C]):
    """A run that has ended.

    Attributes:
        case: which.
        error: why it failed; None if it did not.
    """

    case: C
    error: str | None


class Experiment(Generic[C]):
    """An experiment and its results.

    Args:
        work: what to run: a grid, say.
        out: the table of results.

    Raises:
        ConfigError: Two runs are the same, or the ratings cannot be read.

    Privacy: private. Nothing is charged, and errors are measured on held-out ratings.
    """

    def __init__(self, work: Work[C], out: Path) -> None:
        self._work, self._results = work, Results(out, work.columns())
        self._source = work.source()
        self.cases = {case.key(self._source): case for case in work.cases()}

    def missing(self) -> dict[str, C]:
        """The runs that are not there, and those that failed."""
        rows = self._results.rows()
        there = set(rows.filter(pl.col("error").is_null())["key"])
        return {key: case for key, case in self.cases.items() if key not in there}

    def run(self, workers: int = 1) -> Iterator[Done[C]]:
        """Make the missing runs. What is finished stays finished if this is stopped, in whatever way.

        Args:
            workers: number of processes, each with one thread for linear algebra; 1 runs them here.

        Yields:
            Each run as it ends.

        Raises:
            ConfigError: A process was killed, or the results cannot be written.
        """
        missing = self.missing()
        if not missing:
            return
        bench = self._work.bench()
        if workers == 1:
            bench.open()
            for key, case in missing.items():
                yield Done(case, _keep(bench, self._results, {"key": key, **self._source}, case))
            return
        with _one_thread_each(), _pool(min(workers, len(missing))) as pool:
            asked: dict[Future[str | None], C] = {
                pool.submit(_run, bench, self._results, {"key": key, **self._source}, case): case
                for key, case in missing.items()
            }
            try:
                for future in as_completed(asked):
                    yield Done(asked[future], future.result())
            except BrokenProcessPool:
                raise ConfigError(
                    "a process of the experiment ended by itself, most likely for lack of memory; start it "
                    "again with fewer --workers: what was finished is kept"
                ) from None

    def table(self) -> pl.DataFrame:
        """Everything that is finished, written as one table."""
        return self._results.merge(self._names())

    def _names(self) -> dict[str, str]:
        return {key: case.name for key, case in self.cases.items()}


def _keep(bench: Bench[C], results: Results, about: dict[str, str], case: C) -> str | None:
    """Measure a case and keep its rows; of one that fails, ``error`` says why."""
    _forget_peak()
    try:
        found = bench.measure(case)
    except Exception as error:  # whatever it is, the other runs go on
        found = [{"error": f"{type(error).__name__}: {error}"}]
    shared = {**case.coordinates(), **about, "peak_mb": _peak(), **_VERSIONS}
    results.add([{**shared, **row} for row in found])
    return found[0].get("error")


def _run(bench: Bench[C], results: Results, about: dict[str, str], case: C) -> str | None:
    return _keep(_opened(bench), results, about, case)


@cache
def _opened(bench: Bench[C]) -> Bench[C]:
    """Of a worker process: the first bench that equals this one, with what it has loaded."""
    bench.open()
    return bench


def _forget_peak() -> None:
    """Have Linux measure the largest resident size from here."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float | None:
    """Largest resident size of this process in MB; None where the system does not tell."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return None


def _start() -> None:
    """Prepare a worker process. It ends with its parent, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes: numba's and BLAS' threads do not survive a fork."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_start)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """An environment in which processes that are started use one thread."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
