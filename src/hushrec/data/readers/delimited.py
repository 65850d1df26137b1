"""A reader of delimited text: one rating per line, in a stream of blocks of whole records.

A block is the input of one CSV parser call. Cutting at record ends happens here so that one reader serves
every text format, plain or gzipped, and so that size limits apply before anything is parsed.

Every cell is read as text; no type is inferred. A line with another number of fields than the first is an
error of the file; its cells are never guessed.

Privacy: private; errors name the file and the row, never a cell.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import polars as pl

from hushrec.data.readers.columns import NONE, RATED, Roles, by_name, by_position, headerless, of_folders
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.data.reading import Reading
from hushrec.errors import DataError

BLOCK = 1 << 25  # bytes read at once: bounds the memory; chosen by hand
MAX_RECORD = 1 << 20  # bytes, far above a line of ratings: chosen by hand
# A file may unpack to this many times its size, and always to 64 MiB. Ratings compress to a third or a tenth.
# Both limits are chosen by hand.
MAX_RATIO = 100
FREE_BYTES = 1 << 26  # bytes that any file may unpack to; chosen by hand


class Block(NamedTuple):
    """Whole lines of a file, each ending in LF.

    Attributes:
        row: 1-based number of the first line in the file.
        data: UTF-8 bytes.
    """

    row: int
    data: bytes


def refuse_bomb(path: Path, unpacked: int, max_bytes: int) -> None:
    """Refuse a file that unpacks to more than ``max_bytes``, or to more than 100 times its size."""
    if unpacked > max_bytes:
        raise DataError(
            f"{path} unpacks to more than {max_bytes} bytes; if it should, pass a larger max_bytes"
        )
    packed = path.stat().st_size
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise DataError(
            f"{path} unpacks to over {MAX_RATIO} times its size, unlike any ratings; unpack it yourself"
        )


def blocks(path: Path, max_bytes: int, *, quoted: bool = False) -> Iterator[Block]:
    """Yield the lines of a text file, in blocks of about 32 MiB; CRLF becomes LF, a byte order mark goes.

    Args:
        path: a file, gzipped if its name ends in ``.gz``.
        max_bytes: the most bytes that the file may unpack to.
        quoted: True if double quotes protect line ends.

    Yields:
        blocks in the order of the file.
    """
    row, total, rest = 1, 0, b""
    with ExitStack() as opened:
        stream = _opened(path, opened)
        while True:
            chunk = _read(stream, path)
            total += len(chunk)
            refuse_bomb(path, total, max_bytes)
            data = rest + (chunk if row > 1 or rest else chunk.removeprefix(b"\xef\xbb\xbf"))
            if not chunk and data and not data.endswith(b"\n"):
                if b"\r" in data and b"\n" not in data:
                    raise DataError(f"{path}: lines end in CR alone; convert the line ends to LF")
                data += b"\n"
            end = _record_end(data, quoted)
            rest = data[end:]
            if len(rest) > (MAX_RECORD if chunk else 0):
                raise DataError(_endless(path, row, data, quoted))
            if end:
                data = data[:end].replace(b"\r\n", b"\n")
                _check_utf8(path, row, data)
                yield Block(row, data)
                row += data.count(b"\n")
            if not chunk:
                return


def _opened(path: Path, opened: ExitStack) -> BinaryIO:
    try:
        stream = opened.enter_context(path.open("rb"))
        return cast(BinaryIO, opened.enter_context(gzip.open(stream))) if path.suffix == ".gz" else stream
    except OSError as error:
        reason = error.strerror
    raise DataError(f"{path} cannot be opened: {reason}")


def _read(stream: BinaryIO, path: Path) -> bytes:
    try:
        return stream.read(BLOCK)
    except (OSError, EOFError, zlib.error):
        pass
    raise DataError(f"{path} is damaged or cut short; fetch or pack it again")


def _record_end(data: bytes, quoted: bool) -> int:
    """Return the end of the last whole record: after a line end with an even number of quotes before it."""
    end = data.rfind(b"\n") + 1
    odd = quoted and data.count(b'"', 0, end) % 2
    while odd and end and len(data) - end <= MAX_RECORD:
        start = data.rfind(b"\n", 0, end - 1) + 1
        odd ^= data.count(b'"', start, end) % 2
        end = start
    return end


def _endless(path: Path, row: int, data: bytes, quoted: bool) -> str:
    """Describe the fault of a block in which no record ends."""
    if not quoted or b'"' not in data:
        row += data.count(b"\n")
        return f"{path}, row {row}: over {MAX_RECORD} bytes; is this text, one rating a line, ended by LF?"
    opened = None
    for number, line in enumerate(data.split(b"\n"), row):
        if line.count(b'"') % 2:
            opened = number if opened is None else None
    where = path if opened is None else f"{path}, row {opened}"
    return f"{where}: a quote is opened and not closed; close it, or double it if it belongs to a value"


def _check_utf8(path: Path, row: int, data: bytes) -> None:
    if data.isascii():
        return
    try:
        data.decode()
        return
    except UnicodeDecodeError as error:
        row += data.count(b"\n", 0, error.start)
    raise DataError(f"{path}, row {row}: not UTF-8; convert the file, for example with iconv -t UTF-8")


_STAND_IN = "\x1f"  # replaces separators of several characters, which the CSV parser does not support


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
