"""The choice of some items of a row, by a hash keyed for each row."""

from itertools import pairwise

import numpy as np

from hushrec.arrays import Bools, Ints, Ints32, Words
from hushrec.kernels.compiled import compiled

_U = np.uint64
_LOW = _U(0xFFFFFFFF)  # the lower 32 bits
_UPPER = _U(20)  # a hash without its lower 20 bits is its bucket; changes the time alone, chosen by hand
_BUCKETS = 1 << 12


@compiled(nogil=True)
def _hash(item: int, key: np.uint64) -> np.uint64:
    """Apply a keyed permutation of the 32-bit integers: xor with half a key and mix, twice.

    The mixer is MurmurHash3's 32-bit finaliser, a bijection.
    """
    x = _U(item)
    for half in (_U(key) & _LOW, _U(key) >> _U(32)):
        # Every step can be undone, so distinct items have distinct hashes: there are no ties.
        x ^= half
        x = ((x ^ (x >> _U(16))) * _U(0x85EBCA6B)) & _LOW
        x = ((x ^ (x >> _U(13))) * _U(0xC2B2AE35)) & _LOW
        x ^= x >> _U(16)
    return x


@compiled(nogil=True)
def hashes(indptr: Ints, items: Ints32, keys: Words) -> Words:
    """Return the hash of each item under the key of its row, shape of ``items``.

    Args:
        indptr: where each row starts, then where the last one ends.
        items: 0 or more, distinct within a row.
        keys: key of each row.
    """
    hashed = np.empty(len(items), np.uint64)
    for row in range(len(keys)):
        for p in range(indptr[row], indptr[row + 1]):
            hashed[p] = _hash(items[p], keys[row])
    return hashed


@compiled(nogil=True)
def smallest(indptr: Ints, items: Ints32, keys: Words, most: int) -> Bools:
    """Mark the ``most`` items of each row whose hashes are smallest; all of a row that has no more.

    Args:
        indptr, items: as for ``hashes``.
        keys: key of each row; not read for a row that keeps all.
        most: at least 1.

    Returns:
        One boolean per item.
    """
    kept = np.ones(len(items), np.bool_)
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        if stop - start <= most:
            continue
        hashed, sizes = np.empty(stop - start, np.uint64), np.zeros(_BUCKETS, np.int64)
        for p in range(len(hashed)):
            hashed[p] = _hash(items[start + p], keys[row])
            sizes[hashed[p] >> _UPPER] += 1
        # The last one that is kept is in this bucket, and so many are before the bucket.
        # The last one kept is looked for in its bucket alone, which is sorted; the whole row is not.
        bucket, before = 0, np.int64(0)
        while before + sizes[bucket] < most:
            before += sizes[bucket]
            bucket += 1
        largest = np.sort(hashed[hashed >> _UPPER == _U(bucket)])[most - before - 1]
        for p in range(len(hashed)):
            kept[start + p] = hashed[p] <= largest
    return kept


def reference_smallest(indptr: Ints, items: Ints32, keys: Words, most: int) -> Bools:
    """Do as ``smallest``, row by row in NumPy: slow."""
    kept = np.ones(len(items), np.bool_)
    for row, (start, stop) in enumerate(pairwise(indptr)):
        hashed = hashes(np.array([0, stop - start]), items[start:stop], keys[row : row + 1])
        kept[start:stop] = np.argsort(np.argsort(hashed)) < most
    return kept
