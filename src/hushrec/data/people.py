"""The people of a population with what each of them gave, as private compressed rows, and sums over them.

User u's items are ``items[indptr[u]:indptr[u + 1]]``, ascending, each item once. Every user has at least one.
Rows that exceed memory lie in a folder (``folder.py``) and are mapped from there, a block at a time.

Every private sum is a function that adds what one block of people contributes to integers. So any cut of the
people into blocks, in any order, gives the same bits, and a sum does not know where the people are.

Privacy: private.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushrec.arrays import Bools, Bytes, Floats, Ints, Ints32, Shape
from hushrec.data import folder as stored
from hushrec.data.capping import chosen, chosen_latest
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.documents import html
from hushrec.errors import DataError
from hushrec.kernels.csr import ascends
from hushrec.progress import fraction
from hushrec.text import whole

PER_BLOCK = 1 << 22  # entries; bounds the memory of a fit: chosen by hand
_CHUNK = 1 << 24  # entries hashed or copied at once: bounds the memory; chosen by hand
FULL = 1 << 16
"""A weight of one, in steps of the weights' grid."""
Weigh = Callable[[Floats], Ints]
"""Maps the ε that people request to weights in steps of 2^-16, from 0 to ``FULL``, of the same shape."""

Made = TypeVar("Made")
_END: Any = object()


