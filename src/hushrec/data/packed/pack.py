"""Reading ratings that exceed memory into blocks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hushrec.data.cleaning import Intake, assemble
from hushrec.data.domain import Domain
from hushrec.data.load import MAX_BYTES, tables
from hushrec.data.packed.blocks import RATINGS_PER_BLOCK, Blocks
from hushrec.data.packed.partitions import Spool
from hushrec.data.ratings import Dropped, Ratings
from hushrec.data.readers.columns import Columns
from hushrec.errors import DataError

_MAX_PARTS = 512
# Bytes of a record in a source, at least: as text, and packed.
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
    """Ratings of files that exceed memory, cleaned as ``load`` does, in a folder of blocks.

    The records are cleaned part by part and set aside on the disk of ``folder`` by a hash of their person's
    id, in files without a name, of which a killed run leaves nothing; then each part of the people is sorted
    and written. Memory is bounded by a block.

    Args:
        source: as for ``load``, or a list of several.
        domain: the public frame.
        folder: a new folder for the blocks.
        columns, format, separator, decimal: as for ``load``.
        max_bytes: refuse a file that unpacks to more.
        ratings_per_block: how many ratings a block has at most, unless one person has more.

    Returns:
        the blocks: the same people with the same ratings as ``load`` finds, in another order.

    Raises:
        DataError: the structure cannot be read, or the folder cannot be written.

    Privacy: private.
    """
    folder = Path(folder)
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise DataError("there is no file to read; name one or more")
    if folder.exists() or not folder.parent.is_dir():
        raise DataError(f"{folder} exists, or has no folder to stand in; choose another one")
    intake = Intake(domain)
    with Spool(folder.parent, _parts(sources, ratings_per_block)) as spool:
        for one in sources:
            for table, name in tables(one, columns, format, separator, decimal, max_bytes):
                for batch in intake.batches(table, name):
                    try:
                        spool.add(batch)
                    except OSError as error:
                        reason = f"{folder.parent} cannot be written to: {error.strerror}"
                        raise DataError(f"{reason}; make room, or choose another folder") from None
        packed = _assembled(spool, intake, domain, ratings_per_block)
        return Blocks.write(packed, folder, ratings_per_block=ratings_per_block)


def _assembled(spool: Spool, intake: Intake, domain: Domain, ratings_per_block: int) -> Iterator[Ratings]:
    """Ratings of as many parts at a time as make up a block, and first an empty one with what was dropped."""
    yield assemble([], domain, intake.dropped, asks=intake.asks, timed=intake.timed)
    parts = list(range(len(spool.sizes)))
    while parts:
        batches, size = spool.take(parts[0]), spool.sizes[parts.pop(0)]
        while parts and size + spool.sizes[parts[0]] <= ratings_per_block:
            size += spool.sizes[parts[0]]
            batches += spool.take(parts.pop(0))
        yield assemble(batches, domain, Dropped(), asks=intake.asks, timed=intake.timed)


def _parts(sources: Sequence[Any], ratings_per_block: int) -> int:
    """Enough that a part is smaller than a block, going by the sizes of the files."""
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
