"""The choice of the reader for a file.

Privacy: a file's name and format are public; its content is private.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from hushrec.data.readers import binary, delimited
from hushrec.data.readers.columns import NONE, RATED, Roles
from hushrec.data.readers.delimited import Dialect
from hushrec.data.reading import FORMATS, Reading
from hushrec.errors import DataError

BINARY = ("parquet", "ipc")
"""The formats whose files are read in parts, so they must lie on disk."""
_DIALECTS = {
    "csv": Dialect(",", header=True, quoted=True),
    "tsv": Dialect("\t", header=True, quoted=True),
    "u.data": Dialect("\t"),
    "dat": Dialect("::"),
    "text": Dialect(" ", blanks=True),
}
_NAMES = (
    (r"u\.data|u[1-5ab]\.(base|test)", "u.data"),
    (r".*\.csv", "csv"),
    (r".*\.(tsv|tab)", "tsv"),
    (r".*\.dat", "dat"),
    (r".*\.txt", "text"),
    (r".*\.(parquet|pq)", "parquet"),
    (r".*\.(arrow|ipc|feather)", "ipc"),
)

__all__ = ["BINARY", "read", "recognise"]


def recognise(path: Path) -> str:
    """Return the format implied by a file's name; the content is never read."""
    name = path.name.removesuffix(".gz")
    for pattern, format in _NAMES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return format
    raise DataError(f"{path}: the name does not tell the format; give format= one of {', '.join(FORMATS)}")


def read(
    path: Path,
    format: str,
    reading: Reading,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] = NONE,
) -> Iterator[pl.DataFrame]:
    """Yield tables of a file with a column for each role, such as ``user_id, item_id, rating[, timestamp]``.

    Args:
        path: a file.
        format: that of the file, one of ``FORMATS``.
        reading: its other settings.
        constants: further columns, which the names of the file's folders state, each with its only cell.

    Privacy: private.
    """
    separator, decimal = reading.separator, reading.decimal
    if format not in ("csv", "tsv") and (separator is not None or decimal != "."):
        raise DataError(
            f"separator= and decimal= apply to the formats csv and tsv, not to {format}; leave them out. One "
            "Reading holds for all sources of a call: where they differ, make each a table first"
        )
    if format in BINARY:
        yield from binary.read(path, format, reading, roles, constants)
    else:
        standard = _DIALECTS[format]
        dialect = replace(standard, separator=separator or standard.separator, decimal=decimal)
        yield from delimited.read(path, dialect, reading, roles, constants)
