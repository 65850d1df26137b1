"""Readers of ids, titles and features from a public list of items or accounts."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import polars as pl

from hushrec.data.declarations import again
from hushrec.data.readers.columns import role_of
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.errors import DomainError

# Lists without a header whose first field is the id. Their titles are often not UTF-8, so only that field
# is decoded.
_HEADERLESS = {".dat": b"::", ".item": b"|", ".user": b"|", ".txt": None}
_TABLES = {".csv": ",", ".tsv": "\t"}
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
        path: as for ``read_ids``. MovieLens and Netflix lists have titles, and genres or years.
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
    table = _table(path, separator)
    id_column = column or table.columns[0]
    by_lower_case = {name.lower(): name for name in reversed(table.columns) if name != id_column}
    titles = titles or titles_column(table.columns, id_column)
    if features is None:
        features = [by_lower_case[name] for name in _FEATURES if name in by_lower_case]
    for name in (*features, *([titles] if titles else [])):
        if name not in table.columns:
            raise DomainError(f"{path} has no column {name!r}; it has {', '.join(table.columns)}")
    return Catalogue(
        ids, _texts(path, table[titles]) if titles else None, {f: _texts(path, table[f]) for f in features}
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
    names = headings(path, separator)
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


def headings(path: Path, separator: str | None = None) -> list[str]:
    """Return the names of the columns, none for a list without a header; arguments as for ``read_ids``.

    Privacy: public.
    """
    return [] if _is_headerless(path) else _table(path, separator).columns


def read_ids(path: Path, column: str | None = None, separator: str | None = None) -> list[str]:
    """Read ids, in the order of the file.

    Args:
        path: ``.csv``, ``.tsv`` or ``.parquet`` with a header; MovieLens ``movies.dat`` or ``users.dat``
            (``::``), ``u.item`` or ``u.user`` (``|``); Netflix ``movie_titles.txt`` or ``.csv`` (``,``); or a
            ``.txt`` file with one id a line.
        column: the column to read, for a file with a header; the first by default.
        separator: of the columns of csv and tsv, one character; by default the comma and the tab.

    Returns:
        ids as strings, exactly as written in the file: "007" stays "007".

    Privacy: public.
    """
    headerless = _is_headerless(path)
    if headerless and column is not None:
        raise DomainError(f"{path} has no header, so there is no column to choose; its first field is the id")
    try:
        if headerless:
            mark = b"," if path.name.startswith("movie_titles.") else _HEADERLESS[path.suffix]
            lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
            return [line.split(mark, 1)[0].decode() if mark else line.decode() for line in lines if line]
    except OSError as error:
        raise DomainError(f"{path} cannot be read as a list of ids: {error.strerror}") from None
    except UnicodeError:
        raise DomainError(_undecoded(path)) from None
    ids = _column(path, column, separator)
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
    """Read titles and features of a list without a header; none if the list is of no known kind."""
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
            genres = ["|".join(genre for genre, flag in item_flags if flag == "1") for item_flags in flags]
            return [row[1] for row in rows], {name: genres}
    return None, {}


def _texts(path: Path, column: pl.Series) -> list[str]:
    if not (column.dtype in (pl.String, pl.Boolean) or column.dtype.is_numeric()):
        raise DomainError(
            f"{path}: column {column.name!r} is {column.dtype.base_type()}; titles and features are text"
        )
    return column.cast(pl.String).fill_null("").to_list()


def _column(path: Path, column: str | None, separator: str | None) -> pl.Series:
    table = _table(path, separator)
    if column is None:
        return table.to_series(0)
    if column not in table.columns:
        raise DomainError(f"{path} cannot be read as a list of ids: it has no column {column!r}")
    return table[column]


def _table(path: Path, separator: str | None) -> pl.DataFrame:
    if path.suffix not in {*_TABLES, ".parquet"}:
        raise DomainError(
            f"{path}: unknown kind of list; give .csv, .tsv, .parquet, .dat, .item, .user or .txt"
        )
    if separator is not None and len(separator.encode()) != 1:
        raise DomainError('separator= takes one character, such as ";"; write the table with one')
    if path.suffix in _TABLES:
        separator = separator or _TABLES[path.suffix]
        _require_text(path, separator)
    table = None
    with suppress(OSError, *GIVEN_UP), quiet():
        if path.suffix in _TABLES:
            table = pl.read_csv(path, separator=separator or ",", infer_schema=False)
        else:
            table = pl.read_parquet(path, glob=False)
    # Reader messages may quote lines, and a list taken from the ratings by mistake is private.
    if table is None or not table.width:
        reason = "it is not a table with a header" if path.exists() else "there is no such file"
        raise DomainError(f"{path} cannot be read as a list of ids: {reason}")
    return table


def _require_text(path: Path, separator: str) -> None:
    """Refuse a table that is not UTF-8, or whose header holds another separator in place of its own."""
    header, text = b"", True
    with suppress(OSError), path.open("rb") as lines:
        header = lines.readline()
        try:
            header.decode()
            for line in lines:
                line.decode()
        except UnicodeDecodeError:
            text = False
    if not text:
        raise DomainError(_undecoded(path))
    if separator.encode() in header:
        return
    for mark, name in _SEPARATORS.items():
        if mark.encode() in header:
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
