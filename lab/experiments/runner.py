"""Runs an experiment in several processes, and goes on where an earlier start stopped."""

import multiprocessing
import os
import platform
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import polars as pl

import hushrec
from hushrec.errors import ConfigError
from lab.experiments.results import Results

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


class Case(Protocol):
    """One run, as the runner sees it."""

    @property
    def name(self) -> str:
        """Of its curve: a label."""

    def coordinates(self) -> dict[str, Any]:
        """What its result depends on, by column."""

    def key(self, source: dict[str, str]) -> str:
        """Digest of the coordinates, the source and hushrec's version."""


C = TypeVar("C", bound=Case)
C_contra = TypeVar("C_contra", bound=Case, contravariant=True)


class Bench(Protocol[C_contra]):
    """A place to run cases: hashable, and small until ``open``, because it is sent to other processes."""

    def __hash__(self) -> int: ...

    def open(self) -> None:
        """Load what all cases need. An error here ends the experiment."""

    def measure(self, case: C_contra, /) -> list[dict[str, Any]]:
        """What the case comes to: its rows, without coordinates. An error here is the case's alone."""


class Work(Protocol[C]):
    """An experiment: a grid, or the runs of a reproduction."""

    def columns(self) -> dict[str, Any]:
        """Columns of the table and their types, ``key`` and ``error`` among them."""

    def source(self) -> dict[str, str]:
        """What all cases share, by column."""

    def cases(self) -> Sequence[C]:
        """Every run, in the order of the table."""

    def bench(self) -> Bench[C]:
        """Where they are run."""


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
    """

    def __init__(self, work: Work[C], out: Path) -> None:
        self._work, self._results = work, Results(out, work.columns())
        self._source = work.source()
        self.cases = {case.key(self._source): case for case in work.cases()}

    def missing(self) -> dict[str, C]:
        """The runs that are not there, and those that failed."""
        there = {key for key, rows in self._results.runs().items() if "error" not in rows[0]}
        return {key: case for key, case in self.cases.items() if key not in there}

    def run(self, workers: int = 1) -> Iterator[Done[C]]:
        """Make the missing runs. What is finished stays finished if this is stopped, in whatever way.

        Args:
            workers: number of processes, each with one thread for linear algebra; 1 runs them here.

        Yields:
            Each run as it ends.
        """
        missing = self.missing()
        for key, found in self._measured(missing, workers) if missing else ():
            shared = {**missing[key].coordinates(), "key": key, **self._source, **_VERSIONS}
            self._results.add([{**shared, **row} for row in found])
            yield Done(missing[key], found[0].get("error"))

    def _measured(self, missing: Mapping[str, C], workers: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        bench = self._work.bench()
        if workers == 1:
            bench.open()
            for key, case in missing.items():
                yield key, _tried(bench, case)
            return
        with _one_thread_each(), _pool(min(workers, len(missing))) as pool:
            asked = {pool.submit(_run, bench, case): key for key, case in missing.items()}
            try:
                for future in as_completed(asked):
                    yield asked[future], future.result()
            except BrokenProcessPool:
                raise ConfigError(
                    "a process of the experiment ended by itself, most likely for lack of memory; start it "
                    "again with fewer --workers: what was finished is kept"
                ) from None

    def table(self) -> pl.DataFrame:
        """Everything that is finished, written as one table."""
        return self._results.table({key: case.name for key, case in self.cases.items()})


def _tried(bench: Bench[C], case: C) -> list[dict[str, Any]]:
    """The rows of a case; of one that fails, ``error`` says why."""
    try:
        return bench.measure(case)
    except Exception as error:  # whatever it is, the other runs go on
        return [{"error": f"{type(error).__name__}: {error}"}]


def _run(bench: Bench[C], case: C) -> list[dict[str, Any]]:
    return _tried(_opened(bench), case)


@cache
def _opened(bench: Bench[C]) -> Bench[C]:
    """Of a worker process: the first bench that equals this one, with what it has loaded."""
    bench.open()
    return bench


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
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
