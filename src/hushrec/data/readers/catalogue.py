"""Readers of ids, titles and features from a public list of items or accounts."""

import re
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from hushrec.data.declarations import again
from hushrec.data.readers.columns import role_of
from hushrec.data.readers.delimited import mend_ends, opened
from hushrec.data.readers.duck import connect, explained
from hushrec.data.readers.scans import csv_relation
from hushrec.data.readers.sources import Part
from hushrec.data.reading import Reading
from hushrec.errors import DataError, DomainError

# Lists without a header whose first field is the id. Their titles are often not UTF-8, so only that field
# is decoded.
_HEADERLESS = {".dat": b"::", ".item": b"|", ".user": b"|", ".txt": None}
_TABLES = {".csv": "csv", ".tsv": "tsv"}
_SEPARATORS = {"::": '"::"', "\t": "tabs", ";": "semicolons", "|": '"|"', ",": "commas"}
"""Other separators that the header of a table may hold; the first that occurs counts."""

_TITLES, _FEATURES = ("title", "name"), ("genres", "year")
"""Names of columns that are taken if none is named."""
_USERS = re.compile(
    r"(user|customer|client|member|account|visitor|session|kunden?|nutzer|besucher|konto|konten)s?"
    r"(id|key|hash|name|no|nr|num|number|nummer)?"
)
"""Names of columns that hold users, without underscores and in lower case."""
_PUBLIC = (
    "a catalogue is public: every item that people could give, once each, from the shop's or publisher's "
    "own list. Never take it from ratings or clicks, not even their distinct ids (sort -u), which tell what "
    "people gave"
)
GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary"),
    *("Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller"),
    *("War", "Western"),
)
"""Genres of MovieLens' ``u.item``, in the order of its last fields."""


class Catalogue(NamedTuple):
    """The ids, titles and features of a public list, in the order of the file.

    Attributes:
        ids: as ``read_ids`` returns them.
        titles: of the items, "" where there is none; None if the list has no titles.
        features: other texts, by name of the column.

    Privacy: public.
    """

    ids: list[str]
    titles: list[str] | None
    features: dict[str, list[str]]


def read_catalogue(
    path: Path,
    column: str | None = None,
    titles: str | None = None,
    features: Sequence[str] | None = None,
    separator: str | None = None,
) -> Catalogue:
    """Read ids, titles and features, in the order of the file.

    Args:
        path: as for ``read_ids``. MovieLens lists have titles and genres.
        column: the column of the ids, for a file with a header; the first by default.
        titles: the column of the titles; by default ``title`` or ``name``, in any case, if there is one.
        features: columns of other texts; by default ``genres`` and ``year``, if they are there.
        separator: as for ``read_ids``.

    Privacy: public.
    """
    ids = read_ids(path, column, separator)
    if _is_headerless(path):
        if titles is not None or features:
            raise DomainError(f"{path} has no header, so there are no columns to choose; leave them out")
        return Catalogue(ids, *_listed(path))
    table = _table(path, separator, column)
    names = table.column_names
    id_column = column or names[0]
    by_lower_case = {name.lower(): name for name in reversed(names) if name != id_column}
    titles = titles or titles_column(names, id_column)
    if features is None:
        features = [by_lower_case[name] for name in _FEATURES if name in by_lower_case]
    for name in (*features, *([titles] if titles else [])):
        if name not in names:
            raise DomainError(f"{path} has no column {name!r}; it has {', '.join(names)}")
    return Catalogue(
        ids, _texts(path, table, titles) if titles else None, {f: _texts(path, table, f) for f in features}
    )


def titles_column(names: Sequence[str], ids: str | None = None) -> str | None:
    """Find the column of the titles if none is named: ``title`` or ``name``, in any case; else None.

    Args:
        ids: the column of the ids; the first by default.

    Privacy: public.
    """
    by_lower_case = {name.lower(): name for name in reversed(names) if name != (ids or names[0])}
    return next((by_lower_case[name] for name in _TITLES if name in by_lower_case), None)


