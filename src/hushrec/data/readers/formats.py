"""Choose the reader for a file.

Privacy: a file's name and format are public; its content is private.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from hushrec.data.readers import binary, delimited, netflix
from hushrec.data.readers.archives import File
from hushrec.data.readers.columns import RATED, Columns, Roles
from hushrec.data.readers.delimited import Dialect
from hushrec.errors import DataError

FORMATS = {
    "csv": "comma-separated, with a header (MovieLens latest, 20M, 25M, 32M)",
    "tsv": "tab-separated, with a header",
    "u.data": "tab-separated, no header: user, item, rating, timestamp (MovieLens 100K)",
    "dat": "separated by ::, no header: user, item, rating, timestamp (MovieLens 1M, 10M)",
    "text": "separated by spaces or tabs, no header: user, item, rating (FilmTrust)",
    "netflix": "combined_data_*.txt or mv_*.txt of the Netflix Prize, or a folder of them",
    "parquet": "Parquet",
    "ipc": "Arrow IPC file, Feather version 2",
}
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
    (r"(combined_data_|mv_).*\.txt", "netflix"),
    (r".*\.csv", "csv"),
    (r".*\.(tsv|tab)", "tsv"),
    (r".*\.dat", "dat"),
    (r".*\.txt", "text"),
    (r".*\.(parquet|pq)", "parquet"),
    (r".*\.(arrow|ipc|feather)", "ipc"),
)

__all__ = ["BINARY", "FORMATS", "read", "recognise"]


def recognise(path: File) -> str:
    """The format implied by a file's name; the content is never read."""
    if path.name == "probe.txt":
        raise DataError(f"{path} holds pairs without ratings; leave it out, and read the files of ratings")
    name = path.name.removesuffix(".gz")
    for pattern, format in _NAMES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return format
    raise DataError(f"{path}: the name does not tell the format; give format= one of {', '.join(FORMATS)}")


def read(
    path: File,
    format: str,
    *,
    columns: Columns | None,
    separator: str | None,
    decimal: str,
    max_bytes: int,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] | None = None,
) -> Iterator[pl.DataFrame]:
    """Tables of a file with a column for each role, such as ``user_id, item_id, rating[, timestamp]``.

    Args:
        path: a file; of a text format, also one in an archive; of the Netflix Prize, also a folder.
        format: one of ``FORMATS``.
        columns, separator, decimal, max_bytes: as for ``hushrec.load``.
        constants: further columns, which the names of the file's folders state, each with its only cell.

    Privacy: private.
    """
    if format not in FORMATS:
        raise DataError(f"format={format!r} is unknown; the formats are {', '.join(FORMATS)}")
    if decimal not in (".", ","):
        raise DataError(f"decimal={decimal!r} is not a decimal sign; give '.' or ','")
    if format not in ("csv", "tsv") and (separator is not None or decimal != "."):
        raise DataError(
            f"separator= and decimal= apply to the formats csv and tsv, not to {format}; leave them out"
        )
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
        raise DataError(f"separator={separator!r} is not a separator; give one ASCII character, not a quote")
    if format == "netflix" and columns:
        raise DataError(
            "columns= does not apply to the format netflix, whose columns are known; leave it out"
        )
    if format == "netflix":
        yield from netflix.read(path, max_bytes)
    elif isinstance(path, Path) and format in BINARY:
        yield from binary.read(path, format, columns, max_bytes, roles, constants)
    else:
        known = _DIALECTS[format]
        chosen = Dialect(separator or known.separator, known.header, known.quoted, known.blanks, decimal)
        yield from delimited.read(path, chosen, columns, max_bytes, roles, constants)
