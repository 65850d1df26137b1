"""Tables of files and of other libraries (polars, pandas, pyarrow, DuckDB, …), with columns named by role.

Tables that are read in batches, such as lazy frames and streams, take the memory of one batch.

Privacy: private; names of files are public.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import narwhals as nw
import polars as pl

from hushrec.data.readers import sources
from hushrec.data.readers.columns import OTHERS, RATED, Roles, by_name
from hushrec.data.readers.quiet import GIVEN_UP, contained
from hushrec.data.readers.sources import Part, parts
from hushrec.data.reading import Columns, Reading
from hushrec.errors import DataError
from hushrec.progress import fraction
from hushrec.text import scheme_of


def tables(source: Any, roles: Roles, reading: Reading) -> Iterator[tuple[pl.DataFrame, str]]:
    """Yield a source's tables, with columns of these roles, and their names; arguments as for ``load``."""
    listed = parts_of(source, reading)
    sizes = [part.size if isinstance(part, Part) else 1 for part in listed]
    with fraction("reading") as read:
        for place, part in enumerate(listed):
            for table in _read(part, roles, reading):
                yield table, _called(part)
            read.reach(sum(sizes[: place + 1]), sum(sizes) or 1)


def _called(part: Any) -> str:
    """Return the name of a file or table in errors. Privacy: public."""
    return str(part.file) if isinstance(part, Part) else "the table"


def _read(part: Any, roles: Roles, reading: Reading) -> Iterator[pl.DataFrame]:
    """Yield the tables of one file or table."""
    if isinstance(part, Part):
        return sources.read(part.file, part.format, reading, roles, part.constants)
    if reading.of_text:
        raise DataError(
            "format=, separator= and decimal= go with a file, not with a table; one Reading holds for all "
            "sources of a call: where they differ, make each a table with the usual column names"
        )
    return from_table(part, reading.columns, roles)


def parts_of(source: Any, reading: Reading) -> list[Any]:
    """List the files and tables of a source: a ``Part`` for each file, each table unchanged.

    Args:
        source, reading: as for ``load``.

    Privacy: public.
    """
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise DataError("there is no file to read; name one or more")
    listed: list[Any] = []
    for entry in sources:
        if isinstance(entry, str) and scheme_of(entry):  # which may hold a password
            raise DataError(
                "an address with :// is not read: make what lies there a data frame, or a Parquet file, and "
                "give that"
            )
        listed += parts(entry, reading) if isinstance(entry, str | Path) else [entry]
    seen: set[Path] = set()
    for file in (part.file for part in listed if isinstance(part, Part)):
        if (place := file.resolve()) in seen:
            raise DataError(f"{file} is named twice, so its records would count twice; name each file once")
        seen.add(place)
    return listed


_ROWS = 1 << 20  # in a batch: chosen by hand

Result = TypeVar("Result")


class _Table(NamedTuple):
    """A table before it is read.

    Attributes:
        names: the names of its columns.
        temporal: those of dates and times.
        read: a function from the position of each role to tables of the roles, at least one, possibly empty.
    """

    names: list[str]
    temporal: set[str]
    read: Callable[[dict[str, int]], Iterator[pl.DataFrame]]


def from_table(source: Any, columns: Columns, roles: Roles = RATED) -> Iterator[pl.DataFrame]:
    """Yield the columns of any table with these roles, such as ``user_id, item_id, rating[, timestamp]``.

    Args:
        source: a table that is in memory, lazy, or a stream of Arrow batches, which is used up.
        columns: role to column name; roles left out are recognised.

    Yields:
        tables, at least one.

    Privacy: private.
    """
    opened = _contained(lambda: _opened(source))
    if opened is None:
        raise DataError(
            "ratings are read from a path, or from a table of polars, pandas, pyarrow or DuckDB, not from "
            f"{type(source).__name__}"
        )
    positions = by_name(columns, opened.names, "the table", roles, temporal=opened.temporal)
    batches = _contained(lambda: opened.read(positions))
    while (table := _contained(lambda: next(batches, None))) is not None:
        yield table


def joined(batches: Iterable[Any]) -> Iterator[Any]:
    """Join Arrow batches into larger tables, because each table costs milliseconds however short it is.

    Privacy: private.
    """
    arrow: Any = import_module("pyarrow")
    waiting, rows = [], 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows >= _ROWS:
            yield arrow.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield arrow.Table.from_batches(waiting)


def _contained(read: Callable[[], Result]) -> Result:
    message = "the table cannot be read, or its query fails; write it to a Parquet file, ids as text"
    return contained(read, lambda _: message)


