"""Which of a person's ratings count, where only so many do."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Bytes, Ints, Ints32, Words

_ITEMS, _PLACES = b"hushrec cap", b"hushrec places"  # what a user's key is for
_CHUNK = 1 << 23  # ratings hashed at once: bounds the memory, changes nothing

__all__ = ["chosen", "chosen_slots"]


def chosen(users: pl.Series, indptr: Ints, items: Ints32, cap: int) -> Bools | None:
    """Which ratings stay, at most ``cap`` of each user, by a hash keyed with the user's own id.

    Args:
        users: ids.
        indptr: where each user's ratings start.
        items: of each rating, each once in a user.
        cap: how many each user keeps at most.

    Returns:
        one boolean for each rating; None where nobody has more.

    Privacy: private; each user's choice looks at nothing but his own id and items.
    """
    counts = np.diff(indptr)
    if counts.max(initial=0) <= cap:
        return None
    mask = np.ones(len(items), dtype=np.bool_)
    for group, starts, where in _heavy(indptr, counts, cap):
        keys = np.repeat(_keys(users.gather(group), _ITEMS), counts[group])
        mask[where] = _smallest(_shuffled(items[where], keys), starts, cap)
    return mask


def chosen_slots(users: pl.Series, indptr: Ints, items: Ints32, steps: Bytes, cap: int) -> Bools | None:
    """Which ratings stay, so that the stars of those that do tell nothing of the items.

    A user's ratings are put in order by their stars, and by a hash of the item among equals. Which places of
    that order stay is a matter of his id and of how many ratings he has. So whichever items they are of, the
    same number of ratings stays, with the same stars.

    Args:
        users, indptr, items, cap: as for ``chosen``.
        steps: stars of each rating.

    Returns:
        one boolean for each rating; None where nobody has more.

    Privacy: private; each user's choice looks at nothing but his own id, items and stars.
    """
    counts = np.diff(indptr)
    if counts.max(initial=0) <= cap:
        return None
    mask = np.ones(len(items), dtype=np.bool_)
    for group, starts, where in _heavy(indptr, counts, cap):
        keys, others = (
            np.repeat(_keys(users.gather(group), use), counts[group]) for use in (_ITEMS, _PLACES)
        )
        owner = np.repeat(np.arange(len(group)), counts[group])
        order = np.lexsort((_shuffled(items[where], keys), steps[where], owner))
        places = (np.arange(len(where)) - starts[owner]).astype(np.int32)
        mask[where[order]] = _smallest(_shuffled(places, others), starts, cap)
    return mask


def _heavy(indptr: Ints, counts: Ints, cap: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Users with more than ``cap`` ratings, some at a time, with where each one's begin among all of theirs,
    and where those are among everybody's."""
    heavy = np.flatnonzero(counts > cap)
    parts = np.cumsum(counts[heavy]) // _CHUNK
    for group in np.split(heavy, np.flatnonzero(np.diff(parts)) + 1):
        sizes = counts[group]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        yield group, starts, np.repeat(indptr[group] - starts, sizes) + np.arange(sizes.sum())


def _smallest(hashes: Words, starts: Ints, cap: int) -> Bools:
    """Which are among the ``cap`` smallest of their user's; no two of one user are equal.

    One word each, the user above and the hash below: sorting the words sorts each user's own hashes.
    """
    sizes = np.diff(starts, append=len(hashes))
    words = hashes | np.repeat(np.arange(len(starts), dtype=np.uint64) << np.uint64(32), sizes)
    return np.asarray(words <= np.repeat(np.sort(words)[starts + cap - 1], sizes))


def _keys(users: pl.Series, use: bytes) -> Words:
    """A 64-bit key for every user, from his id alone, another for each use."""
    digests = b"".join(hashlib.blake2b(user.encode(), digest_size=8, person=use).digest() for user in users)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _shuffled(items: Ints32, keys: Words) -> Words:
    """A keyed permutation of the 32-bit integers, at ``items``: xor with half a key, then mix, twice.

    The mixer is MurmurHash3's 32-bit finaliser, a bijection.
    """
    low = np.uint64(0xFFFFFFFF)
    x: Any = items.astype(np.uint64)
    for half in (keys & low, keys >> np.uint64(32)):
        x = x ^ half
        x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & low
        x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & low
        x = x ^ (x >> np.uint64(16))
    return np.asarray(x, dtype=np.uint64)
