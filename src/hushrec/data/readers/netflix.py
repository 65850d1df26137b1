"""The Netflix Prize files: a line ``movie:``, then one line ``user,rating,YYYY-MM-DD`` per rating."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from hushrec.data.readers.delimited import Dialect, cells
from hushrec.data.readers.text import blocks
from hushrec.errors import DataError

_DAY = 86_400  # seconds

__all__ = ["files", "read"]


def read(path: Path, max_bytes: int) -> Iterator[pl.DataFrame]:
    """Yield tables ``user_id, item_id, rating, timestamp`` of ``combined_data_*.txt`` or ``mv_*.txt``.

    Args:
        path: one such file, or a folder of them.
        max_bytes: the most bytes that each file may unpack to.

    Yields:
        tables of text cells; the timestamp is midnight UTC in Unix seconds, int64.

    Privacy: private.
    """
    for file in _named(path):
        for table in _under_movies(file, max_bytes):
            date = pl.col("day").str.to_date("%Y-%m-%d", strict=False)
            seconds = date.cast(pl.Int32).cast(pl.Int64) * _DAY
            yield table.select("user_id", "item_id", "rating", seconds.alias("timestamp"))


def files(folder: Path) -> list[Path]:
    """List the files of the Netflix Prize in a folder, all of one kind. Privacy: public."""
    for name in ("combined_data_*.txt", "mv_*.txt"):
        if paths := sorted([*folder.glob(name), *folder.glob(name + ".gz")]):
            return paths
    return []


def _named(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if paths := files(path):
        return paths
    raise DataError(f"{path} is a folder without combined_data_*.txt or mv_*.txt; name a file instead")


def _under_movies(path: Path, max_bytes: int) -> Iterator[pl.DataFrame]:
    """Yield tables of cells, with ``item_id`` from the line ``movie:`` above them."""
    movie: str | None = None
    for block in blocks(path, max_bytes):
        # Once a line "movie:" has as many separators as the other lines, it parses as a row like them.
        data = block.data.replace(b":\n", b":,,\n")
        table = cells(path, block._replace(data=data), Dialect(","), 3)
        table.columns = ["user_id", "rating", "day"]
        heads = pl.col("user_id").str.ends_with(":")
        above = pl.when(heads).then(pl.col("user_id").str.strip_suffix(":")).forward_fill()
        table = table.with_columns(above.fill_null(pl.lit(movie, pl.String)).alias("item_id"))
        if movie is None and table.height and table["item_id"][0] is None:
            raise DataError(f"{path}, row {block.row}: no line «movie:» above; is this a Netflix Prize file?")
        movie = table["item_id"][-1] if table.height else movie
        yield table.filter(~heads.fill_null(False))
