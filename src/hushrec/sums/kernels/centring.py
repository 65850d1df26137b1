"""Loops over each user's own ratings. Integers in, integers out: the same bits everywhere.

Privacy: private, as the arrays that are given.
"""

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.kernels.compiled import compiled


@compiled()
def centre(
    indptr: Ints,
    items: Ints32,
    steps: Bytes,
    grid_values: Ints,
    offsets: Ints,
    limit: int,
    prior: int,
    reg: int,
    bound: int,
) -> Ints32:
    """Centre each user's ratings on their own shrunk mean and clamp them, all in grid integers.

    x = clamp(r − offset_i, ±limit);  mean = ⌊(Σ x + reg · prior)/(c + reg)⌋;
    entry = clamp(x − mean, ±bound).

    Args:
        indptr: where each user's ratings start, shape (n_users + 1,).
        items: item of each rating, shape (n_ratings,).
        steps: each rating, in steps above the bottom of the scale.
        grid_values: the rating of each step, shape (n_values,).
        offsets: subtracted from the ratings of each item, shape (n_items,).
        limit: bound on |x|.
        prior: mean of the fictitious ratings.
        reg: number of fictitious ratings; if negative, no mean is subtracted.
        bound: bound on |entry|.

    Returns:
        One entry per rating, shape (n_ratings,).
    """
    entries = np.empty(len(items), dtype=np.int32)
    for user in range(len(indptr) - 1):
        start, stop = indptr[user], indptr[user + 1]
        # Two passes over a user: their mean has to be known before anything is subtracted.
        total = np.int64(0)
        for position in range(start, stop):
            # McSherry & Mironov 2009, §4.3. They do not clamp x, and without that their Theorem 4 fails.
            x = min(max(grid_values[steps[position]] - offsets[items[position]], -limit), limit)
            entries[position] = x
            total += x
        mean = np.int64(0)
        if reg >= 0 and stop - start + reg > 0:
            mean = (total + reg * prior) // (stop - start + reg)  # r̄_u of §4.3, with reg as β_p
        for position in range(start, stop):
            entries[position] = min(max(entries[position] - mean, -bound), bound)  # r̂_ui of §4.3
    return entries


def reference_centre(
    indptr: Ints,
    items: Ints32,
    steps: Bytes,
    grid_values: Ints,
    offsets: Ints,
    limit: int,
    prior: int,
    reg: int,
    bound: int,
) -> Ints32:
    """Centre as ``centre`` does, user by user in NumPy: slow."""
    x = np.clip(grid_values[steps] - offsets[items], -limit, limit)
    parts = []
    for ratings in np.split(x, indptr[1:-1]):
        weight = len(ratings) + reg
        mean = (ratings.sum() + reg * prior) // weight if reg >= 0 and weight else 0
        parts.append(np.clip(ratings - mean, -bound, bound))
    return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, dtype=np.int32)


@compiled()
def item_counts(indptr: Ints, items: Ints32, weights: Ints, n_items: int) -> Ints:
    """Sum the weights of the users who have each item, shape (n_items,)."""
    sums = np.zeros(n_items, dtype=np.int64)
    for user in range(len(indptr) - 1):
        for position in range(indptr[user], indptr[user + 1]):
            sums[items[position]] += weights[user]
    return sums


@compiled()
def norm_sums(indptr: Ints, entries: Ints32, power: int) -> Ints:
    """Sum |entry| or, for a power of 2, its square over each user's entries, shape (n_users,)."""
    sums = np.zeros(len(indptr) - 1, dtype=np.int64)
    for user in range(len(indptr) - 1):
        for position in range(indptr[user], indptr[user + 1]):
            size = np.int64(abs(entries[position]))
            sums[user] += size * size if power == 2 else size
    return sums


@compiled()
def weighted_item_sums(
    indptr: Ints, items: Ints32, entries: Ints32, weights: Ints, dropped_bits: int, n_items: int
) -> Ints:
    """Sum ⌊user's weight · entry / 2^dropped_bits⌋ over the ratings of each item, shape (n_items,)."""
    sums = np.zeros(n_items, dtype=np.int64)
    for user in range(len(indptr) - 1):
        for position in range(indptr[user], indptr[user + 1]):
            # An arithmetic shift rounds down, also below zero: Δ counts one step for it.
            sums[items[position]] += (weights[user] * entries[position]) >> dropped_bits
    return sums


@compiled()
def truncated_item_sums(
    indptr: Ints, items: Ints32, entries: Ints32, weights: Ints, dropped_bits: int, n_items: int
) -> Ints:
    """Do ``weighted_item_sums``, each term truncated toward zero: a smaller weight never grows a term."""
    sums = np.zeros(n_items, dtype=np.int64)
    for user in range(len(indptr) - 1):
        for position in range(indptr[user], indptr[user + 1]):
            entry = np.int64(entries[position])
            term = (weights[user] * abs(entry)) >> dropped_bits
            sums[items[position]] += term if entry > 0 else -term
    return sums
