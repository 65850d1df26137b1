"""Tables in memory: polars, pandas, pyarrow and whatever else narwhals supports."""

from contextlib import suppress
from typing import Any

import narwhals as nw
import polars as pl

from hushrec.data.readers.columns import RATED, Columns, Roles, by_name
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.errors import DataError

__all__ = ["from_table"]


def from_table(source: Any, columns: Columns | None, roles: Roles = RATED) -> pl.DataFrame:
    """The columns of any eager table with these roles, such as ``user_id, item_id, rating[, timestamp]``.

    Raises:
        DataError: the source is not an eager table, or a column is missing.

    Privacy: private.
    """
    table: Any = nw.from_native(source, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        raise DataError(
            "ratings are read from a path or from an eager table of polars, pandas or pyarrow, "
            f"not from {type(source).__name__}"
        )
    found = by_name(columns, [str(name) for name in table.columns], "the table", roles)
    if isinstance(source, pl.DataFrame):
        return source.select(pl.nth(place).alias(role) for role, place in found.items())
    read: dict[str, pl.Series] = {}
    for role, place in found.items():
        with suppress(Exception, *GIVEN_UP), quiet():  # any library may raise, with cells in its message
            read[role] = _column(table[table.columns[place]])
        if role not in read:
            raise DataError(f"the table: column {role} cannot be read; cast it to text or to numbers")
    return pl.DataFrame(read)


def _column(column: Any) -> pl.Series:
    if column.dtype.is_temporal():
        column = column.dt.timestamp("ms") // 1000
    if column.dtype.is_numeric():
        return pl.Series(column.to_list() if column.is_null().any() else column.to_numpy())
    # pandas stores text in object columns, where NaN stands for an empty cell.
    return pl.Series([_text(cell) for cell in column.to_list()], dtype=pl.String)


def _text(cell: object) -> str | None:
    if isinstance(cell, str):
        return cell
    return str(cell) if isinstance(cell, int | float) and cell == cell else None
