"""People's ratings or interactions, as private, immutable rows indexed against a public domain.

Compressed rows: user u's items are ``items[indptr[u]:indptr[u + 1]]``, ascending, each item once. Every user
has at least one.

``Ratings`` hold the rating that each item was given. A rating is stored as its number of steps above the
bottom of the scale, r = lo + step · steps, so it is an exact small integer. At 100 M ratings the arrays take
0.5 GB.

``Interactions`` are items that people clicked, bought or liked, optionally with counts.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushrec.arrays import Bools, Bytes, Floats, Ints, Ints32
from hushrec.data.capping import chosen, chosen_latest
from hushrec.data.domain import Domain, FeedbackKind
from hushrec.data.dropped import Dropped
from hushrec.data.people import PublicFacts
from hushrec.documents import html
from hushrec.errors import DataError
from hushrec.kernels.csr import ascends
from hushrec.text import whole

__all__ = ["Dropped", "Feedback", "Interactions", "Ratings", "require_disjoint"]

_CHUNK = 1 << 20  # users hashed at once by ``digest``: bounds the memory; chosen by hand


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Feedback(ABC):
    """The feedback of a population's users: the rows that ``Ratings`` and ``Interactions`` share.

    Attributes:
        users: user ids, unique, in ascending order of their UTF-8 bytes, shape (n_users,).
        indptr: int64, shape (n_users + 1,).
        items: int32 index into ``domain.items``, ascending inside a user, shape (n_entries,).
        timestamps: int64 Unix seconds in [0, 2^40], shape (n_entries,), or None.
        dropped: how many records the loader read, and what it dropped or changed.
        personal_epsilon: float64, the ε that each user requests, at least 0, shape (n_users,): the smallest
            of all their records. None if the source has no column for it, whether or not there are users. A
            user who requests 0 must not have any influence.

    All arrays are read-only.

    Privacy: private. ``repr`` shows only the domain, no counts.
    """

    KIND: ClassVar[FeedbackKind]
    VALUES: ClassVar[str]
    """Name of the uint8 array, or None, that adds a value to each item."""

    domain: Domain
    users: pl.Series
    indptr: Ints
    items: Ints32
    timestamps: Ints | None = field(default=None, kw_only=True)
    dropped: Dropped = field(default=Dropped(), kw_only=True)
    personal_epsilon: Floats | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.domain.require(self.KIND, by=type(self).__name__)
        for name, dtype in (
            ("indptr", np.int64),
            ("items", np.int32),
            (self.VALUES, np.uint8),
            ("timestamps", np.int64),
            ("personal_epsilon", np.float64),
        ):
            if (array := getattr(self, name)) is None:
                continue
            view = np.ascontiguousarray(array, dtype=dtype).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        # The kernels use these arrays as indices without checks, so refuse arrays that do not fit.
        n = self.indptr[-1] if len(self.indptr) else -1
        fits = (
            len(self.indptr) == len(self.users) + 1
            and self.indptr[0] == 0
            and bool((np.diff(self.indptr) > 0).all())
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
                f"these arrays are not compressed rows of this domain's {self.KIND} with an item in each, or "
                "do not give a finite ε ≥ 0 for each user; load them with hushrec.load"
            )
        if self.domain.users is not None:
            places = self.places()
            if places.min(initial=0) < 0 or (np.diff(places) <= 0).any():
                raise DataError(
                    "the users are not those of the domain's roster, each once and in its order; load the "
                    f"{self.KIND} with this domain, which leaves out users who are not on it"
                )
        elif not _ascend(self.users):
            raise DataError(
                "the user ids are not strings in strictly ascending order of their UTF-8 bytes, each once, "
                "so one person may count several times; give each user one row, or load the "
                f"{self.KIND} with hushrec.load"
            )

    @classmethod
    def of(cls, feedback: "Feedback", *, by: str) -> Self:
        """Return ``feedback`` itself, checked to be of this kind; the error names ``by``, which needs it."""
        feedback.domain.require(cls.KIND, by=by)
        return cast(Self, feedback)

    @abstractmethod
    def values(self) -> Floats:
        """Return ratings on their scale, or the counts of the items, shape (n_entries,)."""

    @abstractmethod
    def _values_fit(self) -> bool:
        """Return True if the values have the right number and range."""

    def _kept(self, max_per_user: int) -> Bools | None:
        """Mark the entries that remain under a cap; return None if all do."""
        return chosen(self.users, self.indptr, self.items, max_per_user)

    @property
    def n_users(self) -> int:
        """Number of users with at least one item."""
        return len(self.users)

    @property
    def counts(self) -> Ints:
        """Number of items of every user, shape (n_users,)."""
        return np.diff(self.indptr)

    @property
    def exceeds_declared_users(self) -> bool:
        """True if there are more users than ``domain.max_users`` declares. Privacy: private.

        Loading does not refuse them, and a charge only above twice as many: near the bound, one more user
        would decide whether there is a release. The curator should check this once, and declare a larger
        bound from public knowledge.
        """
        return self.n_users > self.domain.max_users

    def user_index(self) -> Ints32:
        """Return the index of the user of every entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.counts)

    def roster_indptr(self) -> Ints:
        """Return compressed rows over the domain's roster: people without an entry have empty rows.

        The order is that of ``users``, so ``items`` and the values are used unchanged.

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
        return np.array([positions.get(user, -1) for user in self.users.to_list()], dtype=np.int64)

    def select(self, mask: Bools) -> Self:
        """Keep the entries where ``mask``, one boolean for each, is true; leave out users without any."""
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != self.items.shape:
            raise DataError(f"select takes one boolean for each of the {self.KIND}")
        counts = np.zeros(0, dtype=np.int64)
        if self.n_users:
            counts = np.add.reduceat(mask, self.indptr[:-1], dtype=np.int64)
        kept = counts > 0
        return replace(
            self,
            users=self.users.filter(pl.Series(kept)),
            indptr=np.concatenate([[0], np.cumsum(counts[kept])]),
            personal_epsilon=None if self.personal_epsilon is None else self.personal_epsilon[kept],
            **self._entries(mask),
        )

    def slice(self, start: int, stop: int) -> Self:
        """Return the rows of the users from ``start`` up to but excluding ``stop``, without copying."""
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
            personal_epsilon=None if self.personal_epsilon is None else self.personal_epsilon[start:stop],
            **self._entries(slice(first, last)),
        )

    def cuts(self, entries: int) -> Iterator[Self]:
        """Yield the users in blocks of at most ``entries`` rows; a user with more gets their own block."""
        start = 0
        while start < self.n_users:
            reach = np.searchsorted(self.indptr, self.indptr[start] + entries, side="right")
            stop = max(int(reach) - 1, start + 1)
            yield self.slice(start, stop)
            start = stop

    def _entries(self, where: Any) -> dict[str, Any]:
        """Return the arrays with a value per entry, at these entries."""
        arrays = {name: getattr(self, name) for name in ("items", self.VALUES, "timestamps")}
        return {name: None if array is None else array[where] for name, array in arrays.items()}

    def with_personal_epsilon(self, personal_epsilon: Floats | Mapping[str, float]) -> Self:
        """Return the same rows with these requested ε, for experiments.

        Args:
            personal_epsilon: shape (n_users,), in the order of ``users``; or user id to ε for every user.
        """
        if isinstance(personal_epsilon, Mapping):
            personal_epsilon = np.array([personal_epsilon.get(user, np.nan) for user in self.users.to_list()])
        epsilons = np.array(personal_epsilon)
        if epsilons.dtype.kind not in "fiu":
            raise DataError("give each user an ε that is a number, not text or a truth value")
        return replace(self, personal_epsilon=epsilons.astype(np.float64))

    def capped(self, max_per_user: int) -> Self:
        """Keep at most ``max_per_user`` entries of each user, chosen by a hash keyed with the user's own id.

        Which ratings of a user are kept depends only on the user's id and items: not on other users, nor on
        the order of a file. All items are equally likely to be kept, up to the quality of the hash. If
        interactions have timestamps, the most recent are kept, and the hash decides between equal ones.

        Args:
            max_per_user: the most entries that each user keeps; usually ``domain.max_per_user``.

        Privacy: private. A per-user map, so it keeps neighbouring data neighbouring for the unit ``user``;
        for a single rating or interaction it does not, because one more may displace another.
        """
        mask = self._kept(whole(max_per_user, "cap", 1, DataError))
        return self if mask is None else self.select(mask)

    def to_polars(self) -> pl.DataFrame:
        """Return a table of ``user_id, item_id[, rating][, count][, timestamp][, personal_epsilon]``."""
        columns = {
            "user_id": self.users.gather(self.user_index()),
            "item_id": pl.Series(self.domain.items, dtype=pl.String).gather(self.items),
            **self._columns(),
        }
        if self.timestamps is not None:
            columns["timestamp"] = pl.Series(self.timestamps)
        if self.personal_epsilon is not None:
            columns["personal_epsilon"] = pl.Series(np.repeat(self.personal_epsilon, self.counts))
        return pl.DataFrame(columns)

    @abstractmethod
    def _columns(self) -> dict[str, pl.Series]:
        """Return the column of the values, if there are any."""

    def gathered(self) -> Self:
        """Return itself: these rows are in memory; ``Blocks`` reads its files."""
        return self

    def blocks(self) -> Iterator[Self]:
        """Yield itself: rows in memory are one block; ``Blocks`` has several."""
        yield self

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions."""
        return len(self.items)

    def rows_held(self, gathered: bool) -> tuple[int, int]:
        """Return the numbers of all entries and users, as in ``People``."""
        return self.n_entries, self.n_users

    @property
    def facts(self) -> PublicFacts:
        """The public facts, as in ``People``. Privacy: public."""
        return PublicFacts(self.domain, self.has_personal_epsilon, self.sums_only)

    @property
    def sums_only(self) -> bool:
        """False, because all rows are here, as in ``People``."""
        return False

    def verify(self) -> None:
        """Accept rows in memory as the rows that were loaded, as in ``People``."""
        return

    @property
    def has_personal_epsilon(self) -> bool:
        """True if users request their own ε. Privacy: public, determined by the source's columns."""
        return self.personal_epsilon is not None

    def digest(self) -> str:
        """Return the SHA-256, in hex, of all that a fit reads: domain, users, rows, values, requested ε."""
        sizes = f"{self.n_users} {len(self.items)} {self.has_personal_epsilon}"
        head = f"hushrec {self.KIND} {self.domain.digest} {sizes}"
        total = hashlib.sha256(head.encode())
        for start in range(0, self.n_users, _CHUNK):
            total.update("\0".join(self.users[start : start + _CHUNK].to_list()).encode() + b"\0")
        for array in self._read():
            if array is not None:
                total.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
        return total.hexdigest()

    def _read(self) -> tuple[NDArray[Any] | None, ...]:
        """Return the arrays that a fit reads."""
        return self.indptr, self.items, getattr(self, self.VALUES), self.personal_epsilon

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, private)"

    def _repr_html_(self) -> str:
        return html.note(f"{type(self).__name__}, private", repr(self.domain))


