"""The choice of the ratings or interactions that count when a user has more than ``max_per_user``."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from hushrec.arrays import Bools, Bytes, Ints, Ints32, Words
from hushrec.kernels.csr import frozen
from hushrec.kernels.keyed_choice import hashes, smallest

_ITEMS, _PLACES = b"hushrec cap", b"hushrec places"  # what a user's key is for
_CHUNK = 1 << 23  # ratings hashed at once: bounds the memory, does not change the result; chosen by hand


def chosen(users: Any, indptr: Ints, items: Ints32, max_per_user: int) -> Bools | None:
    """Mark at most ``max_per_user`` ratings of each user as kept, by a hash keyed with the user's own id.

    Args:
        indptr: where each user's ratings start.
        items: item of each rating; each item occurs once per user.
        max_per_user: the most ratings that a user keeps.

    Returns:
        one boolean per rating; None if no one has more than ``max_per_user``.

    Privacy: private; each user's choice depends only on their own id and items.
    """
    counts = np.diff(indptr)
    if counts.max(initial=0) <= max_per_user:
        return None
    keys = np.zeros(len(users), np.uint64)
    heavy = np.flatnonzero(counts > max_per_user)
    keys[heavy] = _keys(users.take(pa.array(heavy)), _ITEMS)
    return np.asarray(smallest(*_rows(indptr, items), keys, max_per_user))


def chosen_latest(
    users: Any, indptr: Ints, items: Ints32, timestamps: Ints, max_per_user: int
) -> Bools | None:
    """Mark the ``max_per_user`` most recent entries of each user; the hash of ``chosen`` orders equal times.

    Args:
        users, indptr, items, max_per_user: as for ``chosen``.
        timestamps: time of each entry.

    Returns:
        one boolean per entry; None if no one has more than ``max_per_user``.

    Privacy: private; each user's choice depends only on their own id, items and times.
    """
    counts = np.diff(indptr)
    if counts.max(initial=0) <= max_per_user:
        return None
    mask = np.ones(len(items), dtype=np.bool_)
    for group, starts, where in _heavy(indptr, counts, max_per_user):
        owner = np.repeat(np.arange(len(group)), counts[group])
        hashed = hashes(*_rows(starts, items[where]), _keys(users.take(pa.array(group)), _ITEMS))
        order = np.lexsort((hashed, -timestamps[where], owner))
        mask[where[order]] = np.arange(len(where)) - starts[owner] < max_per_user
    return mask


def chosen_slots(users: Any, indptr: Ints, items: Ints32, steps: Bytes, max_per_user: int) -> Bools | None:
    """Mark the kept ratings so that the stars of the kept ratings reveal nothing about the items.

    Each user's ratings are sorted by stars, with ties broken by a hash of the item. The user's id and number
    of ratings alone decide which positions of that order are kept. So the number of kept ratings and their
    stars do not depend on which items were rated.

    Args:
        users, indptr, items, max_per_user: as for ``chosen``.
        steps: stars of each rating, in steps.

    Returns:
        one boolean per rating; None if no one has more than ``max_per_user``.

    Privacy: private; each user's choice depends only on their own id, items and stars.
    """
    counts = np.diff(indptr)
    if counts.max(initial=0) <= max_per_user:
        return None
    mask = np.ones(len(items), dtype=np.bool_)
    for group, starts, where in _heavy(indptr, counts, max_per_user):
        keys, others = (_keys(users.take(pa.array(group)), use) for use in (_ITEMS, _PLACES))
        owner = np.repeat(np.arange(len(group)), counts[group])
        order = np.lexsort((hashes(*_rows(starts, items[where]), keys), steps[where], owner))
        places = np.arange(len(where)) - starts[owner]
        mask[where[order]] = smallest(*_rows(starts, places.astype(np.int32)), others, max_per_user)
    return mask


def _heavy(indptr: Ints, counts: Ints, max_per_user: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield the users with more than ``max_per_user`` ratings in groups.

    Each group has its users, where their ratings start within the group and the last ones end, and the
    positions of the group's ratings among all ratings.
    """
    heavy = np.flatnonzero(counts > max_per_user)
    parts = np.cumsum(counts[heavy]) // _CHUNK
    for group in np.split(heavy, np.flatnonzero(np.diff(parts)) + 1):
        sizes = counts[group]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        yield group, starts, np.repeat(indptr[group] - starts[:-1], sizes) + np.arange(sizes.sum())


def _rows(indptr: Ints, items: Ints32) -> tuple[Ints, Ints32]:
    return frozen(indptr, np.int64), frozen(items, np.int32)


def _keys(users: Any, use: bytes) -> Words:
    """Derive a 64-bit key for each user from the user's id alone, different for each use."""
    digests = b"".join(
        hashlib.blake2b(user.encode(), digest_size=8, person=use).digest() for user in users.to_pylist()
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
