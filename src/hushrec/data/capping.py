"""Which of a person's ratings count, where only so many do."""

import hashlib
from typing import Any

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Ints, Ints32, Words

_CHUNK = 1 << 23  # ratings hashed at once: bounds the memory, changes nothing

__all__ = ["chosen"]


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
    heavy = np.flatnonzero(counts > cap)
    if len(heavy) == 0:
        return None
    mask = np.ones(len(items), dtype=np.bool_)
    parts = np.cumsum(counts[heavy]) // _CHUNK
    for group in np.split(heavy, np.flatnonzero(np.diff(parts)) + 1):
        sizes = counts[group]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        where = np.repeat(indptr[group] - starts, sizes) + np.arange(sizes.sum())
        # One word a rating: user above, hash of the item below. Sorting the words sorts each user's own
        # hashes, and the hash is a bijection of the item, so that there are no ties.
        high = np.repeat(np.arange(len(group), dtype=np.uint64) << np.uint64(32), sizes)
        words = high | _shuffled(items[where], np.repeat(_keys(users.gather(group)), sizes))
        largest = np.sort(words)[starts + cap - 1]
        mask[where] = words <= np.repeat(largest, sizes)
    return mask


def _keys(users: pl.Series) -> Words:
    """A 64-bit key for every user, from his id alone."""
    digests = b"".join(
        hashlib.blake2b(user.encode(), digest_size=8, person=b"hushrec cap").digest() for user in users
    )
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
