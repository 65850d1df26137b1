"""Tables that are written as Parquet or CSV part by part, and the note that a Parquet file carries.

Privacy: private or public, as the tables.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

import pyarrow as pa
from pyarrow import csv, parquet

from hushrec import files

_ROWS = 1 << 20  # of a row group, at least; chosen by hand


def write(
    tables: Iterable[pa.Table],
    schema: pa.Schema,
    file: BinaryIO,
    suffix: str,
    note: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write tables as they come; the same tables give the same bytes.

    Args:
        tables: read once, in order; each has this schema.
        file: open for writing.
        suffix: ``.parquet`` or ``.csv``.
        note: texts by their keys, for the metadata of a Parquet file.
    """
    if suffix == ".csv":
        writer = csv.CSVWriter(file, schema)
    else:
        writer = parquet.ParquetWriter(
            file, schema, compression="zstd", write_statistics=False, store_schema=False
        )
        writer.add_key_value_metadata(note)
    with writer:
        for table in _joined(tables):
            writer.write_table(table)


def _joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join small tables, each of which would be a row group of its own."""
    held, n_rows = [], 0
    for table in tables:
        held.append(table)
        n_rows += table.num_rows
        if n_rows >= _ROWS:
            yield pa.concat_tables(held)
            held, n_rows = [], 0
    if held:
        yield pa.concat_tables(held)


def note_in(path: Path, key: str) -> str:
    """Return the text under a key in the metadata of a Parquet file.

    Raises:
        Exception: there is none, or anything else that a damaged or crafted file makes its reader raise.
    """
    with files.opened(path) as file:
        text: bytes = parquet.read_metadata(file).metadata[key.encode()]
    return text.decode()
