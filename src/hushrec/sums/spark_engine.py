"""Sums over people in a Spark cluster: each block contributes where it is, and the driver gets the sums.

A task adds up its blocks in integers of its own, and hands them on as rows of a few MiB, because no row of
Spark may be wide. Rows of the same place are added in the cluster, so that the driver reads each sum once,
and one part of it at a time.

Spark may run a task again, or twice at once. Of such a task it hands on the rows of one attempt; so what
counts is returned as rows, and never added to anything in place. Each task also returns how often it added
each block, and ``total`` refuses sums to which a block was not added exactly once.

The cluster receives the functions with all that they hold: settings and released values. A grant,
a key, a ledger or its sums refuse to be sent.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hushrec.arrays import Ints, Shape
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.spark.people import SparkPeople, blocks_in
from hushrec.data.spark.session import contained
from hushrec.errors import DataError, HushrecError
from hushrec.privacy.accounting.plan import version
from hushrec.sums.engine import Engine

Batches = Iterable[Any]

CHUNK = 1 << 19
"""Integers in a row."""
_PARTITION = 1 << 26
"""Bytes of the sums in a partition that the driver reads."""
_SCHEMA = "sum int, start long, values binary"


class SparkRows(Engine[Any]):
    """Rows in a Spark cluster. Mapped values are computed again in every pass, where the rows are.

    Memory: each task holds all sums of a pass, 8 bytes an entry, and one block. So there are as many tasks
    as the cluster has cores, not as many as it has blocks. The driver holds the sums, and 64 MiB of rows.

    Args:
        source: the people.
        functions: what is made of each block, one function after the other.

    Privacy: private.
    """

    most_cells = 1 << 26  # 512 MiB in every task

    def __init__(self, source: SparkPeople, functions: tuple[Callable[[Any], Any], ...] = ()) -> None:
        self._source, self._functions = source, functions

    def blocks(self) -> Iterator[Any]:
        """Refuses: rows of a cluster stay there.

        Privacy: private.
        """
        yield self._source.gathered()

    def map(self, function: Callable[[Any], Any]) -> "SparkRows":
        """As in ``Engine``, computed again in every pass. Privacy: private."""
        return SparkRows(self._source, (*self._functions, function))

    def total(self, add: Callable[..., None], *shapes: Shape) -> list[Ints]:
        """As in ``Engine``.

        Privacy: private; the caller that measures knows the bound.
        """
        source = self._source
        every = (*shapes, source.n_blocks)
        # One further sum: how often each block was added.
        work = _Partial(source.domain, source.max_per_user, self._functions, add, every, version())
        sums = [np.zeros(shape, dtype=np.int64) for shape in every]
        contained(partial(_read, _add_up(source.frame, work, sum(one.size for one in sums)), sums))
        *values, times = sums
        if (times != 1).any():
            raise DataError(
                "Spark did not add every block of people exactly once; load the ratings again, from a source "
                "that stays the same, and report this if it happens again"
            )
        return values


def require_ready(source: AnyPeople) -> None:
    """Of people in Spark, read every block once, so that executors that cannot are noticed before a charge.

    Privacy: private.
    """
    if isinstance(source, SparkPeople):
        SparkRows(source).total(_add_nothing)


def _add_nothing(block: Any) -> None:
    """Add nothing."""


class _Partial:
    """Run a task: add up its blocks, and hand on the sums chunk by chunk.

    Privacy: private.
    """

    def __init__(
        self,
        domain: Domain,
        max_per_user: int | None,
        functions: Iterable[Callable[[Any], Any]],
        add: Callable[..., None],
        shapes: Iterable[Shape],
        version: str,
    ) -> None:
        self._domain, self._cap, self._functions = domain, max_per_user, functions
        self._add, self._shapes, self._version = add, shapes, version

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """From batches of blocks to batches of chunks."""
        if version() != self._version:
            raise DataError(
                "an executor of Spark has another version of hushrec than the driver; install the same one"
            )
        *sums, times = (np.zeros(shape, dtype=np.int64) for shape in self._shapes)
        for batch in batches:
            for number, block in blocks_in(batch, self._domain):
                part = block if self._cap is None else block.capped(self._cap)
                for function in self._functions:
                    part = function(part)
                self._add(part, *sums)
                times[number] += 1
        for number, values in enumerate((*sums, times)):
            yield from _chunks(number, values)


def _chunks(number: int, values: Ints) -> Iterator[Any]:
    flat = values.reshape(-1)
    for start in range(0, len(flat), CHUNK):
        # Zeros add nothing, so they need not travel.
        if (chunk := flat[start : start + CHUNK]).any():
            yield _batch(number, start, chunk)


def _batch(number: int, start: int, values: Ints) -> Any:
    import pyarrow as pa

    columns = [(number, pa.int32()), (start, pa.int64()), (values.astype("<i8").tobytes(), pa.binary())]
    arrays = [pa.array([value], kind) for value, kind in columns]
    return pa.record_batch(arrays, names=["sum", "start", "values"])


def _add_same_places(batches: Batches) -> Iterator[Any]:
    # The shuffle has brought all rows of a place to one task.
    totals: dict[tuple[int, int], Ints] = {}
    for batch in batches:
        for number, start, values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            array = np.frombuffer(values, dtype="<i8")
            if (number, start) in totals:
                totals[number, start] += array
            else:
                totals[number, start] = array.astype(np.int64)
    while totals:
        # Each is let go as it is handed on, so that nothing is held twice.
        place, array = totals.popitem()
        yield _batch(*place, array)


def _add_up(frame: Any, work: Callable[[Batches], Iterator[Any]], size: int) -> Any:
    """A frame of chunks, each place once, in partitions that the driver reads one after the other."""
    tasks = _cores(frame)
    chunks = max(-(-size // CHUNK), 1)
    parts = frame.coalesce(tasks).mapInArrow(_withhold_values(work), _SCHEMA)
    parts = parts.repartition(min(chunks, tasks), "sum", "start").mapInArrow(
        _withhold_values(_add_same_places), _SCHEMA
    )
    # Partitions are read one job after the other, so the sums are complete in the cluster before the first.
    return parts.repartition(-(-8 * size // _PARTITION), "sum", "start") if chunks > 1 else parts


def _cores(frame: Any) -> int:
    return contained(lambda: int(frame.sparkSession.sparkContext.defaultParallelism))


def _read(frame: Any, sums: list[Ints]) -> None:
    for row in frame.toLocalIterator():
        values = np.frombuffer(row["values"], dtype="<i8")
        start = row["start"]
        sums[row["sum"]].reshape(-1)[start : start + len(values)] += values


def _withhold_values(work: Callable[[Batches], Iterator[Any]]) -> Callable[[Batches], Iterator[Any]]:
    """The same work, whose errors hold no private value: Spark writes them into its logs."""
    return partial(_run_withholding, work)


def _run_withholding(work: Callable[[Batches], Iterator[Any]], batches: Batches) -> Iterator[Any]:
    try:
        yield from work(batches)
        return
    except HushrecError as error:
        message = str(error)
    except Exception as error:
        message = (
            f"adding up failed on an executor of Spark: {type(error).__name__} in {_place(error)}; more is "
            "withheld, because it may be private. If memory ran out, give the executors more; otherwise fit "
            "a few users in memory, which shows the whole error"
        )
    raise DataError(message)


def _place(error: BaseException) -> str:
    """Where in our own code it was raised."""
    trace, place = error.__traceback__, "code outside hushrec"
    while trace is not None:
        if (name := trace.tb_frame.f_globals.get("__name__", "")).startswith("hushrec."):
            place = f"{name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place
