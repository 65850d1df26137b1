"""Records in Spark (a DataFrame, a table, files), cleaned in place and put together by person.

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
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hushrec.data.assemble import in_memory
from hushrec.data.clean import Cleaner, require_readable, roles_of
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.people import People
from hushrec.data.readers.columns import Roles, by_name
from hushrec.data.readers.duck import NOT_UTF8
from hushrec.data.readers.scans import of_table
from hushrec.data.readers.sources import parts_of
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
        source: a DataFrame of Spark, from any of its readers; the name of a table or view in its
            catalogue; or one or several paths that it reads: Parquet, or text with a header if the name ends
            in ``.csv`` or ``.tsv``. Names of folders, ``year=2024``, are columns of text.
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
    records, roles = opened(source), roles_of(domain)
    frame = of_roles(records, columns, roles)
    empty = of_table(empty_of(frame, records.name), "empty", {}, roles, records.name)  # refuses wrong types
    with stage("loading into Spark"):
        try:
            n = parts or min(contained(frame.count) // _RECORDS + 1, _MOST)
            cleaned = partial(_cleaned, domain=domain, parts=n, text=bool(records.text))
            together = frame.mapInArrow(cleaned, _PIECES).repartitionById(n, "part")
            assembled = partial(_assembled, domain=domain, present=empty.roles)
            asks = "personal_epsilon" in empty.roles
            return SparkPeople.keeping(together.mapInArrow(assembled, SCHEMA), domain, asks)
        except DataError:
            _require_strict(records.text)  # which names the file and the row that Spark does not name
            raise


def _require_strict(paths: Iterable[str]) -> None:
    """Read files of text that this machine sees as ``hushrec.load`` does, to refuse what cannot be read."""
    for path in paths:
        if Path(path).exists():
            require_readable(parts_of(path, PLAIN))


def _cleaned(batches: Iterable[Any], domain: Domain, parts: int, text: bool) -> Iterator[Any]:
    """Yield pieces of parts from the records of one task, then a row with the counts of dropped records."""
    first = next(batches := iter(batches), None)
    if first is None:
        return
    cleaner, all_batches = Cleaner(domain, threads=1), chain([first], batches)
    checked = (_require_utf8(batch) for batch in all_batches) if text else all_batches
    stream = pa.RecordBatchReader.from_batches(first.schema, checked)
    cleaner.clean([of_table(stream, "records_of_task", {}, cleaner.roles)], {})
    for part, records in cleaner.parts(parts):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, records.schema) as writer:
            writer.write_table(records)
        piece = {"part": part, "records": sink.getvalue().to_pybytes()}
        yield from table_of([piece], _PIECES).to_batches()
    yield from table_of([{"part": 0, "dropped": counted(cleaner.dropped())}], _PIECES).to_batches()


def _require_utf8(batch: Any) -> Any:
    """Refuse text in which Spark has replaced what is not UTF-8."""
    for column in batch.columns:
        if pc.any(pc.match_substring(column, "\N{REPLACEMENT CHARACTER}")).as_py():
            raise DataError(f"a file of text is {NOT_UTF8}")
    return batch


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


_TEXT = {".csv": ",", ".tsv": "\t"}
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


class Records(NamedTuple):
    """A source that Spark has opened.

    Attributes:
        frame: a Spark DataFrame.
        name: its name in errors.
        text: the paths of its files, if they are text.

    Privacy: private.
    """

    frame: Any
    name: str
    text: tuple[str, ...] = ()


def is_frame(source: Any) -> bool:
    """Return True if a source is a DataFrame of Spark. Privacy: public."""
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


def opened(source: Any) -> Records:
    """Open a DataFrame, a table, or files; only their structure is read.

    Args:
        source: a Spark DataFrame; the name of a table or view of the session's catalogue; or a path, or
            several, of files or folders. Names ending in ``.csv`` or ``.tsv``, also before ``.gz``, are text
            with a header, all others Parquet. Names of folders, ``year=2024``, are columns of text.

    Privacy: private.
    """
    if is_frame(source):
        if source.isStreaming:
            raise DataError("this is a stream, which has no end; write it to a table, and load that")
        return Records(source, "the table")
    several = source if isinstance(source, list | tuple) else [source]
    if not several or not all(isinstance(path, str | Path) for path in several):
        raise DataError(
            "records in Spark are a DataFrame of Spark, the name of a table, or paths; load others with "
            "another where="
        )
    active = session()
    if isinstance(source, str) and _is_table(active, source):
        return Records(contained(lambda: active.table(source)), source)
    # Java does not follow a change of the working directory.
    return _read(active, [str(Path(path).absolute() if Path(path).exists() else path) for path in several])


def of_roles(records: Records, columns: Columns, roles: Roles) -> Any:
    """Select the columns with a role, under the names of the roles, as a DataFrame.

    Args:
        columns: role to column name; roles left out are recognised, as by ``hushrec.load``.

    Privacy: private.
    """
    from pyspark.sql import functions as sql

    frame = records.frame
    positions = by_name(columns, frame.columns, records.name, roles)
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


def _is_table(session: Any, name: str) -> bool:
    try:
        return bool(session.catalog.tableExists(name))
    except Exception:  # Spark cannot parse most paths as names
        return False


def _read(session: Any, paths: list[str]) -> Records:
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    for path in paths:
        if (Path(path) / "_delta_log").exists():
            raise DataError(
                f"{path} stores a Delta Lake table, whose files also hold deleted rows; read it with Spark's "
                "reader of such tables, and give the DataFrame"
            )
    kinds = {Path(path.removesuffix(".gz").rstrip("/")).suffix for path in paths}
    if len(kinds & {*_TEXT}) and len(kinds) > 1:
        raise DataError(f"{name}: files of several formats; give files of one format")
    separator = _TEXT.get(kinds.pop())
    try:
        with _folders_as_text(session):
            if separator is None:
                # Every file is asked for its columns: one that only some have may hold opt-outs.
                return Records(session.read.option("mergeSchema", True).parquet(*paths), name)
            # Without pruning, a line with a field too many or too few fails, in whichever column.
            strict = {"mode": "FAILFAST", "columnPruning": False, "enforceSchema": False}
            text = session.read.options(header=True, sep=separator, escape='"', **strict)
            return Records(text.csv(paths), name, tuple(paths))
    except Exception:  # which Spark's own classes do not tell from others
        pass
    raise DataError(
        f"{name} is neither a table of Spark's catalogue nor readable as "
        f"{'Parquet' if separator is None else 'text with a header'}; check the name, or open it with one of "
        "Spark's readers and give the DataFrame"
    )


@contextmanager
def _folders_as_text(session: Any) -> Iterator[None]:
    """Keep the names of folders as text: Spark would read ``user_id=007`` as the number 7."""
    before = session.conf.get(_INFERENCE)
    session.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        session.conf.set(_INFERENCE, before)
