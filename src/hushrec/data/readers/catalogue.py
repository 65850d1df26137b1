"""Read ids from a list of items or accounts that its publisher has made public."""

from contextlib import suppress
from pathlib import Path

import polars as pl

from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.errors import DomainError

# Lists without a header whose first field is the id. Their titles are often not UTF-8, so only that field
# is decoded.
_HEADERLESS = {".dat": b"::", ".item": b"|", ".user": b"|", ".txt": None}
_TABLES = {".csv": ",", ".tsv": "\t"}

__all__ = ["read_ids"]


def read_ids(path: Path, column: str | None = None) -> list[str]:
    """Ids, in the order of the file.

    Args:
        path: ``.csv``, ``.tsv`` or ``.parquet`` with a header; MovieLens ``movies.dat`` or ``users.dat``
            (``::``), ``u.item`` or ``u.user`` (``|``); Netflix ``movie_titles.txt`` or ``.csv`` (``,``); or a
            ``.txt`` file with one id a line.
        column: the column to read, for a file with a header; the first by default.

    Returns:
        ids as strings, exactly as written in the file: "007" stays "007".

    Raises:
        DomainError: the file cannot be read as a list of ids. The message says how to fix it.

    Privacy: public.
    """
    headerless = path.name.startswith("movie_titles.") or path.suffix in _HEADERLESS
    if headerless and column is not None:
        raise DomainError(f"{path} has no header, so there is no column to choose; its first field is the id")
    try:
        if headerless:
            separator = b"," if path.name.startswith("movie_titles.") else _HEADERLESS[path.suffix]
            lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
            return [
                line.split(separator, 1)[0].decode() if separator else line.decode() for line in lines if line
            ]
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DomainError(f"{path} cannot be read as a list of ids: {reason}") from None
    ids = _column(path, column)
    if not (ids.dtype == pl.String or ids.dtype.is_integer()):
        raise DomainError(
            f"{path}: column {ids.name!r} is {ids.dtype.base_type()}; ids are strings or integers"
        )
    if ids.null_count():
        raise DomainError(f"{path}: column {ids.name!r} has empty cells; every row needs an id")
    return ids.cast(pl.String).to_list()


def _column(path: Path, column: str | None) -> pl.Series:
    if path.suffix not in {*_TABLES, ".parquet"}:
        raise DomainError(
            f"{path}: unknown kind of list; give .csv, .tsv, .parquet, .dat, .item, .user or .txt"
        )
    table = None
    with suppress(OSError, *GIVEN_UP), quiet():
        if path.suffix in _TABLES:
            table = pl.read_csv(path, separator=_TABLES[path.suffix], infer_schema=False)
        else:
            table = pl.read_parquet(path, glob=False)
    # Reader messages may quote lines, and a list taken from the ratings by mistake is private.
    if table is None or not table.width:
        raise DomainError(
            f"{path} cannot be read as a list of ids: it is missing or not a table with a header"
        )
    if column is None:
        return table.to_series(0)
    if column not in table.columns:
        raise DomainError(f"{path} cannot be read as a list of ids: it has no column {column!r}")
    return table[column]
