"""Weighted Gram matrices of sparse integer rows: exact, and packed as upper triangles.

How the sums Σ_u w_u a_ui a_uj are computed. Some million ratings at a time are regrouped by item, and items
cut into tiles of 256. For a tile, each user's ratings of its items lie together. Then item after item i, each
user who rated i adds to the cells of row i that lie in the tile: 4 KB of both matrices, which stay in the
first-level cache. Tiles do not share cells, so threads need no merging. All sums are 64-bit integers: order,
threads and tiles do not change a bit.

The cost grows as Σ_u c_u², where c_u is the number of ratings of a user. It is least if items ascend by their
number of raters: a tile at the end then has many ratings of each user, and one before it is visited for the
few ratings of rarer items alone.

Vector instructions by hand for eight sums of one matrix at once took 1.2 times as long for 4,938 items, and 3
times for 17,770. Dense rows of the heaviest users saved a tenth of the time, prefetching nothing.

Privacy: private, as the arrays that are given.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled, spans
from hushrec.kernels.csr import diagonal_positions, frozen, packed_size
from hushrec.progress import reach

ITEM_BITS = 18
"""A word has 32 bits: 14 for a signed entry of at most 2^12, the rest for the item."""
_LARGEST_ENTRY = 1 << 12
_LARGEST_WEIGHT = 1 << 24
"""Chosen by hand: with the largest entries a term is 2^48, and 2^14 of them fit below the limit of 2^62."""
_U = np.uint64  # numba checks signed indices for wrapping from the end; it uses unsigned ones directly
_ITEM = (1 << ITEM_BITS) - 1
_TILE = 256  # items; this and the next change the time and the memory alone, and were chosen by hand
_RUN = 1 << 22  # ratings that are regrouped at a time
_TOO_LARGE = "a sum would reach 2^62: put the weights or the entries on a coarser grid"


def reference_gram(indptr: Ints, items: Ints32, entries: Ints32, weights: Ints, n_items: int) -> Ints:
    """Do as ``weighted_gram``, in three lines of NumPy: slow, and users × items in memory."""
    dense = np.zeros((len(weights), n_items), dtype=np.int64)
    dense[np.repeat(np.arange(len(weights)), np.diff(indptr)), items] = entries
    full: Ints = dense.T @ (weights[:, None] * dense)
    return full[np.triu_indices(n_items)]


def weighted_gram(
    indptr: Ints,
    items: Ints32,
    entries: Ints32,
    weights: Ints,
    n_items: int,
    *,
    threads: int = 2,
    out: Ints | None = None,
    co_rating: Ints | None = None,
    rows: tuple[int, int] | None = None,
) -> Ints:
    """Compute Σ_u w_u a_u a_uᵀ as a packed upper triangle, exactly, and Σ_u w_u e_u e_uᵀ along with it.

    That is Cov of McSherry & Mironov 2009, §4.4, with a_ui the centred rating, and Wgt, where e_ui = 1 for
    each item that u rated. Memory in addition to the arguments, in bytes: 4 n² for the result, at most 10 for
    each of 4 million ratings, and 8 for each of their users and each thread.

    Args:
        indptr: where each user's ratings start, then where the last ones end, shape (n_users + 1,).
        items: catalogue index of each rating's item, distinct within a user.
        entries: a_ui of each rating, −2^12 to 2^12, shape of ``items``.
        weights: w_u of each user, 0 to 2^24, shape (n_users,).
        n_items: size of the catalogue, at most 2^18.
        threads: number of threads; the result does not depend on it.
        out: sums of other users, to which these are added in place; by default zeros.
        co_rating: Wgt of other users, to which that of these is added in place; by default not computed.
        rows: a band of the triangle, as its first row and the one after its last; by default all of it.

    Returns:
        the band of the upper triangle, row by row, diagonal included; all of it has n_items (n_items + 1) / 2
        cells.

    Privacy: private. The public domain must imply that the sums fit; otherwise an error reveals the data.
    """
    n_users = len(weights)
    if threads < 1 or not 0 <= n_items <= 1 << ITEM_BITS or len(items) >= 1 << 32:
        raise ValueError(f"use 1 thread or more, at most {1 << ITEM_BITS} items and 2^32 - 1 ratings")
    if indptr.shape != (n_users + 1,) or indptr[0] != 0 or indptr[-1] != len(items):
        raise ValueError("indptr must run from 0 to the number of ratings, with a row for each weight")
    if (np.diff(indptr) < 0).any() or entries.shape != items.shape:
        raise ValueError("indptr must not descend, and there must be one entry for each rating")
    top, bottom = (0, n_items) if rows is None else rows
    if not 0 <= top <= bottom <= n_items:
        raise ValueError("rows must lie among the items")
    size = packed_size(n_items - top) - packed_size(n_items - bottom)
    for sums in (out, co_rating):
        if sums is not None and (sums.shape != (size,) or sums.dtype != np.int64):
            raise ValueError("out must be packed rows of int64, one for each item")
    if not (
        _within(items, 0, n_items - 1)
        and _within(entries, -_LARGEST_ENTRY, _LARGEST_ENTRY)
        and _within(weights, 0, _LARGEST_WEIGHT)
    ):
        raise ValueError(
            "items must lie in 0 to n_items - 1, entries in -2^12 to 2^12, weights in 0 to 2^24: "
            "use a coarser grid"
        )
    columns = frozen(items, np.int32), frozen(entries, np.int32)
    triangle = np.zeros(size, np.int64) if out is None else out
    runs, tiles = spans(indptr, max(-(-len(items) // _RUN), 1)), -(-(n_items - top) // _TILE)
    with ThreadPoolExecutor(threads) as pool:
        # Whole users, some million ratings at a time: regrouping by item takes memory for each rating.
        for number, (begin, end) in enumerate(runs):
            part = slice(indptr[begin], indptr[end])
            ends = frozen(indptr[begin : end + 1] - indptr[begin], np.int64)
            run = ends, columns[0][part], columns[1][part], frozen(weights[begin:end], np.int64)
            for tile in _add_run(run, n_items, (top, bottom), threads, pool, triangle, co_rating):
                reach(number * tiles + tile, len(runs) * tiles)
    # Not before: reading memory that was never written to makes writing to it slower.
    diagonal = diagonal_positions(n_items - top)[: bottom - top]
    if triangle[diagonal].max(initial=0) >= 1 << 62:
        raise OverflowError(_TOO_LARGE)
    return triangle


def _within(values: NDArray[np.integer], lowest: int, largest: int) -> bool:
    return not len(values) or bool(values.min() >= lowest and values.max() <= largest)


def _add_run(
    run: tuple[Ints, Ints32, Ints32, Ints],
    n: int,
    band: tuple[int, int],
    threads: int,
    pool: ThreadPoolExecutor,
    triangle: Ints,
    co_rating: Ints | None,
) -> Iterator[int]:
    """Add the sums of some users, and yield the number of tiles done so far."""
    indptr, items, _, weights = run
    each = pool.map if threads > 1 else map  # a thread costs more than a small sum
    # A counting sort by item in two passes: count each part's ratings of each item, then place them. So every
    # thread knows where to write, and the users of an item ascend whatever the number of threads.
    parts = spans(indptr, threads)
    raters = np.array([np.bincount(items[indptr[a] : indptr[b]], minlength=n) for a, b in parts])
    first = np.concatenate([[0], np.cumsum(raters.sum(axis=0))])
    starts = first[:-1] + np.cumsum(raters, axis=0) - raters
    users, values = np.empty(len(items), np.int32), np.empty(len(items), np.int16)
    diagonal, cursors = np.zeros((threads, n)), starts.copy()
    common: tuple[Any, ...] = (*run, starts, cursors, diagonal, users, values)
    if not all(list(each(lambda t: _by_item(t, *parts[t], *common), range(threads)))):
        raise ValueError("a user has an item twice; keep one rating of each user and item")
    # By Cauchy's inequality no cell exceeds the largest diagonal one: if that fits, all do.
    if diagonal.sum(axis=0).max(initial=0) >= 2.0**62:
        raise OverflowError(_TOO_LARGE)
    ends = range(n, band[0], -_TILE)  # the last tile costs most
    sums = *band, first, users, values, weights, triangle, co_rating
    for tile, _ in enumerate(each(lambda end: _add_tile(max(end - _TILE, 0), end, *sums), ends)):
        yield tile + 1


@compiled(nogil=True)
def _by_item(
    part: int,
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    entries: Ints32,
    weights: Ints,
    starts: Ints,
    cursors: Ints,
    diagonal: Floats,
    users: Ints32,
    values: NDArray[np.int16],
) -> bool:
    """Regroup the ratings of one part of the users by item; return whether each user's items are distinct.

    Args:
        part: row of ``starts``, ``cursors`` and ``diagonal`` that belongs to this part.
        begin: first user.
        end: the user after the last.
        indptr, items, entries, weights: as for ``weighted_gram``.
        starts: where this part's ratings of each item begin, shape (parts, n_items).
        cursors: the same; advanced.
        diagonal: w_u a_ui² is added to, accurate to 10 digits, shape (parts, n_items).
        users: receives the user of each rating, ascending for each item.
        values: receives the entry of each rating.
    """
    for user in range(begin, end):
        weight = weights[user]
        for p in range(_U(indptr[user]), _U(indptr[user + 1])):
            item, entry = _U(items[p]), np.int64(entries[p])
            at = cursors[part, item]
            # Users ascend within an item, so a second rating by the same one would lie just before.
            if at > starts[part, item] and users[_U(at - 1)] == user:
                return False
            cursors[part, item] = at + 1
            users[_U(at)] = user
            values[_U(at)] = entry
            # A float, because the sum may exceed 64 bits: it is only asked whether all sums fit.
            diagonal[part, item] += float(weight * entry * entry)
    return True


@compiled(nogil=True)
def _add_tile(
    begin: int,
    end: int,
    top: int,
    bottom: int,
    first: Ints,
    users: Ints32,
    values: NDArray[np.int16],
    weights: Ints,
    triangle: Ints,
    co_rating: Ints | None,
) -> None:
    """Add to the cells of the rows ``top`` to ``bottom`` in the columns ``begin`` to ``end``.

    Args:
        first: where the ratings of each item begin, then where the last ones end, shape (n_items + 1,).
        users, values: user and entry of each rating.
        weights: weight of each user.
        triangle: Σ w a aᵀ is added to, the packed rows from ``top`` on.
        co_rating: Σ w e eᵀ is added to, packed, or None.
    """
    n, n_users = len(first) - 1, len(weights)
    # Each user's ratings in the tile, ascending by item: words ahead[user] to stops[user].
    stops = np.zeros(n_users, np.int32)
    for p in range(_U(first[begin]), _U(first[end])):
        stops[_U(users[p])] += 1
    ahead = np.empty(n_users, np.int32)
    total = np.int32(0)
    for person in range(n_users):
        ahead[person] = total
        total += stops[person]
        stops[person] = ahead[person]
    words = np.empty(total, np.int32)
    for item in range(begin, end):
        for p in range(_U(first[item]), _U(first[item + 1])):
            user = _U(users[p])
            # Entry and item in one word, so that the inner loop loads both at once.
            words[_U(stops[user])] = np.int32(values[p]) << ITEM_BITS | np.int32(item)
            stops[user] += 1
    # Rows above the band are done elsewhere: pass over their items.
    for item in range(begin, top):
        for p in range(_U(first[item]), _U(first[item + 1])):
            ahead[_U(users[p])] += 1
    origin = top * (2 * n + 1 - top) >> 1  # where the band begins in the whole triangle
    for item in range(top, min(bottom, end)):
        # Row i of a packed triangle starts at i (2n + 1 − i)/2, with its diagonal, i cells after column 0.
        row = (item * (2 * n - 1 - item) >> 1) - origin  # position of the row's column 0, if it had one
        for p in range(_U(first[item]), _U(first[item + 1])):
            user = _U(users[p])
            weight = weights[user]
            product = weight * np.int64(values[p])
            # This user's items of the tile from i on: ``ahead`` has passed those before it.
            for q in range(_U(ahead[user]), _U(stops[user])):
                word = words[q]
                cell = _U(row + np.int64(word & _ITEM))
                # The arithmetic shift leaves the entry, with its sign.
                triangle[cell] += product * np.int64(word >> ITEM_BITS)
                if co_rating is not None:
                    co_rating[cell] += weight
            if item >= begin:
                ahead[user] += 1  # the pairs of a later item do not have this one
