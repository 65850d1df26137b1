"""Ratings or interactions that exceed memory: a folder of blocks, each mapped while it is processed.

::

    manifest.json       the format, the domain's digest, the optional arrays, the counts of dropped records;
                        for each block its number of users and entries and the SHA-256 of its files
    000000/users.npy    ids of the block's users, UTF-8, each followed by NUL, uint8
    000000/indptr.npy   where each user's entries start, then where the last ones end, int64
    000000/items.npy    index in the catalogue, int32
    000000/steps.npy    of ratings: steps above the bottom of the scale, uint8
    000000/occurrences.npy    of interactions with counts: how often the item was given, uint8
    000000/timestamps.npy, 000000/personal_epsilon.npy    if present, int64 and float64
    000001/…

Each user is in exactly one block. The files are private: only their owner may read them.

Privacy: private.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, cast
from weakref import finalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushrec import files
from hushrec.data.cleaning import kind_of
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.feedback import Feedback, Interactions, Ratings, require_disjoint
from hushrec.data.people import PublicFacts
from hushrec.documents import html
from hushrec.errors import DataError
from hushrec.files import draft, sha256
from hushrec.progress import fraction


class Temporary:
    """A folder for private ratings among the temporary files of this machine, which only its owner may read.

    It is deleted when it is closed or forgotten, or when the program ends; if the program is killed, the next
    program that makes such a folder deletes it.

    Privacy: private.
    """

    def __init__(self) -> None:
        resources = ExitStack()
        try:
            self.folder = resources.enter_context(draft(Path(tempfile.gettempdir()) / "ratings"))
        except OSError as error:
            reason = f"temporary files cannot be written: {error.strerror}"
            raise DataError(f"{reason}; name another folder for them in TMPDIR") from None
        self._end = finalize(self, _closed, resources, os.getpid())

    def close(self) -> None:
        self._end()


def _closed(resources: ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy of the process
        resources.close()


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


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Blocks(InBlocks):
    """The ratings or interactions of a population in a folder, for models that read them block by block.

    Create them with ``write``, ``open`` or ``hushrec.load``. A temporary folder is deleted at the end
    of a ``with`` statement, or when nothing uses it.

    Attributes:
        domain: the public domain.
        folder: the folder of the files.
        dropped: how many records the loader read, and what it dropped or changed.
        max_per_user: the most entries of each user that count, None for all; applied when a block is read.

    Privacy: private. ``repr`` shows folder and domain, no counts.
    """

    domain: Domain
    folder: Path
    dropped: Dropped
    _optional: frozenset[str]
    _parts: tuple[StoredBlock, ...]
    max_per_user: int | None = None
    _temporary: Temporary | None = None

    @classmethod
    def write(
        cls,
        source: Feedback | Iterable[Feedback],
        folder: str | Path,
        *,
        ratings_per_block: int = RATINGS_PER_BLOCK,
    ) -> Self:
        """Write ratings or interactions as blocks, in their order; the folder appears once it is complete.

        Leftovers of a killed run next to the folder are removed first, with a warning that names them.

        Args:
            source: ratings or interactions, or several of disjoint sets of users; one is in memory at a time.
            folder: a new folder.
            ratings_per_block: the most entries in a block; a user with more gets a block of their own.

        Raises:
            DataError: the folder exists or cannot be written to, or the parts do not fit together.
        """
        folder = Path(folder)
        if ratings_per_block < 1:
            raise DataError("a block holds ratings: ratings_per_block must be 1 or more")
        if folder.exists():
            raise DataError(f"{folder} exists; choose another folder")
        sources = [source] if isinstance(source, Feedback) else source
        with (
            files.refusing(folder, "written", DataError, "choose another folder"),
            files.whole_folder(folder, new=True) as written,
        ):
            domain = write_all(sources, written, ratings_per_block)
        return cls.open(folder, domain)

    @classmethod
    def open(cls, folder: str | Path, domain: Domain) -> Self:
        """Open blocks that were written before.

        Raises:
            DataError: there are no blocks, they are damaged, or they were written for another domain.
        """
        folder = Path(folder)
        path = folder / MANIFEST
        manifest: Any = None
        with suppress(OSError, ValueError):
            manifest = json.loads(path.read_bytes())
        if isinstance(manifest, dict) and manifest.get("format", FORMAT) != FORMAT:
            raise DataError(f"{path} is of another version of hushrec; pack the ratings again")
        try:
            _, digest = manifest["format"], manifest["domain"]
            dropped = Dropped(
                **{field.name: int(manifest["dropped"][field.name]) for field in fields(Dropped)}
            )
            optional = _optional(manifest["optional"])
            parts = tuple(_described(entry) for entry in manifest["blocks"])
        except (LookupError, TypeError, ValueError):
            raise DataError(f"{path} describes no blocks or is damaged; pack the ratings again") from None
        if digest != domain.digest:
            raise DataError(f"{folder} was packed for another domain; open it with that one, or pack again")
        files = {"users", "indptr", "items"} | _values(domain) | optional
        if any(set(part.sha256) != files for part in parts):
            raise DataError(f"{path} describes no blocks or is damaged; pack the ratings again")
        return cls(domain, folder, dropped, optional, parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.close()

    @property
    def facts(self) -> PublicFacts:
        """The public facts, as in ``People``. Privacy: public."""
        return PublicFacts(self.domain, self.has_personal_epsilon, self.sums_only)

    @property
    def sums_only(self) -> bool:
        """False, because every block can be read here, as in ``People``."""
        return False

    def rows_held(self, gathered: bool) -> tuple[int, int]:
        """Return the entries of one block, or of all, and all users, as in ``People``."""
        return (self.n_entries if gathered else RATINGS_PER_BLOCK), self.n_users

    @property
    def has_personal_epsilon(self) -> bool:
        """True if users request their own ε. Privacy: public, determined by the source's columns."""
        # Read from the manifest, so that it is known even with no blocks: whether there are users is private.
        return "personal_epsilon" in self._optional

    def blocks(self) -> Iterator[Any]:  # the kind depends on the domain, which no type checker sees
        """Yield ``Ratings`` or ``Interactions`` block by block, each read from its files when needed.

        Raises:
            DataError: a file is damaged.
        """
        for number in range(self.n_blocks):
            block = self._block(number)
            yield block if self.max_per_user is None else block.capped(self.max_per_user)

    def gathered(self) -> Any:
        """Read all blocks into memory as ``Ratings`` or ``Interactions``, users in ascending order.

        Raises:
            DataError: a file is damaged.
        """
        blocks = list(self.blocks())
        users = pl.concat([pl.Series(dtype=pl.String), *(block.users for block in blocks)])
        order = users.arg_sort().to_numpy()
        counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(block.indptr) for block in blocks)])
        starts = np.concatenate([[0], np.cumsum(counts)])[order]
        ends = np.concatenate([[0], np.cumsum(counts[order])])
        rows = np.repeat(starts - ends[:-1], counts[order]) + np.arange(ends[-1])
        kind = kind_of(self.domain)
        absent = OPTIONAL - self._optional | ({"occurrences"} if self.domain.counts is None else set())

        def joined(name: str, places: NDArray[Any]) -> Any:
            if name in absent:
                return None
            return np.concatenate([np.zeros(0, TYPES[name]), *(getattr(b, name) for b in blocks)])[places]

        arrays = {name: joined(name, rows) for name in ("items", kind.VALUES, "timestamps")}
        personal_epsilon = joined("personal_epsilon", order)
        return kind(
            self.domain,
            users.gather(order),
            ends,
            **arrays,
            dropped=self.dropped,
            personal_epsilon=personal_epsilon,
        )

    def verify(self) -> None:
        """Read every file and compare its hash with the manifest.

        Raises:
            DataError: a file differs from what was written. Names the file.
        """
        with fraction("verifying") as progress:
            for number, part in enumerate(self._parts):
                for name, sha256 in part.sha256.items():
                    path = self._path(number, name)
                    digest = None
                    with suppress(OSError):
                        digest = files.sha256(path)
                    if digest != sha256:
                        raise DataError(f"{path} is not what was written; pack the ratings again")
                progress.reach(number + 1, self.n_blocks)

    def digest(self) -> str:
        """Verify the files, and return the SHA-256, in hex, of domain, cap and all files.

        Raises:
            DataError: a file differs from what was written.
        """
        self.verify()
        content = [
            self.domain.digest,
            self.max_per_user,
            sorted(self._optional),
            [part.sha256 for part in self._parts],
        ]
        return hashlib.sha256(f"{FORMAT} {json.dumps(content, sort_keys=True)}".encode()).hexdigest()

    def _path(self, number: int, name: str) -> Path:
        return self.folder / f"{number:06d}" / f"{name}.npy"

    def _block(self, number: int) -> Feedback:
        part = self._parts[number]
        arrays: dict[str, Any] = {name: self._array(number, name) for name in part.sha256}
        with suppress(ValueError, DataError):
            block: Feedback = decoded(self.domain, arrays.pop("users").tobytes(), arrays)
            if (block.n_users, block.n_entries) == (part.users, part.ratings):
                return block
        raise _damaged(self._path(number, "users").parent)

    def _array(self, number: int, name: str) -> NDArray[Any]:
        path = self._path(number, name)
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise _damaged(path) from None
        if not isinstance(array, np.ndarray) or array.dtype != TYPES[name] or array.ndim != 1:
            raise _damaged(path)
        return array

    def __repr__(self) -> str:
        return f"Blocks({self.folder.name!r}, {self.domain!r}, private)"

    def _repr_html_(self) -> str:
        return html.note("Blocks, private", f"folder {self.folder.name}: {self.domain!r}")


def _damaged(path: Path) -> DataError:
    return DataError(f"{path} is missing, damaged or cut short; pack the ratings again")


def _optional(names: list[str]) -> frozenset[str]:
    if not set(names) <= OPTIONAL:
        raise ValueError
    return frozenset(names)


def _values(domain: Domain) -> set[str]:
    """Return the name of the array that adds a value to each item, if the domain has one."""
    counted = set() if domain.counts is None else {Interactions.VALUES}
    return {Ratings.VALUES} if domain.feedback == "ratings" else counted


def _described(entry: dict[str, Any]) -> StoredBlock:
    sha256 = {str(name): str(sha) for name, sha in entry["sha256"].items()}
    return StoredBlock(int(entry["users"]), int(entry["ratings"]), sha256)
