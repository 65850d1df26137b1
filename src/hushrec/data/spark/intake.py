"""Loading in Spark: records are cleaned in place, sent once, and put together by person.

Each batch of records is cleaned by the rules of ``hushrec.load``, and its clean records are cut into parts by
a hash of their user's id. Spark sends the pieces of a part to one place, where they become blocks. Rows of
their own count dropped records: Spark may run a task twice, but it takes its rows once.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

from hushrec.data.cleaning import Batch, Cleaner, assemble
from hushrec.data.domain import Domain
from hushrec.data.losses.dropped import Dropped
from hushrec.data.packed.partitions import of_bytes, split, to_bytes
from hushrec.data.readers.columns import NONE
from hushrec.data.readers.dataframes import from_table, joined
from hushrec.data.reading import Columns
from hushrec.data.spark.packed_rows import RATINGS_PER_ROW, SCHEMA, counted, counts_in, table_of, to_row
from hushrec.data.spark.records import empty_of, of_roles, opened
from hushrec.data.spark.session import contained
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import DataError
from hushrec.progress import stage

_RECORDS = 1 << 19  # in a part, about: chosen by hand
_MOST = 1 << 12  # parts: chosen by hand
_PIECES = (
    "part int, names binary, users binary, items binary, values binary, timestamps binary, "
    "personal_epsilon binary, "
    "dropped binary"
)
"""A piece of a part: the arrays of a ``Batch`` as bytes; or counts alone, where ``names`` is null."""

__all__ = ["load_spark"]


def load_spark(
    source: Any, domain: Domain, *, columns: Columns = NONE, parts: int | None = None
) -> SparkFeedback:
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
    records, intake = opened(source), Cleaner(domain)
    frame = of_roles(records, columns, intake.roles)
    for empty in from_table(empty_of(frame, records.name), NONE, intake.roles):
        intake.batches(empty, records.name)  # which refuses types that cannot hold ids or ratings
    with stage("loading into Spark"):
        n = parts or min(contained(frame.count) // _RECORDS + 1, _MOST)
        pieces = frame.mapInArrow(partial(_cleaned, domain=domain, parts=n), _PIECES)
        together = pieces.repartitionById(n, "part")
        assembled = partial(
            _assembled, domain=domain, personal_epsilon=intake.has_personal_epsilon, timed=intake.timed
        )
        return SparkFeedback.keeping(
            together.mapInArrow(assembled, SCHEMA), domain, intake.has_personal_epsilon
        )


def _cleaned(batches: Iterator[Any], domain: Domain, parts: int) -> Iterator[Any]:
    """Yield pieces of parts from the records of one task, then a row with the counts of dropped records."""
    intake = Cleaner(domain)
    for records in joined(batches):  # each piece is a row of the shuffle
        for table in from_table(records, NONE, intake.roles):
            for batch in intake.batches(table, "the table"):
                for part, piece in split(batch, parts):
                    yield from table_of([{"part": part, **to_bytes(piece)}], _PIECES).to_batches()
    yield from table_of([{"part": 0, "dropped": counted(intake.dropped)}], _PIECES).to_batches()


def _assembled(
    batches: Iterator[Any], domain: Domain, *, personal_epsilon: bool, timed: bool
) -> Iterator[Any]:
    """Yield blocks of the parts that come to one task, and the counts of dropped records."""
    pieces: defaultdict[int, list[Batch]] = defaultdict(list)
    dropped: defaultdict[int, Dropped] = defaultdict(Dropped)
    for batch in batches:
        for row in batch.to_pylist():
            if row["names"] is None:
                dropped[row["part"]] += counts_in(row["dropped"])
            else:
                pieces[row["part"]].append(of_bytes(row))
    for part in sorted({*pieces, *dropped}):
        people = assemble(
            pieces.pop(part, []), domain, dropped[part], personal_epsilon=personal_epsilon, timed=timed
        )
        rows: list[dict[str, Any]] = [{"part": part, "cut": 0, "dropped": counted(people.dropped)}]
        yield from table_of(rows).to_batches()
        for cut, block in enumerate(people.cuts(RATINGS_PER_ROW)):
            yield from table_of([to_row(block, part, cut)]).to_batches()
