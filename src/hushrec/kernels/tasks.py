"""Rows cut into tasks of about equal work, which threads take one after the other."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from hushrec.arrays import Ints

__all__ = ["TASKS", "in_threads", "spans"]

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
