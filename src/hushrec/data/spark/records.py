"""Records in Spark (a DataFrame, or Parquet), cleaned in place and put together by person.

Each batch of records is cleaned by the rules of ``hushrec.load``, and its clean records are cut into parts by
a hash of their user's id. Spark sends the pieces of a part to one place, where they become blocks. Rows of
their own count dropped records: Spark may run a task twice, but it takes its rows once.

Privacy: paths, names and types of columns are public; cells are private.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from hushrec.data.assemble import in_memory
from hushrec.data.clean import Cleaner, roles_of
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.people import People
from hushrec.data.readers.columns import Roles, by_name
from hushrec.data.readers.scans import of_table
from hushrec.data.reading import PLAIN, Columns
from hushrec.data.spark.people import (
    RATINGS_PER_ROW,
    SCHEMA,
    SparkPeople,
    counted,
    counts_in,
    table_of,
    to_row,
)
from hushrec.data.spark.session import contained, session
from hushrec.errors import DataError
from hushrec.progress import stage

_RECORDS = 1 << 19  # in a part, about: chosen by hand
_MOST = 1 << 12  # parts: chosen by hand
_PIECES = "part int, records binary, dropped binary"
"""A piece of a part: a stream of Arrow with its clean records; or counts alone, where ``records`` is null."""


def load_spark(
    source: Any, domain: Domain, *, columns: Columns = PLAIN.columns, parts: int | None = None
) -> SparkPeople:
    """Read ratings or interactions, as the domain declares, in Spark; clean them and keep them there.

    The rules are those of ``hushrec.load``: the same records give the same people with the same rows and the
    same counts in ``dropped``, however Spark cuts the records and however often it repeats a task. Records
    never come to the driver.

    Args:
        source: a DataFrame of Spark, from any of its readers; or one or several paths of Parquet. Names of
            folders, ``year=2024``, are columns of text.
        domain: the public domain.
        columns: role to column name, such as ``{"user_id": "customer"}``. Usual names need no mapping.
        parts: into how many parts the people are cut, each of which is put together in the memory of one
            Python worker. By default one for about 524,288 records, which Spark counts first.

    Returns:
        the people. Use them in a ``with`` statement, at whose end the cluster lets go of them.

    Raises:
        DataError: the structure cannot be read, which is found before any job runs; or Spark fails.

    Privacy: private.
    """
    if parts is not None and not 1 <= parts <= _MOST:
        raise DataError(f"people are cut into 1 to {_MOST:,} parts; choose parts= in that range")
    (records, name), roles = opened(source), roles_of(domain)
    frame = of_roles(records, name, columns, roles)
    empty = of_table(empty_of(frame, name), "empty", {}, roles, name)  # refuses wrong types
    with stage("loading into Spark"):
        n = parts or min(contained(frame.count) // _RECORDS + 1, _MOST)
        cleaned = partial(_cleaned, domain=domain, parts=n)
        together = frame.mapInArrow(cleaned, _PIECES).repartitionById(n, "part")
        assembled = partial(_assembled, domain=domain, present=empty.roles)
        asks = "personal_epsilon" in empty.roles
        return SparkPeople.keeping(together.mapInArrow(assembled, SCHEMA), domain, asks)


def _cleaned(batches: Iterable[Any], domain: Domain, parts: int) -> Iterator[Any]:
    """Yield pieces of parts from the records of one task, then a row with the counts of dropped records."""
    first = next(batches := iter(batches), None)
    if first is None:
        return
    cleaner = Cleaner(domain, threads=1)
    stream = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
    cleaner.clean([of_table(stream, "records_of_task", {}, cleaner.roles)])
    for part, records in cleaner.parts(parts):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, records.schema) as writer:
            writer.write_table(records)
        piece = {"part": part, "records": sink.getvalue().to_pybytes()}
        yield from table_of([piece], _PIECES).to_batches()
    yield from table_of([{"part": 0, "dropped": counted(cleaner.dropped())}], _PIECES).to_batches()


def _assembled(batches: Iterable[Any], domain: Domain, *, present: set[str]) -> Iterator[Any]:
    """Yield blocks of the parts that come to one task, and the counts of dropped records."""
    pieces: defaultdict[int, list[Any]] = defaultdict(list)
    dropped: defaultdict[int, Dropped] = defaultdict(Dropped)
    for batch in batches:
        for row in batch.to_pylist():
            if row["records"] is None:
                dropped[row["part"]] += counts_in(row["dropped"])
            else:
                pieces[row["part"]].append(pa.ipc.open_stream(row["records"]).read_all())
    cleaner = Cleaner(domain, threads=1)
    for part in sorted({*pieces, *dropped}):
        blocks: Iterable[People] = ()
        if part in pieces:
            cleaner.take(pa.concat_tables(pieces.pop(part)), present)
            people = in_memory(cleaner, dropped[part])
            dropped[part], blocks = people.dropped, people.cuts(RATINGS_PER_ROW)
        rows: list[dict[str, Any]] = [{"part": part, "cut": 0, "dropped": counted(dropped[part])}]
        yield from table_of(rows).to_batches()
        for cut, block in enumerate(blocks):
            yield from table_of([to_row(block, part, cut)]).to_batches()


_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def is_frame(source: Any) -> bool:
    """Return True if a source is a DataFrame of Spark. Privacy: public."""
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


def opened(source: Any) -> tuple[Any, str]:
    """Open a DataFrame of Spark, or Parquet; only their structure is read. Return it with its name in errors.

    Privacy: private.
    """
    if is_frame(source):
        if source.isStreaming:
            raise DataError("this is a stream, which has no end; write it to a table, and load that")
        return source, "the table"
    several = source if isinstance(source, list | tuple) else [source]
    if not several or not all(isinstance(path, str | Path) for path in several):
        raise DataError(
            "records in Spark are a DataFrame of Spark, or paths of Parquet; load others with another where="
        )
    paths = [str(path) for path in several]
    for path in paths:
        if (Path(path) / "_delta_log").exists():
            raise DataError(
                f"{path} stores a Delta Lake table, whose files also hold deleted rows; read it with Spark's "
                "reader of such tables, and give the DataFrame"
            )
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    active = session()
    try:
        with _folders_as_text(active):
            # Every file is asked for its columns: one that only some have may hold opt-outs.
            return active.read.option("mergeSchema", True).parquet(*paths), name
    except Exception:  # which Spark's own classes do not tell from others
        pass
    raise DataError(
        f"{name} cannot be read as Parquet; check the name, or open it with one of Spark's readers, text "
        'with mode="FAILFAST", and give the DataFrame'
    )


def of_roles(frame: Any, name: str, columns: Columns, roles: Roles) -> Any:
    """Select the columns with a role, under the names of the roles, as a DataFrame.

    Args:
        frame: the DataFrame.
        name: its name in errors.
        columns: role to column name; roles left out are recognised, as by ``hushrec.load``.

    Privacy: private.
    """
    from pyspark.sql import functions as sql

    positions = by_name(columns, frame.columns, name, roles)
    # By position, because Spark reads dots and quotes in names, and does not tell A from a.
    placed = frame.toDF(*(f"column_{place}" for place in range(len(frame.columns))))
    return placed.select(*(sql.col(f"column_{place}").alias(role) for role, place in positions.items()))


def empty_of(frame: Any, name: str) -> Any:
    """Return an Arrow table of the columns of a DataFrame, without its rows; no job runs.

    Args:
        frame: the DataFrame.
        name: its name in errors.

    Privacy: public.
    """
    try:
        return frame.limit(0).toArrow()
    except Exception:  # Spark names its type, which need not be shown
        pass
    raise DataError(f"{name}: a column is of a type that Arrow lacks; cast ids to text, the rest to numbers")


@contextmanager
def _folders_as_text(session: Any) -> Iterator[None]:
    """Keep the names of folders as text: Spark would read ``user_id=007`` as the number 7."""
    before = session.conf.get(_INFERENCE)
    session.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        session.conf.set(_INFERENCE, before)
