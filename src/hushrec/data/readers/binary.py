"""Ratings as Parquet or Arrow IPC (Feather) files."""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.readers.columns import RATED, Columns, Roles, by_name, of_folders
from hushrec.data.readers.containers.arrow import ipc_size
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.data.readers.text import refuse_bomb
from hushrec.errors import DataError

_ROWS = 1 << 22  # read at once: bounds the memory
_CELL = 8  # bytes that a cell takes in memory, at least
_MAX_FOOTER = 1 << 26
_MAX_VALUES = 1 << 22  # in a footer: some thousand row groups of tens of columns
_MAX_DEPTH = 64
_FAILURES = (OSError, *GIVEN_UP)

__all__ = ["parquet_size", "read_ipc", "read_parquet"]


def read_parquet(
    path: Path,
    columns: Columns | None,
    max_bytes: int,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] | None = None,
) -> Iterator[pl.DataFrame]:
    """The columns of a Parquet file with these roles, such as ``user_id, item_id, rating[, timestamp]``.

    Raises:
        DataError: the file is damaged, a column is missing, or it unpacks to too much.

    Privacy: private.
    """
    rows, unpacked = parquet_size(path)
    scan = partial(pl.scan_parquet, path, glob=False, hive_partitioning=False)
    yield from _read(path, scan, columns, roles, rows, unpacked, max_bytes, "Parquet", constants)


def read_ipc(
    path: Path,
    columns: Columns | None,
    max_bytes: int,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] | None = None,
) -> Iterator[pl.DataFrame]:
    """The same columns of an Arrow IPC file, which is Feather version 2.

    Raises:
        DataError: the file is damaged, a column is missing, or it unpacks to too much.

    Privacy: private.
    """
    rows, unpacked = ipc_size(path)
    refuse_bomb(path, unpacked, max_bytes)
    scan = partial(pl.scan_ipc, path, glob=False, hive_partitioning=False)
    yield from _read(path, scan, columns, roles, rows, unpacked, max_bytes, "Arrow IPC", constants)


def _read(
    path: Path,
    scan: Any,
    columns: Columns | None,
    roles: Roles,
    rows: int,
    unpacked: int,
    max_bytes: int,
    kind: str,
    constants: Mapping[str, str | None] | None,
) -> Iterator[pl.DataFrame]:
    start = 0
    while start < max(rows, 1):  # a file without rows still has columns
        table: pl.DataFrame | None = None
        with suppress(*_FAILURES), quiet():
            lazy = scan()
            names = lazy.collect_schema().names()
            stated = of_folders(constants, names)
            found = by_name(columns, [*names, *stated], str(path), roles)
            refuse_bomb(path, max(unpacked, rows * _CELL * len(found)), max_bytes)
            read = {role: names[place] for role, place in found.items() if place < len(names)}
            given = {role: [*stated.values()][found[role] - len(names)] for role in found if role not in read}
            wanted = lazy.select(pl.col(name).alias(role) for role, name in read.items())
            table = wanted.slice(start, _ROWS).collect()
            table = table.with_columns(pl.lit(cell, pl.String).alias(role) for role, cell in given.items())
        if table is None:
            raise DataError(f"{path} is not a valid {kind} file, or is damaged; write it again")
        yield table
        start += _ROWS


def parquet_size(path: Path) -> tuple[int, int]:
    """Rows and unpacked bytes that the footer of a Parquet file states, before any data is read.

    The footer is ``FileMetaData`` in Thrift's compact encoding: field 3 is the number of rows and field 4 the
    row groups; fields 2 and 3 of a row group are its unpacked size and its rows.

    Raises:
        DataError: the file has no such footer.

    Privacy: private.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
            file.seek(-8, 2)
            length, tail = struct.unpack("<I4s", file.read(8))
            if head == tail == b"PAR1" and length <= _MAX_FOOTER:
                file.seek(-8 - length, 2)
                footer = _Thrift(file.read(length)).record({3: {}, 4: {2: {}, 3: {}}})
                groups = footer.get(4, ())
                rows, unpacked = [group[3] for group in groups], [group[2] for group in groups]
                if min([0, *rows, *unpacked]) == 0 and sum(rows) == footer[3]:
                    return sum(rows), sum(unpacked)
    except (OSError, LookupError, TypeError, ValueError, struct.error):
        pass
    raise DataError(f"{path} is not a Parquet file, or is cut short; write it again")


class _Thrift:
    """The part of Thrift's compact protocol needed to walk a footer; only wanted fields are stored.

    Args:
        data: the footer, which is untrusted: time and memory are at most proportional to its size.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._values, self._depth = data, 0, 0, 0

    def record(self, wanted: Mapping[int, Any]) -> dict[int, Any]:
        """Wanted fields by number; each states which fields of the records inside it are wanted."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            value = self._value(head & 15, wanted.get(number))
            if number in wanted:
                fields[number] = value
        return fields

    def _value(self, kind: int, wanted: Mapping[int, Any] | None) -> Any:
        self._values += 1
        if self._values > _MAX_VALUES:
            raise ValueError("more values than a footer holds")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            self._skip(8)
            return None
        if kind == 8:
            self._skip(self._unsigned())
            return None
        if kind in (9, 10):
            return self._inside(self._items, wanted)
        if kind == 12:
            return self._inside(self.record, wanted or {})
        raise ValueError("unknown Thrift type")  # a map, which footers do not contain, or damage

    def _inside(self, read: Callable[[Any], Any], wanted: Mapping[int, Any] | None) -> Any:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("nested deeper than a footer")
        found = read(wanted)
        self._depth -= 1
        return found

    def _items(self, wanted: Mapping[int, Any] | None) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        kind = head & 15
        if kind in (1, 2):
            self._skip(size)
            return []
        found = []
        for _ in range(min(size, len(self._data) + 1)):  # each takes a byte, so more would run past the end
            value = self._value(kind, wanted)
            if wanted is not None:
                found.append(value)
        return found

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self._at - 1]

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise ValueError("past the end of the footer")

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number of more than ten bytes")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
