"""A file of DuckDB, opened read-only and without access to other files."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.readers.databases.selection import Column, library, streamed
from hushrec.data.readers.dataframes import arrow_reader
from hushrec.data.readers.quiet import contained
from hushrec.errors import DataError

_CLOSED = {"enable_external_access": "false", "lock_configuration": "true"}
"""Settings under which a query reaches no other file, no network and no extension."""
_ROWS = 1 << 17  # in a batch: chosen by hand

__all__ = ["DuckDBSource"]


class DuckDBSource:
    """A file of DuckDB.

    Args:
        place: the file, for errors.

    Privacy: private.
    """

    def __init__(self, path: Path, place: str) -> None:
        self._duckdb = library("duckdb", place)
        self._place = place
        self._connection: Any = contained(
            lambda: self._duckdb.connect(str(path), read_only=True, config=_CLOSED),
            lambda _: (
                f"{place}: the database cannot be opened; is another program writing it, or is it damaged or "
                "of another version of DuckDB?"
            ),
        )

    def columns(self, statement: str) -> list[Column]:
        """Return the columns of a statement's result; it is prepared, not run. Privacy: public."""
        contained(lambda: self._require_one(statement), self._failed)
        listed = contained(lambda: self._connection.execute(f"DESCRIBE {statement}").fetchall(), self._failed)
        return [
            Column(name, kind in ("FLOAT", "DOUBLE"), kind.startswith(("DATE", "TIMESTAMP")))
            for name, kind, *_ in listed
        ]

    def _require_one(self, statement: str) -> None:
        if len(self._duckdb.extract_statements(statement)) != 1:
            raise DataError(f"{self._place}: the query is of several statements; give one SELECT")

    def rows(self, statement: str) -> Iterator[pl.DataFrame]:
        """Yield the rows of a statement's result."""
        relation = contained(lambda: self._connection.sql(statement), self._failed)
        reader = contained(lambda: arrow_reader(relation, _ROWS), self._failed)
        yield from streamed(reader, self._place, self._failed)

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()

    def _failed(self, error: BaseException) -> str:
        return (
            f"{self._place}: the query cannot be run, or fails for a cell; it must be one SELECT that only "
            "reads, of tables and columns of this file, whose casts all cells allow"
        )