def require_items(
    path: Path, ids: Sequence[str], column: str | None = None, separator: str | None = None
) -> None:
    """Refuse a file of ratings or clicks in place of a list of items.

    Args:
        path, column, separator: as for ``read_catalogue``.
        ids: the ids in the file.

    Privacy: public if it is a list of items; the message of the refusal is in any case.
    """
    names = headings(path, separator, column)
    users = [name for name in names if _USERS.fullmatch(re.sub(r"[\W_]", "", name).lower())]
    feedback_columns = [
        name for name in names if role_of(name) in ("item_id", "rating", "count", "timestamp")
    ]
    if users and (feedback_columns or (column or names[0]) in users):
        raise DomainError(
            f"{path} is not a catalogue: its column {users[0]!r} seems to hold users, as in ratings; "
            f"{_PUBLIC}. If it is such a list, leave that column out"
        )
    if (repeat := again(ids)) is not None:
        one, other = (place + 1 for place in repeat)
        raise DomainError(
            f"{path} is not a catalogue: the ids of its records {one} and {other} are the same, as in "
            f"ratings or clicks; {_PUBLIC}. If it is such a list, choose the column of the ids (--column, "
            "column=), or list every item once"
        )


def headings(path: Path, separator: str | None = None, column: str | None = None) -> list[str]:
    """Return the names of the columns, none for a list without a header; arguments as for ``read_ids``.

    Privacy: public.
    """
    return [] if _is_headerless(path) else list(_table(path, separator, column).column_names)


def read_ids(path: Path, column: str | None = None, separator: str | None = None) -> list[str]:
    """Read ids, in the order of the file.

    Args:
        path: ``.csv``, ``.tsv`` or ``.parquet`` with a header; MovieLens ``movies.dat`` or ``users.dat``
            (``::``), ``u.item`` or ``u.user`` (``|``); or a ``.txt`` file with one id a line.
        column: the column to read, for a file with a header; the first by default. Its position from 0, as
            text, if a table of text has no header.
        separator: of the columns of csv and tsv, one character; by default the comma and the tab.

    Returns:
        ids as strings, exactly as written in the file: "007" stays "007".

    Privacy: public.
    """
    headerless = _is_headerless(path)
    if headerless and column is not None:
        raise DomainError(f"{path} has no header, so there is no column to choose; its first field is the id")
    if headerless:
        mark = _HEADERLESS[path.suffix]
        with suppress(UnicodeError):
            return [(line.split(mark, 1)[0] if mark else line).decode() for line in _lines(path)]
        raise DomainError(_undecoded(path))
    table = _table(path, separator, column)
    if column is not None and column not in table.column_names:
        raise DomainError(f"{path} cannot be read as a list of ids: it has no column {column!r}")
    name, ids = column or table.column_names[0], _ids(table, column)
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_ = pa.types
    if not (
        is_.is_integer(kind) or is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
    ):
        raise DomainError(f"{path}: column {name!r} is {ids.type}; ids are strings or integers")
    if ids.null_count:
        raise DomainError(f"{path}: column {name!r} has empty cells; every row needs an id")
    return [str(one) for one in ids.to_pylist()]


def _is_headerless(path: Path) -> bool:
    return path.suffix in _HEADERLESS


def _lines(path: Path) -> list[bytes]:
    """Read the lines of a list without a header, without empty ones."""
    try:
        return [line for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines() if line]
    except OSError as error:
        raise DomainError(f"{path} cannot be read as a list of ids: {error.strerror}") from None


def _listed(path: Path) -> tuple[list[str] | None, dict[str, list[str]]]:
    """Read titles and features of a list without a header; none if the list is of no known kind."""
    data = _lines(path)
    try:
        lines = [line.decode() for line in data]
    except UnicodeDecodeError:
        lines = [line.decode("latin-1") for line in data]  # as MovieLens wrote them
    if path.suffix == ".dat":
        rows, name = [line.split("::") for line in lines], "genres"
        if all(len(row) == 3 for row in rows):
            return [title for _, title, _ in rows], {name: [genres for *_, genres in rows]}
    elif path.suffix == ".item":
        rows, name = [line.split("|") for line in lines], "genres"
        if all(len(row) > len(GENRES) + 1 for row in rows):
            flags = [zip(GENRES, row[-len(GENRES) :], strict=True) for row in rows]
            genres = ["|".join(genre for genre, flag in item_flags if flag == "1") for item_flags in flags]
            return [row[1] for row in rows], {name: genres}
    return None, {}


