"""A block of people as one row of a Spark DataFrame, and back.

::

    part, cut     the part of the people that the block belongs to, and its place among the part's blocks
    users         ids of the block's users, UTF-8, each followed by NUL; null if the row holds counts alone
    indptr        where each user's entries start, then where the last ones end, int64
    items         index in the catalogue, int32
    values        of ratings: steps above the bottom of the scale; of interactions: counts, uint8
    timestamps    int64
    personal_epsilon         the ε that each user requests, float64
    dropped       counts of records read, dropped or changed on the way to this row, int64, as in ``Dropped``

All but ``part`` and ``cut`` are bytes of little-endian arrays, null for absent ones. These are the
arrays of ``hushrec.data.packed.blocks``.

Privacy: private.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.data.cleaning import kind_of
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback
from hushrec.data.losses.dropped import Dropped
from hushrec.data.packed.block_files import OPTIONAL, TYPES, decoded, encoded
from hushrec.errors import DataError

RATINGS_PER_ROW = 1 << 20  # the most entries in a row: chosen by hand
SCHEMA = (
    "part int, cut int, users binary, indptr binary, items binary, values binary, timestamps binary, "
    "personal_epsilon binary, dropped binary"
)
"""The schema, as Spark writes it."""
ARRAYS = ("users", "indptr", "items", "values", "timestamps", "personal_epsilon")

__all__ = [
    "ARRAYS",
    "RATINGS_PER_ROW",
    "SCHEMA",
    "counted",
    "counts_in",
    "feedback_in",
    "from_row",
    "table_of",
    "to_row",
]


def to_row(block: Feedback, part: int, cut: int = 0, dropped: Dropped | None = None) -> dict[str, Any]:
    """Write a block as a row.

    Args:
        block: the people of the row.
        part, cut: its place among all rows.
        dropped: the records that the loader dropped on the way to it, if they are counted here.
    """
    row: dict[str, Any] = {"part": part, "cut": cut, "users": encoded(block.users)}
    for name in ARRAYS[1:]:
        array = getattr(block, block.VALUES if name == "values" else name)
        row[name] = None if array is None else _little(array).tobytes()
    return row | {"dropped": None if dropped is None else counted(dropped)}


def counted(dropped: Dropped) -> bytes:
    """Encode counts of dropped records."""
    return np.array(astuple(dropped), dtype="<i8").tobytes()


def counts_in(counts: bytes | None) -> Dropped:
    """Decode counts of dropped records."""
    return Dropped(*np.frombuffer(counts or b"", dtype="<i8").tolist())


def table_of(rows: Iterable[dict[str, Any]], schema: str = SCHEMA) -> Any:
    """Return rows as an Arrow table of a schema of integers and bytes."""
    import pyarrow as pa

    fields = [field.split() for field in schema.split(", ")]
    types = {"int": pa.int32(), "binary": pa.binary()}
    return pa.Table.from_pylist([*rows], schema=pa.schema([(name, types[kind]) for name, kind in fields]))


def from_row(row: Mapping[str, Any], domain: Domain) -> Any:  # the kind depends on the domain
    """Read the block of a row, ``Ratings`` or ``Interactions``; arrays are views of the row's bytes.

    Args:
        row: the arrays of the row by name, each as bytes, or as anything with the buffer protocol.
    """
    values = kind_of(domain).VALUES
    with suppress(ValueError, TypeError, DataError):
        arrays = {
            name: _array(row["values" if name == values else name], name)
            for name in ("indptr", "items", values, *sorted(OPTIONAL))
        }
        return decoded(domain, bytes(row["users"]), arrays)
    raise DataError("a row of people is damaged; load the ratings into Spark again")


def feedback_in(batch: Any, domain: Domain) -> Iterator[tuple[int, Any]]:
    """Yield the blocks of an Arrow batch of rows, each with its number, decoded one at a time.

    Args:
        batch: a ``pyarrow.RecordBatch`` of the columns of ``SparkFeedback.frame``.
    """
    for place, number in enumerate(batch.column("block").to_pylist()):
        yield number, from_row({name: batch.column(name)[place].as_buffer() for name in ARRAYS}, domain)


def _array(buffer: Any, name: str) -> NDArray[Any] | None:
    if buffer is None:
        return None
    dtype = np.dtype(TYPES[name])
    array = np.frombuffer(buffer, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)
    return np.require(array, requirements="A")  # a row may begin at any byte of a batch


def _little(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
