"""Where private rows are, and where they are summed: in memory, block by block from files, or in Spark.

Every private sum is a function that adds what one block of people contributes to integers, and addition. So
any cut of the people into blocks, in any order, gives the same bits, and a sum does not know its engine.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from hushrec.arrays import Ints, Shape
from hushrec.data.anywhere import AnyPeople
from hushrec.data.people import People
from hushrec.data.spark.people import SparkPeople
from hushrec.kernels.csr import bands, packed_size
from hushrec.progress import fraction
from hushrec.sums.spark_engine import SparkRows

Part = TypeVar("Part")
Block = TypeVar("Block", covariant=True)
_END: Any = object()


class Engine(Protocol[Block]):
    """Blocks of private rows, each person in exactly one, and sums over them.

    A cluster is one more implementation (``spark_engine.py``): it sends the functions to the blocks, keeps
    sums next to them, and adds those. It changes no bit, because all sums are integers.

    Attributes:
        most_cells: integers that the sums of one pass should have at most; None without a limit.

    Privacy: private.
    """

    most_cells: int | None

    def blocks(self) -> Iterator[Block]:
        """The blocks, in an order that is the same in every pass. Privacy: private."""
        ...

    def map(self, function: Callable[[Any], Part]) -> "Engine[Part]":
        """Map ``function`` over the blocks, where each block is; memory keeps the results.

        A cluster sends this function, and that of ``total``, to its machines. So they hold settings and
        released arrays alone: no run, no grant, no engine, and nothing about other people.

        Privacy: private.
        """
        ...

    def total(self, add: Callable[..., None], *shapes: Shape) -> list[Ints]:
        """Sums over all blocks: zeros of these shapes, to which ``add`` adds what each block contributes.

        Args:
            add: takes a block and an array of int64 for each shape, and adds to the arrays in place. The
                added values must not depend on the arrays' contents.
            shapes: shapes of the sums.

        Privacy: private; the caller that measures knows the bound.
        """
        ...


class Memory(Generic[Block]):
    """One block of rows in memory: what is computed from it is computed once and kept.

    Args:
        block: the only block.

    Privacy: private.
    """

    most_cells: int | None = None

    def __init__(self, block: Block) -> None:
        self._block = block

    def blocks(self) -> Iterator[Block]:
        """The only block. Privacy: private."""
        yield self._block

    def map(self, function: Callable[[Any], Part]) -> Engine[Part]:
        """As in ``Engine``, computed at once and kept. Privacy: private."""
        return Memory(function(self._block))

    def total(self, add: Callable[..., None], *shapes: Shape) -> list[Ints]:
        """As in ``Engine``. Privacy: private."""
        return _total(self.blocks(), 1, add, shapes)


class BlockFiles(Generic[Block]):
    """Rows that are read from files in every pass: one block in memory, and the next one on its way.

    Args:
        read: reads the blocks, in the same order each time.
        n_blocks: how many there are.

    Privacy: private.
    """

    most_cells: int | None = None

    def __init__(
        self, read: Callable[[], Iterable[Block]], n_blocks: int, reader: ThreadPoolExecutor | None = None
    ) -> None:
        self._read, self._n_blocks = read, n_blocks
        # One thread for all passes: each new one would keep the memory of its blocks to itself.
        self._reader = reader or ThreadPoolExecutor(1)

    def blocks(self) -> Iterator[Block]:
        """The blocks, each read while the one before is in use. Privacy: private."""
        blocks = iter(self._read())
        coming = self._reader.submit(next, blocks, _END)
        while (block := coming.result()) is not _END:
            coming = self._reader.submit(next, blocks, _END)
            yield block

    def map(self, function: Callable[[Any], Part]) -> Engine[Part]:
        """As in ``Engine``, computed again in every pass. Privacy: private."""
        return BlockFiles(lambda: map(function, self._read()), self._n_blocks, self._reader)

    def total(self, add: Callable[..., None], *shapes: Shape) -> list[Ints]:
        """As in ``Engine``. Privacy: private."""
        return _total(self.blocks(), self._n_blocks, add, shapes)


def engine_of(source: AnyPeople) -> Engine[Any]:
    """The engine for ratings or interactions, wherever they are. Privacy: private."""
    if isinstance(source, SparkPeople):
        return SparkRows(source)
    if isinstance(source, People) and source.folder is not None:
        return BlockFiles(source.blocks, source.n_blocks)
    return Memory(source)


def rows_here(source: AnyPeople) -> People | None:
    """People whose rows are all in memory; None of others.

    Privacy: private.
    """
    return source if isinstance(source, People) and source.folder is None else None


def _total(
    blocks: Iterable[Any], n_blocks: int, add: Callable[..., None], shapes: Iterable[Shape]
) -> list[Ints]:
    sums = [np.zeros(shape, dtype=np.int64) for shape in shapes]
    with fraction("summing") as shared:
        for number, block in enumerate(blocks):
            shared.part(number, n_blocks)
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
    for top, bottom in bands(n, most // n_triangles):
        sums = rows(top, bottom)
        parts = sums[len(others) :]
        for triangle, part in zip(triangles, parts, strict=True):
            triangle[filled : filled + len(part)] = part
        filled += len(parts[0])
    return [*sums[: len(others)], *triangles]
