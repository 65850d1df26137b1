"""Loading of ratings or interactions into memory, onto disk or into Spark.

Privacy: private; which paths are folders of people is public.
"""

from contextlib import closing
from pathlib import Path
from typing import Any, Literal, overload

from hushrec.data.anywhere import AnyPeople
from hushrec.data.assemble import in_memory, on_disk
from hushrec.data.clean import Cleaner
from hushrec.data.domain import Domain
from hushrec.data.machine import machine
from hushrec.data.people import People
from hushrec.data.readers.frames import contained
from hushrec.data.readers.scans import Scan, scans
from hushrec.data.readers.sources import COMPRESSED, MANIFEST, Part, parts_of
from hushrec.data.reading import PLAIN, Reading
from hushrec.data.spark.people import SparkPeople
from hushrec.data.spark.records import is_frame, load_spark
from hushrec.errors import DataError
from hushrec.progress import Progress, telling

Where = Literal["memory", "disk", "auto", "spark"]


@overload
def load(
    source: Any,
    domain: Domain,
    reading: Reading = ...,
    *,
    where: Literal["spark"],
    progress: Progress | None = ...,
) -> SparkPeople: ...


@overload
def load(
    source: Any,
    domain: Domain,
    reading: Reading = ...,
    *,
    where: Literal["disk"] | Path,
    progress: Progress | None = ...,
) -> People: ...


@overload
def load(
    source: Any,
    domain: Domain,
    reading: Reading = ...,
    *,
    where: Where | Path = ...,
    progress: Progress | None = ...,
) -> Any: ...  # a DataFrame of Spark stays in Spark


def load(
    source: Any,
    domain: Domain,
    reading: Reading = PLAIN,
    *,
    where: Where | Path = "memory",
    progress: Progress | None = None,
) -> AnyPeople:
    """Read ratings or interactions, as the domain declares, from files or tables, and clean them.

    *Structure* that cannot be read is an error: a damaged container, a missing column, a line with too few
    fields. *Content* never is: each record is repaired or dropped by a rule that looks at its own user alone,
    silently, and counted in ``dropped``, which is confidential. ``fit`` refuses more than a tenth.
    The rules:

    * Ids are text, never numbers: "007", "NA" and 2^53 + 1 are unchanged. User ids are normalised to
      Unicode NFC; empty ids, ids over 256 bytes and ids with NUL are dropped. So are items that are
      not in the catalogue and, if the domain has a roster, users who are not on it. A cell of another type
      is no id: 7.0 is not 7, whatever the type of its column.
    * Ratings that are missing, unparsable, NaN or infinite are dropped; others are clamped to the scale and
      rounded to its nearest step.
    * If a user rated an item several times, the last by timestamp counts, then the largest.
    * If the domain declares ``likes``, items whose rating is then below the threshold are left out. This is
      not counted, as nothing is wrong with them.
    * Without a scale, a column ``rating`` is not used, so ``fit`` refuses one that says more than 1 for each
      record (accept *rating*). Several records of an item are one. If the domain
      declares ``counts``, they add up, up to the largest count: each record stands for 1, or for what its
      column ``count`` says, rounded to a whole number; counts that are below 1 or not finite are dropped.
    * Timestamps are dates, Unix seconds or ISO 8601 text, in UTC where they name no zone. They are clamped to
      [0, 2^40] seconds; one that is missing or cannot be read is 0. Both are counted.
    * If a column states the ε that each user requests, the smallest of all their records counts, dropped ones
      included. A record whose ε is missing, negative, infinite, or neither a number nor a class of the
      domain is dropped and requests 0, because data are never used at an ε that their user did not request.
    * A file without records is valid, even an empty one, though ``fit`` asks before it charges for it. So is
      one with more users than the domain declares, which ``check`` tells, though ``fit`` asks above twice as
      many.

    Args:
        source: a path, a table, or a list of several of these. A path may be a pattern (``"ratings/*.csv"``),
            or a folder of files of one format. Text may be compressed (``.gz``, ``.zst``), or come from a
            pipe. A table is one of polars, pandas, pyarrow, DuckDB or any other library that speaks Arrow, in
            memory, lazy, or a stream. A folder that ``where`` made before is opened; a DataFrame of Spark
            stays in Spark.
        domain: the public domain.
        reading: how the records are written, where names and headers do not show it.
        where: where the people are kept: ``"memory"``; ``"disk"``, in a temporary folder, which is deleted
            at the end of a ``with`` statement, when the people are no longer in use, or with the program; the
            ``Path`` of a new folder; ``"auto"``, on disk if memory may not suffice; or ``"spark"``, in the
            cluster of the active session, which reads the source itself.
        progress: receives the progress of reading, in hundredths of the files; see ``hushrec.progress``.

    Returns:
        ``People`` in memory or on disk, or ``SparkPeople``: the same users with the same rows. The order of
        the records does not matter.

    Raises:
        DataError: the structure cannot be read, or a folder cannot be written. Names the file, the row if
            known, and a fix; never a value.

    """
    if where not in ("memory", "disk", "auto", "spark") and not isinstance(where, Path):
        raise DataError(
            f"where={where!r} is not a place; give 'memory', 'disk', 'auto', 'spark' or the Path of a new "
            "folder"
        )
    with telling(progress):
        if where == "spark" or is_frame(source):
            return _in_spark(source, domain, reading, where)
        if (folder := loaded_folder(source)) is not None:
            return _opened(folder, domain, reading, where)
        sources = parts_of(source, reading)
        if where == "auto":
            where = "disk" if _too_large(sources, machine()[0]) else "memory"
        if where == "memory":
            with closing(cleaned(sources, domain, reading)[0]) as cleaner:
                return in_memory(cleaner)
        folder = where if isinstance(where, Path) else None
        return on_disk(lambda: cleaned(sources, domain, reading)[0], domain, folder)


