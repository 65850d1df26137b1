"""The tables of a source: of files and in memory, all with columns named by role.

Privacy: private; names of files are public.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.readers import formats
from hushrec.data.readers.columns import Roles
from hushrec.data.readers.dataframes import from_table
from hushrec.data.readers.sources import Part, parts
from hushrec.data.reading import Reading
from hushrec.errors import DataError
from hushrec.progress import fraction
from hushrec.uris import scheme_of

__all__ = ["parts_of", "tables"]


def tables(source: Any, roles: Roles, reading: Reading) -> Iterator[tuple[pl.DataFrame, str]]:
    """Yield a source's tables, with columns of these roles, and their names; arguments as for ``load``."""
    listed = parts_of(source, reading)
    sizes = [part.size if isinstance(part, Part) else 1 for part in listed]
    with fraction("reading") as read:
        for place, part in enumerate(listed):
            for table in _read(part, roles, reading):
                yield table, _called(part)
            read.reach(sum(sizes[: place + 1]), sum(sizes) or 1)


def _called(part: Any) -> str:
    """Return the name of a file or table in errors. Privacy: public."""
    return str(part.file) if isinstance(part, Part) else "the table"


def _read(part: Any, roles: Roles, reading: Reading) -> Iterator[pl.DataFrame]:
    """Yield the tables of one file or table."""
    if isinstance(part, Part):
        return formats.read(part.file, part.format, reading, roles, part.constants)
    if reading.of_text:
        raise DataError(
            "format=, separator= and decimal= go with a file, not with a table; one Reading holds for all "
            "sources of a call: where they differ, make each a table with the usual column names"
        )
    return from_table(part, reading.columns, roles)


def parts_of(source: Any, reading: Reading) -> list[Any]:
    """List the files and tables of a source: a ``Part`` for each file, each table unchanged.

    Args:
        source, reading: as for ``load``.

    Privacy: public.
    """
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise DataError("there is no file to read; name one or more")
    listed: list[Any] = []
    for entry in sources:
        if isinstance(entry, str) and scheme_of(entry):  # which may hold a password
            raise DataError(
                "an address with :// is not read: make what lies there a data frame, or a Parquet file, and "
                "give that"
            )
        listed += parts(entry, reading) if isinstance(entry, str | Path) else [entry]
    seen: set[Path] = set()
    for file in (part.file for part in listed if isinstance(part, Part)):
        if (place := file.resolve()) in seen:
            raise DataError(f"{file} is named twice, so its records would count twice; name each file once")
        seen.add(place)
    return listed
