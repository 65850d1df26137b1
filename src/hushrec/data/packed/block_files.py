"""The files of blocks and their writing; ``hushrec.data.packed.blocks`` describes and reads them.

Privacy: private.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, cast

import numpy as np
import polars as pl

from hushrec.data.cleaning import kind_of
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback, require_disjoint
from hushrec.data.losses.dropped import Dropped
from hushrec.errors import DataError
from hushrec.files import sha256

FORMAT = "hushrec blocks 4"
MANIFEST = "manifest.json"
RATINGS_PER_BLOCK = 1 << 22  # bounds the memory of a fit: chosen by hand
TYPES = {
    "users": np.uint8,
    "indptr": np.int64,
    "items": np.int32,
    "steps": np.uint8,
    "occurrences": np.uint8,
    "timestamps": np.int64,
    "personal_epsilon": np.float64,
}
OPTIONAL = {"timestamps", "personal_epsilon"}

__all__ = [
    "FORMAT",
    "MANIFEST",
    "OPTIONAL",
    "RATINGS_PER_BLOCK",
    "TYPES",
    "InBlocks",
    "StoredBlock",
    "decoded",
    "encoded",
    "write_all",
]


class StoredBlock(NamedTuple):
    """The entry of one block in a manifest.

    Attributes:
        sha256: SHA-256 of each array's file.
    """

    users: int
    ratings: int
    sha256: dict[str, str]


class InBlocks:
    """People kept in blocks, with the numbers of users and entries of each block."""

    __slots__ = ()
    domain: Domain
    max_per_user: int | None
    _parts: tuple[StoredBlock, ...]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self._parts)

    @property
    def n_users(self) -> int:
        """Number of users with at least one item."""
        return sum(part.users for part in self._parts)

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions."""
        return sum(part.ratings for part in self._parts)

    @property
    def exceeds_declared_users(self) -> bool:
        """True if there are more users than ``domain.max_users`` declares."""
        return self.n_users > self.domain.max_users

    def capped(self, max_per_user: int) -> Self:
        """Keep at most ``max_per_user`` entries of each user, as ``Ratings.capped`` does, while reading."""
        if max_per_user < 1:
            raise DataError("a cap keeps at least one item of each user: cap must be 1 or more")
        capped: Self = replace(
            cast(Any, self),
            max_per_user=max_per_user if self.max_per_user is None else min(max_per_user, self.max_per_user),
        )
        return capped


def encoded(users: pl.Series) -> bytes:
    """Encode ids of users, each followed by NUL."""
    return "\0".join([*users.to_list(), ""]).encode()


def decoded(domain: Domain, ids: bytes, arrays: Mapping[str, Any]) -> Any:
    """Decode a block as ``Ratings`` or ``Interactions``, as the domain declares.

    Raises:
        ValueError, DataError: the ids are not text, or the arrays do not fit together.
    """
    *users, rest = ids.decode().split("\0")
    if rest:
        raise ValueError("the last id does not end")
    return kind_of(domain)(domain, pl.Series(users, dtype=pl.String), **arrays)


def write_all(source: Iterable[Feedback], folder: Path, ratings_per_block: int) -> Domain:
    """Write all blocks and the manifest, and return the domain.

    Args:
        source: one or more, of disjoint sets of users.
        folder: an empty folder.
        ratings_per_block: the most entries in a block.
    """
    domain: Domain | None = None
    optional: set[str] = set()
    stored: list[StoredBlock] = []
    dropped = Dropped()
    people: list[pl.Series] = []
    for ratings in source:
        present = {name for name in OPTIONAL if getattr(ratings, name) is not None}
        if domain is None:
            domain, optional = ratings.domain, present
        if ratings.domain.digest != domain.digest:
            raise DataError("the ratings belong to several domains; load all of them with one domain")
        if present != optional:
            raise DataError(
                "some of the ratings have timestamps or requested ε, and others have not; "
                "load all of them with the same columns"
            )
        dropped = dropped + ratings.dropped
        people.append(ratings.users)
        for block in ratings.cuts(ratings_per_block):
            stored.append(_written(block, folder / f"{len(stored):06d}"))
    if domain is None:
        raise DataError("there are no ratings to write; give at least one Ratings, which may be empty")
    require_disjoint(people)
    manifest = {
        "format": FORMAT,
        "domain": domain.digest,
        "optional": sorted(optional),
        "dropped": asdict(dropped),
        "blocks": [block._asdict() for block in stored],
    }
    with _created(folder / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode())
    return domain


def _written(block: Feedback, folder: Path) -> StoredBlock:
    folder.mkdir(mode=0o700)
    ids = np.frombuffer(encoded(block.users), dtype=np.uint8)
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
