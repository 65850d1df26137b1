"""The files of blocks and how they are written; ``hushrec.data.packed.blocks`` describes and reads them."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, cast

import numpy as np
import polars as pl

from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback, require_disjoint
from hushrec.data.losses.dropped import Dropped
from hushrec.errors import DataError
from hushrec.files import sha256

FORMAT = "hushrec blocks 3"
MANIFEST = "manifest.json"
RATINGS_PER_BLOCK = 1 << 22
TYPES = {
    "users": np.uint8,
    "indptr": np.int64,
    "items": np.int32,
    "steps": np.uint8,
    "occurrences": np.uint8,
    "timestamps": np.int64,
    "asked": np.float64,
}
OPTIONAL = {"timestamps", "asked"}

__all__ = [
    "FORMAT",
    "MANIFEST",
    "OPTIONAL",
    "RATINGS_PER_BLOCK",
    "TYPES",
    "InBlocks",
    "StoredBlock",
    "write_all",
]


class StoredBlock(NamedTuple):
    """What a manifest says of one block.

    Attributes:
        sha256: SHA-256 of each array's file.

    Privacy: private.
    """

    users: int
    ratings: int
    sha256: dict[str, str]


class InBlocks:
    """People who are kept in blocks, by what is known of each block.

    Privacy: private.
    """

    __slots__ = ()
    domain: Domain
    cap: int | None
    _parts: tuple[StoredBlock, ...]

    @property
    def n_blocks(self) -> int:
        """Number of blocks. Privacy: private."""
        return len(self._parts)

    @property
    def n_users(self) -> int:
        """Number of users with at least one item. Privacy: private."""
        return sum(part.users for part in self._parts)

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions. Privacy: private."""
        return sum(part.ratings for part in self._parts)

    @property
    def exceeds_declared_users(self) -> bool:
        """Whether there are more users than ``domain.max_users`` declares. Privacy: private."""
        return self.n_users > self.domain.max_users

    def capped(self, cap: int) -> Self:
        """At most ``cap`` entries of each user, as in ``Ratings.capped``, chosen when a block is read.

        Privacy: private.
        """
        if cap < 1:
            raise DataError("a cap keeps at least one item of each user: cap must be 1 or more")
        capped: Self = replace(cast(Any, self), cap=cap if self.cap is None else min(cap, self.cap))
        return capped


def write_all(source: Iterable[Feedback], folder: Path, ratings_per_block: int) -> Domain:
    """Write all blocks and the manifest; returns the domain.

    Args:
        source: one or more, of disjoint sets of users.
        folder: an empty folder.
        ratings_per_block: the most entries in a block.

    Privacy: private.
    """
    domain: Domain | None = None
    optional: set[str] = set()
    told: list[StoredBlock] = []
    dropped = Dropped()
    people: list[pl.Series] = []
    for ratings in source:
        found = {name for name in OPTIONAL if getattr(ratings, name) is not None}
        if domain is None:
            domain, optional = ratings.domain, found
        if ratings.domain.digest != domain.digest:
            raise DataError("the ratings belong to several domains; load all of them with one domain")
        if found != optional:
            raise DataError(
                "some of the ratings have timestamps or requested ε, and others have not; "
                "load all of them with the same columns"
            )
        dropped = dropped + ratings.dropped
        people.append(ratings.users)
        for block in _cut(ratings, ratings_per_block):
            told.append(_written(block, folder / f"{len(told):06d}"))
    if domain is None:
        raise DataError("there are no ratings to write; give at least one Ratings, which may be empty")
    require_disjoint(people)
    manifest = {
        "format": FORMAT,
        "domain": domain.digest,
        "optional": sorted(optional),
        "dropped": asdict(dropped),
        "blocks": [block._asdict() for block in told],
    }
    with _created(folder / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode())
    return domain


def _cut(ratings: Feedback, size: int) -> Iterator[Feedback]:
    start = 0
    while start < ratings.n_users:
        reach = np.searchsorted(ratings.indptr, ratings.indptr[start] + size, side="right")
        stop = max(int(reach) - 1, start + 1)
        yield ratings.slice(start, stop)
        start = stop


def _written(block: Feedback, folder: Path) -> StoredBlock:
    folder.mkdir(mode=0o700)
    ids = np.frombuffer("\0".join([*block.users.to_list(), ""]).encode(), dtype=np.uint8)
    arrays = {name: getattr(block, name, None) for name in TYPES} | {"users": ids}
    digests = {}
    for name, array in arrays.items():
        if array is not None:
            path = folder / f"{name}.npy"
            with _created(path) as file:
                np.save(file, array, allow_pickle=False)
            digests[name] = sha256(path)
    return StoredBlock(block.n_users, len(block.items), digests)


@contextmanager
def _created(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that only its owner may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
