"""The files of a released data set: its rows as Parquet or CSV, and its facts as JSON.

Rows are ``user_id, item_id, rating``, one per cell. They are written and read in parts, so that a large data
set is never text in memory. The facts (method, settings, catalogue, statement of privacy) are metadata of the
Parquet file under ``hushrec``. They are also written next to either file as ``NAME.statement.json``, where a
ledger in the same folder finds them.

Privacy: public; rows that a grant reported, and facts about them.
"""

import errno
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from hushrec import files
from hushrec.arrays import Ints
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.data.readers import formats
from hushrec.data.readers.quiet import quiet
from hushrec.data.reading import Reading
from hushrec.errors import ReleaseError
from hushrec.release.untrusted_json import LARGEST, parse

FORMAT = 4
"""Version of the facts; a file of another version is refused."""
KIND = "data set"
SUFFIXES = (".parquet", ".csv")
_KEY = "hushrec"
_SCHEMA = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}
_ROWS = 1 << 20  # cells written at once, and in a row group; chosen by hand, and part of the bytes
_PEOPLE = 1 << 20  # ids hashed at once; chosen by hand, does not change the digest
_LARGEST = 1 << 36  # bytes that a file may unpack to; chosen by hand


def anonymous_ids(n_people: int, numbers: Ints | None = None) -> pl.Series:
    """Return anonymous ids: "0001", "0002", …, padded so that their bytes sort like the numbers.

    Args:
        n_people: number of people, which decides the width of an id.
        numbers: the people's numbers, from 1; all of them by default.
    """
    if numbers is None:
        numbers = np.arange(1, n_people + 1)
    return pl.Series(numbers, dtype=pl.Int64).cast(pl.String).str.zfill(len(str(n_people)))


def digest(facts: Mapping[str, Any], ratings: Ratings) -> str:
    """Hash facts and rows by SHA-256. It detects damage and careless edits, but a forger can update it."""
    total = hashlib.sha256(json.dumps(dict(facts), sort_keys=True, allow_nan=False).encode())
    for start in range(0, ratings.n_users, _PEOPLE):
        total.update("\0".join(ratings.users[start : start + _PEOPLE].to_list()).encode() + b"\0")
    for array in (ratings.indptr, ratings.items, ratings.steps):
        total.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return total.hexdigest()


