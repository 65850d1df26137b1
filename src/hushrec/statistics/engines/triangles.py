"""Sums of large symmetric matrices, in as many passes over the people as the engine's memory needs."""

from collections.abc import Callable
from functools import partial

import numpy as np

from hushrec.arrays import Ints, Shape
from hushrec.kernels.triangle import bands, packed_size
from hushrec.statistics.engines.engine import Block, Engine


def triangle_sums(
    engine: Engine[Block], add: Callable[..., None], n: int, n_triangles: int, *others: Shape
) -> list[Ints]:
    """Sums over all blocks, as ``Engine.total``; the last ones are packed triangles of n items.

    If they are larger together than ``engine.most_cells``, each pass over the people adds to some of their
    rows. The triangles are then put together here, and need not fit where the people are.

    Args:
        add: takes the first row and the one after the last, a block, the other sums, and these rows of each
            triangle, packed.
        others: shapes of the other sums, which every pass computes anew.

    Privacy: private; the caller that measures knows the bound.
    """

    def rows(top: int, bottom: int) -> list[Ints]:
        cells = packed_size(n - top) - packed_size(n - bottom)
        return engine.total(partial(add, (top, bottom)), *others, *[cells] * n_triangles)

    most = engine.most_cells
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
