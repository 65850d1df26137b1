"""Distinct ids and values in the cells of a source, each with its number of records."""

from contextlib import suppress

import numpy as np
import polars as pl

from hushrec.data.readers.columns import OTHERS, role_of, sounds_like_time, sounds_like_verdict
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.data.times import seconds

MOST_VALUES = 10_000
"""The most distinct ratings that are counted; cells with more are not ratings. Chosen by hand."""
_SAMPLE = 10_000  # cells looked at in a column that is not read: chosen by hand
_RECENT = 4e8  # Unix seconds of 1982, ten times as many of 2096: numbers between are times, by hand
_MILLISECONDS = 1e11  # Unix seconds reach this in the year 5138, milliseconds in 1973: chosen by hand

__all__ = ["MOST_VALUES", "CellCounts"]


class CellCounts:
    """A count of the cells of tables of records, one table after another.

    Attributes:
        ids: by role, ``user_id`` and ``item_id``: a table ``text, records`` of the distinct ids, as text in
            Unicode NFC.
        values: a table ``text, records`` of the distinct ratings or counts as written; None if there are too
            many, or no such column.
        milliseconds: records whose timestamp is too large for Unix seconds, and may be milliseconds.
        unread: columns that are not read and seem to hold times, each with whether they could be read.
        verdicts: names of columns that are not read and may say whether a user wanted an item.
        headed: whether the first record holds names of columns.

    Privacy: private.
    """

    def __init__(self) -> None:
        self.ids = {role: _counted(pl.Series("text", [], pl.String)) for role in ("user_id", "item_id")}
        self.values: pl.DataFrame | None = None
        self.milliseconds = 0
        self.unread: dict[str, bool] = {}
        self.verdicts: list[str] = []
        self.headed = False
        self._cells: dict[str, set[str | None]] = {}
        self._valued = self._begun = False

    def see(self, table: pl.DataFrame) -> None:
        """Count the cells of a table with columns named by role."""
        with suppress(*GIVEN_UP), quiet():  # what cannot be read as text is the cleaner's to refuse
            self._see(table)

    def _see(self, table: pl.DataFrame) -> None:
        if not self._begun and table.height:
            self._begun = True
            first = [str(cell) for cell in table.row(0)]
            self.headed = sum(role_of(cell) is not None for cell in first) >= 2
            for name in (name for name in table.columns if name.startswith(f"{OTHERS} ")):
                self._unread(name.removeprefix(f"{OTHERS} "), table[name].head(_SAMPLE))
        for column in (table[name] for name in table.columns if name.startswith(f"{OTHERS} ")):
            self._differing(column.name.removeprefix(f"{OTHERS} "), column)
        for role, total in self.ids.items():
            text = table[role].cast(pl.String).str.normalize("NFC")
            self.ids[role] = _both(total, _counted(text))
        if value_columns := {"rating", "count"} & set(table.columns):
            counts = _counted(table[value_columns.pop()].cast(pl.String))
            if not self._valued:
                self._valued, self.values = True, counts
            elif self.values is not None:
                self.values = _both(self.values, counts)
            if self.values is not None and self.values.height > MOST_VALUES:
                self.values = None
        if "timestamp" in table.columns and not table["timestamp"].dtype.is_temporal():
            seconds = table["timestamp"].cast(pl.Float64, strict=False)
            self.milliseconds += int((seconds > _MILLISECONDS).sum())

    def _differing(self, name: str, column: pl.Series) -> None:
        """Note a column without a role if its cells differ, and its name says that they may be verdicts."""
        cells = self._cells.setdefault(name, set())
        if sounds_like_verdict(name) and len(cells) < 2:
            cells.update(column.cast(pl.String).unique().head(2))
            if len(cells) > 1:
                self.verdicts.append(name)

    def _unread(self, name: str, column: pl.Series) -> None:
        """Note a column without a role if its cells are times, or may be times by the column's name."""
        cells, temporal = column.drop_nulls(), column.dtype in (pl.Date, pl.Datetime)
        if not temporal and column.dtype != pl.String and not column.dtype.is_numeric():
            return
        read = seconds(cells)[1]
        number = np.zeros(len(cells), dtype=np.bool_)
        if not temporal:
            value = cells.cast(pl.Float64, strict=False)
            number = value.is_not_null().to_numpy()
            recent = (value > _RECENT) & (value < _RECENT * 10) | (value / 1000).is_between(
                _RECENT, _RECENT * 10
            )
            read = np.where(number, sounds_like_time(name) & recent.fill_null(False).to_numpy(), read)
        if len(cells) and 10 * int(read.sum()) > 9 * len(cells):
            self.unread[name] = True
        elif sounds_like_time(name) and 10 * int(number.sum()) < len(cells):
            self.unread[name] = False


def _counted(texts: pl.Series) -> pl.DataFrame:
    counted = texts.alias("text").to_frame().drop_nulls().group_by("text").len("records")
    return counted.with_columns(pl.col("records").cast(pl.Int64))


def _both(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([one, other]).group_by("text").agg(pl.col("records").sum())
