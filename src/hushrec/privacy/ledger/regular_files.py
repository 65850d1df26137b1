"""Reading what somebody may have left in a folder: regular files alone, and without waiting for anything.

Privacy: public.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hushrec.escapes import escaped


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file, to be read. A pipe would wait for somebody to write, a device might never end.

    Raises:
        OSError: It is none, is gone, or may not be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("not a regular file")
    with open(path, "rb", opener=_at_once) as file:
        yield file


def shown(name: object) -> str:
    """A name out of a folder or a file as it may be printed: one line, no control characters, not long."""
    text = escaped(str(name))
    return text if len(text) <= 80 else f"{text[:77]}…"


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # should it have become a pipe meanwhile
