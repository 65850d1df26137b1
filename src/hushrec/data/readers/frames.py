"""Tables of other libraries as streams of Arrow batches, with a column for each role.

What speaks Arrow is read as it is: polars, pyarrow, DuckDB, drivers of databases, and any other table with
``__arrow_c_stream__``. pandas' object columns hold cells of any type, which become text here, one by one.

Privacy: private.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from hushrec.data.readers.columns import UNUSED
from hushrec.errors import DataError

OTHER_TYPE = "\0"
"""A cell of an id column that holds no id: 7.0, a truth value, a date. NUL is in no id."""
_ROWS = 1 << 20  # in a batch: chosen by hand
_IDS = ("user_id", "item_id")


class Frame(NamedTuple):
    """A table before it is read.

    Attributes:
        names: of its columns.
        read: from the position of each role to a stream of Arrow batches of the roles.
    """

    names: list[str]
    read: Callable[[dict[str, int]], Any]


def frame_of(source: Any) -> Frame:
    """Open a table; an iterator or stream is used up when it is read.

    Raises:
        DataError: it is no table.
    """
    opened: Frame | None = contained(lambda: _opened(source))
    if opened is None:
        raise DataError(
            "ratings are read from a path, or from a table of polars, pandas, pyarrow or DuckDB, not from "
            f"{type(source).__name__}"
        )
    return opened


def contained(read: Callable[[], Any]) -> Any:
    """Call another library; if it fails, say so in our own words: its message may hold cells."""
    try:
        return read()
    except (DataError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of polars is no Exception
        pass
    raise DataError("the table cannot be read, or its query fails; write it to a Parquet file, ids as text")


def _opened(source: Any) -> Frame | None:
    library = type(source).__module__.partition(".")[0]
    if library == "pandas" and hasattr(source, "iloc") and hasattr(source, "columns"):
        names = [str(name) for name in source.columns]
        return Frame(names, lambda positions: _of_pandas(source, positions))
    if library == "polars" and hasattr(source, "collect"):
        names = list(source.collect_schema())
        return Frame(names, lambda at: _lazy(source.select([names[place] for place in at.values()]), at))
    if library == "pyarrow" and hasattr(source, "scanner"):  # a Dataset
        names = list(source.schema.names)
        return Frame(names, lambda at: _scanned(source, names, at))
    if library in ("duckdb", "_duckdb") and hasattr(source, "columns"):
        return Frame(list(source.columns), lambda at: _picked(source.to_arrow_reader(_ROWS), at))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return Frame(list(source.schema.names), lambda at: _picked(source.to_reader(_ROWS), at))
    if isinstance(source, pa.RecordBatchReader):
        return Frame(list(source.schema.names), lambda at: _picked(source, at))
    if hasattr(source, "__arrow_c_stream__"):
        return _opened(pa.RecordBatchReader.from_stream(source))
    return None


def _picked(reader: Any, positions: dict[str, int]) -> Any:
    """Select the columns of a stream, and name them by role."""
    return _named(reader.schema, [*positions.values()], positions, reader)


def _named(schema: Any, places: list[int], roles: Iterable[str], batches: Iterable[Any]) -> Any:
    named = pa.schema(
        [schema.field(place).with_name(role) for role, place in zip(roles, places, strict=True)]
    )
    parts = (
        pa.record_batch([batch.column(place) for place in places], schema=named)
        for batch in batches
        if batch.num_rows
    )
    return pa.RecordBatchReader.from_batches(named, parts)


def _scanned(dataset: Any, names: list[str], positions: dict[str, int]) -> Any:
    columns = [names[place] for place in positions.values()]
    reader = dataset.scanner(columns, batch_size=_ROWS).to_reader()
    return _named(reader.schema, [*range(len(columns))], positions, reader)


def _lazy(frame: Any, positions: dict[str, int]) -> Any:
    """Read a lazy frame of polars in batches, where it has them."""
    schema = frame.clear().collect().to_arrow().schema

    def batches() -> Iterator[Any]:
        streamed = hasattr(frame, "collect_batches")
        for table in frame.collect_batches(chunk_size=_ROWS) if streamed else [frame.collect()]:
            yield from table.to_arrow().cast(schema).to_batches()

    return _named(schema, [*range(len(positions))], positions, batches())


def _of_pandas(frame: Any, positions: dict[str, int]) -> Any:
    columns = {role: _column(frame.iloc[:, place], role) for role, place in positions.items()}
    return pa.table(columns).to_reader(_ROWS)


def _column(cells: Any, role: str) -> Any:
    categories = getattr(cells.dtype, "categories", None)
    of_objects = cells.dtype == object or (categories is not None and categories.dtype == object)
    if not of_objects:
        return pa.array(cells, from_pandas=True)
    return pa.array([_text(cell, role) for cell in cells.tolist()], pa.string())


def _text(cell: Any, role: str) -> str | None:
    """Write a cell of any type as text: None if empty, ``OTHER_TYPE`` if it should be an id and is none."""
    is_id = role in _IDS
    if isinstance(cell, str):
        return cell
    kind = type(cell).__name__
    if cell is None or kind in ("NAType", "NaTType") or (isinstance(cell, Real) and cell != cell):
        return None
    if isinstance(cell, Decimal):
        whole = cell.is_finite() and cell == cell.to_integral_value()
        return str(int(cell)) if whole else OTHER_TYPE if is_id else str(cell)
    if isinstance(cell, UUID):
        return str(cell)
    if kind != "bool" and isinstance(cell, Integral):
        return str(int(cell))
    if is_id:
        return OTHER_TYPE
    if isinstance(cell, date):
        return cell.isoformat()
    if kind != "bool" and isinstance(cell, Real):
        return repr(float(cell))
    return None if role != UNUSED else "true" if kind == "bool" and cell else "other"
