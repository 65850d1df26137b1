"""Packing of ratings or interactions that exceed memory into blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hushrec.data.cleaning import Cleaner, assemble
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback
from hushrec.data.losses.dropped import Dropped
from hushrec.data.packed.blocks import RATINGS_PER_BLOCK, Blocks
from hushrec.data.packed.partitions import Partitions
from hushrec.data.packed.temporary import Temporary
from hushrec.data.readers.formats import BINARY
from hushrec.data.readers.sources import Part
from hushrec.data.readers.tables import parts_of, tables
from hushrec.data.reading import PLAIN, Reading
from hushrec.errors import DataError
from hushrec.progress import stage

_MAX_PARTS = 512  # partitions: chosen by hand
# Smallest size of a record in a source, in bytes, as text and packed: chosen by hand.
_TEXT, _PACKED = 8, 2
_LOADED = 32
"""Bytes of memory assumed for loading a record of the smallest size: chosen by hand.

Usual records are three times as large.
"""
_UNKNOWN = 1 << 30  # records assumed for a table of unknown length: chosen by hand

__all__ = ["load_blocks", "too_large"]


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
