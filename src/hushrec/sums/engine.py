"""Where private rows are, and where they are summed: in memory, block by block from files, or in Spark.

Every private sum is a function that adds what one block of people contributes to integers, and addition. So
any cut of the people into blocks, in any order, gives the same bits, and a sum does not know its engine.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from hushrec.arrays import Ints, Shape
from hushrec.kernels.csr import bands, packed_size
from hushrec.progress import fraction

Part = TypeVar("Part")
Block = TypeVar("Block")
_END: Any = object()


class Engine(Generic[Block]):
    """Blocks of private rows here, each person in exactly one, what is made of them, and sums over them.

    What is made of the only block of rows in memory is computed once and kept. Rows of a folder are read in
    every pass: one block is in memory, and the next one on its way. A cluster (``spark_engine.py``) sends the
    functions to the blocks, and keeps sums next to them. It changes no bit, because all sums are integers.

    Args:
        read: reads the blocks, in the same order each time.
        n_blocks: how many there are.
        reader: the thread that reads from a folder; None for what is in memory. One thread for all passes:
            each new one would keep the memory of its blocks to itself.

    Attributes:
        most_cells: integers that the sums of one pass should have at most; None without a limit.

    Privacy: private.
    """

    most_cells: int | None = None

    def __init__(
        self,
        read: Callable[[], Iterable[Block]],
        n_blocks: int = 1,
        reader: ThreadPoolExecutor | None = None,
    ) -> None:
        self._read, self._n_blocks, self._reader = read, n_blocks, reader

    def blocks(self) -> Iterator[Block]:
        """The blocks, in an order that is the same in every pass. Privacy: private."""
        blocks = iter(self._read())
        if self._reader is None:
            yield from blocks
            return
        # One block ahead: the next is read while the caller works on this one.
        coming = self._reader.submit(next, blocks, _END)
        while (block := coming.result()) is not _END:
            coming = self._reader.submit(next, blocks, _END)
            yield block

    def map(self, function: Callable[[Any], Part]) -> "Engine[Part]":
        """Map ``function`` over the blocks, where each block is.

        A cluster sends this function, and that of ``total``, to its machines. So they hold settings and
        released arrays alone: no run, no grant, no engine, and nothing about other people.

        Privacy: private.
        """
        if self._reader is None:
            made = [function(block) for block in self._read()]
            return Engine(lambda: made)
        return Engine(lambda: map(function, self._read()), self._n_blocks, self._reader)

    def total(self, add: Callable[..., None], *shapes: Shape) -> list[Ints]:
        """Sums over all blocks: zeros of these shapes, to which ``add`` adds what each block contributes.

        Args:
            add: takes a block and an array of int64 for each shape, and adds to the arrays in place. The
                added values must not depend on the arrays' contents.
            shapes: shapes of the sums.

        Privacy: private; the caller that measures knows the bound.
        """
        sums = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        with fraction("summing") as shared:
            for number, block in enumerate(self.blocks()):
                shared.part(number, self._n_blocks)
                add(block, *sums)
                shared.reach(1, 1)
        return sums


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
    # A pass over all people for each band, with the same other sums in each: the last one's serve.
    for top, bottom in bands(n, most // n_triangles):
        sums = rows(top, bottom)
        parts = sums[len(others) :]
        for triangle, part in zip(triangles, parts, strict=True):
            triangle[filled : filled + len(part)] = part
        filled += len(parts[0])
    return [*sums[: len(others)], *triangles]
