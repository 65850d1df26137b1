"""Clean records on their way to blocks, set aside by person, so that each person's are found together."""

import os
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushrec.data.intake import Batch

__all__ = ["Spool"]


class Spool:
    """Files of records, one for each part of the people; a hash of a person's id tells his part.

    Args:
        folder: an empty folder that nobody else may read.
        parts: how many.

    Attributes:
        sizes: records in each part.

    Privacy: private.
    """

    def __init__(self, folder: Path, parts: int) -> None:
        self._files = [folder / f"{part:06d}" for part in range(parts)]
        self.sizes = [0] * parts

    def add(self, batch: Batch) -> None:
        """Append every record to the file of its person's part."""
        parts = len(self._files)
        part = np.array([crc32(name.encode()) % parts for name in batch.names.to_list()], dtype=np.int64)
        by_part = np.argsort(part, kind="stable")
        place = np.empty(len(part), dtype=np.int32)
        place[by_part] = np.arange(len(part), dtype=np.int32)
        rows = np.argsort(part[batch.users], kind="stable")
        name_cuts = np.searchsorted(part[by_part], np.arange(parts + 1))
        row_cuts = np.searchsorted(part[batch.users[rows]], np.arange(parts + 1))
        for number in np.unique(part).tolist():
            first, last = name_cuts[number : number + 2]
            mine, theirs = by_part[first:last], rows[row_cuts[number] : row_cuts[number + 1]]
            self.sizes[number] += len(theirs)
            _append(
                self._files[number],
                Batch(
                    batch.names.gather(mine),
                    place[batch.users[theirs]] - np.int32(first),
                    batch.items[theirs],
                    batch.steps[theirs],
                    None if batch.timestamps is None else batch.timestamps[theirs],
                    None if batch.asked is None else batch.asked[mine],
                ),
            )

    def take(self, part: int) -> list[Batch]:
        """The records of a part, whose file is then gone."""
        file = self._files[part]
        found: list[Batch] = []
        if file.exists():
            with file.open("rb") as stream:
                end = os.fstat(stream.fileno()).st_size
                while stream.tell() < end:
                    found.append(_read(stream))
            file.unlink()
        return found


def _append(file: Path, batch: Batch) -> None:
    names = "\0".join(batch.names.to_list()).encode()
    with file.open("ab") as stream:
        for array in (np.frombuffer(names, dtype=np.uint8), *batch[1:]):
            np.save(stream, np.zeros(0) if array is None else array, allow_pickle=False)


def _read(stream: Any) -> Batch:
    arrays: list[NDArray[Any]] = [np.load(stream, allow_pickle=False) for _ in Batch._fields]
    names, users, items, steps, timestamps, asked = arrays
    return Batch(
        pl.Series(names.tobytes().decode().split("\0"), dtype=pl.String),
        users,
        items,
        steps,
        timestamps if len(timestamps) else None,
        asked if len(asked) else None,
    )
