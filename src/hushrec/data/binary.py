"""Ratings as Parquet or Arrow IPC (Feather) files."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.columns import Columns, by_name
from hushrec.data.text import refuse_bomb
from hushrec.errors import DataError

_ROWS = 1 << 22  # read at once: bounds the memory
_CELL = 8  # bytes that a cell takes in memory, at least
_MAX_FOOTER = 1 << 26
# Suppressed, not chained: the messages of a reader may hold cells.
_FAILURES = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)

__all__ = ["parquet_size", "read_ipc", "read_parquet"]


def read_parquet(path: Path, columns: Columns | None, max_bytes: int) -> Iterator[pl.DataFrame]:
    """The columns ``user_id, item_id, rating[, timestamp][, epsilon]`` of a Parquet file.

    Raises:
        DataError: damaged, a column is missing, or it unpacks to too much.

    Privacy: private.
    """
    rows, unpacked = parquet_size(path)
    yield from _read(path, pl.scan_parquet, columns, rows, unpacked, max_bytes, "Parquet")


def read_ipc(path: Path, columns: Columns | None, max_bytes: int) -> Iterator[pl.DataFrame]:
    """The same of an Arrow IPC file, which is Feather version 2.

    Raises:
        DataError: damaged, a column is missing, or it unpacks to too much.

    Privacy: private.
    """
    rows = None
    with suppress(*_FAILURES):
        rows = pl.scan_ipc(path, glob=False).select(pl.len()).collect().item()
    if rows is None:
        raise DataError(
            f"{path} is no Arrow IPC file, or is cut short; write it again as IPC file or Feather 2"
        )
    yield from _read(path, pl.scan_ipc, columns, rows, 0, max_bytes, "Arrow IPC")


def _read(
    path: Path, scan: Any, columns: Columns | None, rows: int, unpacked: int, max_bytes: int, kind: str
) -> Iterator[pl.DataFrame]:
    start = 0
    while start < max(rows, 1):  # a file without rows has columns all the same
        table: pl.DataFrame | None = None
        with suppress(*_FAILURES):
            lazy = scan(path, glob=False)
            names = lazy.collect_schema().names()
            found = by_name(columns, names, str(path))
            refuse_bomb(path, max(unpacked, rows * _CELL * len(found)), max_bytes)
            wanted = lazy.select(pl.col(names[place]).alias(role) for role, place in found.items())
            table = wanted.slice(start, _ROWS).collect()
        if table is None:
            raise DataError(f"{path} is no {kind} file, or is damaged; write it again")
        yield table
        start += _ROWS


def parquet_size(path: Path) -> tuple[int, int]:
    """Rows and unpacked bytes that the footer of a Parquet file states, before any data is read.

    The footer is Thrift's compact encoding of ``FileMetaData``: field 3 is the number of rows, field 4 the
    row groups, and fields 2 and 3 of a row group its unpacked size and its rows.

    Raises:
        DataError: there is no such footer.

    Privacy: private.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
            file.seek(-8, 2)
            length, tail = struct.unpack("<I4s", file.read(8))
            if head == tail == b"PAR1" and length <= _MAX_FOOTER:
                file.seek(-8 - length, 2)
                footer = _Thrift(file.read(length)).record()
                groups = footer.get(4, ())
                rows, unpacked = [group[3] for group in groups], [group[2] for group in groups]
                if min([0, *rows, *unpacked]) == 0 and sum(rows) == footer[3]:
                    return sum(rows), sum(unpacked)
    except (OSError, LookupError, TypeError, ValueError, struct.error, RecursionError):
        pass
    raise DataError(f"{path} is no Parquet file, or is cut short; write it again")


class _Thrift:
    """Just enough of Thrift's compact protocol to walk a footer."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def record(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._take(8)
        if kind == 8:
            return self._take(self._unsigned())
        if kind in (9, 10):
            return self._items()
        if kind == 12:
            return self.record()
        raise ValueError("unknown Thrift type")  # a map, which no footer holds, or damage

    def _items(self) -> Sequence[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        if size > len(self._data):
            raise ValueError("longer than the footer")
        if head & 15 in (1, 2):
            return self._take(size)
        return [self._value(head & 15) for _ in range(size)]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise ValueError("past the end of the footer")
        return self._data[start : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
