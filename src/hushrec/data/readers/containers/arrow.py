"""The size that an Arrow IPC file claims to unpack to, computed before its data are read.

Polars allocates whatever size a buffer claims, and ends the process if the allocation fails. So the claims
are added up first. They are stored as flatbuffers: the footer lists record batches and dictionaries, each of
which lists its buffers, and a compressed buffer begins with its unpacked size.

Privacy: private input; only sizes are returned.
"""

import struct
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path

from hushrec.errors import DataError

_MAGIC = b"ARROW1"
_DICTIONARY, _RECORDS = 2, 3  # kinds of messages

__all__ = ["ipc_size"]


def ipc_size(path: Path) -> tuple[int, int]:
    """The number of rows of a file, and of bytes that its buffers unpack to.

    Raises:
        DataError: it is not an Arrow IPC file, or its claims point outside the file.

    Privacy: private.
    """
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return _sizes(data)
    except (OSError, LookupError, ValueError, struct.error):
        pass
    raise DataError(
        f"{path} is not an Arrow IPC file, or is cut short; write it again as IPC file or Feather 2"
    )


def _sizes(data: mmap) -> tuple[int, int]:
    (length,) = struct.unpack("<i", data[-10:-6])
    if data[:6] != _MAGIC or data[-6:] != _MAGIC or not 0 < length <= len(data) - 10:
        raise ValueError("no footer")
    footer = _Table.root(data, len(data) - 10 - length)
    rows = unpacked = 0
    for kind, field in ((_DICTIONARY, 2), (_RECORDS, 3)):
        for start in footer.structs(field, 24):
            offset, size, body = struct.unpack("<qi4xq", data[start : start + 24])
            found = _batch(data, kind, offset, size, body)
            rows += found[0] if kind == _RECORDS else 0
            unpacked += found[1]
    return rows, unpacked


def _batch(data: mmap, kind: int, offset: int, size: int, body: int) -> tuple[int, int]:
    """Rows and unpacked bytes of one message, whose body comes after it."""
    if min(offset, size, body) < 0 or offset + size + body > len(data):
        raise ValueError("outside the file")
    message = _Table.root(data, offset + (8 if data[offset : offset + 4] == b"\xff" * 4 else 4))
    if message.number(1, "B") != kind:
        raise ValueError("another kind of message")
    batch = message.table(2)
    batch = batch.table(1) if kind == _DICTIONARY else batch
    rows, unpacked, compressed = batch.number(0, "q"), 0, batch.has(3)
    lengths = [struct.unpack("<qq", data[start : start + 16]) for start in batch.structs(1, 16)]
    if rows < 0 or any(not 0 <= nulls <= length < 2**62 for length, nulls in lengths):
        raise ValueError("an impossible length")
    for start in batch.structs(2, 16):
        at, length = struct.unpack("<qq", data[start : start + 16])
        if min(at, length) < 0 or at + length > body:
            raise ValueError("a buffer outside its body")
        claim = length
        if compressed and length:
            (claim,) = struct.unpack("<q", data[offset + size + at : offset + size + at + 8])
            claim = length if claim == -1 else claim
        if claim < 0:
            raise ValueError("an impossible size")
        unpacked += claim
    # A column of only nulls has a length but no bytes.
    return rows, max([unpacked, *(length // 8 for length, _ in lengths)])


class _Table:
    """A flatbuffers table: the position of each field, by field number."""

    def __init__(self, data: mmap, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - self._read("i", at)
        self._size = self._read("H", self._fields)

    @classmethod
    def root(cls, data: mmap, at: int) -> "_Table":
        """The root table of a buffer."""
        return cls(data, at + struct.unpack("<I", data[at : at + 4])[0])

    def has(self, field: int) -> bool:
        return bool(self._place(field))

    def number(self, field: int, sign: str) -> int:
        """A number, 0 if the field is absent."""
        place = self._place(field)
        return self._read(sign, place) if place else 0

    def table(self, field: int) -> "_Table":
        """A nested table.

        Raises:
            ValueError: the field is absent.
        """
        place = self._place(field)
        if not place:
            raise ValueError("a table is missing")
        return _Table(self._data, place + self._read("I", place))

    def structs(self, field: int, width: int) -> Iterator[int]:
        """The start of each struct of a list."""
        place = self._place(field)
        if place:
            start = place + self._read("I", place)
            count = self._read("I", start)
            if start + 4 + count * width > len(self._data):
                raise ValueError("a list outside the file")
            yield from range(start + 4, start + 4 + count * width, width)

    def _place(self, field: int) -> int:
        """The position of a field, 0 if it is absent."""
        entry = 4 + 2 * field
        offset = self._read("H", self._fields + entry) if entry + 2 <= self._size else 0
        return self._at + offset if offset else 0

    def _read(self, sign: str, at: int) -> int:
        if at < 0:
            raise ValueError("before the file")
        width = struct.calcsize(sign)
        return int(struct.unpack(f"<{sign}", self._data[at : at + width])[0])
