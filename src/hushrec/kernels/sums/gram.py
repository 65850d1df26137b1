"""Weighted Gram matrices of sparse integer rows: exact, and packed as upper triangles.

How the sum Σ_u w_u a_u a_uᵀ is computed. Items are renumbered by popularity, and eight consecutive ones form
a block. For each block in turn, each user who rated any of its items is visited once: the user's weighted
entries in the block are a vector of eight lanes. For each of their ratings of an item in the block or a less
popular one, that vector times the rating's entry is added to the eight sums of the item. Users who rate one
popular item often rate its neighbours too, so one vector operation updates several pairs (about four on
Netflix-like ratings), and the sums of a block, 64 bytes per item, stay in the second-level cache. A finished
block is added to its cells of the packed triangle; blocks do not share cells, so threads need no merging.
All sums are 64-bit integers: order, threads and blocks do not change a bit.

The cost grows as Σ_u c_u², where c_u is the number of ratings of a user.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numpy.typing import NDArray

from hushrec.arrays import Ints, Ints32
from hushrec.kernels.csr import frozen
from hushrec.kernels.simd import prefetch
from hushrec.kernels.sums.segments import LABEL_BITS, LANES, index, relabel, survey
from hushrec.kernels.tasks import spans
from hushrec.kernels.triangle import diagonal_positions, packed_size
from hushrec.progress import reach

_U = np.uint64  # numba checks signed indices for wrapping from the end; it uses unsigned ones directly
_intrinsic: Any = extending.intrinsic  # its stub counts the typing context among the arguments
_LABEL = (1 << LABEL_BITS) - 1
# Distances and sizes of tasks change the time alone, and were chosen by hand.
_SOON, _LATER = 4, 16  # visits between prefetching ratings, or where they end, and using them
_TASK = 8  # blocks that a thread takes at a time; the first, most popular ones cost most
_TOO_LARGE = "a sum would reach 2^62: put the weights or the entries on a coarser grid"

__all__ = ["reference_gram", "weighted_gram"]


def reference_gram(indptr: Ints, items: Ints32, entries: Ints32 | None, weights: Ints, n_items: int) -> Ints:
    """Do as ``weighted_gram``, in three lines of NumPy: slow, and users × items in memory."""
    dense = np.zeros((len(weights), n_items), dtype=np.int64)
    dense[np.repeat(np.arange(len(weights)), np.diff(indptr)), items] = 1 if entries is None else entries
    full: Ints = dense.T @ (weights[:, None] * dense)
    return full[np.triu_indices(n_items)]


def weighted_gram(
    indptr: Ints,
    items: Ints32,
    entries: Ints32 | None,
    weights: Ints,
    n_items: int,
    *,
    threads: int = 2,
    out: Ints | None = None,
) -> Ints:
    """Compute Σ_u w_u a_u a_uᵀ as a packed upper triangle, exactly.

    That is Cov of McSherry & Mironov 2009, §4.4, with a_ui the centred rating, and Wgt with a_ui = 1. Memory
    in addition to the arguments, in bytes: 4 n² for the result, at most 12 per rating (about 8 on
    Netflix-like ratings), and 64 n per thread.

    Args:
        indptr: where each user's ratings start, then where the last ones end, shape (n_users + 1,).
        items: catalogue index of each rating's item, distinct within a user.
        entries: a_ui of each rating, −2^12 to 2^12, shape of ``items``; None for 1 everywhere.
        weights: w_u of each user, 0 to 2^24, shape (n_users,).
        n_items: size of the catalogue, at most 2^18.
        threads: number of threads; the result does not depend on it.
        out: sums of other users, to which these are added in place; by default zeros.

    Returns:
        the upper triangle, row by row, diagonal included, shape (n_items (n_items + 1) / 2,).

    Privacy: private. The public domain must imply that the sums fit; otherwise an error reveals the data.
    """
    n_users = len(weights)
    if threads < 1 or not 0 <= n_items <= 1 << LABEL_BITS or len(items) >= 1 << 32:
        raise ValueError(f"use 1 thread or more, at most {1 << LABEL_BITS} items and 2^32 - 1 ratings")
    if indptr.shape != (n_users + 1,) or indptr[0] != 0 or indptr[-1] != len(items):
        raise ValueError("indptr must run from 0 to the number of ratings, with a row for each weight")
    if (np.diff(indptr) < 0).any() or (entries is not None and entries.shape != items.shape):
        raise ValueError("indptr must not descend, and there must be one entry for each rating")
    if out is not None and (out.shape != (packed_size(n_items),) or out.dtype != np.int64):
        raise ValueError("out must be a packed triangle of int64, with a row for each item")
    rows = frozen(indptr, np.int64), frozen(items, np.int32)
    entries = frozen(np.empty(0, np.int32) if entries is None else entries, np.int32)
    weights = frozen(weights, np.int64)

    parts = spans(indptr, threads)
    blocks = -(-n_items // LANES)
    with ThreadPoolExecutor(threads) as pool:
        each = pool.map if threads > 1 else map  # a thread costs more than a small sum

        def each_part(kernel: Callable[..., Any], *common: Any) -> list[Any]:
            return list(each(lambda t: kernel(t, *parts[t], *common), range(threads)))

        raters, diagonal = np.zeros((threads, n_items), np.int64), np.zeros((threads, n_items))
        if not all(each_part(survey, *rows, entries, weights, raters, diagonal)):
            raise ValueError(
                "items must lie in 0 to n_items - 1, entries in -2^12 to 2^12, weights in 0 to 2^24: "
                "use a coarser grid"
            )
        if diagonal.sum(axis=0).max(initial=0) >= 2.0**62:
            raise OverflowError(_TOO_LARGE)

        order = np.argsort(-raters.sum(axis=0), kind="stable").astype(np.int32)
        label = np.empty_like(order)
        label[order] = np.arange(n_items, dtype=np.int32)

        words, visits = np.empty(len(items), np.int32), np.zeros((threads, blocks), np.int64)
        if not all(each_part(relabel, *rows, entries, label, words, visits)):
            raise ValueError("a user has an item twice; keep one rating of each user and item")

        first = np.concatenate([[0], np.cumsum(visits.sum(axis=0))])
        cursors = first[:-1] + np.cumsum(visits, axis=0) - visits
        visitor, entrance = np.empty(first[-1], np.int32), np.empty(first[-1], np.uint32)
        each_part(index, rows[0], words, cursors, visitor, entrance)

        packed = np.zeros(packed_size(n_items), np.int64) if out is None else out
        tasks = range(0, blocks, _TASK)
        arguments = rows[0], words, weights, first, visitor, entrance, order, label, packed
        for task, _ in enumerate(each(lambda b: _accumulate(b, min(b + _TASK, blocks), *arguments), tasks)):
            reach(task + 1, len(tasks))
    # Not before: reading memory that was never written to makes writing to it slower.
    if packed[diagonal_positions(n_items)].max(initial=0) >= 1 << 62:
        raise OverflowError(_TOO_LARGE)
    return packed


@_intrinsic  # type: ignore[untyped-decorator]
def _add_scaled(_: Any, sums: Any, item: Any, vector: Any, factor: Any) -> Any:
    """Do ``sums[8 item : 8 item + 8] += vector * factor`` as one vector operation.

    LLVM does not vectorise this on its own: it cannot know that the sums and the vector do not overlap.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, lanes, scalar = arguments
        word, i32 = ir.IntType(64), ir.IntType(32)
        wide = ir.VectorType(word, LANES)
        scaled = spread = ir.Constant(wide, ir.Undefined)
        for k in range(LANES):
            scaled = builder.insert_element(scaled, builder.extract_value(lanes, k), i32(k))
            spread = builder.insert_element(spread, scalar, i32(k))
        data = context.make_array(signature.args[0])(context, builder, array).data
        cell = builder.gep(data, [builder.mul(at, word(LANES))])
        cell = builder.bitcast(cell, wide.as_pointer())
        total = builder.add(builder.load(cell, align=8), builder.mul(scaled, spread))
        builder.store(total, cell, align=8)
        return context.get_dummy_value()

    return numba.types.void(sums, numba.types.uint64, vector, numba.types.int64), generate


