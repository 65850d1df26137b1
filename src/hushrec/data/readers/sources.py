"""The files that a path, a pattern or a folder stands for, listed before any is read, and their formats.

Privacy: names of files and folders are public; their content is private and not read here.
"""

import glob
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from hushrec.data.reading import FORMATS, Reading
from hushrec.errors import DataError
from hushrec.text import is_address, scheme_of

MANIFEST = "manifest.json"
"""The file that makes a folder one of people."""
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_NAMES = (
    (r"u\.data|u[1-5ab]\.(base|test)", "u.data"),
    (r".*\.csv", "csv"),
    (r".*\.(tsv|tab)", "tsv"),
    (r".*\.dat", "dat"),
    (r".*\.txt", "text"),
    (r".*\.(jsonl|ndjson)", "jsonl"),
    (r".*\.(parquet|pq)", "parquet"),
)


def recognise(path: Path) -> str:
    """Return the format implied by a file's name; the content is never read."""
    name = path.name if path.suffix not in COMPRESSED else path.stem
    for pattern, format in _NAMES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return format
    if re.fullmatch(r".*\.(arrow|ipc|feather)", name, re.IGNORECASE):
        raise DataError(
            f"{path}: Arrow IPC files are not read; give the table: pyarrow.feather.read_table(path)"
        )
    raise DataError(f"{path}: the name does not tell the format; give format= one of {', '.join(FORMATS)}")


_ABSENT = "__HIVE_DEFAULT_PARTITION__"
_VERSIONED = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}


class Part(NamedTuple):
    """A file of a source.

    Attributes:
        file: the file.
        format: one of ``hushrec.data.reading.FORMATS``.
        constants: columns that the names of its folders state, as in ``year=2024/part.parquet``.

    Privacy: private.
    """

    file: Path
    format: str
    constants: Mapping[str, str | None] = MappingProxyType({})

    @property
    def size(self) -> float:
        """The size of the file in bytes, infinite for a pipe, which says 0."""
        return self.file.stat().st_size if self.file.is_file() else float("inf")


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


def parts(source: str | Path, reading: Reading) -> list[Part]:
    """List the files of a source, in the order of their names.

    Args:
        source: a file; a folder of files of one format, in any depth; or a pattern, ``ratings/*.csv``. In
            folders, names that begin with ``.`` or ``_`` are passed over.
        reading: its format.

    Privacy: public.
    """
    path = Path(source)
    if path.is_dir():
        return _in_folder(path, reading.format)
    if path.exists():
        return [_part(path, reading.format)]
    for parent in path.parents:
        _refuse_zip(parent)
    if not glob.has_magic(str(path)):
        raise DataError(f"{_shown(path)} does not exist")
    names = sorted(glob.glob(str(path), recursive=True))
    if "**" in path.parts:  # matches folders as well as their files, and files that a folder passes over
        names = [name for name in names if not (Path(name).is_dir() or Path(name).name.startswith("_"))]
    if not names:
        raise DataError(f"{_shown(path)} matches no file; check the pattern and the current folder")
    root = next(parent for parent in path.parents if not glob.has_magic(str(parent)))
    return [
        part._replace(constants={**_stated(Path(name).relative_to(root)), **part.constants})
        for name in names
        for part in parts(name, reading)
    ]


def _part(file: Path, format: str | None) -> Part:
    _refuse_zip(file)
    return Part(file, format or recognise(file))


def _refuse_zip(path: Path) -> None:
    if path.suffix.lower() == ".zip" and path.is_file():
        raise DataError(f"{path} is a zip archive: unzip it first")


def _shown(path: Path) -> str:
    if not is_address(str(path)):
        return str(path)
    return "what looks like an address"


def _in_folder(folder: Path, format: str | None) -> list[Part]:
    for name, kind in _VERSIONED.items():
        if (folder / name).exists():
            raise DataError(
                f"{folder} stores a {kind} table, whose files also hold deleted rows; read it with a library "
                "for such tables, and give the table instead of the folder"
            )
    if (folder / MANIFEST).is_file():
        raise DataError(f"{folder} holds people that were loaded before; load it alone")
    inside = [(path, path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [
        _part(path, format)._replace(constants=_stated(place.parent))
        for path, place in inside
        if not any(name.startswith((".", "_")) for name in place.parts)
    ]
    if not files:
        raise DataError(f"{folder} is a folder without files of ratings; name another one")
    _require_one_format(folder, files)
    return files


def _require_one_format(where: Path, files: Iterable[Part]) -> None:
    kinds = sorted({part.format for part in files})
    if len(kinds) > 1:
        raise DataError(
            f"{where} holds files of several formats ({', '.join(kinds)}); choose some by a pattern, such as "
            f"{where}/*.csv"
        )


def _stated(place: PurePath) -> dict[str, str | None]:
    """Read the columns that names of folders state, one ``column=value`` each."""
    pairs = [name.split("=", 1) for name in place.parts if "=" in name]
    return {unquote(column): None if value == _ABSENT else unquote(value) for column, value in pairs}
