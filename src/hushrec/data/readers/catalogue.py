"""Read ids, titles and features from a list of items or accounts that its publisher has made public."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl

from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.errors import DomainError

# Lists without a header whose first field is the id. Their titles are often not UTF-8, so only that field
# is decoded.
_HEADERLESS = {".dat": b"::", ".item": b"|", ".user": b"|", ".txt": None}
_TABLES = {".csv": ",", ".tsv": "\t"}

_TITLES, _FEATURES = ("title", "name"), ("genres", "year")
"""Names of columns that are taken if none is named."""
GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary"),
    *("Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller"),
    *("War", "Western"),
)
"""Genres of MovieLens' ``u.item``, in the order of its last fields."""

__all__ = ["GENRES", "Catalogue", "read_catalogue", "read_ids"]


class Catalogue(NamedTuple):
    """What a public list says about each of its items, in the order of the file.

    Attributes:
        ids: as ``read_ids`` has them.
        titles: of the items, "" where there is none; None if the list has no titles.
        features: other texts, by name of the column.

    Privacy: public.
    """

    ids: list[str]
    titles: list[str] | None
    features: dict[str, list[str]]


def read_catalogue(
    path: Path, column: str | None = None, titles: str | None = None, features: Sequence[str] | None = None
) -> Catalogue:
    """Ids, titles and features, in the order of the file.

    Args:
        path: as for ``read_ids``. MovieLens and Netflix lists have titles, and genres or years.
        column: the column of the ids, for a file with a header; the first by default.
        titles: the column of the titles; by default ``title`` or ``name``, in any case, if there is one.
        features: columns of other texts; by default ``genres`` and ``year``, if they are there.

    Raises:
        DomainError: as ``read_ids``; or a named column is not there.

    Privacy: public.
    """
    ids = read_ids(path, column)
    if _is_headerless(path):
        if titles is not None or features:
            raise DomainError(f"{path} has no header, so there are no columns to choose; leave them out")
        return Catalogue(ids, *_listed(path))
    table = _table(path)
    own = column or table.columns[0]
    named = {name.lower(): name for name in reversed(table.columns) if name != own}
    if titles is None:
        titles = next((named[name] for name in _TITLES if name in named), None)
    if features is None:
        features = [named[name] for name in _FEATURES if name in named]
    for name in (*features, *([titles] if titles else [])):
        if name not in table.columns:
            raise DomainError(f"{path} has no column {name!r}; it has {', '.join(table.columns)}")
    return Catalogue(
        ids, _texts(path, table[titles]) if titles else None, {f: _texts(path, table[f]) for f in features}
    )


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
    headerless = _is_headerless(path)
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


def _is_headerless(path: Path) -> bool:
    return path.name.startswith("movie_titles.") or path.suffix in _HEADERLESS


def _listed(path: Path) -> tuple[list[str] | None, dict[str, list[str]]]:
    """Titles and features of a list without a header; none if it is not one of the known ones."""
    data = [line for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines() if line]
    try:
        lines = [line.decode() for line in data]
    except UnicodeDecodeError:
        lines = [line.decode("latin-1") for line in data]  # as MovieLens and Netflix wrote them
    if path.name.startswith("movie_titles."):
        rows, name = [line.split(",", 2) for line in lines], "year"
        if all(len(row) == 3 for row in rows):
            years = ["" if year == "NULL" else year for _, year, _ in rows]
            return [title for *_, title in rows], {name: years}
    elif path.suffix == ".dat":
        rows, name = [line.split("::") for line in lines], "genres"
        if all(len(row) == 3 for row in rows):
            return [title for _, title, _ in rows], {name: [genres for *_, genres in rows]}
    elif path.suffix == ".item":
        rows, name = [line.split("|") for line in lines], "genres"
        if all(len(row) > len(GENRES) + 1 for row in rows):
            flags = [zip(GENRES, row[-len(GENRES) :], strict=True) for row in rows]
            genres = ["|".join(genre for genre, flag in own if flag == "1") for own in flags]
            return [row[1] for row in rows], {name: genres}
    return None, {}


def _texts(path: Path, column: pl.Series) -> list[str]:
    if not (column.dtype in (pl.String, pl.Boolean) or column.dtype.is_numeric()):
        raise DomainError(
            f"{path}: column {column.name!r} is {column.dtype.base_type()}; titles and features are text"
        )
    return column.cast(pl.String).fill_null("").to_list()


def _column(path: Path, column: str | None) -> pl.Series:
    table = _table(path)
    if column is None:
        return table.to_series(0)
    if column not in table.columns:
        raise DomainError(f"{path} cannot be read as a list of ids: it has no column {column!r}")
    return table[column]


def _table(path: Path) -> pl.DataFrame:
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
    return table
