"""A reader of text files as a stream of blocks of whole records, with bounded memory.

A block is the input of one CSV parser call. Cutting at record ends happens here so that one reader serves
every text format, plain or gzipped, and so that size limits apply before anything is parsed.

Privacy: private; errors name the file and the row, never a cell.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from hushrec.errors import DataError

BLOCK = 1 << 25  # bytes read at once: bounds the memory; chosen by hand
MAX_RECORD = 1 << 20  # bytes, far above a line of ratings: chosen by hand
# A file may unpack to this many times its size, and always to 64 MiB. Ratings compress to a third or a tenth.
# Both limits are chosen by hand.
MAX_RATIO = 100
FREE_BYTES = 1 << 26  # bytes that any file may unpack to; chosen by hand

__all__ = ["FREE_BYTES", "MAX_RATIO", "Block", "blocks", "refuse_bomb"]


class Block(NamedTuple):
    """Whole lines of a file, each ending in LF.

    Attributes:
        row: 1-based number of the first line in the file.
        data: UTF-8 bytes.
    """

    row: int
    data: bytes


def refuse_bomb(path: Path, unpacked: int, max_bytes: int) -> None:
    """Refuse a file that unpacks to more than ``max_bytes``, or to more than 100 times its size."""
    if unpacked > max_bytes:
        raise DataError(
            f"{path} unpacks to more than {max_bytes} bytes; if it should, pass a larger max_bytes"
        )
    packed = path.stat().st_size
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise DataError(
            f"{path} unpacks to over {MAX_RATIO} times its size, unlike any ratings; unpack it yourself"
        )


def blocks(path: Path, max_bytes: int, *, quoted: bool = False) -> Iterator[Block]:
    """Yield the lines of a text file, in blocks of about 32 MiB; CRLF becomes LF, a byte order mark goes.

    Args:
        path: a file, gzipped if its name ends in ``.gz``.
        max_bytes: the most bytes that the file may unpack to.
        quoted: True if double quotes protect line ends.

    Yields:
        blocks in the order of the file.
    """
    row, total, rest = 1, 0, b""
    with ExitStack() as opened:
        stream = _opened(path, opened)
        while True:
            chunk = _read(stream, path)
            total += len(chunk)
            refuse_bomb(path, total, max_bytes)
            data = rest + (chunk if row > 1 or rest else chunk.removeprefix(b"\xef\xbb\xbf"))
            if not chunk and data and not data.endswith(b"\n"):
                if b"\r" in data and b"\n" not in data:
                    raise DataError(f"{path}: lines end in CR alone; convert the line ends to LF")
                data += b"\n"
            end = _record_end(data, quoted)
            rest = data[end:]
            if len(rest) > (MAX_RECORD if chunk else 0):
                raise DataError(_endless(path, row, data, quoted))
            if end:
                data = data[:end].replace(b"\r\n", b"\n")
                _check_utf8(path, row, data)
                yield Block(row, data)
                row += data.count(b"\n")
            if not chunk:
                return


def _opened(path: Path, opened: ExitStack) -> BinaryIO:
    try:
        stream = opened.enter_context(path.open("rb"))
        return cast(BinaryIO, opened.enter_context(gzip.open(stream))) if path.suffix == ".gz" else stream
    except OSError as error:
        reason = error.strerror
    raise DataError(f"{path} cannot be opened: {reason}")


def _read(stream: BinaryIO, path: Path) -> bytes:
    try:
        return stream.read(BLOCK)
    except (OSError, EOFError, zlib.error):
        pass
    raise DataError(f"{path} is damaged or cut short; fetch or pack it again")


def _record_end(data: bytes, quoted: bool) -> int:
    """Return the end of the last whole record: after a line end with an even number of quotes before it."""
    end = data.rfind(b"\n") + 1
    odd = quoted and data.count(b'"', 0, end) % 2
    while odd and end and len(data) - end <= MAX_RECORD:
        start = data.rfind(b"\n", 0, end - 1) + 1
        odd ^= data.count(b'"', start, end) % 2
        end = start
    return end


def _endless(path: Path, row: int, data: bytes, quoted: bool) -> str:
    """Describe the fault of a block in which no record ends."""
    if not quoted or b'"' not in data:
        row += data.count(b"\n")
        return f"{path}, row {row}: over {MAX_RECORD} bytes; is this text, one rating a line, ended by LF?"
    opened = None
    for number, line in enumerate(data.split(b"\n"), row):
        if line.count(b'"') % 2:
            opened = number if opened is None else None
    where = path if opened is None else f"{path}, row {opened}"
    return f"{where}: a quote is opened and not closed; close it, or double it if it belongs to a value"


def _check_utf8(path: Path, row: int, data: bytes) -> None:
    if data.isascii():
        return
    try:
        data.decode()
        return
    except UnicodeDecodeError as error:
        row += data.count(b"\n", 0, error.start)
    raise DataError(f"{path}, row {row}: not UTF-8; convert the file, for example with iconv -t UTF-8")