def loaded_folder(source: Any) -> Path | None:
    """Return the folder of people that a source names, or None if it names none."""
    (first, *others) = source if isinstance(source, list | tuple) and source else [source]
    folder = Path(first) if isinstance(first, str | Path) and not others else None
    return folder if folder is not None and (folder / MANIFEST).is_file() else None


def cleaned(
    sources: list[Any], domain: Domain, reading: Reading, *, again: bool = False
) -> tuple[Cleaner, list[Scan]]:
    """Clean all records of a source; return the cleaner that holds them, and how each file was read.

    Args:
        again: whether tables will be read again, so that streams are kept in memory.
    """
    cleaner = Cleaner(domain)
    opened = [*scans(sources, cleaner.roles, reading)]
    for scan in opened if again else ():
        if scan.arrow is not None:
            scan.arrow = contained(scan.arrow.read_all)
    return cleaner, cleaner.clean(opened, reading.columns, reading.decimal)


_TEXT, _PACKED = 8, 2
"""Smallest size of a record in a source, in bytes, as text and packed: chosen by hand."""
_LOADED = 32
"""Bytes of memory assumed for loading a record of the smallest size: chosen by hand.

Usual records are three times as large.
"""


def _too_large(sources: list[Any], memory: int) -> bool:
    """Return True if loading files may need more than this memory, judged by their sizes.

    Privacy: private; only where rows are kept depends on it, not what is measured.
    """

    def records(part: Part) -> float:
        packed = part.format == "parquet" or part.file.suffix in COMPRESSED
        return part.size / (_PACKED if packed else _TEXT)

    return sum(records(part) for part in sources if isinstance(part, Part)) * _LOADED > memory


def _opened(folder: Path, domain: Domain, reading: Reading, where: Where | Path) -> People:
    if reading != PLAIN:
        raise DataError(
            f"{folder} holds people that were loaded before, whose format is known: leave out columns= and "
            "format= (--column and --format)"
        )
    if isinstance(where, Path):
        raise DataError(f"{folder} holds people that were loaded before; leave out the other folder, {where}")
    return People.open(folder, domain)


def _in_spark(source: Any, domain: Domain, reading: Reading, where: Where | Path) -> SparkPeople:
    if where == "disk" or isinstance(where, Path):
        raise DataError("a DataFrame of Spark stays in Spark; write it to files to load it elsewhere")
    if settings := reading.of_text:
        raise DataError(
            f"Spark does not take {' and '.join(settings)}: it reads Parquet, or .csv and .tsv with a "
            "header; open others with one of its readers, and load the DataFrame"
        )
    return load_spark(source, domain, columns=reading.columns)
