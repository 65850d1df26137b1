"""The DuckDB of this process: its limits, where it spills, and what its errors may say.

Privacy: private, except for the sentences about errors.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import finalize

import duckdb

from hushrec.errors import DataError
from hushrec.files import draft

MEMORY = 896 << 20
"""Bytes that DuckDB uses before it spills: chosen by hand."""
LARGEST_RECORD = 1 << 20
"""Bytes of a line, far above one of ratings: chosen by hand."""


class Temporary:
    """A folder for private rows among the temporary files of this machine, which only its owner may read.

    It is deleted when it is closed or forgotten, or when the program ends; if the program is killed, the next
    program that makes such a folder deletes it.

    Privacy: private.
    """

    def __init__(self) -> None:
        resources = ExitStack()
        try:
            here = Path(tempfile.gettempdir()) / "ratings"
            self.folder = resources.enter_context(draft(here, quiet=True))  # others' remains are no news
        except OSError as error:
            reason = f"temporary files cannot be written: {error.strerror}"
            raise DataError(f"{reason}; name another folder for them in TMPDIR") from None
        self._end = finalize(self, _closed, resources, os.getpid())

    def close(self) -> None:
        self._end()


def _closed(resources: ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy of the process
        resources.close()


@cache
def _instance(process: int, memory: int, threads: int | None, ordered: bool) -> tuple[Any, Temporary | None]:
    """Start the DuckDB of this process: in memory, with its own limits, and no files but those that we name.

    What does not fit in memory lies encrypted in a private folder. The key never leaves this process, but
    DuckDB's own generator draws it, which is not of cryptographic strength without one of its extensions.
    """
    temporary = None
    with suppress(DataError):  # without a place for temporary files, memory has to suffice
        temporary = Temporary()
    here = "" if temporary is None else str(temporary.folder / "spill")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    database = duckdb.connect(
        config={
            "threads": threads or cores,
            "memory_limit": f"{memory}B" if here else "80%",
            "temp_directory": here,
            "temp_file_encryption": "true" if here else "false",
            "force_mbedtls_unsafe": "true",
            "preserve_insertion_order": str(ordered).lower(),
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            # The plan is as written: DuckDB does not know the size of text, and would hash the records in
            # place of the catalogue; and it would prepare what only a few odd cells need for all.
            "disabled_optimizers": "join_order,build_side_probe_side,common_subexpressions",
        }
    )
    return database, temporary


def connect(*, threads: int | None = None, ordered: bool = False) -> Any:
    """Open a connection to the DuckDB of this process, with tables of its own; close it to free them.

    Args:
        threads: all cores by default.
        ordered: whether rows come in the order of their file.
    """
    for _ in range(2):  # a fault inside DuckDB ends its instance, and must not end all later loads
        db = _instance(os.getpid(), MEMORY, threads, ordered)[0].cursor()
        try:
            db.execute("SELECT 1").fetchall()
            break
        except duckdb.FatalException:
            _instance.cache_clear()
    return db


_REASONS = re.compile(
    r"^(?:Expected Number of Columns: \d+ Found: \d+$|Invalid unicode |Value with unterminated quote|"
    r"Maximum line size )",
    re.MULTILINE,
)
NOT_UTF8 = "not UTF-8; convert the file, for example with iconv -t UTF-8"
BARE_QUOTE = (
    "a quote does not enclose a whole cell; quote as RFC 4180 says, or, if quotes are letters here, give "
    "quotes=False (--no-quotes)"
)
TOO_LONG = f"over {LARGEST_RECORD} bytes; is this text, one record a line, ended by LF?"
ROOM = (
    "this needs more memory, or more room for temporary files, than there is; make room, or name another "
    "folder for them in TMPDIR"
)


def lacks_room(error: Exception) -> bool:
    return isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error)


@contextmanager
def within_room() -> Iterator[None]:
    """Raise our own error if DuckDB fails on records that are already clean: it has run out of room."""
    try:
        yield
        return
    except duckdb.Error as error:
        room = lacks_room(error)
    raise DataError(ROOM if room else "DuckDB could not put the records together; load them again") from None


def explained(error: Exception, name: str) -> str:
    """Say what is wrong with a file of text: DuckDB's own message quotes the line; only numbers are taken.

    Args:
        name: of the file.

    Privacy: public: no cell of the file.
    """
    if lacks_room(error):
        return ROOM
    # The line stands between the number of the row and the reason, and may hold anything.
    first, _, rest = str(error).partition("\n")
    row = re.search(r"CSV Error on Line: (\d+)$", first)
    where = f"{name}, row {row[1]}" if row else name
    text = (_REASONS.findall(rest) or [""])[-1]
    if columns := re.match(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return f"{where}: {columns[2]} field(s) where the first line has {columns[1]}; repair the line"
    if text.startswith("Invalid unicode"):
        return f"{where}: {NOT_UTF8}"
    if text.startswith("Value with unterminated quote"):
        return f"{where}: {BARE_QUOTE}"
    if text.startswith("Maximum line size"):
        return f"{where}: {TOO_LONG}"
    return f"{where}: cannot be read as a table; check the format, and that all lines end alike"