def _opened(source: Any) -> _Table | None:
    source = nw.to_native(source, pass_through=True)
    arrow: Any = nw.dependencies.get_pyarrow()
    if isinstance(source, pl.DataFrame):
        return _Table(*_columns(source.schema), lambda positions: iter([source.select(_named(positions))]))
    if isinstance(source, pl.LazyFrame):
        return _Table(
            *_columns(source.collect_schema()), lambda positions: _lazy(source.select(_named(positions)))
        )
    if arrow and isinstance(source, arrow.RecordBatch | arrow.Table | arrow.RecordBatchReader):
        return _Table(*_fields(source.schema), lambda positions: _stream(_reader(source), positions))
    if type(source).__module__.startswith("pyarrow.") and hasattr(source, "scanner"):  # a Dataset
        names, timed = _fields(source.schema)
        return _Table(
            names, timed, lambda positions: _stream(_scanned(source, names, positions), positions, cut=False)
        )
    table: Any = nw.from_native(source, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        names, timed = _columns(table.collect_schema())
        return _Table(
            names,
            timed,
            lambda positions: _collected(table.select([names[at] for at in positions.values()]), positions),
        )
    if isinstance(table, nw.DataFrame):
        return _Table(*_columns(table.schema), lambda positions: iter([_eager(table, positions)]))
    return None


def _columns(schema: Any) -> tuple[list[str], set[str]]:
    """Return the names of a table's columns, and those of dates and times."""
    return [str(name) for name in schema], {str(name) for name, kind in schema.items() if kind.is_temporal()}


def _fields(schema: Any) -> tuple[list[str], set[str]]:
    """Return the same for a schema of Arrow."""
    kinds: Any = import_module("pyarrow").types
    return list(schema.names), {field.name for field in schema if kinds.is_temporal(field.type)}


def _named(positions: dict[str, int]) -> list[pl.Expr]:
    return [pl.nth(place).alias(role) for role, place in positions.items()]


def _lazy(table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    yield pl.DataFrame(schema=table.collect_schema())
    if hasattr(table, "collect_batches"):
        yield from table.collect_batches(chunk_size=_ROWS)
    else:  # polars before 1.34
        yield table.collect(engine="streaming")


def _reader(source: Any) -> Any:
    """Return a stream of the batches of a pyarrow batch, table or stream."""
    arrow: Any = nw.dependencies.get_pyarrow()
    if isinstance(source, arrow.RecordBatch):
        source = arrow.Table.from_batches([source])
    return source.to_reader(_ROWS) if isinstance(source, arrow.Table) else source


def _scanned(source: Any, names: list[str], positions: dict[str, int]) -> Any:
    return source.scanner([names[at] for at in positions.values()], batch_size=_ROWS).to_reader()


def _stream(reader: Any, positions: dict[str, int], *, cut: bool = True) -> Iterator[pl.DataFrame]:
    """Yield an Arrow stream as tables; ``cut`` selects the columns, if the stream has others too."""
    places = [*positions.values()] if cut else [*range(len(positions))]
    yield _from_arrow(reader.schema.empty_table().select(places), positions)
    for table in joined(batch.select(places) for batch in reader):
        yield _from_arrow(table, positions)


def _from_arrow(read: Any, positions: dict[str, int]) -> pl.DataFrame:
    table = pl.from_arrow(read)
    assert isinstance(table, pl.DataFrame)
    return table.rename(dict(zip(table.columns, positions, strict=True)))


def _collected(table: Any, positions: dict[str, int]) -> Iterator[pl.DataFrame]:
    """Yield a lazy table of another library than polars: DuckDB's in batches, others at once."""
    if table.implementation.is_duckdb():
        yield from _stream(_relation(table.to_native()), positions, cut=False)
    else:
        yield _eager(table.collect(), {role: place for place, role in enumerate(positions)})


def _relation(source: Any) -> Any:
    """Open a stream of Arrow batches from a relation of DuckDB; older versions have another method for it."""
    return (getattr(source, "to_arrow_reader", None) or source.fetch_record_batch)(_ROWS)


def _eager(table: Any, positions: dict[str, int]) -> pl.DataFrame:
    read: dict[str, pl.Series] = {}
    for role, place in positions.items():
        with suppress(Exception, *GIVEN_UP):
            cells = table[table.columns[place]]
            read[role] = _column(cells, timed=role == "timestamp")
            if role.startswith(OTHERS) and cells.dtype.is_temporal():
                read[role] = pl.from_epoch(read[role].cast(pl.Int64, strict=False))
        if role not in read:
            raise DataError(f"the table: column {role} cannot be read; cast it to text or to numbers")
    return pl.DataFrame(read)


def _column(column: Any, *, timed: bool) -> pl.Series:
    if column.dtype.is_temporal():
        column = column.dt.timestamp("ms") // 1000
    if column.dtype.is_numeric():
        return pl.Series(column.to_list() if column.is_null().any() else column.to_numpy())
    # pandas stores text in object columns, where NaN stands for an empty cell.
    return pl.Series([_text(cell, timed=timed) for cell in column.to_list()], dtype=pl.String)


def _text(cell: object, *, timed: bool) -> str | None:
    if isinstance(cell, str):
        return cell
    if timed and isinstance(cell, date):
        return cell.isoformat()
    return str(cell) if isinstance(cell, int | float) and cell == cell else None
