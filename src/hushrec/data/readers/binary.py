"""Ratings as Parquet or Arrow IPC (Feather) files, as polars reads them."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.readers.columns import RATED, Columns, Roles, by_name, of_folders
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.data.readers.text import refuse_bomb
from hushrec.errors import DataError

_ROWS = 1 << 22  # read at once: bounds the memory
_CELL = 8  # bytes that a cell takes in memory, at least
_FAILURES = (OSError, *GIVEN_UP)

__all__ = ["read_ipc", "read_parquet"]


def read_parquet(
    path: Path,
    columns: Columns | None,
    max_bytes: int,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] | None = None,
) -> Iterator[pl.DataFrame]:
    """The columns of a Parquet file with these roles, such as ``user_id, item_id, rating[, timestamp]``.

    Privacy: private.
    """
    scan = partial(pl.scan_parquet, path, glob=False, hive_partitioning=False)
    return _read(path, scan, columns, roles, max_bytes, "a Parquet file", constants)


def read_ipc(
    path: Path,
    columns: Columns | None,
    max_bytes: int,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] | None = None,
) -> Iterator[pl.DataFrame]:
    """The same columns of an Arrow IPC file, which is Feather version 2.

    Privacy: private.
    """
    scan = partial(pl.scan_ipc, path, glob=False, hive_partitioning=False)
    return _read(path, scan, columns, roles, max_bytes, "an Arrow IPC file (Feather 2)", constants)


def _read(
    path: Path,
    scan: Any,
    columns: Columns | None,
    roles: Roles,
    max_bytes: int,
    kind: str,
    constants: Mapping[str, str | None] | None,
) -> Iterator[pl.DataFrame]:
    start = 0
    while True:
        table: pl.DataFrame | None = None
        with suppress(*_FAILURES), quiet():
            lazy = scan()
            schema = lazy.collect_schema()
            names, temporal = schema.names(), {name for name, dtype in schema.items() if dtype.is_temporal()}
            stated = of_folders(constants, names)
            found = by_name(columns, [*names, *stated], str(path), roles, temporal=temporal)
            if not start:  # by what the file states, before any of its data is unpacked
                rows = lazy.select(pl.len()).collect().item()
                refuse_bomb(path, rows * _CELL * len(found), max_bytes)
            read = {role: names[place] for role, place in found.items() if place < len(names)}
            given = {role: [*stated.values()][found[role] - len(names)] for role in found if role not in read}
            wanted = lazy.select(pl.col(name).alias(role) for role, name in read.items())
            table = wanted.slice(start, _ROWS).collect()
            table = table.with_columns(pl.lit(cell, pl.String).alias(role) for role, cell in given.items())
        if table is None:
            raise DataError(f"{path} is not {kind}, or is damaged or cut short; write it again")
        refuse_bomb(path, int(table.estimated_size()), max_bytes)
        yield table
        start += _ROWS
        if table.height < _ROWS:
            return