class PublicFacts(NamedTuple):
    """The public facts of people's data before any record is read.

    Attributes:
        domain: the public domain.
        has_personal_epsilon: True if a column holds the ε that each user requests.
        sums_only: True if the rows stay in a cluster, and only sums over users come from there.

    Privacy: public.
    """

    domain: Domain
    has_personal_epsilon: bool = False
    sums_only: bool = False


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False, eq=False)
class People:
    """The users of one population with their ratings or interactions, in memory or mapped from a folder.

    Create them with ``hushrec.load``. A temporary folder is deleted at the end of a ``with`` statement, or
    when nothing uses it.

    Attributes:
        domain: the public domain, which says whether these are ratings or interactions.
        users: user ids, an Arrow array of text, unique, in ascending order of their UTF-8 bytes, (n_users,).
        indptr: int64, shape (n_users + 1,).
        items: int32 index into ``domain.items``, ascending inside a user, shape (n_entries,).
        values: uint8, shape (n_entries,). Of ratings: steps above the bottom of the scale, rating = lo + step
            · value. Of interactions with counts: how often the item was given, from 1 to ``domain.counts``.
            None for other interactions.
        timestamps: int64 Unix seconds in [0, 2^40], shape (n_entries,), or None; of interactions, that of
            the last record of the item.
        dropped: how many records the loader read, and what it dropped or changed.
        personal_epsilon: float64, the ε that each user requests, at least 0, shape (n_users,): the smallest
            of all their records. None if the source has no column for it, whether or not there are users. A
            user who requests 0 must not have any influence.
        folder: where the arrays are mapped from; None in memory.
        cap: the most entries of each user that ``blocks`` yields from a folder; None for all.
        personal_weights: int64, what ``with_weights`` made of each requested ε, shape (n_users,); None if all
            users count in full, and for a folder, whose blocks get theirs when they are read.
        most_cells: integers that the sums of one pass should have at most; None without a limit.

    All arrays are read-only.

    Raises:
        DataError: the arrays do not fit together, user ids are not unique and ascending, or a user is not on
            the domain's roster.

    Privacy: private. ``repr`` shows only the domain, no counts.
    """

    domain: Domain
    users: Any
    indptr: Ints
    items: Ints32
    values: Bytes | None = None
    timestamps: Ints | None = field(default=None, kw_only=True)
    dropped: Dropped = field(default=Dropped(), kw_only=True)
    personal_epsilon: Floats | None = field(default=None, kw_only=True)
    folder: Path | None = field(default=None, kw_only=True)
    cap: int | None = field(default=None, kw_only=True)
    personal_weights: Ints | None = field(default=None, kw_only=True)
    most_cells: ClassVar[int | None] = None
    _weigh: Weigh | None = field(default=None, kw_only=True)
    _temporary: Any = field(default=None, kw_only=True)
    _per_block: int = field(default=PER_BLOCK, kw_only=True)
    # One thread reads in all passes: each new one would keep the memory of its blocks to itself.
    _reader: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", _text(self.users))
        for name, dtype in list(stored.TYPES.items())[2:]:
            if (array := getattr(self, name)) is not None:
                view = np.ascontiguousarray(array, dtype=dtype).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)
        # Rows of a folder are checked block by block, when they are read.
        if self.folder is None:
            self._require_rows()
        elif self._reader is None:
            object.__setattr__(self, "_reader", ThreadPoolExecutor(1))

    def _require_rows(self) -> None:
        """Refuse arrays that do not fit: the kernels use them as indices without checks."""
        n, kind = self.indptr[-1] if len(self.indptr) else -1, self.domain.feedback
        fits = (
            len(self.indptr) == len(self.users) + 1
            and self.indptr[0] == 0
            and bool((self.indptr[1:] > self.indptr[:-1]).all())  # a difference may overflow
            and len(self.items) == n
            and (self.timestamps is None or len(self.timestamps) == n)
            and self.items.min(initial=0) >= 0
            and self.items.max(initial=0) < self.domain.n_items
            and self._values_fit()
            and ascends(self.indptr, self.items)
        )
        if self.personal_epsilon is not None:
            right = (self.personal_epsilon >= 0) & (self.personal_epsilon < np.inf)
            fits = fits and self.personal_epsilon.shape == (len(self.users),) and bool(right.all())
        if not fits:
            raise DataError(
                f"these arrays are not compressed rows of this domain's {kind} with an item in each, or "
                "do not give a finite ε ≥ 0 for each user; load them with hushrec.load"
            )
        if self.domain.users is not None:
            places = self.places()
            if places.min(initial=0) < 0 or (np.diff(places) <= 0).any():
                raise DataError(
                    "the users are not those of the domain's roster, each once and in its order; load the "
                    f"{kind} with this domain, which leaves out users who are not on it"
                )
        elif not _ascend(self.users):
            raise DataError(
                "the user ids are not strings in strictly ascending order of their UTF-8 bytes, each once, "
                "so one person may count several times; give each user one row, or load the "
                f"{kind} with hushrec.load"
            )

    def _values_fit(self) -> bool:
        lowest, highest = stored.bounds(self.domain)
        if self.values is None or highest is None:
            return self.values is None and highest is None
        return len(self.values) == len(self.items) and bool(
            self.values.min(initial=highest) >= lowest and self.values.max(initial=lowest) <= highest
        )

    @classmethod
    def open(cls, folder: str | Path, domain: Domain) -> Self:
        """Open a folder of people that ``hushrec.load`` wrote before.

        Raises:
            DataError: there are none, they are damaged, or they were written for another domain.
        """
        return cls(domain, **stored.opened(Path(folder), domain))

    def require_ratings(self, *, by: str) -> Self:
        """Return these people; refuse interactions, in the name of what needs ratings, ``by``."""
        self.domain.require("ratings", by=by)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.close()

    @property
    def n_users(self) -> int:
        """Number of users with at least one item."""
        return len(self.users)

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions."""
        return len(self.items)

    @property
    def counts(self) -> Ints:
        """Number of items of every user, shape (n_users,)."""
        return np.diff(self.indptr)

    @property
    def has_personal_epsilon(self) -> bool:
        """True if users request their own ε. Privacy: public, determined by the source's columns."""
        return self.personal_epsilon is not None

    @property
    def weights(self) -> Ints:
        """Weight of each user, in steps of 2^-16 up to ``FULL``, shape (n_users,). Privacy: private."""
        if self.personal_weights is None:
            return np.full(self.n_users, FULL, dtype=np.int64)
        return self.personal_weights

    @property
    def sums_only(self) -> bool:
        """False, because all rows can be read here. Privacy: public."""
        return False

    @property
    def in_memory(self) -> bool:
        """True if the arrays are all rows there are, in memory. Privacy: public."""
        return self.folder is None

    @property
    def facts(self) -> PublicFacts:
        """All public facts. Privacy: public."""
        return PublicFacts(self.domain, self.has_personal_epsilon, self.sums_only)

    def numbers(self) -> Floats:
        """Return the ratings on their scale, or how often each item was given, shape (n_entries,)."""
        if self.values is None:
            return np.ones(len(self.items))
        if self.domain.feedback == "interactions":
            return self.values.astype(np.float64)
        lo, _, step = self.domain.scale
        return lo + step * self.values.astype(np.float64)

    def user_index(self) -> Ints32:
        """Return the index of the user of every entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.counts)

    def roster_indptr(self) -> Ints:
        """Return compressed rows over the domain's roster: people without an entry have empty rows.

        The order is that of ``users``, so ``items`` and ``values`` are used unchanged.

        Returns:
            int64, shape (domain.n_users + 1,): person u's items are ``items[indptr[u]:indptr[u + 1]]``.
        """
        self.domain.require_roster()
        counts = np.zeros(self.domain.n_users, dtype=np.int64)
        counts[self.places()] = self.counts
        return np.concatenate([[0], np.cumsum(counts)])

    def places(self) -> Ints:
        """Return the position of each user on the domain's roster, −1 if they have none, shape (n_users,)."""
        positions = self.domain.user_positions
        return np.array([positions.get(user, -1) for user in self.users.to_pylist()], dtype=np.int64)

    def select(self, mask: Bools) -> "People":
        """Keep the entries where ``mask``, one boolean for each, is true; leave out users without any."""
        if self.folder is not None:
            return self.gathered().select(mask)
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != self.items.shape:
            raise DataError(f"select takes one boolean for each of the {self.domain.feedback}")
        counts = np.zeros(0, dtype=np.int64)
        if self.n_users:
            counts = np.add.reduceat(mask, self.indptr[:-1], dtype=np.int64)
        kept = counts > 0
        return replace(
            self,
            users=self.users.filter(pa.array(kept)),
            indptr=np.concatenate([[0], np.cumsum(counts[kept])]),
            **self._arrays(("personal_epsilon", "personal_weights"), kept),
            **self._arrays(stored.ENTRIES, mask),
        )

    def slice(self, start: int, stop: int) -> "People":
        """Return the rows of the users from ``start`` up to but excluding ``stop``, without copying."""
        if self.folder is not None:
            return self.gathered().slice(start, stop)
        start, stop = whole(start, "start", 0, DataError), whole(stop, "stop", 0, DataError)
        if not start <= stop <= self.n_users:
            raise DataError(
                "a slice goes from one user to a later one, at most to the last; change start or stop"
            )
        first, last = self.indptr[start], self.indptr[stop]
        return replace(
            self,
            users=self.users[start:stop],
            indptr=self.indptr[start : stop + 1] - first,
            **self._arrays(("personal_epsilon", "personal_weights"), slice(start, stop)),
            **self._arrays(stored.ENTRIES, slice(first, last)),
        )

    def cuts(self, entries: int) -> Iterator["People"]:
        """Yield the users in blocks of at most ``entries`` rows; a user with more gets their own block."""
        people = self.gathered()
        for start, stop in _cuts(people.indptr, entries):
            yield people.slice(start, stop)

    def _arrays(self, names: Iterable[str], where: Any) -> dict[str, Any]:
        """Return the arrays of these names, at these places."""
        arrays = {name: getattr(self, name) for name in names}
        return {name: None if array is None else array[where] for name, array in arrays.items()}

    def with_personal_epsilon(self, personal_epsilon: Floats) -> Self:
        """Return the same rows with these requested ε, for experiments.

        Args:
            personal_epsilon: shape (n_users,), in the order of ``users``.
        """
        epsilons = np.array(personal_epsilon)
        if epsilons.dtype.kind not in "fiu":
            raise DataError("give each user an ε that is a number, not text or a truth value")
        return replace(self, personal_epsilon=epsilons.astype(np.float64))

    def capped(self, max_per_user: int) -> "People":
        """Keep at most ``max_per_user`` entries of each user, chosen by a hash keyed with the user's own id.

        Which ratings of a user are kept depends only on the user's id and items: not on other users, nor on
        the order of a file. All items are equally likely to be kept, up to the quality of the hash. If
        interactions have timestamps, the most recent are kept, and the hash decides between equal ones.
        Rows of a folder are capped when ``blocks`` reads them.

        Args:
            max_per_user: the most entries that each user keeps; usually ``domain.max_per_user``.

        Privacy: private. A per-user map, so it keeps neighbouring data neighbouring for the unit ``user``;
        for a single rating or interaction it does not, because one more may displace another.
        """
        most = whole(max_per_user, "cap", 1, DataError)
        if self.folder is not None:
            return replace(self, cap=most if self.cap is None else min(most, self.cap))
        if self.timestamps is None or self.domain.feedback == "ratings":
            mask = chosen(self.users, self.indptr, self.items, most)
        else:
            mask = chosen_latest(self.users, self.indptr, self.items, self.timestamps, most)
        return self if mask is None else self.select(mask)

    def with_weights(self, weigh: Weigh) -> "People":
        """Return people who count by the ε that they request, without those of weight 0.

        People of weight 0 do not even affect what is drawn for others. Without a column of requested ε,
        everybody counts in full. Rows of a folder get their weights when ``blocks`` reads them.

        Args:
            weigh: sent to where the people are, so it holds nothing but settings.

        Privacy: private. A map of each user's own rows.
        """
        if self.personal_epsilon is None:
            return self
        if self.folder is not None:
            return replace(self, _weigh=weigh)
        weights = weigh(self.personal_epsilon)
        return replace(self, personal_weights=weights).select(np.repeat(weights > 0, self.counts))

    @property
    def n_blocks(self) -> int:
        """Number of the blocks that ``blocks`` yields."""
        return 1 if self.folder is None else len(_cuts(self.indptr, self._per_block))

    def blocks(self) -> Iterator["People"]:
        """Yield the rows block by block: themselves, or what is mapped from a folder, the next one ahead.

        Raises:
            DataError: a file is damaged.
        """
        if self.folder is None:
            yield self
            return
        blocks = (self._counting(self._mapped(*cut)) for cut in _cuts(self.indptr, self._per_block))
        coming = self._reader.submit(next, blocks, _END)
        while (block := coming.result()) is not _END:
            coming = self._reader.submit(next, blocks, _END)
            yield block

    def total(self, add: Callable[..., None], *shapes: Shape, weighted: bool = False) -> list[Ints]:
        """Sum over all people: zeros of these shapes, to which ``add`` adds what each block contributes.

        A cluster sends ``add`` to its machines. So it holds settings and released arrays alone: no run, no
        grant, and nothing about other people.

        Args:
            add: takes a block, ``People`` in memory, and an array of int64 for each shape, and adds to the
                arrays in place. The added values must not depend on the arrays' contents.
            shapes: shapes of the sums.
            weighted: True if ``add`` multiplies what users add by their ``weights``.

        Raises:
            ValueError: people who have weights would count in full.

        Privacy: private; the caller that measures knows the bound.
        """
        require_weighted(weighted, self.personal_weights is not None or self._weigh is not None)
        sums = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        n_blocks = self.n_blocks
        with fraction("summing") as shared:
            for number, block in enumerate(self.blocks()):
                shared.part(number, n_blocks)
                add(block, *sums)
                shared.reach(1, 1)
        return sums

    def _mapped(self, start: int, stop: int) -> "People":
        """Map some users anew: their pages leave memory together with the block."""
        assert self.folder is not None
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        arrays: dict[str, Any] = {
            name: None
            if (array := getattr(self, name)) is None
            else stored.mapped(self.folder / f"{name}.bin", array.dtype, first, last - first)
            for name in stored.ENTRIES
        }
        epsilons = None if self.personal_epsilon is None else self.personal_epsilon[start:stop]
        with suppress(DataError):
            return People(
                self.domain,
                self.users[start:stop],
                self.indptr[start : stop + 1] - first,
                arrays["items"],
                arrays["values"],
                timestamps=arrays["timestamps"],
                personal_epsilon=epsilons,
            )
        raise stored.damaged(self.folder)

    def gathered(self) -> "People":
        """Return all rows in memory.

        Raises:
            DataError: a file is damaged.
        """
        if self.folder is None:
            return self
        whole = self._mapped(0, self.n_users)
        copied: dict[str, Any] = {
            name: np.array(getattr(whole, name)) for name in stored.ENTRIES if getattr(self, name) is not None
        }
        return self._counting(replace(whole, **copied, dropped=self.dropped))

    def _counting(self, rows: "People") -> "People":
        """Return rows of the folder as they count: capped, with weights."""
        rows = rows if self.cap is None else rows.capped(self.cap)
        return rows if self._weigh is None else rows.with_weights(self._weigh)

    def rows_held(self, gathered: bool) -> tuple[int, int]:
        """Return the most entries and users whose rows memory holds at once during a fit."""
        return (self.n_entries if gathered or self.folder is None else self._per_block), self.n_users

    def verify(self) -> None:
        """Read every file of a folder and compare its hash with the manifest; accept rows in memory.

        Raises:
            DataError: a file differs from what was written. Names the file.
        """
        if self.folder is not None:
            stored.verify(self.folder)

    def digest(self) -> str:
        """Return the SHA-256, in hex, of all that a fit reads: domain, users, rows, values, requested ε.

        It is the same in memory and from a folder, unless a cap waits for the blocks to be read.

        Raises:
            DataError: a file differs from what was written.
        """
        self.verify()
        content: list[Any] = [stored.FORMAT, self.domain.feedback, self.domain.digest, self.cap]
        for name, array in self.arrays():
            # Timestamps choose which interactions a cap keeps, and no ratings.
            if name != "timestamps" or self.domain.feedback == "interactions":
                content.append([name, len(array), _hash(array)])
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield what a folder, or a row of Spark, stores, by name, little-endian."""
        bytes_of_ids, ends = stored.encoded(self.users)
        yield from (("users", bytes_of_ids), ("user_ends", ends))
        for name in list(stored.TYPES)[2:]:
            if (array := getattr(self, name)) is not None:
                yield name, array.astype(array.dtype.newbyteorder("<"), copy=False)

    def table(self) -> Any:
        """Return an Arrow table of ``user_id, item_id[, rating][, count][, timestamp][, personal_epsilon]``.

        pandas and polars take it without a copy: ``polars.from_arrow(table)``, ``table.to_pandas()``.
        """
        columns: dict[str, Any] = {
            "user_id": self.users.take(pa.array(self.user_index())),
            "item_id": pa.array(self.domain.items, pa.large_string()).take(pa.array(self.items)),
        }
        if self.values is not None:
            columns["rating" if self.domain.feedback == "ratings" else "count"] = pa.array(
                self.numbers() if self.domain.feedback == "ratings" else self.values
            )
        if self.timestamps is not None:
            columns["timestamp"] = pa.array(self.timestamps)
        if self.personal_epsilon is not None:
            columns["personal_epsilon"] = pa.array(np.repeat(self.personal_epsilon, self.counts))
        return pa.table(columns)

    def __repr__(self) -> str:
        return f"People({self.domain!r}, private)"

    def _repr_html_(self) -> str:
        return html.note("People, private", repr(self.domain))


class Once(Generic[Made]):
    """What a function makes of a block of people: of people in memory once, however many sums are formed.

    A block of a folder or a cluster is another one in every pass, and what was made of it goes with it. So
    what is made must not hold the block itself.

    Args:
        make: a map of each person's own rows.

    Privacy: private. A cluster is sent the function alone.
    """

    def __init__(self, make: Callable[[People], Made]) -> None:
        self.make = make
        self._made: WeakKeyDictionary[People, Made] = WeakKeyDictionary()

    def __call__(self, block: People) -> Made:
        if block not in self._made:
            self._made[block] = self.make(block)
        return self._made[block]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.make,)


def require_weighted(weighted: bool, have_weights: bool) -> None:
    """Refuse a sum in which people who have weights would count in full, whatever ε they request."""
    if have_weights and not weighted:
        raise ValueError("this sum takes no weights, but these people have weights; use one that does")


def _cuts(indptr: Ints, entries: int) -> list[tuple[int, int]]:
    """Cut users into blocks of at most ``entries`` rows; a user with more gets their own block."""
    cuts, start, n_users = [], 0, len(indptr) - 1
    while start < n_users:
        reach = np.searchsorted(indptr, indptr[start] + entries, side="right")
        stop = max(int(reach) - 1, start + 1)
        cuts.append((start, stop))
        start = stop
    return cuts


def _text(users: Any) -> Any:
    """Return ids as an Arrow array of text, of missing ones where they are none."""
    if isinstance(users, pa.LargeStringArray):
        return users
    with suppress(ValueError, TypeError):
        if isinstance(users, pa.ChunkedArray):
            users = users.combine_chunks()
        if not isinstance(users, pa.Array):
            return pa.array(list(users), pa.large_string())
        if pa.types.is_string(users.type) or not len(users):
            return users.cast(pa.large_string())
    return pa.nulls(len(users), pa.large_string())


def _hash(array: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for start in range(0, len(array), _CHUNK):
        digest.update(np.ascontiguousarray(array[start : start + _CHUNK]).data)
    return digest.hexdigest()


def _ascend(users: Any) -> bool:
    """Return True if these are strings in strictly ascending order, compared byte by byte."""
    if users.null_count:
        return False
    return len(users) < 2 or bool(pc.all(pc.less(users[:-1], users[1:])).as_py())
