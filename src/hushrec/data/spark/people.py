"""People whom a Spark cluster keeps, and sums over them: each block of people is one row of a DataFrame.

::

    part, cut     the part of the people that the block belongs to, and its place among the part's blocks
    users         ids of the block's users, UTF-8, one after the other; null if the row holds counts alone
    user_ends     where the first id starts, then where each ends, int64
    indptr        where each user's entries start, then where the last ones end, int64
    items         index in the catalogue, int32
    values        of ratings: steps above the bottom of the scale; of interactions: counts, uint8
    timestamps    int64
    personal_epsilon         the ε that each user requests, float64
    dropped       counts of records read, dropped or changed on the way to this row, int64, as in ``Dropped``

All but ``part`` and ``cut`` are bytes of little-endian arrays, null for absent ones. These are the
arrays of ``hushrec.data.folder``.

A task adds up its blocks in integers of its own, and hands them on as rows of a few MiB, because no row of
Spark may be wide. Rows of the same place are added in the cluster, so that the driver reads each sum once,
and one part of it at a time.

Spark may run a task again, or twice at once. Of such a task it hands on the rows of one attempt; so what
counts is returned as rows, and never added to anything in place. Each task also returns how often it added
each block, and ``total`` refuses sums to which a block was not added exactly once.

The cluster receives the functions with all that they hold: settings and released values. A grant,
a key, a ledger or its sums refuse to be sent.

Privacy: private.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrec.arrays import Ints, Shape
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.folder import TYPES, decoded
from hushrec.data.people import People, PublicFacts, Weigh, require_weighted
from hushrec.data.spark.session import contained
from hushrec.documents import html
from hushrec.errors import DataError, HushrecError
from hushrec.text import version, whole

RATINGS_PER_ROW = 1 << 20  # the most entries in a row: chosen by hand
SCHEMA = (
    "part int, cut int, users binary, user_ends binary, indptr binary, items binary, values binary, "
    "timestamps binary, personal_epsilon binary, dropped binary"
)
"""The schema, as Spark writes it."""
ARRAYS = tuple(TYPES)
Batches = Iterable[Any]

CHUNK = 1 << 19
"""Integers of a sum in a row."""
_PARTITION = 1 << 26
"""Bytes of the sums in a partition that the driver reads."""
_SUMS = "sum int, start long, values binary"


class StoredBlock(NamedTuple):
    """What is known of a block without reading it.

    Attributes:
        sha256: SHA-256 of each array's bytes.
    """

    users: int
    entries: int
    sha256: dict[str, str]


def to_row(block: People, part: int, cut: int = 0) -> dict[str, Any]:
    """Write a block as a row.

    Args:
        block: the people of the row.
        part, cut: its place among all rows.
    """
    arrays = {name: array.tobytes() for name, array in block.arrays()}
    return {"part": part, "cut": cut, **dict.fromkeys(ARRAYS), **arrays, "dropped": None}


def counted(dropped: Dropped) -> bytes:
    """Encode counts of dropped records."""
    return np.array(astuple(dropped), dtype="<i8").tobytes()


def counts_in(counts: bytes | None) -> Dropped:
    """Decode counts of dropped records."""
    return Dropped(*np.frombuffer(counts or b"", dtype="<i8").tolist())


def table_of(rows: Iterable[dict[str, Any]], schema: str = SCHEMA) -> Any:
    """Return rows as an Arrow table of a schema of integers and bytes."""
    fields = [field.split() for field in schema.split(", ")]
    types = {"int": pa.int32(), "binary": pa.binary()}
    return pa.Table.from_pylist([*rows], schema=pa.schema([(name, types[kind]) for name, kind in fields]))


def from_row(row: Mapping[str, Any], domain: Domain) -> People:
    """Read the block of a row; arrays are views of the row's bytes.

    Args:
        row: the arrays of the row by name, each as bytes, or as anything with the buffer protocol.
    """
    with suppress(ValueError, TypeError, DataError):
        arrays: dict[str, Any] = {name: _array(row[name], name) for name in ARRAYS}
        users = decoded(arrays.pop("users"), arrays.pop("user_ends"))
        return People(domain, users, **arrays)
    raise DataError("a row of people is damaged; load the ratings into Spark again")


def blocks_in(batch: Any, domain: Domain) -> Iterator[tuple[int, People]]:
    """Yield the blocks of an Arrow batch of rows, each with its number, decoded one at a time.

    Args:
        batch: a ``pyarrow.RecordBatch`` of the columns of ``SparkPeople.frame``.
    """
    for place, number in enumerate(batch.column("block").to_pylist()):
        yield number, from_row({name: batch.column(name)[place].as_buffer() for name in ARRAYS}, domain)


def _array(buffer: Any, name: str) -> NDArray[Any] | None:
    if buffer is None:
        return None
    dtype = np.dtype(TYPES[name])
    array = np.frombuffer(buffer, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)
    return np.require(array, requirements="A")  # a row may begin at any byte of a batch


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SparkPeople:
    """The ratings or interactions of a population in the memory and on the disks of a Spark cluster.

    Create them with ``hushrec.load``. The cluster lets go of them at the end of a ``with`` statement,
    or with its session. It reads and cleans a lost block again, so the source must not change.

    Attributes:
        domain: the public domain.
        frame: a DataFrame with a row for every block: ``block``, its number from 0, and the arrays of
            ``hushrec.data.spark.people``. Caps are not applied to it.
        dropped: how many records the loader read, and what it dropped or changed.
        max_per_user: the most entries of each user that count, None for all; applied where blocks are read.
        weigh: what maps the ε that users request to weights, None if all count in full; applied likewise.
        most_cells: integers that the sums of one pass should have at most: each task holds all of them, and
            one block. So there are as many tasks as the cluster has cores, not as many as it has blocks.

    Privacy: private. ``repr`` shows the domain, no counts.
    """

    domain: Domain
    frame: Any
    dropped: Dropped
    has_personal_epsilon: bool
    _kept: Any
    _parts: tuple[StoredBlock, ...]
    max_per_user: int | None = None
    weigh: Weigh | None = None
    most_cells: ClassVar[int | None] = 1 << 26  # 512 MiB in every task

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self._parts)

    @property
    def n_users(self) -> int:
        """Number of users with at least one item."""
        return sum(part.users for part in self._parts)

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions."""
        return sum(part.entries for part in self._parts)

    def capped(self, max_per_user: int) -> Self:
        """Keep at most ``max_per_user`` entries of each user, as ``People.capped`` does, while reading."""
        most = whole(max_per_user, "cap", 1, DataError)
        return replace(self, max_per_user=most if self.max_per_user is None else min(most, self.max_per_user))

    def with_weights(self, weigh: Weigh) -> Self:
        """Let people count by the ε that they request, as ``People.with_weights`` does, while reading."""
        return replace(self, weigh=weigh) if self.has_personal_epsilon else self

    @classmethod
    def keeping(cls, rows: Any, domain: Domain, personal_epsilon: bool) -> Self:
        """Compute rows of ``hushrec.data.spark.people`` once, and keep them in the cluster.

        Args:
            rows: a DataFrame.
            domain: the public domain.
            personal_epsilon: True if users request their own ε.

        Raises:
            DataError: Spark fails.
        """
        from pyspark.sql import functions as sql

        cached = rows.persist()
        places, parts, dropped = _listed(cached)
        first: dict[int, int] = {}
        for place, (part, _) in enumerate(places):
            first.setdefault(part, place)
        starts = sql.lit([first.get(part, 0) for part in range(max(first, default=0) + 1)])
        number = sql.get(starts, sql.col("part")) + sql.col("cut")
        people = cached.where(sql.col("users").isNotNull()).select(number.alias("block"), *ARRAYS)
        return cls(domain, people, dropped, personal_epsilon, cached, parts)

    @property
    def facts(self) -> PublicFacts:
        """The public facts, as in ``People``. Privacy: public."""
        return PublicFacts(self.domain, self.has_personal_epsilon, self.sums_only)

    @property
    def sums_only(self) -> bool:
        """True, because the rows stay in the cluster, as in ``People``."""
        return True

    @property
    def in_memory(self) -> bool:
        """False, as in ``People``."""
        return False

    def rows_held(self, gathered: bool) -> tuple[int, int]:
        """Return zeros: this machine's memory holds no rows."""
        return 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(DataError):  # Spark has stopped, and holds nothing any more
            contained(self._kept.unpersist)

    def blocks(self) -> Iterator[People]:
        """Yield the people block by block, each sent to this machine when it is needed.

        Raises:
            DataError: Spark fails.
        """
        rows = contained(self.frame.toLocalIterator)
        while (row := contained(lambda: next(rows, None))) is not None:
            yield self._counting.block(from_row(row.asDict(), self.domain))

    @property
    def _counting(self) -> "_Counting":
        return _Counting(self.domain, self.max_per_user, self.weigh)

    def total(self, add: Callable[..., None], *shapes: Shape, weighted: bool = False) -> list[Ints]:
        """Sum over all people, as ``People.total`` does: each block contributes where it is.

        Memory: each task holds all sums, 8 bytes an entry, and one block. The driver holds the sums, and 64
        MiB of rows.

        Raises:
            ValueError: people who have weights would count in full.
            DataError: a block was lost or added twice, or Spark fails.

        Privacy: private; the caller that measures knows the bound.
        """
        require_weighted(weighted, self.weigh is not None)
        every = (*shapes, self.n_blocks)
        work = _Adding(self._counting, add, every, version())
        sums = [np.zeros(shape, dtype=np.int64) for shape in every]
        contained(partial(_read, _add_up(self.frame, work, sum(one.size for one in sums)), sums))
        *values, times = sums
        if (times != 1).any():
            raise DataError(
                "Spark did not add every block of people exactly once; load the ratings again, from a source "
                "that stays the same, and report this if it happens again"
            )
        return values

    def require_ready(self) -> None:
        """Read every block once, so that executors that cannot are noticed before a charge.

        Privacy: private.
        """
        self.total(_nothing, weighted=True)

    def gathered(self) -> People:
        """Refuse to bring ratings in a cluster into the memory of one machine.

        Raises:
            DataError: always.
        """
        raise DataError(
            "this needs all ratings in the memory of one machine, but they are in a Spark cluster; choose a "
            "model that measures them where they are, or load them here with hushrec.load"
        )

    def verify(self) -> None:
        """Hash every block in the cluster, and compare with the loaded blocks.

        Raises:
            DataError: a block differs: it was lost, and its source has changed since. Or Spark fails.
        """
        if _listed(self._kept)[1] != self._parts:
            raise DataError(
                "the ratings in Spark are not what was loaded: their source has changed, and a part that was "
                "lost was read again; load them again, from a source that stays the same"
            )

    def digest(self) -> str:
        """Verify the blocks, and return the SHA-256, in hex, of domain, cap and all blocks.

        Raises:
            DataError: a block differs from what was loaded, or Spark fails.
        """
        self.verify()
        content = [
            self.domain.digest,
            self.max_per_user,
            self.has_personal_epsilon,
            [part.sha256 for part in self._parts],
        ]
        return hashlib.sha256(f"hushrec spark 2 {json.dumps(content, sort_keys=True)}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"SparkPeople({self.domain!r}, private)"

    def _repr_html_(self) -> str:
        return html.note("SparkPeople, private", repr(self.domain))


def _listed(kept: Any) -> tuple[list[tuple[int, int]], tuple[StoredBlock, ...], Dropped]:
    """List the places of blocks in ascending order, their facts, and the counts of dropped records."""
    from pyspark.sql import functions as sql

    hashes = [sql.sha2(name, 256).alias(name) for name in ARRAYS]
    sizes = [sql.length("user_ends").alias("ends"), sql.length("items").alias("entries")]
    rows = contained(lambda: kept.select("part", "cut", "dropped", *sizes, *hashes).collect())
    dropped = sum((counts_in(row.dropped) for row in rows), Dropped())
    people = sorted((row for row in rows if row.users is not None), key=lambda row: (row.part, row.cut))
    places = [(row.part, row.cut) for row in people]
    if len({*places}) < len(places):  # then a person may be in two blocks, and count twice
        raise DataError("Spark did not keep the people of a part together; load the ratings again")
    facts = [
        StoredBlock(row.ends // 8 - 1, row.entries // 4, {name: row[name] for name in ARRAYS if row[name]})
        for row in people
    ]
    return places, tuple(facts), dropped


def _nothing(block: Any) -> None:
    """Add nothing."""


class _Counting(NamedTuple):
    """How blocks are read."""

    domain: Domain
    max_per_user: int | None
    weigh: Weigh | None

    def block(self, people: People) -> People:
        """Return people as they count: capped, with weights."""
        part = people if self.max_per_user is None else people.capped(self.max_per_user)
        return part if self.weigh is None else part.with_weights(self.weigh)


@dataclass(eq=False)
class _Adding:
    """Run a task: add up its blocks, and hand on the sums chunk by chunk.

    Privacy: private.
    """

    counting: _Counting
    add: Callable[..., None]
    shapes: tuple[Shape, ...]
    version: str

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """From batches of blocks to batches of chunks."""
        if version() != self.version:
            raise DataError(
                "an executor of Spark has another version of hushrec than the driver; install the same one"
            )
        *sums, times = (np.zeros(shape, dtype=np.int64) for shape in self.shapes)
        for batch in batches:
            for number, block in blocks_in(batch, self.counting.domain):
                self.add(self.counting.block(block), *sums)
                times[number] += 1
        for number, values in enumerate((*sums, times)):
            yield from _chunks(number, values)


def _chunks(number: int, values: Ints) -> Iterator[Any]:
    flat = values.reshape(-1)
    for start in range(0, len(flat), CHUNK):
        if (chunk := flat[start : start + CHUNK]).any():
            yield _batch(number, start, chunk)


def _batch(number: int, start: int, values: Ints) -> Any:
    columns = [(number, pa.int32()), (start, pa.int64()), (values.astype("<i8").tobytes(), pa.binary())]
    arrays = [pa.array([value], kind) for value, kind in columns]
    return pa.record_batch(arrays, names=["sum", "start", "values"])


def _add_same_places(batches: Batches) -> Iterator[Any]:
    totals: dict[tuple[int, int], Ints] = {}
    for batch in batches:
        for number, start, values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            array = np.frombuffer(values, dtype="<i8")
            if (number, start) in totals:
                totals[number, start] += array
            else:
                totals[number, start] = array.astype(np.int64)
    while totals:
        place, array = totals.popitem()
        yield _batch(*place, array)


def _add_up(frame: Any, work: Callable[[Batches], Iterator[Any]], size: int) -> Any:
    """A frame of chunks, each place once, in partitions that the driver reads one after the other."""
    tasks = _cores(frame)
    chunks = max(-(-size // CHUNK), 1)
    parts = frame.coalesce(tasks).mapInArrow(_careful(work), _SUMS)
    parts = parts.repartition(min(chunks, tasks), "sum", "start").mapInArrow(
        _careful(_add_same_places), _SUMS
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


def _careful(work: Callable[[Batches], Iterator[Any]]) -> Callable[[Batches], Iterator[Any]]:
    """The same work, whose errors hold no private value: Spark writes them into its logs."""
    return partial(_told, work)


def _told(work: Callable[[Batches], Iterator[Any]], batches: Batches) -> Iterator[Any]:
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
