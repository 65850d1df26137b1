"""What the cleaning reads: a SQL relation for each file or table, and SQL for each cell that has a role.

Every cell comes as it lies in the source: text as text, numbers as numbers. What a column's type cannot hold,
ids in a column of floats for example, is refused here, before any cell is read.

Privacy: names and types of columns are public; cells are private.
"""

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hushrec.data.readers.columns import UNUSED, Roles, by_name, by_position, headerless, of_folders
from hushrec.data.readers.delimited import TextFile, mend_ends, opened, require_plausible
from hushrec.data.readers.duck import LARGEST_RECORD
from hushrec.data.readers.frames import contained, frame_of
from hushrec.data.readers.sources import Part
from hushrec.data.reading import Columns, Reading
from hushrec.errors import DataError
from hushrec.text import shown

_CELL = 8  # bytes that a cell takes in memory, at least
_FLOAT_ERROR = {"float64": 0.0, "float32": 2.0**-23}
"""Largest relative error of a number that is stored so."""
_TICKS = {"D": 0, "s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
"""Kinds of dates and times in a stream: days, or how many of the unit make a second."""


@dataclass
class Scan:
    """One file or table of a source.

    Attributes:
        name: in errors.
        relation: SQL that reads its columns, ``c0``, ``c1`` …
        names: of its columns, None if there is no header.
        cells: role → SQL of its cell.
        kinds: role → kind of its cells, as ``require_type`` returns it, or json.
        positions: role → place of the column that is read for it.
        text: the file, if it is one of text.
        arrow: the stream that the relation names, if it is a table.
        stated: columns that folders state, of a file whose own are not known yet.
    """

    name: str
    relation: str
    names: list[str] | None
    cells: dict[str, str]
    kinds: dict[str, str]
    positions: Mapping[str, int] = field(default_factory=dict)
    text: TextFile | None = None
    arrow: Any = None
    stated: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """Role → name of the column that is read for it, or its place in a file without a header."""
        return {role: self._name(place) for role, place in self.positions.items() if role != UNUSED}

    def _name(self, place: int) -> str:
        if self.names is None:
            return f"column {place}"
        return shown(self.names[place]) if place < len(self.names) else "a column that folders state"

    @property
    def unused(self) -> list[str]:
        """Names of the columns that are not read."""
        read = {place for role, place in self.positions.items() if role != UNUSED}
        return [shown(name) for place, name in enumerate(self.names or []) if place not in read]

    @property
    def roles(self) -> set[str]:
        """The roles for which it has a column that is read."""
        return set(self.cells) - {UNUSED}

    def select(self, decimal: str) -> str:
        """Return SQL of its records: a column for each role, null where it has none.

        Args:
            decimal: the decimal sign of text.
        """
        exact = self.kinds.get("rating", self.kinds.get("count", "")) in ("text", "json")
        comma = decimal if exact or self.text else "."
        get = {role: _CELLS[role](self.cells[role], self.kinds[role], comma) for role in self.cells}
        value = get.get("rating", get.get("count", "1::DOUBLE"))
        error = _FLOAT_ERROR.get(self.kinds.get("rating", self.kinds.get("count", "")), 0.0)
        return (
            f"SELECT {get['user_id']} AS user_id, {get['item_id']} AS item_id, {value} AS value, "
            f"{error!r}::DOUBLE AS float_error, {get.get('timestamp', 'NULL::DOUBLE')} AS time, "
            f"{get.get('personal_epsilon', 'NULL::VARCHAR')} AS epsilon, "
            f"{get.get(UNUSED, 'false')} AS unused FROM {self.relation}"
        )


def text_literal(text: str) -> str:
    """Write text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def scans(sources: list[Any], roles: Roles, reading: Reading) -> Iterator[Scan]:
    """Open the files and tables of a source, and find the columns of the roles in each.

    Args:
        sources: what ``parts_of`` lists.
    """
    # What streams is read once: there is no second try beside it, which files of text may need.
    streams = any(not isinstance(source, Part) or source.format == "parquet" for source in sources)
    for number, source in enumerate(sources):
        if not isinstance(source, Part):
            if reading.of_text:
                raise DataError(
                    "format=, separator=, decimal= and quotes= go with a file, not with a table; one Reading "
                    "holds for all sources of a call: where they differ, make each a table with the usual "
                    "column names"
                )
            yield of_table(source, f"source_{number}", reading.columns, roles)
            continue
        settings = [name for name in reading.of_text if name != "format="]
        if settings and source.format not in ("csv", "tsv"):
            raise DataError(
                f"{' and '.join(settings)} apply to the formats csv and tsv, not to {source.format}; leave "
                "them out. One Reading holds for all sources of a call: where they differ, make each a table "
                "first"
            )
        if source.format == "parquet":
            yield _of_parquet(source, f"source_{number}", roles, reading)
        elif source.format == "jsonl":
            yield _of_json(source, roles, reading)
        else:
            scan = _of_text(source, roles, reading)
            if scan is not None:  # an empty file holds no records, and no names of columns
                yield (mended(scan) if streams else None) or scan


def of_table(source: Any, relation: str, columns: Columns, roles: Roles, name: str = "the table") -> Scan:
    """Open a table of any library.

    Args:
        relation: the name under which its stream is registered.
    """
    frame = frame_of(source)
    positions = by_name(columns, frame.names, name, roles)
    reader = contained(lambda: frame.read(positions))
    kinds = {role: require_type(role, reader.schema.field(role).type, name) for role in positions}
    cells = {role: f"c{place}" for place, role in enumerate(positions)}
    relation = _placed(relation, len(cells))
    return Scan(name, relation, frame.names, cells, kinds, positions, arrow=_plain(reader, kinds))


def _plain(reader: Any, kinds: Mapping[str, str]) -> Any:
    """Make cells of a stream plain: over text that is no UTF-8, for example, DuckDB loses its tables."""
    plain = {"other": pa.bool_(), "D": pa.int32(), **dict.fromkeys(("s", "ms", "us", "ns"), pa.int64())}

    def column(cells: Any, kind: str) -> Any:
        if kind == "text":
            cells.validate(full=True)
        elif kind == "other":
            return pc.if_else(cells.is_valid(), True, None)
        elif isinstance(cells, pa.DictionaryArray):
            cells = cells.dictionary_decode()
        return cells.cast(plain[kind]) if kind in plain else cells

    def plain_type(type: Any, kind: str) -> Any:
        decoded = type.value_type if pa.types.is_dictionary(type) and kind != "text" else type
        return plain.get(kind, decoded)

    schema = pa.schema(
        [(role, plain_type(reader.schema.field(role).type, kind)) for role, kind in kinds.items()]
    )
    batches = (
        pa.record_batch([*map(column, batch.columns, kinds.values())], schema=schema) for batch in reader
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def _placed(relation: str, n: int) -> str:
    """Name the columns of a relation by position: DuckDB does not tell A from a, nor two of one name."""
    return f"{relation} AS placed({', '.join(f'c{place}' for place in range(n))})"


def _of_text(part: Part, roles: Roles, reading: Reading) -> Scan | None:
    positional = headerless(reading.columns, roles)
    file = opened(part, reading, headerless=positional)
    if file.fields is None and file.dialect.header:
        return None
    named = [place + 1 for place in reading.columns.values() if isinstance(place, int)]
    fields = file.fields or [""] * max([3, *named])
    stated: Mapping[str, str | None] = {}
    if file.dialect.header:
        stated = of_folders(part.constants, fields)
        positions = by_name(reading.columns, [*fields, *stated], file.name, roles)
    else:
        line = fields[0] if len(fields) == 1 else ""
        positions = by_position(reading.columns, len(fields), file.name, roles, part.constants, line=line)
    cells = _cells(positions, len(fields), stated)
    names = [*fields] if file.dialect.header else None
    kinds = dict.fromkeys(cells, "text")
    relation = csv_relation(file, len(fields))
    return Scan(file.name, relation, names, cells, kinds, positions, text=file)


def mended(scan: Scan) -> Scan | None:
    """Return the scan of a file whose lines ended in two ways, now that they end alike; None if they did."""
    if scan.text is None or not scan.relation.startswith("read_csv") or not mend_ends(scan.text):
        return None
    return replace(scan, relation=csv_relation(scan.text, len(scan.text.fields or ())))


def csv_relation(file: TextFile, width: int) -> str:
    """Return SQL that reads a file of text strictly, every cell as text.

    ``new_line`` must not be set: DuckDB then returns no row, and no error, for a file with other line ends.
    """
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(width))
    quote = "'\"'" if file.dialect.quoted else "''"
    return (
        f"read_csv({_path(file.path)}, auto_detect = false, header = false, skip = {file.skipped}, "
        f"delim = {text_literal(file.dialect.separator)}, quote = {quote}, escape = {quote}, comment = '', "
        f"compression = '{file.compression}', max_line_size = {LARGEST_RECORD}, columns = {{{columns}}})"
    )


def _path(path: str) -> str:
    """Write a path such that DuckDB takes brackets and stars in it for letters."""
    if any("\ud800" <= sign <= "\udfff" for sign in path):
        raise DataError(f"{path!a}: the name of this file is not UTF-8; rename it")
    return text_literal(glob.escape(path))


def _cells(positions: Mapping[str, int], width: int, stated: Mapping[str, str | None]) -> dict[str, str]:
    """Return SQL of each role's cell; columns past the width are stated by the names of folders."""
    constants = [*stated.values()]
    cells = {}
    for role, place in positions.items():
        cell = f"c{place}"
        if place >= width:
            constant = constants[place - width]
            cell = "NULL::VARCHAR" if constant is None else f"{text_literal(constant)}"
        cells[role] = cell
    return cells


def _of_parquet(part: Part, stream: str, roles: Roles, reading: Reading) -> Scan:
    name, schema = str(part.file), None
    relation = f"read_parquet({_path(name)}, hive_partitioning = false, union_by_name = false)"
    try:
        with pq.ParquetFile(part.file) as file:
            schema, n_rows, columns = file.schema_arrow, file.metadata.num_rows, file.metadata
            groups = [columns.row_group(k) for k in range(columns.num_row_groups)]
            unpacked = sum(group.total_byte_size for group in groups)
    except Exception:  # a damaged file can make the reader raise anything, with cells in its message
        pass
    if schema is None:
        reason = (
            "does not exist"
            if not part.file.exists()
            else "is not a Parquet file, or is damaged or cut short"
        )
        raise DataError(f"{name} {reason}; write it again")
    stated = of_folders(part.constants, schema.names)
    positions = by_name(reading.columns, [*schema.names, *stated], name, roles)
    require_plausible(part.file, max(n_rows * _CELL * len(positions), unpacked), reading.max_bytes)
    width = len(schema.names)
    kinds = {
        role: require_type(role, schema.field(place).type, name) if place < width else "text"
        for role, place in positions.items()
    }
    cells, names = _cells(positions, width, stated), list(schema.names)
    if "ms" in kinds.values():  # over one that no calendar holds, DuckDB gives up
        inside = {role: place for role, place in positions.items() if place < width}
        batches = pa.RecordBatchReader.from_batches(schema, pq.ParquetFile(part.file).iter_batches())
        arrow = _plain(frame_of(batches).read(inside), {role: kinds[role] for role in inside})
        cells |= {role: f"c{place}" for place, role in enumerate(inside)}
        return Scan(name, _placed(stream, len(inside)), names, cells, kinds, positions, arrow=arrow)
    kinds = {role: "moment" if kind in _TICKS else kind for role, kind in kinds.items()}
    return Scan(name, _placed(relation, width), names, cells, kinds, positions)


def _of_json(part: Part, roles: Roles, reading: Reading) -> Scan:
    """Open a file of JSON objects, a line each; every cell stays JSON until it is cleaned."""
    file = opened(part._replace(format="u.data"), Reading(max_bytes=reading.max_bytes), headerless=True)
    options = f"compression = '{file.compression}', maximum_object_size = {LARGEST_RECORD}"
    keys = (
        f"SELECT DISTINCT unnest(json_keys(json)) FROM read_ndjson_objects({_path(file.path)}, {options}) "
        "ORDER BY ALL"
    )
    return Scan(file.name, keys, None, {}, {}, text=file, stated=part.constants)


def of_keys(scan: Scan, names: list[str], roles: Roles, columns: Columns) -> Scan:
    """Choose the columns of a file of JSON objects, once the keys of all of them are known."""
    assert scan.text is not None
    stated = of_folders(scan.stated, names)
    positions = by_name(columns, [*names, *stated], scan.name, roles)
    cells = _cells(positions, len(names), stated)
    keys = {role: names[place] for role, place in positions.items() if place < len(names)}
    cells |= {role: '"' + name.replace('"', '""') + '"' for role, name in keys.items()}
    listed = ", ".join(
        f"{text_literal(name)}: 'JSON'" for name in dict.fromkeys([*keys.values()] or names[:1])
    )
    relation = (
        f"read_json({_path(scan.text.path)}, format = 'newline_delimited', columns = {{{listed}}}, "
        f"compression = '{scan.text.compression}', maximum_object_size = {LARGEST_RECORD})"
    )
    kinds = {role: "json" if role in keys else "text" for role in cells}
    return Scan(scan.name, relation, names, cells, kinds, positions, text=scan.text)


def require_type(role: str, type: Any, source: str) -> str:
    """Return the kind of a column's cells.

    Raises:
        DataError: a column of this type cannot hold what the role says.
    """
    kind = _kind(type)
    if role == UNUSED or kind in ("text", "integer"):
        return kind
    if role in ("user_id", "item_id"):
        allowed = {"decimal", "uuid"}
        rule = "ids must be text or integers, because other types merge ids; cast the column at its source"
    elif role == "personal_epsilon":
        allowed = {"decimal", "float64", "float32"}
        rule = "each person's ε must be a number, or the name of one of the domain's classes"
    elif role in ("rating", "count"):
        allowed = {"decimal", "float64", "float32"}
        rule = f"{role}s must be numbers, or text that holds numbers"
    else:
        allowed = {"decimal", "float64", *_TICKS}
        rule = "timestamps must be dates, ISO 8601 text or Unix seconds"
        if kind == "float32":
            rule += ", and a number of this type rounds them by a minute or more"
    if kind not in allowed:  # names of fields inside it may be private
        told = str(getattr(type, "value_type", type) if kind != "other" else type).partition("<")[0]
        raise DataError(f"{source}: column {role} is of type {told}; {rule}")
    return kind


def _kind(type: Any) -> str:
    is_ = pa.types
    if is_.is_dictionary(type):
        return _kind(type.value_type)
    if isinstance(type, pa.BaseExtensionType):
        return "uuid" if type.extension_name == "arrow.uuid" else "other"
    if is_.is_timestamp(type):
        return str(type.unit)
    kinds = {
        "text": is_.is_string(type)
        or is_.is_large_string(type)
        or is_.is_string_view(type)
        or is_.is_null(type),
        "integer": is_.is_integer(type),
        "decimal": is_.is_decimal(type) and type.bit_width <= 128 and type.scale >= 0,
        "float64": is_.is_float64(type),
        "float32": is_.is_float32(type),
        "boolean": is_.is_boolean(type),
        "D": is_.is_date32(type),
        "ms": is_.is_date64(type),
    }
    return next((kind for kind, holds in kinds.items() if holds), "other")


_OTHER_TYPE = "chr(0)"


def _id(cell: str, kind: str, decimal: str) -> str:
    if kind == "decimal":
        whole = f"{cell} = trunc({cell}) THEN {cell}::HUGEINT::VARCHAR"
        return f"CASE WHEN {whole} WHEN {cell} IS NOT NULL THEN {_OTHER_TYPE} END"
    if kind == "json":  # 7 and "7" are one id; 7.0, true and [7] are none
        return (
            f"CASE WHEN json_type({cell}) = 'VARCHAR' THEN {cell} ->> '$' "
            f"WHEN regexp_full_match({cell}::VARCHAR, '-?[0-9]+') THEN {cell}::VARCHAR "
            f"WHEN json_type({cell}) <> 'NULL' THEN {_OTHER_TYPE} END"
        )
    return f"{cell}::VARCHAR"


def _text(cell: str, kind: str) -> str:
    """Return a cell as text without blanks at its ends."""
    return f"trim({cell} ->> '$', ' \t')" if kind == "json" else f"trim({cell}::VARCHAR, ' \t')"


def _numeric(text: str, decimal: str) -> str:
    """Read text as a number, null where it holds none; DuckDB would read 1_000 and +-5 as well."""
    if decimal == ",":  # then a point is a thousands separator or a mistake
        text = f"CASE WHEN NOT contains({text}, '.') THEN replace({text}, ',', '.') END"
    odd = f"contains({text}, '_') OR contains({text}, '+-')"
    return f"CASE WHEN NOT ({odd}) THEN try_cast({text} AS DOUBLE) END"


def _number(cell: str, kind: str, decimal: str) -> str:
    if kind in ("text", "json"):
        return _numeric(f"({cell} ->> '$')" if kind == "json" else f"{cell}::VARCHAR", decimal)
    return f"{cell}::DOUBLE"


def _epsilon(cell: str, kind: str, decimal: str) -> str:
    """Return the ε that a cell requests as text: a number or a class."""
    if kind not in ("text", "json"):
        return f"({cell}::DOUBLE)::VARCHAR"
    text = _text(cell, kind)
    if decimal == ",":
        number = f"CASE WHEN NOT contains({text}, '.') THEN replace({text}, ',', '.') END"
        text = f"CASE WHEN regexp_matches({text}, '[^-+0-9., \t]') THEN {text} ELSE {number} END"
    return text


def _unused(cell: str, kind: str, decimal: str) -> str:
    """Tell whether a rating that is not used says more than the record itself."""
    if kind in ("other", "moment", *_TICKS):
        return f"{cell} IS NOT NULL"
    text = f"lower({_text(cell, kind)})"
    says_more = f"coalesce(try_cast({text} AS DOUBLE) <> 1, true)"
    return f"coalesce({text} NOT IN ('', '1', 'true', 'nan') AND {says_more}, false)"


_ISO = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)([.,][0-9]+)?)?"
    r" ?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?"
)
_ZONE = r":[0-9]{2}([.,][0-9]+)? ?([+-])([0-9]{2}):?([0-9]{2})?$"


