"""A file of SQLite through ADBC, opened read-only."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from hushrec.data.readers.databases.selection import Column, contained, library, streamed
from hushrec.errors import DataError

_LEDGER = 0x68757368
"""The application id of a ledger of hushrec."""
_ROWS = 1 << 16  # in a batch

__all__ = ["SQLiteSource"]


class SQLiteSource:
    """A file of SQLite.

    Args:
        place: the file, for errors.

    Privacy: private.
    """

    def __init__(self, path: Path, place: str) -> None:
        adbc = library("adbc_driver_sqlite.dbapi", place)
        self._place = place
        self._connection = contained(
            lambda: adbc.connect(f"file:{quote(str(path.absolute()))}?mode=ro"), self._unopened
        )
        options = {"adbc.sqlite.query.batch_rows": _ROWS}
        self._cursor: Any = self._connection.cursor(adbc_stmt_kwargs=options)
        try:
            contained(self._begin, self._unopened)
        except DataError:
            self.close()
            raise

    def _begin(self) -> None:
        self._cursor.execute("PRAGMA query_only = ON")
        self._cursor.execute("PRAGMA application_id")
        if self._cursor.fetchall() == [(_LEDGER,)]:
            raise DataError(
                f"{self._place} is a ledger of hushrec, which holds no ratings; name another file"
            )

    def columns(self, statement: str) -> list[Column]:
        """The columns of a statement's result; every cell has a type of its own. Privacy: public."""
        contained(lambda: self._cursor.execute(f"{statement} LIMIT 0"), self._failed)
        schema = contained(self._cursor.fetch_record_batch, self._failed).schema
        return [Column(name) for name in schema.names]

    def rows(self, statement: str) -> Iterator[pl.DataFrame]:
        """The rows of a statement's result."""
        contained(lambda: self._cursor.execute(statement), self._failed)
        reader = contained(self._cursor.fetch_record_batch, self._failed)
        yield from streamed(reader, self._place, self._failed)

    def close(self) -> None:
        for one in (self._cursor, self._connection):
            with suppress(Exception):
                one.close()

    def _unopened(self, error: BaseException) -> str:
        return (
            f"{self._place}: the database cannot be opened; is it damaged, or in use without its -wal file?"
        )

    def _failed(self, error: BaseException) -> str:
        return (
            f"{self._place}: the query cannot be run; it must be one SELECT that only reads, of tables and "
            "columns that exist"
        )
