"""Compilation by numba, kept on disk where numba finds a folder; and rows cut into tasks for threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache as untyped_cache

from hushrec.arrays import Ints

cache: Any = untyped_cache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop, as ``numba.njit`` does; the result is kept on disk if it can be, and runs if not.

    numba alone raises where it finds no folder: in a read-only installation whose user has no home to write
    to. A folder for all in ``/tmp`` would be no way out: what is kept there is pickled, so its owner
    could run code here.

    Args:
        options: of ``numba.njit``, without ``cache``.
    """

    def decorated(function: Callable[..., Any]) -> Any:
        loop = numba.njit(**options)(function)  # noqa: TID251  (here alone)
        with suppress(RuntimeError):
            loop._cache = _Kept(function)
        return loop

    return decorated


class _Kept(cache):  # type: ignore[misc]
    """Numba's cache, whose disk may become full or go away after a release is charged."""

    def load_overload(self, *call: Any) -> Any:
        with suppress(OSError):
            return super().load_overload(*call)
        return None

    def save_overload(self, *call: Any) -> None:
        with suppress(OSError):
            super().save_overload(*call)


TASKS = 16
"""Per thread, of loops whose cost is not known exactly: the last to finish determines the time; by hand."""


def spans(work: Ints, number: int) -> list[tuple[int, int]]:
    """Cut rows into ``number`` spans, from begin to end, of about equal work; some may be empty.

    Args:
        work: up to each row, then all of it, ascending from 0, shape (n_rows + 1,), as ``indptr``.
    """
    cuts = np.searchsorted(work, np.linspace(0, work[-1], number + 1)[1:-1])
    return list(pairwise([0, *cuts.tolist(), len(work) - 1]))


def in_threads(
    kernel: Callable[..., Any], tasks: Iterable[tuple[int, int]], *common: Any, threads: int
) -> list[Any]:
    """Return ``kernel(begin, end, *common)`` for each task, in their order."""
    if threads == 1:  # a thread costs more than a small task
        return [kernel(*task, *common) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda task: kernel(*task, *common), tasks))
