"""Similarities of all items over sparse rows, packed as an upper triangle.

For each item in turn, the rows of its raters are traversed. Each rating of a later item adds to the inner
product with that item: memory holds one number per item. Then the finished row of the triangle is written.
Raters come in a fixed order and one thread processes an item, so the number of threads does not change a bit.

The cost grows as Σ_u c_u², where c_u is the number of ratings of a row.
"""

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.csr import frozen
from hushrec.kernels.neighbours.knn import COSINE, NEGLIGIBLE, PEARSON, SQUARED
from hushrec.kernels.tasks import in_threads, spans
from hushrec.kernels.transpose import transpose
from hushrec.kernels.triangle import packed_size

_TASKS = 64  # per thread, chosen by hand: the cost of an item is known only afterwards
_U = np.uint64

__all__ = ["similarities"]


def similarities(
    indptr: Ints, items: Ints32, values: Floats32, n_items: int, distance: int, *, threads: int = 2
) -> Floats32:
    """Compute the similarity of each pair of items' columns, 0 if an item is not rated.

    The cosine of their angle, for ``PEARSON`` after subtracting each item's mean rating; for ``SQUARED``
    1/(1 + ‖a − b‖²). Memory in addition to the arguments: 2 n² bytes for the result, 20 bytes per rating.

    Args:
        indptr: where each row's ratings start, then where the last ones end, shape (n_rows + 1,).
        items: item of each rating, ascending within a row.
        values: value of each rating, shape of ``items``.
        distance: ``SQUARED``, ``COSINE`` or ``PEARSON``.
        threads: number of threads; the result does not depend on it.

    Returns:
        The upper triangle, row by row, diagonal included, shape (n_items (n_items + 1) / 2,).

    Privacy: private.
    """
    if values.shape != items.shape or distance not in (SQUARED, COSINE, PEARSON):
        raise ValueError("each rating must have a value, and distance must be one of the three")
    starts, raters, order = transpose(indptr, items, n_items, threads=threads)
    entries = values.astype(np.float64)
    if distance == PEARSON:
        sums, counts = np.bincount(items, entries, n_items), np.diff(starts)
        entries -= (sums / np.maximum(counts, 1))[items]
    squares = np.bincount(items, entries**2, n_items)
    if distance == PEARSON:
        squares[squares <= NEGLIGIBLE * np.bincount(items, values.astype(np.float64) ** 2, n_items)] = 0.0
    rows = frozen(indptr, np.int64), frozen(items, np.int32), frozen(entries, np.float64)
    columns = frozen(starts, np.int64), frozen(raters, np.int32), frozen(order, np.int64)
    packed = np.empty(packed_size(n_items), np.float32)
    common = *rows, *columns, frozen(squares, np.float64), distance, packed
    tasks = spans(np.arange(n_items + 1), _TASKS * threads)
    in_threads(_similar, tasks, *common, threads=threads)
    return packed


@compiled(nogil=True)
def _similar(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    entries: Floats,
    starts: Ints,
    raters: Ints32,
    order: Ints,
    squares: Floats,
    distance: int,
    packed: Floats32,
) -> None:
    """Write the rows ``begin`` to ``end`` of the triangle."""
    n = len(squares)
    products = np.empty(n)
    for item in range(begin, end):
        products[item:] = 0.0
        for c in range(_U(starts[item]), _U(starts[item + 1])):
            at = _U(order[c])
            entry = entries[at]
            for p in range(at, _U(indptr[_U(raters[c]) + _U(1)])):  # items ascend: start at this one
                products[_U(items[p])] += entry * entries[p]
        row = item * n - item * (item - 1) // 2
        for other in range(item, n):
            product, cell = products[other], row + other - item
            if distance == SQUARED:
                packed[cell] = 1 / (1 + max(squares[item] + squares[other] - 2 * product, 0.0))
            else:
                bound = np.sqrt(squares[item] * squares[other])
                packed[cell] = min(max(product / bound, -1.0), 1.0) if bound > 0 else 0.0
