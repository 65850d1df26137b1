"""Queries in tasks, and the smallest of many codes, against sorting."""

import threading

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.sums.kernels import neighbours

INDPTR, ITEMS = np.array([0, 2, 2, 3]), np.array([0, 4, 1], np.int32)
FINE = {
    "indptr": INDPTR,
    "items": ITEMS,
    "values": np.ones(3, np.float32),
    "who": np.array([2, 0, 0]),
    "targets": np.array([4, 1, 2]),
    "k_values": np.array([1, 5]),
    "n_items": 5,
}


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 40, 500])
def test_offers_keep_the_smallest_codes_with_ties_by_position(k, mixed, monkeypatch):
    """The loop itself, in Python."""
    monkeypatch.setattr(neighbours, "_sift", neighbours._sift.py_func)
    rng, heap, size = default_rng(k), np.zeros(k, np.uint64), 0
    codes = rng.choice([0, 1, 2, 2**32 - 1], 200) if mixed else np.full(200, 7)
    for position in rng.permutation(200) if mixed else range(200):
        size = neighbours.offer.py_func(heap, size, codes[position], position)
    assert size == min(k, 200)
    kept = sorted((int(word >> np.uint64(32)), int(word) & neighbours.LOW) for word in heap[:size])
    assert kept == sorted((int(code), position) for position, code in enumerate(codes))[:k]
    if size == k:
        assert heap[0] == heap.max(), "the largest is on top"


def test_what_fits_is_given_to_the_loops_as_they_take_it():
    found = neighbours.checked(**FINE)
    for array, name, dtype in zip(found, list(FINE)[:6], ("i8", "i4", "f4", "i8", "i8", "i8"), strict=True):
        assert (array.dtype, array.tolist()) == (np.dtype(dtype), FINE[name].tolist())
        assert not array.flags.writeable


@pytest.mark.parametrize(
    "spoil",
    [
        {"indptr": np.array([0, 2, 2, 4])},
        {"items": np.array([0, 5, 1], np.int32)},
        {"values": np.ones(2, np.float32)},
        {"who": np.array([2, 0])},
        {"who": np.array([3, 0, 0])},
        {"who": np.array([-1, 0, 0])},
        {"targets": np.array([5, 1, 2])},
        {"targets": np.array([-1, 1, 2])},
        {"k_values": np.array([1, 0])},
    ],
)
def test_what_does_not_fit_is_refused(spoil):
    with pytest.raises(ValueError, match="must"):
        neighbours.checked(**(FINE | spoil))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n_queries", [1, 5, 300])
def test_every_target_is_asked_once_and_answered_in_its_place(threads, n_queries):
    """No query's targets are cut apart, for a task begins by reading the query."""
    rng = default_rng(n_queries)
    who, targets = rng.integers(0, n_queries, 1000), rng.integers(0, 99, 1000)
    lock, tasks = threading.Lock(), []

    def kernel(begin, end, _indptr, _items, _values, who, targets, k_values, extra, found):
        with lock:
            tasks.append(set(who[begin:end].tolist()))
        found[begin:end] = (1000 * who + targets)[begin:end, None] + k_values + extra
        return True

    queries = None, None, None, who, targets, np.array([1, 2])
    found = neighbours.each_query(kernel, queries, (0.5,), threads)
    np.testing.assert_array_equal(found, (1000 * who + targets)[:, None] + [1.5, 2.5])
    assert sum(map(len, tasks)) == len(set(who.tolist()))
    assert n_queries < 300 or len(tasks) > 10


def test_a_task_that_fails_and_no_threads_are_told():
    queries = neighbours.checked(**FINE)
    with pytest.raises(ValueError, match="rates its target"):
        neighbours.each_query(lambda begin, *_: begin == 0, queries, (), 1)
    with pytest.raises(ValueError, match="1 thread"):
        neighbours.each_query(lambda *_: True, queries, (), 0)
    nobody = *queries[:3], queries[3][:0], queries[4][:0], queries[5]
    assert neighbours.each_query(lambda *_: True, nobody, (), 2).shape == (0, 2)
