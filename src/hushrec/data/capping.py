"""The choice of the ratings or interactions that count when a user has more than ``max_per_user``."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Bytes, Ints, Ints32, Words

_ITEMS, _PLACES = b"hushrec cap", b"hushrec places"  # what a user's key is for
_CHUNK = 1 << 23  # ratings hashed at once: bounds the memory, does not change the result; chosen by hand

__all__ = ["chosen", "chosen_latest", "chosen_slots"]


def chosen(users: pl.Series, indptr: Ints, items: Ints32, max_per_user: int) -> Bools | None:
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
    mask = np.ones(len(items), dtype=np.bool_)
    for group, starts, where in _heavy(indptr, counts, max_per_user):
        keys = np.repeat(_keys(users.gather(group), _ITEMS), counts[group])
        mask[where] = _smallest(_shuffled(items[where], keys), starts, max_per_user)
    return mask


def chosen_latest(
    users: pl.Series, indptr: Ints, items: Ints32, timestamps: Ints, max_per_user: int
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
        keys = np.repeat(_keys(users.gather(group), _ITEMS), counts[group])
        owner = np.repeat(np.arange(len(group)), counts[group])
        order = np.lexsort((_shuffled(items[where], keys), -timestamps[where], owner))
        mask[where[order]] = np.arange(len(where)) - starts[owner] < max_per_user
    return mask


def chosen_slots(
    users: pl.Series, indptr: Ints, items: Ints32, steps: Bytes, max_per_user: int
) -> Bools | None:
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
        keys, others = (
            np.repeat(_keys(users.gather(group), use), counts[group]) for use in (_ITEMS, _PLACES)
        )
        owner = np.repeat(np.arange(len(group)), counts[group])
        order = np.lexsort((_shuffled(items[where], keys), steps[where], owner))
        places = (np.arange(len(where)) - starts[owner]).astype(np.int32)
        mask[where[order]] = _smallest(_shuffled(places, others), starts, max_per_user)
    return mask


def _heavy(indptr: Ints, counts: Ints, max_per_user: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield the users with more than ``max_per_user`` ratings in groups.

    Each group has its users, the starts of their ratings within the group, and the positions of the group's
    ratings among all ratings.
    """
    heavy = np.flatnonzero(counts > max_per_user)
    parts = np.cumsum(counts[heavy]) // _CHUNK
    for group in np.split(heavy, np.flatnonzero(np.diff(parts)) + 1):
        sizes = counts[group]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        yield group, starts, np.repeat(indptr[group] - starts, sizes) + np.arange(sizes.sum())


def _smallest(hashes: Words, starts: Ints, max_per_user: int) -> Bools:
    """Mark the ``max_per_user`` smallest hashes of each user; a user's hashes are distinct.

    Each word holds the user above and the hash below, so that one sort sorts the hashes of all users.
    """
    sizes = np.diff(starts, append=len(hashes))
    words = hashes | np.repeat(np.arange(len(starts), dtype=np.uint64) << np.uint64(32), sizes)
    return np.asarray(words <= np.repeat(np.sort(words)[starts + max_per_user - 1], sizes))


def _keys(users: pl.Series, use: bytes) -> Words:
    """Derive a 64-bit key for each user from the user's id alone, different for each use."""
    digests = b"".join(hashlib.blake2b(user.encode(), digest_size=8, person=use).digest() for user in users)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _shuffled(items: Ints32, keys: Words) -> Words:
    """Apply a keyed permutation of the 32-bit integers to ``items``: xor with half a key and mix, twice.

    The mixer is MurmurHash3's 32-bit finaliser, a bijection.
    """
    low = np.uint64(0xFFFFFFFF)  # the lower 32 bits
    x: Any = items.astype(np.uint64)
    for half in (keys & low, keys >> np.uint64(32)):
        x = x ^ half
        x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & low
        x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & low
        x = x ^ (x >> np.uint64(16))
    return np.asarray(x, dtype=np.uint64)
