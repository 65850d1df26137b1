"""Parts of a nearest-neighbour search: queries, cut into tasks, and the smallest of many codes.

A *query* is one user's ratings, in compressed rows, and a *target* is an item to predict for that query.
Distance is a 32-bit code, smaller for nearer rows; with a position in its lower half it is a word, so the
order of words is the order of neighbours with ties broken by position.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32, Words
from hushrec.kernels.compiled import compiled
from hushrec.kernels.csr import check_rows, frozen
from hushrec.kernels.tasks import TASKS, in_threads, spans

LOW = 0xFFFFFFFF
"""The lower half of a word, which holds the position."""
_U = np.uint64

__all__ = ["LOW", "checked", "each_query", "offer"]


def checked(
    indptr: Ints, items: Ints32, values: Floats32, who: Ints, targets: Ints, k_values: Ints, n_items: int
) -> tuple[Any, ...]:
    """Check the arguments about queries and convert them to the types of the loops."""
    check_rows(indptr, items, n_items)
    if values.shape != items.shape or who.shape != targets.shape or (k_values < 1).any():
        raise ValueError("each rating must have a value, each target a query, and K must be 1 or more")
    if len(targets) and not (
        targets.min() >= 0 and targets.max() < n_items and who.min() >= 0 and who.max() < len(indptr) - 1
    ):
        raise ValueError("targets must lie among the queries and the items")
    return (
        frozen(indptr, np.int64),
        frozen(items, np.int32),
        frozen(values, np.float32),
        frozen(who, np.int64),
        frozen(targets, np.int64),
        frozen(k_values, np.int64),
    )


def each_query(
    kernel: Callable[..., bool], queries: tuple[Any, ...], common: tuple[Any, ...], threads: int
) -> Floats:
    """Run the kernel on targets sorted by query, in tasks that never split a query."""
    indptr, items, values, who, targets, k_values = queries
    if threads < 1:
        raise ValueError("use 1 thread or more")
    order = np.argsort(who, kind="stable")
    who, targets = frozen(who[order], np.int64), frozen(targets[order], np.int64)
    predictions = np.empty((len(who), len(k_values)))
    ends = np.concatenate([[0], np.flatnonzero(np.diff(who, append=-1)) + 1])  # of each query's targets
    tasks = [(ends[begin], ends[end]) for begin, end in spans(ends, TASKS * threads)]
    arguments = indptr, items, values, who, targets, k_values, *common, predictions
    if not all(in_threads(kernel, tasks, *arguments, threads=threads)):
        raise ValueError("a query rates its target; leave that rating out of the query")
    result = np.empty_like(predictions)
    result[order] = predictions
    return result


@compiled(nogil=True, inline="always")
def _sift(heap: Words, at: int, size: int) -> None:
    """Sift ``heap[at]`` down among the first ``size``, with the largest on top."""
    code = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= code:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = code


@compiled(nogil=True, inline="always")
def offer(heap: Words, size: int, code: np.int64, position: np.int64) -> int:
    """Offer a code to a heap that holds the smallest, ties by position; return the heap's new size."""
    word = _U(code) << _U(32) | _U(position)
    if size < len(heap):
        heap[size] = word
        size += 1
        if size == len(heap):
            for at in range(size // 2 - 1, -1, -1):
                _sift(heap, at, size)
    elif word < heap[0]:
        heap[0] = word
        _sift(heap, 0, size)
    return size
