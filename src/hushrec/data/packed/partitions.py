"""Clean records on their way to blocks, partitioned by user so that each user's records are together.

Privacy: private.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self
from zlib import crc32

import numpy as np
import polars as pl

from hushrec.data.cleaning import Batch
from hushrec.errors import DataError

_FILES = 64  # at most, because all stay open: chosen by hand
_TYPES = {"users": "<i4", "items": "<i4", "values": "u1", "timestamps": "<i8", "personal_epsilon": "<f8"}

__all__ = ["Partitions", "of_bytes", "split", "to_bytes"]


class Partitions:
    """Records in hash partitions by user id.

    They lie in unnamed temporary files: no other process finds them, and they vanish when this one ends.

    Args:
        folder: a folder on the disk to use.
        parts: the number of partitions.

    Attributes:
        sizes: number of records in each partition.
    """

    def __init__(self, folder: Path, parts: int) -> None:
        self._opened = ExitStack()
        self._parts_of_a_file = -(-parts // _FILES)
        self._starts: list[list[int]] = [[] for _ in range(parts)]
        self.sizes = [0] * parts
        try:
            self._files: list[IO[bytes]] = [
                self._opened.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
                for _ in range(0, parts, self._parts_of_a_file)
            ]
        except OSError as error:
            self._opened.close()
            raise DataError(f"{folder} cannot be written to: {error.strerror}; choose another one") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, batch: Batch) -> None:
        """Append each record to its user's partition."""
        for number, piece in split(batch, len(self.sizes)):
            self.sizes[number] += len(piece.users)
            self._append(number, piece)

    def take(self, part: int) -> list[Batch]:
        """Return the records of a partition. Take each once, in ascending order; this frees disk space."""
        file = self._files[part // self._parts_of_a_file]
        batches: list[Batch] = []
        for start in self._starts[part]:
            file.seek(start)
            batches.append(_read(file))
        if (part + 1) % self._parts_of_a_file == 0:
            file.close()
        return batches

    def _append(self, part: int, batch: Batch) -> None:
        file = self._files[part // self._parts_of_a_file]
        self._starts[part].append(file.seek(0, 2))
        arrays = [value or b"" for value in to_bytes(batch).values()]
        file.write(np.array([len(value) for value in arrays], dtype=np.int64).tobytes())
        file.write(b"".join(arrays))


def split(batch: Batch, parts: int) -> Iterator[tuple[int, Batch]]:
    """Yield the records of each part that has people in a batch; a hash of their id chooses the part."""
    part = np.array([crc32(name.encode()) % parts for name in batch.names.to_list()], dtype=np.int64)
    by_part = np.argsort(part, kind="stable")
    place = np.empty(len(part), dtype=np.int32)
    place[by_part] = np.arange(len(part), dtype=np.int32)
    rows = np.argsort(part[batch.users], kind="stable")
    name_cuts = np.searchsorted(part[by_part], np.arange(parts + 1))
    row_cuts = np.searchsorted(part[batch.users[rows]], np.arange(parts + 1))
    for number in np.unique(part).tolist():
        first, last = name_cuts[number : number + 2]
        people, records = by_part[first:last], rows[row_cuts[number] : row_cuts[number + 1]]
        yield (
            number,
            Batch(
                batch.names.gather(people),
                place[batch.users[records]] - np.int32(first),
                batch.items[records],
                batch.values[records],
                None if batch.timestamps is None else batch.timestamps[records],
                None if batch.personal_epsilon is None else batch.personal_epsilon[people],
            ),
        )


def to_bytes(batch: Batch) -> dict[str, bytes | None]:
    """Return the arrays of a batch by name, as little-endian bytes, None for absent ones."""
    arrays = {name: getattr(batch, name) for name in _TYPES}
    encoded = {
        name: None if a is None else a.astype(_TYPES[name], copy=False).tobytes()
        for name, a in arrays.items()
    }
    return {"names": "\0".join(batch.names.to_list()).encode(), **encoded}


def of_bytes(fields: Mapping[str, bytes | None]) -> Batch:
    """Rebuild a batch from the bytes of ``to_bytes``."""
    names = (fields["names"] or b"").decode().split("\0")
    encoded = {name: fields[name] for name in _TYPES}
    arrays = {
        name: None if data is None else np.frombuffer(data, _TYPES[name]) for name, data in encoded.items()
    }
    return Batch(pl.Series(names, dtype=pl.String), **arrays)  # type: ignore[arg-type]


def _read(stream: IO[bytes]) -> Batch:
    lengths = np.frombuffer(stream.read(8 * len(Batch._fields)), dtype=np.int64)
    fields = {name: stream.read(n) for name, n in zip(Batch._fields, lengths.tolist(), strict=True)}
    return of_bytes(fields | {name: fields[name] or None for name in ("timestamps", "personal_epsilon")})
