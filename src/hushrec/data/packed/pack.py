"""Read ratings or interactions that exceed memory into blocks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hushrec.data.cleaning import Cleaner, assemble
from hushrec.data.domain import Domain
from hushrec.data.interactions import Interactions
from hushrec.data.load import MAX_BYTES, tables
from hushrec.data.losses.dropped import Dropped
from hushrec.data.packed.blocks import RATINGS_PER_BLOCK, Blocks
from hushrec.data.packed.partitions import Partitions
from hushrec.data.ratings import Ratings
from hushrec.data.readers.columns import Columns
from hushrec.errors import DataError

_MAX_PARTS = 512
# Smallest size of a record in a source, in bytes: as text, and packed.
_TEXT, _PACKED = 8, 2

__all__ = ["load_blocks"]


def load_blocks(
    source: Any,
    domain: Domain,
    folder: str | Path,
    *,
    columns: Columns | None = None,
    format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    max_bytes: int = MAX_BYTES,
    ratings_per_block: int = RATINGS_PER_BLOCK,
) -> Blocks:
    """Read files that exceed memory, clean their records as ``load`` does, and write a folder of blocks.

    The records are cleaned in parts and partitioned by a hash of their user's id, in unnamed temporary files
    on the disk of ``folder``, which vanish if the run is killed. Then each partition is sorted and written.
    Memory is bounded by the size of a block.

    Args:
        source: as for ``load``, or a list of several sources.
        domain: the public domain.
        folder: a new folder for the blocks.
        columns, format, separator, decimal: as for ``load``.
        max_bytes: refuse a file that unpacks to more.
        ratings_per_block: the most entries in a block; a user with more gets a block of their own.

    Returns:
        the blocks: the same users with the same rows as ``load`` finds, in another order.

    Raises:
        DataError: the structure cannot be read, or the folder cannot be written.

    Privacy: private.
    """
    folder = Path(folder)
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise DataError("there is no file to read; name one or more")
    if folder.exists() or not folder.parent.is_dir():
        raise DataError(f"{folder} exists, or its parent folder does not; choose another one")
    intake = Cleaner(domain)
    with Partitions(folder.parent, _parts(sources, ratings_per_block)) as spool:
        for one in sources:
            for table, name in tables(one, intake.roles, columns, format, separator, decimal, max_bytes):
                for batch in intake.batches(table, name):
                    try:
                        spool.add(batch)
                    except OSError as error:
                        reason = f"{folder.parent} cannot be written to: {error.strerror}"
                        raise DataError(f"{reason}; make room, or choose another folder") from None
        packed = _assembled(spool, intake, domain, ratings_per_block)
        return Blocks.write(packed, folder, ratings_per_block=ratings_per_block)


def _assembled(
    spool: Partitions, intake: Cleaner, domain: Domain, ratings_per_block: int
) -> Iterator[Ratings | Interactions]:
    """Rows of as many partitions at a time as fit in a block, after an empty one with ``dropped``."""
    yield assemble([], domain, intake.dropped, asks=intake.asks, timed=intake.timed)
    parts = list(range(len(spool.sizes)))
    while parts:
        batches, size = spool.take(parts[0]), spool.sizes[parts.pop(0)]
        while parts and size + spool.sizes[parts[0]] <= ratings_per_block:
            size += spool.sizes[parts[0]]
            batches += spool.take(parts.pop(0))
        yield assemble(batches, domain, Dropped(), asks=intake.asks, timed=intake.timed)


def _parts(sources: Sequence[Any], ratings_per_block: int) -> int:
    """Enough partitions that each is smaller than a block, estimated from the sizes of the files."""
    records = 0
    for source in sources:
        if isinstance(source, str | Path):
            path = Path(source)
            files = path.iterdir() if path.is_dir() else [path] if path.exists() else []
            for file in files:
                packed = file.suffix in (".gz", ".parquet", ".pq", ".arrow", ".ipc", ".feather")
                records += file.stat().st_size // (_PACKED if packed else _TEXT)
        else:
            records += len(source)
    return min(records // max(ratings_per_block, 1) + 1, _MAX_PARTS)
