"""Ratings or interactions in a database: an address and a query."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from hushrec.data.readers.columns import NONE, RATED, Roles, by_name
from hushrec.data.readers.databases import selection
from hushrec.data.readers.databases.duckdb_source import DuckDBSource
from hushrec.data.readers.databases.postgresql_source import PostgreSQLSource
from hushrec.data.readers.databases.sqlite_source import SQLiteSource
from hushrec.data.reading import Columns
from hushrec.errors import DataError
from hushrec.progress import stage
from hushrec.uris import is_address, scheme_of

# A host, a port and a database, where nothing can be a part of a password that is not escaped.
_SERVER = re.compile(
    r"[\w+.-]+://(?:[^@/?#]*@)?((?:[\w.,-]|:\d+\b|\[[\da-fA-F:.]+\])*(?:/[\w.%-]*)?)(?:\?[^@]*)?"
)
_OF_FILES = ("", "sqlite", "duckdb")
_FILES = (("sqlite", 0, b"SQLite format 3\0"), ("duckdb", 8, b"DUCK"))

__all__ = ["Database"]


@dataclass(frozen=True, slots=True, repr=False)
class Database:
    """The result of a SELECT, for ``hushrec.load`` in place of a file; the query runs when it is loaded.

    The query is one statement, so all rows are of one snapshot. It runs where nothing can be written: in a
    read-only transaction of PostgreSQL, or on a file of SQLite or DuckDB that is opened read-only. Rows come
    in batches, and each cell as the text of its value: so the same rules hold as for a CSV file. Dates and
    timestamps become Unix seconds; one without a time zone is taken as UTC.

    Args:
        address: ``postgresql://user@host:port/database``; ``sqlite:///ratings.db`` or
            ``duckdb:///ratings.duckdb``; or the path of a file of SQLite or DuckDB. Give a password in
            PGPASSWORD or ``~/.pgpass``, where no list of processes shows it.
        query: one SELECT that returns ``user_id, item_id, rating[, timestamp][, epsilon]``, or interactions.

    Privacy: the rows are private; an address is shown without its user, password and options.
    """

    address: str | Path
    query: str

    @property
    def place(self) -> str:
        """The address as it may be shown; for a server, its host, port and database."""
        address, scheme = str(self.address), self._scheme
        if scheme in _OF_FILES[1:] or not is_address(address):
            return address
        server = _SERVER.fullmatch(address)
        return f"{scheme}://{server[1] if server else '…'}" if scheme else "…"

    @property
    def name(self) -> str:
        """A name in one word."""
        return self.place if self._scheme not in _OF_FILES or self.place == "…" else self._file.name

    def __repr__(self) -> str:
        return f"Database({self.place!r})"

    def tables(self, columns: Columns = NONE, roles: Roles = RATED) -> Iterator[pl.DataFrame]:
        """Yield the rows in batches, with a column of text for each role.

        Args:
            columns: role to column of the query; roles left out are recognised.
            roles: the roles that are read.

        Yields:
            tables, at least one.

        Raises:
            DataError: the database cannot be opened, a column is missing, or the query fails.

        Privacy: private.
        """
        query = self.query.strip().removesuffix(";")
        if not query:
            raise DataError(f"{self.place}: the query is empty; give a SELECT")
        with closing(self._opened()) as source:
            result = source.columns(selection.whole(query))
            temporal = {column.name for column in result if column.temporal}
            names = [column.name for column in result]
            positions = by_name(columns, names, self.place, roles, temporal=temporal)
            selected = {role: result[place] for role, place in positions.items()}
            yield pl.DataFrame(schema=dict.fromkeys(selected, pl.String))
            statement = selection.of_roles(query, selected, self.place)
            with stage("reading a query"):  # the number of rows is not known beforehand
                yield from source.rows(statement)

    @property
    def _scheme(self) -> str:
        return scheme_of(str(self.address))

    @property
    def _file(self) -> Path:
        if not self._scheme:
            return Path(self.address)
        return Path(unquote(str(self.address).partition("://")[2].removeprefix("/")))

    def _opened(self) -> PostgreSQLSource | SQLiteSource | DuckDBSource:
        if self._scheme in ("postgresql", "postgres"):
            rest = str(self.address).partition("://")[2]
            return PostgreSQLSource(f"{self._scheme}://{rest}", self.place)
        if self.place == "…":
            raise DataError(
                "this looks like a database's address, and must begin with postgresql://, sqlite:/// or duckdb:///"
            )
        if self._scheme not in _OF_FILES:
            raise DataError(
                f"{self._scheme}:// is not read; read PostgreSQL, a file of SQLite or DuckDB, or export the "
                "ratings to a Parquet file"
            )
        try:
            with self._file.open("rb") as stream:
                begin = stream.read(16)
        except OSError as error:
            reason = error.strerror
        else:
            kinds = [kind for kind, at, mark in _FILES if begin[at : at + len(mark)] == mark]
            if not kinds:
                raise DataError(f"{self.place} is not a database of SQLite or DuckDB; leave out the query")
            return (SQLiteSource if kinds == ["sqlite"] else DuckDBSource)(self._file, self.place)
        raise DataError(f"{self.place} cannot be opened: {reason}")
