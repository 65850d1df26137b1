"""Compressed rows regrouped by column, against a stable sort."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.transpose import transpose


def rows_of(counts, n_columns, rng):
    """Rows of so many ratings, of distinct columns in any order."""
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns = [rng.permutation(n_columns)[:count] for count in counts]
    return indptr, np.concatenate(columns).astype(np.int32)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_transpose_is_a_stable_sort(threads):
    rng = default_rng(threads)
    indptr, columns = rows_of(rng.integers(0, 30, 100), 30, rng)
    starts, rows, order = transpose(indptr, columns, 35, threads=threads)
    want = np.argsort(columns, kind="stable")
    assert np.array_equal(order, want)
    assert not np.array_equal(order, np.lexsort((-np.arange(len(columns)), columns)))
    assert np.array_equal(rows, np.repeat(np.arange(100), np.diff(indptr))[want])
    assert np.array_equal(np.diff(starts), np.bincount(columns, minlength=35))
    assert (starts.dtype, rows.dtype, order.dtype) == (np.int64, np.int32, np.int32)
    back, users, again = transpose(starts, rows, 100, threads=threads)
    assert np.array_equal(back, indptr)
    assert np.array_equal(users, np.sort(columns.reshape(-1)[order])[again])
