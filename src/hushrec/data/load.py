"""Read ratings or interactions from files and tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.cleaning import Batch, Cleaner, assemble
from hushrec.data.domain import Domain
from hushrec.data.interactions import Interactions
from hushrec.data.ratings import Ratings
from hushrec.data.readers import formats
from hushrec.data.readers.columns import Columns, Roles
from hushrec.data.readers.databases.database import Database
from hushrec.data.readers.dataframes import from_table
from hushrec.data.readers.sources import Part, parts
from hushrec.errors import DataError
from hushrec.progress import Progress, share, telling
from hushrec.uris import scheme_of

MAX_BYTES = 16 << 30

__all__ = ["MAX_BYTES", "found", "load", "tables"]


def load(
    source: Any,
    domain: Domain,
    *,
    columns: Columns | None = None,
    format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> Ratings | Interactions:
    """Read what the domain declares, ratings or interactions, from files or tables, and clean it.

    *Structure* that cannot be read is an error: a damaged container, a missing column, a line with too few
    fields. *Content* never is: each record is repaired or dropped by a rule that looks at its own user alone,
    silently, and counted in ``dropped``, which is confidential. Of what is dropped, ``fit`` accepts a tenth.
    The rules:

    * Ids are text, never numbers: "007", "NA" and 2^53 + 1 are unchanged. User ids are normalised to
      Unicode NFC; empty ids, ids over 256 bytes and ids with NUL are dropped. So are items that are
      not in the catalogue and, if the domain has a roster, users who are not on it.
    * Ratings that are missing, unparsable, NaN or infinite are dropped; others are clamped to the scale and
      rounded to its nearest step.
    * If a user rated an item several times, the last by timestamp counts, then the largest.
    * If the domain declares ``likes``, items whose rating is then below the threshold are left out. This is
      not counted, as nothing is wrong with them.
    * Without a scale, a column ``rating`` is ignored, and several records of an item are one. If the domain
      declares ``counts``, they add up, up to the largest count: each record stands for 1, or for what its
      column ``count`` says, rounded to a whole number; counts that are below 1 or not finite are dropped.
    * Timestamps are dates, Unix seconds or ISO 8601 text, in UTC where they name no zone. They are clamped to
      [0, 2^40] seconds; one that is missing or cannot be read is 0. Both are counted.
    * If a column states the ε that each user requests, the smallest of all their records counts, dropped ones
      included. A record whose ε is missing, negative, infinite, or neither a number nor a class of the
      domain is dropped and requests 0, because data are never used at an ε that their user did not request.
    * An empty file is valid, though ``fit`` asks before it charges for it. So is one with more users than
      the domain declares (see ``exceeds_declared_users``), though ``fit`` asks above twice as many.

    Args:
        source: a path, a table, or a list of several of these. A path may be a pattern (``"ratings/*.csv"``),
            a folder of files of one format, a zip archive of text files, or files in one
            (``"all.zip/*/ratings.csv"``). Text files may be gzipped (``.gz``). A table is one of polars,
            pandas, pyarrow, DuckDB or another library that narwhals supports, in memory, lazy, or a
            stream. A ``Database`` is what a query of one returns.
        domain: the public domain.
        columns: which column holds what: by name, ``{"user_id": "who"}``, or, for text without a header, by
            position from 0, ``{"user_id": 0, "item_id": 1, "rating": 2}``. Usual names, such as
            ``userId`` and ``movieId``, need no mapping. ``count`` is how often an item was given, ``epsilon``
            the ε that a user requests, a number or one of ``domain.privacy_classes``.
        format: one of ``hushrec.data.readers.formats.FORMATS``; inferred from the file's name by default.
        separator: separator of csv and tsv, one character.
        decimal: decimal sign of csv and tsv, "." or ",".
        max_bytes: refuse a file, or a zip archive in total, that unpacks to more.
        progress: is told how far reading is, in hundredths of the files; see ``hushrec.progress``.

    Returns:
        ``Ratings`` or ``Interactions``; the order of the records does not matter.

    Raises:
        DataError: the structure cannot be read. Names the file, the row if known, and a fix; never a value.

    Privacy: private.
    """
    intake = Cleaner(domain)
    batches: list[Batch] = []
    with telling(progress):
        for table, name in tables(source, intake.roles, columns, format, separator, decimal, max_bytes):
            batches += intake.batches(table, name)
    return assemble(batches, domain, intake.dropped, asks=intake.asks, timed=intake.timed)


def tables(
    source: Any,
    roles: Roles,
    columns: Columns | None,
    format: str | None,
    separator: str | None,
    decimal: str,
    max_bytes: int,
) -> Iterator[tuple[pl.DataFrame, str]]:
    """The tables of a source, with columns of these roles, each with its name; arguments as for ``load``.

    Privacy: private.
    """
    listed = found(source, format, max_bytes)
    sizes = [part.size if isinstance(part, Part) else 1 for part in listed]
    with share("reading") as read:
        for place, part in enumerate(listed):
            for table in _read(part, roles, columns, format, separator, decimal, max_bytes):
                yield table, _called(part)
            read.reach(sum(sizes[: place + 1]), sum(sizes) or 1)


def _called(part: Any) -> str:
    """What errors call a file, query or table. Privacy: public."""
    if isinstance(part, Database):
        return part.place
    return str(part.file) if isinstance(part, Part) else "the table"


def _read(
    part: Any,
    roles: Roles,
    columns: Columns | None,
    format: str | None,
    separator: str | None,
    decimal: str,
    max_bytes: int,
) -> Iterator[pl.DataFrame]:
    """The tables of one file, query or table."""
    if not isinstance(part, Part):
        if format is not None or separator is not None or decimal != ".":
            raise DataError("format=, separator= and decimal= go with a file, not with a table")
        if isinstance(part, Database):
            return part.tables(columns, roles)
        return from_table(part, columns, roles)
    return formats.read(
        part.file,
        part.format,
        columns=columns,
        separator=separator,
        decimal=decimal,
        max_bytes=max_bytes,
        roles=roles,
        constants=part.constants,
    )


def found(source: Any, format: str | None = None, max_bytes: int = MAX_BYTES) -> list[Any]:
    """The files and tables of a source: a ``Part`` for each file, and each table or query as it is.

    Args:
        source, format, max_bytes: as for ``load``.

    Privacy: public.
    """
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise DataError("there is no file to read; name one or more")
    listed: list[Any] = []
    for one in sources:
        if isinstance(one, str) and scheme_of(one):  # which may hold a password
            raise DataError(
                "this is the address of a database: say what to read there by a SELECT, in "
                "hushrec.Database(address, query), or with --query on the command line"
            )
        listed += parts(one, format, max_bytes) if isinstance(one, str | Path) else [one]
    seen: set[tuple[Path, str]] = set()
    for file in (part.file for part in listed if isinstance(part, Part)):
        path, inside = (file, "") if isinstance(file, Path) else (file.archive, file.info.filename)
        if (place := (path.resolve(), inside)) in seen:
            raise DataError(f"{file} is named twice, so its records would count twice; name each file once")
        seen.add(place)
    return listed
