"""Readers of ids, titles and features from a public list of items or accounts."""

import re
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from hushrec.data.declarations import again
from hushrec.data.readers.columns import divided_by, role_of
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


@dataclass(frozen=True, slots=True)
class PublicList:
    """A public list of items or accounts, in the order of its file.

    Attributes:
        path: the file.
        names: of its columns; none if it has no header.
        id_column: the name of the column of the ids.
        ids: exactly as written in the file: "007" stays "007".
        columns: the cells of each column by name; of MovieLens lists without a header, title and genres.

    Privacy: public.
    """

    path: Path
    names: list[str]
    id_column: str
    ids: list[str]
    columns: Mapping[str, Any]

    def titles_column(self) -> str | None:
        """Find the column of the titles: ``title`` or ``name``, in any case; else None."""
        return next((found for name in _TITLES if (found := self._recognised().get(name))), None)

    def titles(self, column: str | None = None) -> list[str] | None:
        """Return the titles, "" where there is none, of a column or the usual one; None if there are none."""
        name = column or self.titles_column()
        return None if name is None else self.texts(name)

    def features(self, columns: Iterable[str] | None = None) -> dict[str, list[str]]:
        """Return the texts of columns by name; by default of ``genres`` and ``year``, if they are there."""
        usual = (self._recognised().get(name) for name in _FEATURES)
        names = [name for name in usual if name] if columns is None else columns
        return {name: self.texts(name) for name in names}

    def _recognised(self) -> dict[str, str]:
        return {name.lower(): name for name in reversed([*self.columns]) if name != self.id_column}

    def texts(self, name: str) -> list[str]:
        """Return the cells of a column as text, "" where there is none."""
        if name not in self.columns:
            raise DomainError(
                f"{self.path} has no column {name!r}; it has {', '.join(self.names)}"
                if self.names
                else f"{self.path} has no header, so there are no columns to choose; leave them out"
            )
        column = self.columns[name]
        texts: list[str] = []
        for cell in column if isinstance(column, list) else column.to_pylist():
            if not (cell is None or isinstance(cell, str | bool | int | float)):
                raise DomainError(
                    f"{self.path}: column {name!r} is {column.type}; titles and features are text"
                )
            texts.append("" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell))
        return texts

    def require_items(self) -> None:
        """Refuse a file of ratings or clicks in place of a list of items.

        Privacy: public if it is a list of items; the message of the refusal is in any case.
        """
        users = [name for name in self.names if _USERS.fullmatch(re.sub(r"[\W_]", "", name).lower())]
        given = ("item_id", "rating", "count", "timestamp")
        if users and (self.id_column in users or any(role_of(name) in given for name in self.names)):
            raise DomainError(
                f"{self.path} is not a catalogue: its column {users[0]!r} seems to hold users, as in "
                f"ratings; {_PUBLIC}. If it is such a list, leave that column out"
            )
        if (repeat := again(self.ids)) is not None:
            one, other = (place + 1 for place in repeat)
            raise DomainError(
                f"{self.path} is not a catalogue: the ids of its records {one} and {other} are the same, as "
                f"in ratings or clicks; {_PUBLIC}. If it is such a list, choose the column of the ids "
                "(--column, column=), or list every item once"
            )


def read_list(path: Path, column: str | None = None, separator: str | None = None) -> PublicList:
    """Read a public list of items or accounts.

    Args:
        path: ``.csv``, ``.tsv`` or ``.parquet`` with a header; MovieLens ``movies.dat`` or ``users.dat``
            (``::``), ``u.item`` or ``u.user`` (``|``); or a ``.txt`` file with one id a line.
        column: the column of the ids, for a file with a header; the first by default. Its position from 0, as
            text, if a table of text has no header.
        separator: of the columns of csv and tsv, one character; by default the comma and the tab.

    Raises:
        DomainError: it cannot be read as a list of ids.

    Privacy: public.
    """
    if path.suffix in _HEADERLESS:
        if column is not None:
            raise DomainError(
                f"{path} has no header, so there is no column to choose; its first field is the id"
            )
        return _of_lines(path)
    table = _table(path, separator, column)
    names: list[str] = list(table.column_names)
    if column is not None and column not in names:
        raise DomainError(f"{path} cannot be read as a list of ids: it has no column {column!r}")
    name, ids = column or names[0], _ids(table, column)
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_ = pa.types
    if not (
        is_.is_integer(kind) or is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
    ):
        raise DomainError(f"{path}: column {name!r} is {ids.type}; ids are strings or integers")
    if ids.null_count:
        raise DomainError(f"{path}: column {name!r} has empty cells; every row needs an id")
    columns: dict[str, Any] = {}
    for place, header in enumerate(names):
        columns.setdefault(header, table.column(place))  # of two columns of one name, the first counts
    return PublicList(path, names, name, [str(one) for one in ids.to_pylist()], columns)


def _of_lines(path: Path) -> PublicList:
    """Read a list without a header; titles and genres if it is one of MovieLens' items."""
    try:
        data = [line for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines() if line]
    except OSError as error:
        raise DomainError(f"{path} cannot be read as a list of ids: {error.strerror}") from None
    mark, ids = _HEADERLESS[path.suffix], None
    with suppress(UnicodeError):
        ids = [(line.split(mark, 1)[0] if mark else line).decode() for line in data]
    if ids is None:
        raise DomainError(_undecoded(path))
    try:
        lines = [line.decode() for line in data]
    except UnicodeDecodeError:
        lines = [line.decode("latin-1") for line in data]  # as MovieLens wrote them
    columns: dict[str, list[str]] = {}
    rows = [line.split(mark.decode()) for line in lines] if mark else []
    if path.suffix == ".dat" and all(len(row) == 3 for row in rows):
        columns = {"title": [row[1] for row in rows], "genres": [row[2] for row in rows]}
    elif path.suffix == ".item" and all(len(row) > len(GENRES) + 1 for row in rows):
        flags = [zip(GENRES, row[-len(GENRES) :], strict=True) for row in rows]
        genres = ["|".join(genre for genre, flag in of_item if flag == "1") for of_item in flags]
        columns = {"title": [row[1] for row in rows], "genres": genres}
    return PublicList(path, [], "", ids, columns)


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
        mark, name = divided_by(names[0]) if len(names) == 1 else ("", "")
        if mark:
            typed = "$'\\t'" if mark == "\t" else f"'{mark}'"
            option = f"give separator={mark!r} (--separator {typed}), or " if len(mark) == 1 else ""
            raise DomainError(
                f"{path} cannot be read as a list of ids: its columns seem to be divided by {name}; "
                f"{option}write it with commas, as .csv"
            )
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


def _undecoded(path: Path) -> str:
    with path.open("rb") as file:
        wide = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    encoding, name = ("UTF-16", "utf-16") if wide else ("Latin-1", "latin1")
    mended = quote(f"{path.stem}-utf8{path.suffix}")
    return (
        f"{path} cannot be read as a list of ids: it is not UTF-8, but probably {encoding}; convert it: "
        f"iconv -f {name} -t utf-8 {quote(str(path))} > {mended}"
    )