def require_disjoint(users: Iterable[pl.Series]) -> None:
    """Refuse users of several ``Feedback`` that share a person, who would count in each of them.

    Privacy: private.
    """
    if pl.concat([pl.Series(dtype=pl.String), *users]).is_duplicated().any():
        raise DataError("the same person is in two of the ratings; give all of a person's ratings together")


def _ascend(users: pl.Series) -> bool:
    """Return True if these are strings in strictly ascending order, compared byte by byte."""
    strings = users.dtype == pl.String and users.null_count() == 0
    return strings and bool((users[1:] > users[:-1]).all())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ratings(Feedback):
    """The ratings of a population, on the scale of its domain: the rows of ``Feedback``, with steps.

    Attributes:
        steps: uint8, rating = lo + step · steps, shape (n_ratings,).

    All arrays are read-only.

    Raises:
        DataError: the arrays do not fit together, user ids are not unique and ascending, a user is not on
            the domain's roster, or the domain declares interactions.

    Privacy: private. ``repr`` shows only the domain, no counts.
    """

    KIND: ClassVar[FeedbackKind] = "ratings"
    VALUES: ClassVar[str] = "steps"

    steps: Bytes

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.items)

    def values(self) -> Floats:
        """Return ratings on their scale, lo + step · steps, shape (n_ratings,)."""
        lo, _, step = self.domain.scale
        return lo + step * self.steps.astype(np.float64)

    def _values_fit(self) -> bool:
        fits = len(self.steps) == len(self.items)
        return fits and bool(self.steps.max(initial=0) < self.domain.scale.n_values)

    def _columns(self) -> dict[str, pl.Series]:
        return {"rating": pl.Series(self.values())}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Interactions(Feedback):
    """The interactions of a population: the rows of ``Feedback``, with the items that each user gave.

    A timestamp is that of the last record of the item.

    Attributes:
        occurrences: uint8, how often the item was given, from 1 to ``domain.counts``, shape
            (n_interactions,); None if the domain declares no counts.

    All arrays are read-only.

    Raises:
        DataError: the arrays do not fit together, user ids are not unique and ascending, a user is not on
            the domain's roster, or the domain declares ratings.

    Privacy: private. ``repr`` shows only the domain, no counts.
    """

    KIND: ClassVar[FeedbackKind] = "interactions"
    VALUES: ClassVar[str] = "occurrences"

    occurrences: Bytes | None = None

    @property
    def n_interactions(self) -> int:
        """Number of pairs of a user and an item."""
        return len(self.items)

    def values(self) -> Floats:
        """Return the number of times that each item was given, 1 without counts, shape (n_interactions,)."""
        if self.occurrences is None:
            return np.ones(len(self.items))
        return self.occurrences.astype(np.float64)

    def _values_fit(self) -> bool:
        if self.occurrences is None or self.domain.counts is None:
            return self.occurrences is None and self.domain.counts is None
        inside = (self.occurrences >= 1) & (self.occurrences <= self.domain.counts)
        return len(self.occurrences) == len(self.items) and bool(inside.all())

    def _kept(self, max_per_user: int) -> Bools | None:
        if self.timestamps is None:
            return Feedback._kept(self, max_per_user)
        return chosen_latest(self.users, self.indptr, self.items, self.timestamps, max_per_user)

    def _columns(self) -> dict[str, pl.Series]:
        return {} if self.occurrences is None else {"count": pl.Series(self.occurrences)}

    def _read(self) -> tuple[NDArray[Any] | None, ...]:
        # Timestamps choose which interactions a cap keeps.
        return (*Feedback._read(self), self.timestamps)
