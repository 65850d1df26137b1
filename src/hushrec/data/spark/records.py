"""Records in Spark before they are cleaned: a DataFrame, a table of the catalogue, or files.

Privacy: paths, names and types of columns are public; cells are private.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hushrec.data.readers.columns import Roles, by_name
from hushrec.data.reading import Columns
from hushrec.data.spark.session import contained, session
from hushrec.errors import DataError

_TEXT = {".csv": ",", ".tsv": "\t"}
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"

__all__ = ["Records", "empty_of", "is_frame", "of_roles", "opened"]


class Records(NamedTuple):
    """A source that Spark has opened.

    Attributes:
        frame: a Spark DataFrame.
        name: its name in errors.

    Privacy: private.
    """

    frame: Any
    name: str


def is_frame(source: Any) -> bool:
    """Return True if a source is a DataFrame of Spark. Privacy: public."""
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


def opened(source: Any) -> Records:
    """Open a DataFrame, a table, or files; only their structure is read.

    Args:
        source: a Spark DataFrame; the name of a table or view of the session's catalogue; or a path, or
            several, of files or folders. Names ending in ``.csv`` or ``.tsv``, also before ``.gz``, are text
            with a header, all others Parquet. Names of folders, ``year=2024``, are columns of text.

    Privacy: private.
    """
    if is_frame(source):
        if source.isStreaming:
            raise DataError("this is a stream, which has no end; write it to a table, and load that")
        return Records(source, "the table")
    several = source if isinstance(source, list | tuple) else [source]
    if not several or not all(isinstance(path, str | Path) for path in several):
        raise DataError(
            "records in Spark are a DataFrame of Spark, the name of a table, or paths; load others with "
            "another where="
        )
    active = session()
    if isinstance(source, str) and _is_table(active, source):
        return Records(contained(lambda: active.table(source)), source)
    # Java does not follow a change of the working directory.
    return _read(active, [str(Path(path).absolute() if Path(path).exists() else path) for path in several])


def of_roles(records: Records, columns: Columns, roles: Roles) -> Any:
    """Select the columns with a role, under the names of the roles, as a DataFrame.

    Args:
        columns: role to column name; roles left out are recognised, as by ``hushrec.load``.

    Privacy: private.
    """
    from pyspark.sql import functions as sql

    frame = records.frame
    positions = by_name(columns, frame.columns, records.name, roles)
    # By position, because Spark reads dots and quotes in names, and does not tell A from a.
    placed = frame.toDF(*(f"column_{place}" for place in range(len(frame.columns))))
    return placed.select(*(sql.col(f"column_{place}").alias(role) for role, place in positions.items()))


def empty_of(frame: Any, name: str) -> Any:
    """Return an Arrow table of the columns of a DataFrame, without its rows; no job runs.

    Args:
        frame: the DataFrame.
        name: its name in errors.

    Privacy: public.
    """
    try:
        return frame.limit(0).toArrow()
    except Exception:  # Spark names its type, which need not be shown
        pass
    raise DataError(f"{name}: a column is of a type that Arrow lacks; cast ids to text, the rest to numbers")


def _is_table(session: Any, name: str) -> bool:
    try:
        return bool(session.catalog.tableExists(name))
    except Exception:  # Spark cannot parse most paths as names
        return False


def _read(session: Any, paths: list[str]) -> Records:
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    for path in paths:
        if (Path(path) / "_delta_log").exists():
            raise DataError(
                f"{path} stores a Delta Lake table, whose files also hold deleted rows; read it with Spark's "
                "reader of such tables, and give the DataFrame"
            )
    kinds = {Path(path.removesuffix(".gz").rstrip("/")).suffix for path in paths}
    if len(kinds & {*_TEXT}) and len(kinds) > 1:
        raise DataError(f"{name}: files of several formats; give files of one format")
    separator = _TEXT.get(kinds.pop())
    try:
        with _folders_as_text(session):
            if separator is None:
                # Every file is asked for its columns: one that only some have may hold opt-outs.
                return Records(session.read.option("mergeSchema", True).parquet(*paths), name)
            text = session.read.options(header=True, sep=separator, escape='"', enforceSchema=False)
            return Records(text.csv(paths), name)
    except Exception:  # which Spark's own classes do not tell from others
        pass
    raise DataError(
        f"{name} is neither a table of Spark's catalogue nor readable as "
        f"{'Parquet' if separator is None else 'text with a header'}; check the name, or open it with one of "
        "Spark's readers and give the DataFrame"
    )


@contextmanager
def _folders_as_text(session: Any) -> Iterator[None]:
    """Keep the names of folders as text: Spark would read ``user_id=007`` as the number 7."""
    before = session.conf.get(_INFERENCE)
    session.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        session.conf.set(_INFERENCE, before)