def _seconds(cell: str, kind: str, decimal: str) -> str:
    """Return Unix seconds of a number, a date, or ISO 8601 text, in UTC where it names no zone; or null."""
    if kind == "moment":
        return f"epoch({cell})"
    if kind in _TICKS:
        seconds = f"86400::BIGINT * {cell}" if kind == "D" else f"{cell} // {_TICKS[kind]}"
        return f"CASE WHEN {cell} < 0 THEN -1 ELSE {seconds} END::DOUBLE"
    if kind not in ("text", "json"):
        # NaN is null here: statistics of Parquet leave it out, and DuckDB concludes that there is none.
        return f"CASE WHEN isfinite({cell}::DOUBLE) OR {cell} = 'inf'::DOUBLE THEN {cell}::DOUBLE END"
    text = _text(cell, kind)

    def number(digits: str) -> str:
        return f"coalesce(try_cast({digits} AS INTEGER), 0)"

    def zone(group: int) -> str:
        return f"regexp_extract({text}, '{_ZONE}', {group})"

    # A zone may follow the minutes at once: only what follows a second colon is seconds.
    second = f"CASE WHEN {text}[17] = ':' THEN {number(f'substr({text}, 18, 2)')} ELSE 0 END"
    ahead = f"(3600 * {number(zone(3))} + 60 * {number(zone(4))})"
    return (
        f"coalesce({_number(cell, kind, '.')}, CASE WHEN regexp_full_match({text}, '{_ISO}') "
        f"THEN epoch(try_cast(left({text}, 10) AS DATE)) "
        f"+ 3600 * {number(f'substr({text}, 12, 2)')} + 60 * {number(f'substr({text}, 15, 2)')} + {second} "
        f"- CASE WHEN {zone(2)} = '-' THEN -{ahead} ELSE {ahead} END END)"
    )


_CELLS = {
    "user_id": _id,
    "item_id": _id,
    "rating": _number,
    "count": _number,
    "timestamp": _seconds,
    "personal_epsilon": _epsilon,
    UNUSED: _unused,
}
