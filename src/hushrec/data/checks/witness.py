"""What the cells of a source look like: distinct ids and values, each with its number of records."""

from contextlib import suppress

import polars as pl

from hushrec.data.readers.columns import role_of
from hushrec.data.readers.quiet import GIVEN_UP, quiet

MOST_VALUES = 10_000
"""Of more distinct ratings than this nothing is kept: they are not ratings."""
_MILLISECONDS = 1e11  # Unix seconds reach this in the year 5138, milliseconds in 1973

__all__ = ["MOST_VALUES", "Witness"]


class Witness:
    """Counts the cells of tables of records, one table after another.

    Attributes:
        ids: by role, ``user_id`` and ``item_id``: a table ``text, records`` of the distinct ids, as text in
            Unicode NFC.
        values: a table ``text, records`` of the distinct ratings or counts as written; None if there are too
            many, or no such column.
        milliseconds: records whose timestamp is too large for Unix seconds, and may be milliseconds.
        headed: whether the first record holds names of columns.

    Privacy: private.
    """

    def __init__(self) -> None:
        self.ids = {role: _counted(pl.Series("text", [], pl.String)) for role in ("user_id", "item_id")}
        self.values: pl.DataFrame | None = None
        self.milliseconds = 0
        self.headed = False
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
        for role, seen in self.ids.items():
            text = table[role].cast(pl.String).str.normalize("NFC")
            self.ids[role] = _both(seen, _counted(text))
        if named := {"rating", "count"} & set(table.columns):
            found = _counted(table[named.pop()].cast(pl.String))
            if not self._valued:
                self._valued, self.values = True, found
            elif self.values is not None:
                self.values = _both(self.values, found)
            if self.values is not None and self.values.height > MOST_VALUES:
                self.values = None
        if "timestamp" in table.columns and not table["timestamp"].dtype.is_temporal():
            seconds = table["timestamp"].cast(pl.Float64, strict=False)
            self.milliseconds += int((seconds > _MILLISECONDS).sum())


def _counted(texts: pl.Series) -> pl.DataFrame:
    counted = texts.alias("text").to_frame().drop_nulls().group_by("text").len("records")
    return counted.with_columns(pl.col("records").cast(pl.Int64))


def _both(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([one, other]).group_by("text").agg(pl.col("records").sum())
