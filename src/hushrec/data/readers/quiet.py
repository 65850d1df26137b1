"""Redirection of standard error while polars reads an untrusted file.

When polars fails on damaged data, its threads write the reason, which may include cells, straight to file
descriptor 2 before Python is notified. So the descriptor is redirected in the meantime.

Privacy: the text that is held back is private, the text that is passed on is public.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TypeVar

import polars as pl

from hushrec.errors import DataError

GIVEN_UP = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""The exceptions of polars. Suppress these, do not chain them: their messages may hold cells."""
_STDERR = 2  # the file descriptor, by POSIX
_lock = Lock()
_inside = 0  # open blocks, in any thread
_noise = False  # True once one of them failed
_held: tuple[int, int] | None = None  # the original descriptor, and the target of the redirection

Result = TypeVar("Result")


def contained(read: Callable[[], Result], explain: Callable[[BaseException], str]) -> Result:
    """Call a library; if it fails, raise only what ``explain`` says: its own message may hold cells."""
    with quiet():
        try:
            return read()
        except DataError:
            raise
        except (Exception, *GIVEN_UP) as error:
            message = explain(error)
    raise DataError(message)


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what anything in this process writes to standard error; pass it on unless the block fails.

    Blocks in several threads share one redirection, which ends with the last of them.
    """
    global _inside, _noise
    with _lock:
        if not _inside:
            _noise = False
            _hold()
        _inside += 1
    try:
        yield
    except BaseException:
        _noise = True
        raise
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _release(pass_on=not _noise)


def _hold() -> None:
    global _held
    with suppress(OSError):  # a process without standard error has nothing to hold back
        before = os.dup(_STDERR)
        aside = _memory() if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
        os.dup2(aside, _STDERR)
        _held = before, aside


def _memory() -> int:
    """Open a file in memory to which threads append: at a shared position they would overwrite each other."""
    from fcntl import F_SETFL, fcntl  # not on all systems

    aside = os.memfd_create("stderr")
    fcntl(aside, F_SETFL, os.O_APPEND)
    return aside


def _release(*, pass_on: bool) -> None:
    global _held
    if _held is None:
        return
    (before, aside), _held = _held, None
    os.dup2(before, _STDERR)
    os.close(before)
    os.lseek(aside, 0, os.SEEK_SET)
    while pass_on and (chunk := os.read(aside, 1 << 16)):
        os.write(_STDERR, chunk)
    os.close(aside)
