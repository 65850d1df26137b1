"""What the databases have in common: the statement around a query, and the way of its rows to tables of text.

Privacy: statements are public; rows are private. Messages of databases are never shown or chained, because
they may quote cells.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeVar

import polars as pl

from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.errors import DataError

_ROWS = 1 << 20  # in a table, at least

Result = TypeVar("Result")

__all__ = ["Column", "Source", "contained", "library", "of_roles", "streamed", "whole"]


class Column(NamedTuple):
    """A column of a query's result.

    Attributes:
        floating: whether its type is a floating-point number, which merges large ids.
        temporal: whether its type is a date or timestamp.
    """

    name: str
    floating: bool = False
    temporal: bool = False


class Source(Protocol):
    """An open database in which nothing can be written."""

    def columns(self, statement: str) -> list[Column]:
        """The columns of a statement's result."""
        ...

    def rows(self, statement: str) -> Iterator[pl.DataFrame]:
        """The rows of a statement's result, in batches of text."""
        ...

    def close(self) -> None:
        """Leave the database."""
        ...


def whole(query: str) -> str:
    """All columns of a query. Privacy: public."""
    return f"SELECT * FROM ({query}\n) AS ratings"  # the line ends a comment of the query


def of_roles(query: str, selected: dict[str, Column], place: str) -> str:
    """The columns of a query that have a role, each as text under the role's name.

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
    """A module of an optional dependency, by which Arrow batches come.

    Privacy: public.
    """
    try:
        import_module("pyarrow")
        return import_module(module)
    except ImportError:
        pass
    raise DataError(f"{place}: reading from this database needs pip install 'hushrec[databases]'")


def contained(read: Callable[[], Result], told: Callable[[BaseException], str]) -> Result:
    """What a library returns; of its failure, only what is ``told``.

    Privacy: private.
    """
    with quiet():
        try:
            return read()
        except DataError:
            raise
        except (Exception, *GIVEN_UP) as error:
            message = told(error)
    raise DataError(message)


def streamed(reader: Any, place: str, told: Callable[[BaseException], str]) -> Iterator[pl.DataFrame]:
    """The batches of an Arrow stream of text; an empty text is a missing cell, as in a CSV file.

    Privacy: private.
    """
    arrow, batches = library("pyarrow", place), iter(reader)
    waiting: list[Any] = []
    while (batch := contained(lambda: next(batches, None), told)) is not None:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS:  # what follows takes as long for a few rows as for many
            yield _table(arrow.Table.from_batches(waiting), place)
            waiting = []
    if waiting:
        yield _table(arrow.Table.from_batches(waiting), place)


def _table(read: Any, place: str) -> pl.DataFrame:
    def made() -> pl.DataFrame:
        read.validate(full=True)
        table = pl.from_arrow(read)
        assert isinstance(table, pl.DataFrame)
        return table.with_columns(pl.when(pl.all() != "").then(pl.all()))

    return contained(made, lambda _: f"{place}: the query returns text that is not UTF-8; convert it there")