def _texts(path: Path, table: Any, name: str) -> list[str]:
    column = table.column(table.column_names.index(name))
    texts: list[str] = []
    for cell in column.to_pylist():
        if not (cell is None or isinstance(cell, str | bool | int | float)):
            raise DomainError(f"{path}: column {name!r} is {column.type}; titles and features are text")
        texts.append("" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell))
    return texts


def _table(path: Path, separator: str | None, column: str | None = None) -> Any:
    """Read a table as Arrow, its cells as text if it is one of text."""
    if path.suffix not in {*_TABLES, ".parquet"}:
        raise DomainError(
            f"{path}: unknown kind of list; give .csv, .tsv, .parquet, .dat, .item, .user or .txt"
        )
    if separator is not None and len(separator.encode()) != 1:
        raise DomainError('separator= takes one character, such as ";"; write the table with one')
    table, reason = None, "it is not a table with a header" if path.exists() else "there is no such file"
    if path.suffix == ".parquet":
        with suppress(Exception):  # a damaged file can make the reader raise anything
            table = pq.ParquetFile(path).read()
    elif path.is_file():
        for quotes in (True, False):  # without quoting, titles such as "Weird Al" Yankovic are read too
            table, reason = _text_table(path, separator, quotes, column)
            if table is not None or "quote" not in reason:
                break
    # Reader messages may quote lines, and a list taken from the ratings by mistake is private.
    if table is None or not table.num_columns:
        raise DomainError(f"{path} cannot be read as a list of ids: {reason}")
    return table


def _text_table(path: Path, separator: str | None, quotes: bool, column: str | None) -> tuple[Any, str]:
    """Read a table of text in the order of its lines; or return None and the reason why it cannot be read."""
    headed, failed = not (column or "").isdecimal(), ""
    try:
        part, reading = Part(path, _TABLES[path.suffix]), Reading(separator=separator, quotes=quotes)
        file = opened(part, reading, headerless=not headed)
        mend_ends(file)
        names = file.fields or []
        relation = csv_relation(file, len(names))
    except DataError as error:
        failed = str(error)
    if not failed:
        if not names:
            return None, "it is not a table with a header"
        if len(names) == 1:
            _refuse_other_separator(path, names[0])
        if headed and any(name[:1].isdecimal() for name in names) and not any(map(str.isidentifier, names)):
            return None, (
                "its first line looks like data, not like a header; if there is none, say where the ids are "
                "(--column 0, column='0'), or give the columns names"
            )
        with closing(connect(ordered=True)) as db:
            try:
                table = db.sql(f"SELECT * FROM {relation}").to_arrow_table()
            except duckdb.Error as error:
                failed = explained(error, file.name)
    if "not UTF-8" in failed:
        raise DomainError(_undecoded(path))
    if failed:
        return None, failed.removeprefix(f"{path}").lstrip(":, ")
    if len(names) == 1:  # an empty line is a cell of such a table
        table = table.drop_null()
    table = table.rename_columns(names if headed else [str(place) for place in range(len(names))])
    told = (*table.column_names, *_ids(table, column).to_pylist())
    if not quotes and any(cell[:1] == '"' for cell in told if cell):
        return None, "some quotes enclose a cell, and others do not; quote as RFC 4180 says"
    return table, ""


def _ids(table: Any, column: str | None) -> Any:
    """Return a column, the first by default or if there is none of this name."""
    return table.column(table.column_names.index(column) if column in table.column_names else 0)


def _refuse_other_separator(path: Path, header: str) -> None:
    for mark, name in _SEPARATORS.items():
        if mark in header:
            typed = "$'\\t'" if mark == "\t" else f"'{mark}'"
            option = f"give separator={mark!r} (--separator {typed}), or " if len(mark) == 1 else ""
            raise DomainError(
                f"{path} cannot be read as a list of ids: its columns seem to be divided by {name}; "
                f"{option}write it with commas, as .csv"
            )


def _undecoded(path: Path) -> str:
    with path.open("rb") as file:
        wide = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    encoding, name = ("UTF-16", "utf-16") if wide else ("Latin-1", "latin1")
    mended = quote(f"{path.stem}-utf8{path.suffix}")
    return (
        f"{path} cannot be read as a list of ids: it is not UTF-8, but probably {encoding}; convert it: "
        f"iconv -f {name} -t utf-8 {quote(str(path))} > {mended}"
    )
