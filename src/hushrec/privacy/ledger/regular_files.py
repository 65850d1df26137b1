"""Safe reading of files in a shared folder: regular files only, and without blocking."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hushrec.escapes import escaped


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading. A pipe could block, and a device might never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("not a regular file")
    with open(path, "rb", opener=_at_once) as file:
        yield file


def shown(name: object) -> str:
    """A name from a folder or file, safe to print: one short line without control characters."""
    text = escaped(str(name))
    return text if len(text) <= 80 else f"{text[:77]}…"


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # in case it has become a pipe meanwhile
