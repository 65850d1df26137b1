"""Packed triangles that are summed over people, in bands where they do not fit where the people are."""

from collections.abc import Callable
from functools import partial

import numpy as np

from hushrec.arrays import Ints, Shape
from hushrec.data.anywhere import AnyPeople
from hushrec.kernels.csr import bands, packed_size


def triangle_sums(
    people: AnyPeople, add: Callable[..., None], n: int, n_triangles: int, *others: Shape
) -> list[Ints]:
    """Sums over all blocks, as ``People.total``; the last ones are packed triangles of n items.

    If they are larger together than ``people.most_cells``, each pass over the people adds to some of their
    rows. The triangles are then put together here, and need not fit where the people are.

    Args:
        add: takes the first row and the one after the last, a block, the other sums, and these rows of each
            triangle, packed.
        others: shapes of the other sums, which every pass computes anew.

    Privacy: private; the caller that measures knows the bound.
    """

    def rows(top: int, bottom: int) -> list[Ints]:
        cells = packed_size(n - top) - packed_size(n - bottom)
        return people.total(partial(add, (top, bottom)), *others, *[cells] * n_triangles)

    most = people.most_cells
    if most is None or n_triangles * packed_size(n) <= most:
        return rows(0, n)
    triangles = [np.empty(packed_size(n), dtype=np.int64) for _ in range(n_triangles)]
    filled, sums = 0, list[Ints]()
    for top, bottom in bands(n, most // n_triangles):
        sums = rows(top, bottom)
        parts = sums[len(others) :]
        for triangle, part in zip(triangles, parts, strict=True):
            triangle[filled : filled + len(part)] = part
        filled += len(parts[0])
    return [*sums[: len(others)], *triangles]