@numba.njit(cache=True, nogil=True)
def _accumulate(
    begin: int,
    end: int,
    indptr: Ints,
    words: Ints32,
    weights: Ints,
    first: Ints,
    visitor: Ints32,
    entrance: NDArray[np.uint32],
    order: Ints32,
    label: Ints32,
    packed: Ints,
) -> None:
    """Sum blocks ``begin`` to ``end`` and add them to their cells of the packed triangle."""
    n = len(order)
    sums = np.empty(LANES * (n + LANES), np.int64)
    sums = sums[-np.int64(sums.ctypes.data) % 64 // 8 :]  # vectors that straddle two cache lines are slower
    x = np.empty(LANES, np.int64)
    for block in range(begin, end):
        base = block * LANES
        sums[base * LANES :] = 0
        last = _U(first[block + 1] - 1)
        for visit in range(_U(first[block]), _U(first[block + 1])):
            soon = _U(entrance[min(visit + _U(_SOON), last)])
            for line in range(8):
                prefetch(words, soon + _U(16 * line))
            later = _U(visitor[min(visit + _U(_LATER), last)])
            prefetch(indptr, later + _U(1))
            prefetch(weights, later)
            user = _U(visitor[visit])
            weight = weights[user]
            start, stop = _U(entrance[visit]), _U(indptr[user + _U(1)])
            x[:] = 0
            for p in range(start, stop):
                lane = _U(words[p] & _LABEL) - _U(base)
                if lane >= _U(LANES):
                    break
                x[lane] = weight * (np.int64(words[p]) >> LABEL_BITS)
            vector = (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
            for p in range(start, stop):
                word = np.int64(words[p])
                _add_scaled(sums, _U(word & _LABEL), vector, word >> LABEL_BITS)
        others = np.flatnonzero(label >= base)  # ascending, and then so do the cells of a triangle's row
        for row in range(base, min(base + LANES, n)):
            i = np.int64(order[row])
            for place in range(_U(len(others))):
                j = others[place]
                column = np.int64(label[_U(j)])
                if column >= row:
                    more = sums[_U(column * LANES + row - base)]
                    if more != 0:
                        low = min(i, j)
                        packed[_U((low * (2 * n - 1 - low) >> 1) + max(i, j))] += more