def text(facts: Mapping[str, Any]) -> str:
    return json.dumps(dict(facts), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def beside(path: Path) -> Path:
    """Return the path of a file's facts."""
    return path.with_name(path.name + ".statement.json")


def require_lines(path: Path, items: Iterable[str]) -> None:
    """Refuse to write ids as CSV that a CSV reader would change."""
    if path.suffix == ".csv" and any("\r\n" in item for item in items):
        raise ReleaseError(f"an id holds a line break, which CSV does not keep; name it {path.stem}.parquet")


def recognised(path: Path) -> bool:
    """Check whether a file claims to be a released data set; it may still be damaged."""
    if path.suffix == ".csv":
        return beside(path).is_file()
    try:
        with quiet():
            return path.suffix == ".parquet" and _KEY in pl.read_parquet_metadata(path)
    except (Exception, pl.exceptions.PanicException):  # a damaged file can make the reader raise anything
        return False


def write(path: Path, ratings: Ratings, facts: Mapping[str, Any]) -> None:
    """Write rows and facts; facts come first, so that a ledger knows every data set next to it."""
    if path.suffix not in SUFFIXES:
        raise ReleaseError(
            f"{path.name} is not a name of a data set; name it {path.name}.parquet or {path.name}.csv"
        )
    require_lines(path, ratings.domain.items)
    try:
        with files.whole(path) as rows:
            if path.suffix == ".parquet":
                _sink(ratings, facts, rows)
            else:
                _source(ratings).sink_csv(rows)
            rows.flush()  # if the disk is full, this fails before the old facts are replaced
            with files.whole(beside(path)) as note:
                note.write(text(facts).encode())
    except (OSError, pl.exceptions.PolarsError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        raise OSError(errno.EIO, "it could not be written completely; is the disk full?") from None


def to_parquet(ratings: Ratings, facts: Mapping[str, Any]) -> bytes:
    """Return the Parquet file's bytes; the same rows and facts give the same bytes."""
    buffer = BytesIO()
    _sink(ratings, facts, buffer)
    return buffer.getvalue()


def read_facts(path: Path) -> Any:
    """Read a file's facts, unchecked: from a Parquet file itself, or from the file next to a CSV file."""
    if path.suffix not in SUFFIXES:
        raise ReleaseError(f"{path} is not a data set: its name must end in .parquet or .csv")
    with files.refusing(path, "read", ReleaseError, "name a released data set"):
        path.stat()
    note = ""
    if path.suffix == ".csv":
        fix = f"it describes {path.name}: put it in the same folder"
        note = files.read_text(beside(path), ReleaseError, fix=fix, largest=LARGEST)
    try:
        if not note:
            with quiet():
                note = pl.read_parquet_metadata(path)[_KEY]
        return parse(note)
    except (Exception, pl.exceptions.PanicException):  # a crafted file can make the readers raise anything
        raise ReleaseError(f"{path} is not a hushrec data set, or it is damaged; fetch it again") from None


def read_rows(path: Path, domain: Domain) -> Ratings:
    """Read the rows of a file, which must belong to exactly this domain."""
    try:
        items = pl.Enum(domain.items)
        lo, _, step = domain.scale
        values = lo + step * np.arange(domain.scale.n_values)
        names, counts = [pl.Series(dtype=pl.String)], [np.zeros(0, dtype=np.int64)]
        columns, marks = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.uint8)]
        for table in _tables(path):
            runs = table["user_id"].rle().struct.unnest()
            names.append(runs["value"])
            counts.append(runs["len"].to_numpy().astype(np.int64))
            columns.append(table["item_id"].cast(items).to_physical().to_numpy().astype(np.int32))
            ratings_read = table["rating"].cast(pl.Float64).to_numpy()
            steps = domain.scale.nearest(ratings_read)
            if table.null_count().sum_horizontal().item() or not np.array_equal(values[steps], ratings_read):
                raise ValueError("a cell is empty or off the scale")
            marks.append(steps)
        users, lengths = _joined(pl.concat(names), np.concatenate(counts))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return Ratings(domain, users, indptr, np.concatenate(columns), np.concatenate(marks))
    except (Exception, pl.exceptions.PanicException):  # readers' messages may contain cells
        raise ReleaseError(f"{path} was altered or cut short after it was written; fetch it again") from None


def _tables(path: Path) -> Iterator[pl.DataFrame]:
    form = path.suffix.removeprefix(".")
    return formats.read(path, form, Reading(max_bytes=_LARGEST))


def _joined(users: pl.Series, lengths: Ints) -> tuple[pl.Series, Ints]:
    """Join runs that were split where a part ended."""
    first = users.ne_missing(users.shift()).to_numpy()
    starts = np.flatnonzero(first)
    return users.gather(starts), np.add.reduceat(lengths, starts) if len(starts) else lengths


def _sink(ratings: Ratings, facts: Mapping[str, Any], target: BinaryIO) -> None:
    # Fixed row groups and order, and no statistics, so that the bytes depend on the rows alone.
    _source(ratings).sink_parquet(
        target, compression="zstd", statistics=False, row_group_size=_ROWS, metadata={_KEY: text(facts)}
    )


def _source(ratings: Ratings) -> pl.LazyFrame:
    def frames(*_: object) -> Iterator[pl.DataFrame]:
        return _frames(ratings)

    return register_io_source(frames, schema=_SCHEMA)


def _frames(ratings: Ratings) -> Iterator[pl.DataFrame]:
    lo, _, step = ratings.domain.scale
    values = pl.Series(lo + step * np.arange(ratings.domain.scale.n_values))
    items = pl.Series(ratings.domain.items, dtype=pl.String)
    for start in range(0, ratings.n_ratings, _ROWS):
        stop = min(start + _ROWS, ratings.n_ratings)
        first = int(np.searchsorted(ratings.indptr, start, side="right")) - 1
        last = int(np.searchsorted(ratings.indptr, stop, side="left"))
        bounds = np.clip(ratings.indptr[first : last + 1], start, stop)
        lengths = bounds[1:] - bounds[:-1]
        yield pl.DataFrame(
            {
                "user_id": ratings.users.gather(np.repeat(np.arange(first, last, dtype=np.uint32), lengths)),
                "item_id": items.gather(ratings.items[start:stop]),
                "rating": values.gather(ratings.steps[start:stop]),
            }
        )
