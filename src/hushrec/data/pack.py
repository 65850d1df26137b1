"""Packing of ratings or interactions that exceed memory into blocks, partitioned by user on the way.

Privacy: private.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Self
from zlib import crc32

import numpy as np
import polars as pl

from hushrec.data.blocks import RATINGS_PER_BLOCK, Blocks, Temporary
from hushrec.data.cleaning import Batch, Cleaner, assemble
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.feedback import Feedback
from hushrec.data.readers.dataframes import parts_of, tables
from hushrec.data.readers.sources import BINARY, Part
from hushrec.data.reading import PLAIN, Reading
from hushrec.errors import DataError
from hushrec.progress import stage

_FILES = 64  # at most, because all stay open: chosen by hand
_TYPES = {"users": "<i4", "items": "<i4", "values": "u1", "timestamps": "<i8", "personal_epsilon": "<f8"}


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


_MAX_PARTS = 512  # partitions: chosen by hand
# Smallest size of a record in a source, in bytes, as text and packed: chosen by hand.
_TEXT, _PACKED = 8, 2
_LOADED = 32
"""Bytes of memory assumed for loading a record of the smallest size: chosen by hand.

Usual records are three times as large.
"""
_UNKNOWN = 1 << 30  # records assumed for a table of unknown length: chosen by hand


def load_blocks(
    source: Any,
    domain: Domain,
    folder: Path | None = None,
    reading: Reading = PLAIN,
    *,
    ratings_per_block: int = RATINGS_PER_BLOCK,
) -> Blocks:
    """Read files that exceed memory, clean their records as ``load`` does, and write a folder of blocks.

    The records are cleaned in parts and partitioned by a hash of their user's id, in unnamed temporary files
    on the disk of ``folder``, which vanish if the run is killed. Then each partition is sorted and written.
    Memory is bounded by the size of a block.

    Args:
        source: as for ``load``.
        domain: the public domain.
        folder: a new folder for the blocks. None for a temporary one, where the system keeps temporary files
            (TMPDIR): it is deleted at the end of a ``with`` statement, when the blocks are no longer in use,
            or with the program.
        reading: as for ``load``.
        ratings_per_block: the most entries in a block; a user with more gets a block of their own.

    Returns:
        the blocks: the same users with the same rows as from ``load``, in another order.

    Raises:
        DataError: the structure cannot be read, or the folder cannot be written.

    Privacy: private.
    """
    temporary = Temporary() if folder is None else None
    folder = temporary.folder / "blocks" if temporary else folder or Path()
    if folder.exists():
        raise DataError(
            f"{folder} exists; load it in place of the files if it holds them, or choose another one"
        )
    if not folder.parent.is_dir():
        raise DataError(f"{folder.parent} is not a folder; choose another one")
    sources = parts_of(source, reading)
    intake = Cleaner(domain)
    with Partitions(folder.parent, _parts(sources, ratings_per_block)) as spool:
        for table, name in tables(source, intake.roles, reading):
            for batch in intake.batches(table, name):
                try:
                    spool.add(batch)
                except OSError as error:
                    reason = f"{folder.parent} cannot be written to: {error.strerror}"
                    raise DataError(f"{reason}; make room, or choose another folder") from None
        packed = _assembled(spool, intake, domain, ratings_per_block)
        with stage("writing blocks"):
            blocks = Blocks.write(packed, folder, ratings_per_block=ratings_per_block)
    return replace(blocks, _temporary=temporary)


def _assembled(
    spool: Partitions, intake: Cleaner, domain: Domain, ratings_per_block: int
) -> Iterator[Feedback]:
    """Yield the rows of as many partitions as fit in a block, after empty rows that carry ``dropped``."""
    yield assemble(
        [], domain, intake.dropped, personal_epsilon=intake.has_personal_epsilon, timed=intake.timed
    )
    parts = list(range(len(spool.sizes)))
    while parts:
        batches, size = spool.take(parts[0]), spool.sizes[parts.pop(0)]
        while parts and size + spool.sizes[parts[0]] <= ratings_per_block:
            size += spool.sizes[parts[0]]
            batches += spool.take(parts.pop(0))
        yield assemble(
            batches, domain, Dropped(), personal_epsilon=intake.has_personal_epsilon, timed=intake.timed
        )


def _parts(sources: Sequence[Any], ratings_per_block: int) -> int:
    """Choose the number of partitions by the sizes of the files, so that each is smaller than a block."""
    records = sum(map(_most_records, sources))
    return min(records // max(ratings_per_block, 1) + 1, _MAX_PARTS)


def _most_records(source: Any) -> int:
    if not isinstance(source, Part):
        return len(source) if hasattr(source, "__len__") else _UNKNOWN
    packed = source.format in BINARY or source.file.suffix == ".gz"
    return source.size // (_PACKED if packed else _TEXT)


def too_large(source: Any, reading: Reading, memory: int) -> bool:
    """Return True if loading files may need more than this memory, judged by their sizes.

    Args:
        source, reading: as for ``load``.
        memory: bytes.

    Privacy: private; only where rows are kept depends on it, not what is measured.
    """
    files = [part for part in parts_of(source, reading) if isinstance(part, Part)]
    return sum(map(_most_records, files)) * _LOADED > memory
