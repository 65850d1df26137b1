"""A reader of Parquet and Arrow IPC (Feather) files, through polars."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl

from hushrec.data.readers.columns import NONE, RATED, Roles, by_name, of_folders
from hushrec.data.readers.delimited import refuse_bomb
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.data.reading import Reading
from hushrec.errors import DataError

_ROWS = 1 << 22  # read at once: bounds the memory; chosen by hand
_CELL = 8  # bytes that a cell takes in memory, at least
_FAILURES = (OSError, *GIVEN_UP)
_FORMATS: dict[str, tuple[Callable[..., pl.LazyFrame], str]] = {
    "parquet": (pl.scan_parquet, "a Parquet file"),
    "ipc": (pl.scan_ipc, "an Arrow IPC file (Feather 2)"),
}


def read(
    path: Path,
    format: str,
    reading: Reading,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] = NONE,
) -> Iterator[pl.DataFrame]:
    """Yield tables of the columns with these roles, such as ``user_id, item_id, rating[, timestamp]``.

    Args:
        format: parquet, or ipc: Arrow IPC, which is Feather version 2.

    Privacy: private.
    """
    scan, kind = _FORMATS[format]
    start = 0
    while True:
        table: pl.DataFrame | None = None
        with suppress(*_FAILURES), quiet():
            lazy = scan(path, glob=False, hive_partitioning=False)
            schema = lazy.collect_schema()
            names, temporal = schema.names(), {name for name, dtype in schema.items() if dtype.is_temporal()}
            folder_columns = of_folders(constants, names)
            positions = by_name(
                reading.columns, [*names, *folder_columns], str(path), roles, temporal=temporal
            )
            if not start:  # by the number of rows that the file states, before any of its data is unpacked
                rows = lazy.select(pl.len()).collect().item()
                refuse_bomb(path, rows * _CELL * len(positions), reading.max_bytes)
            read = {role: names[place] for role, place in positions.items() if place < len(names)}
            folder_cells = {
                role: [*folder_columns.values()][positions[role] - len(names)]
                for role in positions
                if role not in read
            }
            selection = lazy.select(pl.col(name).alias(role) for role, name in read.items())
            table = selection.slice(start, _ROWS).collect()
            table = table.with_columns(
                pl.lit(cell, pl.String).alias(role) for role, cell in folder_cells.items()
            )
        if table is None:
            raise DataError(f"{path} is not {kind}, or is damaged or cut short; write it again")
        refuse_bomb(path, int(table.estimated_size()), reading.max_bytes)
        yield table
        start += _ROWS
        if table.height < _ROWS:
            return
