"""The statement around a query, and the conversion of its rows to tables of text, for all databases.

Privacy: statements are public; rows are private. Messages of databases are never shown or chained, because
they may quote cells.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

import polars as pl

from hushrec.data.readers.dataframes import joined
from hushrec.data.readers.quiet import contained
from hushrec.errors import DataError

__all__ = ["Adbc", "Column", "library", "of_roles", "streamed", "whole"]


class Column(NamedTuple):
    """A column of a query's result.

    Attributes:
        floating: True if its type is a floating-point number, which merges large ids.
        temporal: True if its type is a date or timestamp.
    """

    name: str
    floating: bool = False
    temporal: bool = False


class Adbc(ABC):
    """A database through ADBC: the part that SQLite and PostgreSQL share.

    Args:
        driver: the module of the driver.
        address: as the driver takes it.
        place: the address as it may be shown.
        options: of the driver's statements.

    Privacy: private.
    """

    def __init__(self, driver: str, address: str, place: str, options: Any = None) -> None:
        self._place = place
        connect = library(driver, place).connect
        self._connection = contained(lambda: connect(address), self._unopened)
        self._cursor: Any = self._connection.cursor(adbc_stmt_kwargs=options)
        try:
            contained(self._begin, self._unbegun)
        except DataError:
            self.close()
            raise

    @abstractmethod
    def _begin(self) -> None:
        """Make the connection read-only."""

    @abstractmethod
    def _unopened(self, error: BaseException) -> str:
        """Explain a missing connection."""

    @abstractmethod
    def _failed(self, error: BaseException) -> str:
        """Explain a statement that cannot be run."""

    def _unbegun(self, error: BaseException) -> str:
        return self._failed(error)

    def _broken(self, error: BaseException) -> str:
        """Explain rows that stop early."""
        return self._failed(error)

    def rows(self, statement: str) -> Iterator[pl.DataFrame]:
        """Yield the rows of a statement's result."""
        contained(lambda: self._cursor.execute(statement), self._failed)
        reader = contained(self._cursor.fetch_record_batch, self._failed)
        yield from streamed(reader, self._place, self._broken)

    def close(self) -> None:
        for resource in (self._cursor, self._connection):
            with suppress(Exception):
                resource.close()


def whole(query: str) -> str:
    """Select all columns of a query. Privacy: public."""
    return f"SELECT * FROM ({query}\n) AS ratings"  # the line ends a comment of the query


def of_roles(query: str, selected: dict[str, Column], place: str) -> str:
    """Select the columns of a query that have a role, each as text under the role's name.

    Args:
        query: one SELECT.
        selected: the column of each role.
        place: the database, for errors.

    Privacy: public.
    """
    cells = []
    for role, column in selected.items():
        if column.floating and role in ("user_id", "item_id"):
            raise DataError(
                f"{place}: column {role} is of floating-point numbers; ids must be text or integers, because "
                "other types merge ids: store them as such, or cast them in the query if none is above 2^53"
            )
        name = _quoted(column.name)
        value = f"EXTRACT(epoch FROM {name})" if column.temporal and role == "timestamp" else name
        cells.append(f"COALESCE(CAST({value} AS TEXT), '') AS {_quoted(role)}")
    return f"SELECT {', '.join(cells)} FROM ({query}\n) AS ratings"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def library(module: str, place: str) -> Any:
    """Import a module of an optional dependency that returns Arrow batches.

    Privacy: public.
    """
    try:
        import_module("pyarrow")
        return import_module(module)
    except ImportError:
        pass
    raise DataError(f"{place}: reading from this database needs pip install 'hushrec[databases]'")


def streamed(reader: Any, place: str, explain: Callable[[BaseException], str]) -> Iterator[pl.DataFrame]:
    """Yield the batches of an Arrow stream of text; an empty text is a missing cell, as in a CSV file.

    Privacy: private.
    """
    tables = joined(reader)
    while (table := contained(lambda: next(tables, None), explain)) is not None:
        yield _table(table, place)


def _table(read: Any, place: str) -> pl.DataFrame:
    def decoded() -> pl.DataFrame:
        read.validate(full=True)
        table = pl.from_arrow(read)
        assert isinstance(table, pl.DataFrame)
        return table.with_columns(pl.when(pl.all() != "").then(pl.all()))

    return contained(
        decoded, lambda _: f"{place}: the query returns text that is not UTF-8; convert it there"
    )
