"""Whether a list by a user's own items finds more of what they have than the list by popularity.

A fifth of a user's items is hidden, by a hash of what they have, and is to be found by the rest.

Privacy: private, as the arrays that are given.
"""

import math
from itertools import pairwise

import numpy as np

from hushrec.arrays import Bools, Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled

LIST = 100
"""Length of the lists that are compared: nDCG@100, a convention."""
HIDDEN = np.uint64(2**64 // 5)
"""Hashes below it hide an item: a fifth of them, a convention (Liang et al. 2018)."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The constants of splitmix64 (Steele, Lea & Flood 2014)."""


@compiled()
def mix(value: np.uint64) -> np.uint64:
    """Hash 64 bits (splitmix64)."""
    value = value + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@compiled()
def list_gains(
    indptr: Ints,
    items: Ints32,
    factors: Floats,
    inputs: Floats,
    outputs: Floats,
    intercept: Floats,
    places: Ints,
    below: np.uint64,
) -> Floats:
    """Compare nDCG@100 of each user's own list and of the list by popularity; lists leave out shown items.

    Args:
        indptr: where each user's items start, shape (n_users + 1,).
        items: positions in the catalogue, shape (n_given,).
        factors, inputs, outputs, intercept: of linear scores, as in ``LinearWeights``.
        places: place of each item in the order by popularity, from 0, shape (n_items,).
        below: users whose hash is below it take part; it depends on what they have alone.

    Returns:
        nDCG of the own list minus that of popularity, shape (n_users,); NaN for users who do not take part,
        or have no item hidden or none shown.
    """
    n_items = len(factors)
    columns = np.ascontiguousarray(factors.T)
    gains = np.full(len(indptr) - 1, np.nan)
    scores, shown = np.empty(n_items), np.zeros(n_items, np.bool_)
    for user in range(len(indptr) - 1):
        row = items[indptr[user] : indptr[user + 1]]
        # A sum of hashes: the same for the same items, in whatever order.
        seed = np.uint64(len(row))
        for item in row:
            seed += mix(np.uint64(item))
        if mix(seed) >= below:
            continue
        n_shown = 0
        for item in row:
            shown[item] = mix(seed ^ mix(np.uint64(item))) >= HIDDEN
            n_shown += shown[item]
        if 0 < n_shown < len(row):
            _score(row, shown, columns, inputs, outputs, intercept, scores)
            gain = 0.0
            for item in row:
                if not shown[item]:
                    # DCG of the hidden items in the own list, minus that in the list by popularity.
                    gain += _discount(_ahead(item, scores, shown))
                    gain -= _discount(_more_popular(item, row, shown, places))
            # DCG of a list with all hidden items at its top.
            ideal = 0.0
            for place in range(len(row) - n_shown):
                ideal += _discount(place)
            gains[user] = gain / ideal
        for item in row:
            # Only this user's marks are cleared: the catalogue may be large.
            shown[item] = False
    return gains


@compiled()
def _score(
    row: Ints32,
    shown: Bools,
    columns: Floats,
    inputs: Floats,
    outputs: Floats,
    intercept: Floats,
    scores: Floats,
) -> None:
    """Write the scores of all items by the shown ones, factor by factor, which is several items at once."""
    rank, n_items = columns.shape
    vector, square = np.zeros(rank), 0.0
    for item in row:
        if shown[item]:
            square += inputs[item] ** 2
            for k in range(rank):
                vector[k] += inputs[item] * columns[k, item]
    scores[:] = 0.0
    for k in range(rank):
        factor = vector[k] + np.sqrt(square) * intercept[k]
        for item in range(n_items):
            scores[item] += columns[k, item] * factor
    for item in range(n_items):
        scores[item] *= outputs[item]


@compiled()
def _ahead(item: int, scores: Floats, shown: Bools) -> int:
    """Count the items of the list before an item."""
    ahead, score = 0, scores[item]
    for other in range(len(scores)):
        if not shown[other]:
            ahead += scores[other] > score or (scores[other] == score and other < item)
    return ahead


@compiled()
def _more_popular(item: int, row: Ints32, shown: Bools, places: Ints) -> int:
    """Count the items of the list by popularity before an item."""
    # Its place among all items, less the shown ones before it, which the list leaves out.
    ahead = int(places[item])
    for other in row:
        ahead -= shown[other] and places[other] < places[item]
    return ahead


@compiled()
def _discount(place: int) -> float:
    """Return how much an item at a place from 0 adds to nDCG@100."""
    return 1 / np.log2(place + 2) if place < LIST else 0.0


def reference_list_gains(
    indptr: Ints,
    items: Ints32,
    factors: Floats,
    inputs: Floats,
    outputs: Floats,
    intercept: Floats,
    places: Ints,
    below: int,
) -> Floats:
    """The same with whole lists, slowly."""
    gains = []
    for start, stop in pairwise(indptr.tolist()):
        row = items[start:stop].tolist()
        seed = (len(row) + sum(_mixed(item) for item in row)) % 2**64
        hidden = [item for item in row if _mixed(seed ^ _mixed(item)) < int(HIDDEN)]
        shown = [item for item in row if item not in hidden]
        if _mixed(seed) >= int(below) or not hidden or not shown:
            gains.append(math.nan)
            continue
        vector = inputs[shown] @ factors[shown] + np.linalg.norm(inputs[shown]) * intercept
        scores = factors @ vector * outputs
        ideal = (1 / np.log2(np.arange(2, 2 + min(len(hidden), LIST)))).sum()
        both = []
        for order in (np.argsort(-scores, kind="stable"), np.argsort(places)):
            listed = [item for item in order.tolist() if item not in shown][:LIST]
            both.append(sum(1 / np.log2(at + 2) for at, item in enumerate(listed) if item in hidden))
        gains.append((both[0] - both[1]) / ideal)
    return np.array(gains)


def _mixed(value: int) -> int:
    value = (value + int(_GOLDEN)) % 2**64
    value = (value ^ value >> 30) * int(_FIRST) % 2**64
    value = (value ^ value >> 27) * int(_SECOND) % 2**64
    return value ^ value >> 31
