"""Private ratings: immutable, sorted, and indexed against a public domain.

Compressed rows: user u's ratings are ``items[indptr[u]:indptr[u + 1]]``, ascending, each item once. A rating
is stored as its number of steps above the bottom of the scale, r = lo + step · steps, so it is an exact
small integer. Every user has at least one rating. At 100 M ratings the arrays take 0.5 GB.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Bytes, Floats, Ints, Ints32
from hushrec.data.capping import chosen
from hushrec.data.domain import Domain
from hushrec.errors import DataError
from hushrec.kernels.csr import ascends

_CHUNK = 1 << 20  # users hashed at once by ``digest``

__all__ = ["Dropped", "Ratings"]


@dataclass(frozen=True, slots=True, repr=False)
class Dropped:
    """How many records of a source were dropped or changed, for the curator only.

    Attributes:
        user_id: dropped, user id is empty, too long, contains NUL, or is not on the domain's roster.
        item_id: dropped, item is not in the catalogue.
        rating: dropped, rating is missing, unparsable or not finite.
        epsilon: dropped, record lacks a valid requested ε although the source has a column for it; the user's
            other records, if any, stay and request ε = 0.
        duplicate: dropped, the same user rated the item again.
        clamped: kept, rating moved to the nearer end of the scale.
        rounded: kept, rating moved to the nearest step.

    Privacy: private. ``repr`` shows no counts; ``str`` shows all of them and says that they are confidential.
    """

    user_id: int = 0
    item_id: int = 0
    rating: int = 0
    epsilon: int = 0
    duplicate: int = 0
    clamped: int = 0
    rounded: int = 0

    def __add__(self, other: Self) -> Self:
        both = (getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        return type(self)(*both)

    def __repr__(self) -> str:
        return "Dropped(confidential)"

    def __str__(self) -> str:
        counts = ", ".join(f"{field.name} {getattr(self, field.name)}" for field in fields(self))
        return f"confidential, not for publication: {counts}"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ratings:
    """The ratings of a population.

    Attributes:
        domain: the public domain.
        users: user ids, unique, in ascending order of their UTF-8 bytes, shape (n_users,).
        indptr: int64, shape (n_users + 1,).
        items: int32 index into ``domain.items``, ascending inside a user, shape (n_ratings,).
        steps: uint8, rating = lo + step · steps, shape (n_ratings,).
        timestamps: int64 Unix seconds in [0, 2^40], shape (n_ratings,), or None.
        dropped: what the loader dropped or changed.
        asked: float64, the ε that each user requests, finite and not negative, shape (n_users,): the smallest
            of all their records. None if the source has no column for it, whether or not there are users. A
            user who requests 0 must not have any influence.

    All arrays are read-only.

    Raises:
        DataError: the arrays do not fit together, or a user is not on the domain's roster.

    Privacy: private. ``repr`` shows only the domain, no counts.
    """

    domain: Domain
    users: pl.Series
    indptr: Ints
    items: Ints32
    steps: Bytes
    timestamps: Ints | None = None
    dropped: Dropped = Dropped()
    asked: Floats | None = None

    def __post_init__(self) -> None:
        for name, dtype in (
            ("indptr", np.int64),
            ("items", np.int32),
            ("steps", np.uint8),
            ("timestamps", np.int64),
            ("asked", np.float64),
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
            and len(self.items) == len(self.steps) == n
            and (self.timestamps is None or len(self.timestamps) == n)
            and self.items.min(initial=0) >= 0
            and self.items.max(initial=0) < self.domain.n_items
            and self.steps.max(initial=0) < self.domain.scale.n_values
            and ascends(self.indptr, self.items)
        )
        if self.asked is not None:
            right = (self.asked >= 0) & (self.asked < np.inf)
            fits = fits and self.asked.shape == (len(self.users),) and bool(right.all())
        if not fits:
            raise DataError(
                "these arrays are not compressed rows of this domain with a rating in each, or do not give a "
                "finite ε ≥ 0 for each user; build the ratings with hushrec.load"
            )
        if self.domain.users is not None:
            places = self.places()
            if places.min(initial=0) < 0 or (np.diff(places) <= 0).any():
                raise DataError(
                    "the users are not those of the domain's roster, each once and in its order; load the "
                    "ratings with this domain, which leaves out users who are not on it"
                )

    @property
    def n_users(self) -> int:
        """Number of users with at least one rating. Privacy: private."""
        return len(self.users)

    @property
    def n_ratings(self) -> int:
        """Number of ratings. Privacy: private."""
        return len(self.items)

    @property
    def counts(self) -> Ints:
        """Number of ratings of every user, shape (n_users,). Privacy: private."""
        return np.diff(self.indptr)

    @property
    def exceeds_declared_users(self) -> bool:
        """Whether there are more users than ``domain.max_users`` declares. Privacy: private.

        Loading does not refuse such ratings: one more user must not decide whether there is a release. The
        curator should check this once, and declare a larger bound from public knowledge.
        """
        return self.n_users > self.domain.max_users

    def values(self) -> Floats:
        """Ratings on their scale, lo + step · steps, shape (n_ratings,). Privacy: private."""
        lo, _, step = self.domain.scale
        return lo + step * self.steps.astype(np.float64)

    def user_index(self) -> Ints32:
        """Index of the user of every rating, shape (n_ratings,). Privacy: private."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.counts)

    def roster_indptr(self) -> Ints:
        """Compressed rows over the domain's roster: people without ratings have empty rows.

        The order is that of ``users``, so ``items`` and ``steps`` are used unchanged.

        Returns:
            int64, shape (domain.n_users + 1,): person u's ratings are ``items[indptr[u]:indptr[u + 1]]``.

        Raises:
            DomainError: the domain has no roster.

        Privacy: private.
        """
        self.domain.require_roster()
        counts = np.zeros(self.domain.n_users, dtype=np.int64)
        counts[self.places()] = self.counts
        return np.concatenate([[0], np.cumsum(counts)])

    def places(self) -> Ints:
        """Position of each user on the domain's roster, −1 if they are not on it, shape (n_users,).

        Privacy: private.
        """
        known = self.domain.user_positions
        return np.array([known.get(user, -1) for user in self.users.to_list()], dtype=np.int64)

    def select(self, mask: Bools) -> Self:
        """The ratings where ``mask`` holds; users without remaining ratings are left out.

        Args:
            mask: bool, shape (n_ratings,).

        Raises:
            DataError: the mask has another type or shape.

        Privacy: private.
        """
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != self.items.shape:
            raise DataError("select takes one boolean for each rating")
        counts = np.zeros(0, dtype=np.int64)
        if self.n_users:
            counts = np.add.reduceat(mask, self.indptr[:-1], dtype=np.int64)
        kept = counts > 0
        return type(self)(
            self.domain,
            self.users.filter(pl.Series(kept)),
            np.concatenate([[0], np.cumsum(counts[kept])]),
            self.items[mask],
            self.steps[mask],
            None if self.timestamps is None else self.timestamps[mask],
            self.dropped,
            None if self.asked is None else self.asked[kept],
        )

    def slice(self, start: int, stop: int) -> Self:
        """The ratings of the users from ``start`` up to but excluding ``stop``, without copying.

        Raises:
            DataError: the range is empty or outside the users.

        Privacy: private.
        """
        if not 0 <= start <= stop <= self.n_users:
            raise DataError(
                "a slice goes from one user to a later one, at most to the last; change start or stop"
            )
        first, last = self.indptr[start], self.indptr[stop]
        return type(self)(
            self.domain,
            self.users[start:stop],
            self.indptr[start : stop + 1] - first,
            self.items[first:last],
            self.steps[first:last],
            None if self.timestamps is None else self.timestamps[first:last],
            self.dropped,
            None if self.asked is None else self.asked[start:stop],
        )

    def with_asked(self, asked: Floats | Mapping[str, float]) -> Self:
        """The same ratings with these requested ε, for experiments.

        Args:
            asked: shape (n_users,), in the order of ``users``; or user id to ε for every user.

        Raises:
            DataError: some user's ε is missing, negative or not finite.

        Privacy: private.
        """
        if isinstance(asked, Mapping):
            asked = np.array([asked.get(user, np.nan) for user in self.users.to_list()])
        return replace(self, asked=np.array(asked, dtype=np.float64))

    def capped(self, cap: int) -> Self:
        """At most ``cap`` ratings of each user, chosen by a hash keyed with the user's own id.

        Which ratings of a user are kept depends only on the user's id and items: not on other users, nor on
        the order of a file. All items are equally likely to be kept, up to the quality of the hash.

        Args:
            cap: the most ratings that each user keeps; usually ``domain.cap``.

        Raises:
            DataError: the cap is below 1.

        Privacy: private. A per-user map, so it keeps neighbouring data neighbouring for the unit ``user``;
        for the unit ``rating`` it does not, because one more rating may displace another.
        """
        if cap < 1:
            raise DataError("a cap keeps at least one rating of each user: cap must be 1 or more")
        mask = chosen(self.users, self.indptr, self.items, cap)
        return self if mask is None else self.select(mask)

    def to_polars(self) -> pl.DataFrame:
        """A table ``user_id, item_id, rating[, timestamp][, epsilon]``, one row per rating.

        Privacy: private.
        """
        columns = {
            "user_id": self.users.gather(self.user_index()),
            "item_id": pl.Series(self.domain.items, dtype=pl.String).gather(self.items),
            "rating": pl.Series(self.values()),
        }
        if self.timestamps is not None:
            columns["timestamp"] = pl.Series(self.timestamps)
        if self.asked is not None:
            columns["epsilon"] = pl.Series(np.repeat(self.asked, self.counts))
        return pl.DataFrame(columns)

    def blocks(self) -> Iterator[Self]:
        """Yield itself: ratings in memory are one block; ``Blocks`` has several. Privacy: private."""
        yield self

    def gathered(self) -> Self:
        """Itself: ratings in memory; ``Blocks`` reads its files. Privacy: private."""
        return self

    @property
    def asks(self) -> bool:
        """Whether users request their own ε. Privacy: public, determined by the source's columns."""
        return self.asked is not None

    def digest(self) -> str:
        """SHA-256, in hex, of domain, users, rows and requested ε; timestamps are not included.

        Privacy: private.
        """
        head = f"hushrec ratings {self.domain.digest} {self.n_users} {self.n_ratings} {self.asks}"
        total = hashlib.sha256(head.encode())
        for start in range(0, self.n_users, _CHUNK):
            total.update("\0".join(self.users[start : start + _CHUNK].to_list()).encode() + b"\0")
        for array in (self.indptr, self.items, self.steps, self.asked):
            if array is not None:
                total.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
        return total.hexdigest()

    def __repr__(self) -> str:
        return f"Ratings({self.domain!r}, private)"
