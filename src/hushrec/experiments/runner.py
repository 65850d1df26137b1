"""Runs a grid in several processes, and goes on where an earlier start stopped."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from hushrec.errors import ConfigError
from hushrec.experiments.case import Case
from hushrec.experiments.grid import Grid
from hushrec.experiments.measure import Bench
from hushrec.experiments.results import Results
from hushrec.experiments.source import Data, Split

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass(frozen=True, slots=True)
class Done:
    """A run that has ended.

    Attributes:
        case: which.
        error: why it failed; None if it did not.
    """

    case: Case
    error: str | None


class Experiment:
    """A grid and its results.

    Args:
        grid: what to run.
        out: the table of results.

    Raises:
        ConfigError: Two runs are the same, or the ratings cannot be read.

    Privacy: private. Nothing is charged, and errors are measured on held-out ratings.
    """

    def __init__(self, grid: Grid, out: Path) -> None:
        self._grid, self._results = grid, Results(out)
        self._source = {
            "splits": str(grid.split),
            "data": grid.data.digest(),
            "domain": grid.data.domain_of().digest,
        }
        self.cases = {case.key(self._source): case for case in grid.cases()}

    def missing(self) -> dict[str, Case]:
        """The runs that are not there, and those that failed."""
        rows = self._results.rows()
        there = set(rows.filter(pl.col("error").is_null())["key"])
        return {key: case for key, case in self.cases.items() if key not in there}

    def run(self, workers: int = 1) -> Iterator[Done]:
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
        if workers == 1:
            bench = Bench(self._grid.data, self._grid.split)
            for key, case in missing.items():
                yield Done(case, _keep(bench, self._results, {"key": key, **self._source}, case))
            return
        given = (self._grid.data, self._grid.split, self._results)
        with _one_thread_each(), _pool(min(workers, len(missing))) as pool:
            asked: dict[Future[str | None], Case] = {
                pool.submit(_run, *given, {"key": key, **self._source}, case): case
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

    def rows(self) -> pl.DataFrame:
        """Everything that is finished, also while another process goes on with the grid."""
        return self._results.named(self._names())

    def table(self) -> pl.DataFrame:
        """Everything that is finished, written as one table."""
        return self._results.merge(self._names())

    def _names(self) -> dict[str, str]:
        return {key: case.name for key, case in self.cases.items()}


def _keep(bench: Bench, results: Results, about: dict[str, str], case: Case) -> str | None:
    row = {**bench.measure(case), **about}
    results.add(row)
    return row.get("error")


_bench = cache(Bench)
"""Of a worker process: the ratings are loaded by its first run."""


def _run(data: Data, split: Split, results: Results, about: dict[str, str], case: Case) -> str | None:
    return _keep(_bench(data, split), results, about, case)


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
