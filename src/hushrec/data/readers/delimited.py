"""A reader of delimited text: one rating per line, fields divided by a separator.

Every cell is read as text; no type is inferred. A line with another number of fields than the first is an
error of the file; its cells are never guessed.

Privacy: private; errors name the file and the row, never a cell.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hushrec.data.readers.columns import (
    NONE,
    RATED,
    Roles,
    by_name,
    by_position,
    headerless,
    of_folders,
)
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.data.readers.text import Block, blocks
from hushrec.data.reading import Reading
from hushrec.errors import DataError

_STAND_IN = "\x1f"  # replaces separators of several characters, which the CSV parser does not support

__all__ = ["Dialect", "read"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The division of a line into fields.

    Attributes:
        separator: the text between two fields.
        header: True if the first line names the columns.
        quoted: True if double quotes protect separators and line ends.
        blanks: True if any run of spaces and tabs is a separator; ``separator`` is then a space.
        decimal: the decimal sign of ratings, "." or ",".
    """

    separator: str
    header: bool = False
    quoted: bool = False
    blanks: bool = False
    decimal: str = "."


def read(
    path: Path,
    dialect: Dialect,
    reading: Reading,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] = NONE,
) -> Iterator[pl.DataFrame]:
    """Yield tables of text, a column for each role, such as ``user_id, item_id, rating[, timestamp]``.

    Args:
        dialect: the division of its lines into fields.
        reading: its columns and its largest size; positions of columns mean that there is no header.
        constants: further columns, each with the cell of all its rows.

    Yields:
        tables, in the order of the file; none for an empty file.
    """
    positions: dict[str, int] | None = None
    columns = reading.columns
    width = 0
    folder_columns: dict[str, str | None] = {}
    for block in blocks(path, reading.max_bytes, quoted=dialect.quoted):
        if positions is None:
            first, _, rest = block.data.partition(b"\n")
            names = _fields(first, dialect)
            width = len(names)
            if dialect.header and not headerless(columns, roles):
                folder_columns = of_folders(constants, names)
                positions = by_name(columns, [*names, *folder_columns], str(path), roles, temporal=None)
                block = Block(block.row + 1, rest)
            else:
                line = names[0] if width == 1 else ""
                positions = by_position(columns, width, str(path), roles, constants, line=line)
        table = _cells(path, block, dialect, width)
        if folder_columns:
            table = pl.concat([table, _repeated(folder_columns, table.height)], how="horizontal")
        table = table.select(pl.nth(position).alias(role) for role, position in positions.items())
        if dialect.decimal == ",":
            numbers = ("rating", "count", "personal_epsilon")
            table = table.with_columns(_pointed(role) for role in numbers if role in positions)
        yield table


def _cells(path: Path, block: Block, dialect: Dialect, width: int) -> pl.DataFrame:
    """Parse a block into text in ``width`` columns; blank lines are skipped, empty cells are null."""
    data = _single(block.data, dialect)
    separator = _separator(dialect)
    quoted = dialect.quoted and b'"' in data
    if quoted:
        data = data.lstrip(b"\n")
    else:
        while b"\n\n" in data:
            data = data.replace(b"\n\n", b"\n")
        data = data.removeprefix(b"\n")
    if not data:
        return pl.DataFrame(schema=[(str(place), pl.String) for place in range(width)])
    table = None
    if _is_rectangular(data, separator.encode(), quoted, width):
        table = _parsed(data, separator, quoted)
    if table is None or table.width != width:
        raise DataError(_ragged(path, block, dialect, width))
    # Within quotes a blank line may belong to a value; the parser turns other blank lines into rows of nulls.
    return table.filter(~pl.all_horizontal(pl.all().is_null())) if quoted else table


def _repeated(folder_columns: Mapping[str, str | None], n: int) -> pl.DataFrame:
    """Return columns with the same cell in every row, under names that no column of cells has."""
    cells = {f"folder {place}": cell for place, cell in enumerate(folder_columns.values())}
    return pl.DataFrame(
        {name: pl.repeat(cell, n, dtype=pl.String, eager=True) for name, cell in cells.items()}
    )


def _pointed(role: str) -> pl.Expr:
    """Replace the decimal comma of numbers by a point; an ε that names a class is unchanged."""
    cell = pl.col(role)
    # With a decimal comma, a point is a thousands separator or a mistake; neither is parsed as a number.
    number = pl.when(~cell.str.contains(".", literal=True)).then(cell.str.replace(",", ".", literal=True))
    is_class = cell.str.contains("[^-+0-9., \t]") if role == "personal_epsilon" else pl.lit(False)
    return pl.when(is_class).then(cell).otherwise(number).alias(role)


def _separator(dialect: Dialect) -> str:
    return dialect.separator if len(dialect.separator) == 1 else _STAND_IN


def _single(data: bytes, dialect: Dialect) -> bytes:
    """Return the same lines with a separator of one character."""
    if len(dialect.separator) > 1:
        return data.replace(dialect.separator.encode(), _STAND_IN.encode())
    if dialect.blanks:
        data = data.replace(b"\t", b" ")
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    return data


def _is_rectangular(data: bytes, mark: bytes, quoted: bool, width: int) -> bool:
    """Return True if there are lines × (width − 1) separators outside quotes.

    The parser does not report short lines. This sum misses a long line that compensates for a short one, but
    the parser reports the long line.
    """
    if not quoted:
        return data.count(mark) == (width - 1) * data.count(b"\n")
    signs = np.frombuffer(data, dtype=np.uint8)
    outside = np.cumsum(signs == ord('"'), dtype=np.uint8) % 2 == 0  # wraps at 256, which keeps the parity
    ends = np.flatnonzero((signs == ord("\n")) & outside)
    lines = len(ends) - np.count_nonzero(np.diff(ends) == 1)
    return bool(np.count_nonzero((signs == mark[0]) & outside) == (width - 1) * lines)


def _parsed(data: bytes, separator: str, quoted: bool) -> pl.DataFrame | None:
    with suppress(*GIVEN_UP), quiet():
        return pl.read_csv(
            data,
            has_header=False,
            separator=separator,
            quote_char='"' if quoted else None,
            infer_schema=False,
        )
    return None


def _fields(line: bytes, dialect: Dialect) -> list[str]:
    text = _single(line + b"\n", dialect)[:-1].decode()
    separator = _separator(dialect)
    if dialect.quoted and '"' in text:
        with suppress(csv.Error):
            return next(csv.reader([text], delimiter=separator))
    return text.split(separator)


def _ragged(path: Path, block: Block, dialect: Dialect, width: int) -> str:
    """Find the line with another number of fields: slow, but used only for the error."""
    lines = block.data.split(b"\n")
    numbered = ((row, _fields(line, dialect)) for row, line in enumerate(lines, block.row))
    if dialect.quoted and b'"' in block.data:
        reader = csv.reader((line.decode() + "\n" for line in lines), delimiter=dialect.separator)
        numbered = ((block.row + reader.line_num - 1, fields) for fields in reader)
    with suppress(csv.Error):
        for row, fields in numbered:
            if fields not in ([], [""]) and len(fields) != width:
                problem = f"{len(fields)} field(s) where the first line has {width}"
                return f"{path}, row {row}: {problem}; repair the line"
    return f"{path}, from row {block.row} on: quotes do not enclose whole fields; quote as RFC 4180 says"
