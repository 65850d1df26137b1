"""Compressed rows are checked before a compiled loop, which checks nothing, gets them."""

import numpy as np
import pytest

from hushrec.kernels.csr import check_rows, frozen, kept_rows

INDPTR, COLUMNS = np.array([0, 2, 2, 3]), np.array([0, 4, 1], np.int32)


def test_rows_that_fit_pass():
    check_rows(INDPTR, COLUMNS, 5)
    check_rows(np.zeros(1, np.int64), COLUMNS[:0], 0)
    check_rows(np.zeros(4, np.int64), COLUMNS[:0], 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": INDPTR[:0]}, "indptr must run"),
        ({"indptr": INDPTR + 1}, "indptr must run"),
        ({"indptr": INDPTR[:-1]}, "indptr must run"),
        ({"indptr": np.array([0, 2, 2, 4])}, "indptr must run"),
        ({"indptr": np.array([0, 2, 1, 3])}, "not descend"),
        ({"n_columns": 4}, "must lie"),
        ({"columns": np.array([0, -1, 1], np.int32)}, "must lie"),
    ],
)
def test_rows_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        check_rows(**({"indptr": INDPTR, "columns": COLUMNS, "n_columns": 5} | change))


def test_rows_of_what_is_kept_may_be_empty():
    kept = np.array([False, True, True, False, False])
    assert kept_rows(np.array([0, 2, 3, 3, 5]), kept).tolist() == [0, 1, 2, 2, 2]
    assert kept_rows(np.array([0]), kept[:0]).tolist() == [0]


def test_what_fits_already_is_frozen_without_a_copy():
    array = np.arange(6)
    view = frozen(array, np.int64)
    assert np.shares_memory(view, array)
    assert not view.flags.writeable
    array[0] = 7  # the caller may still write to theirs
    assert view[0] == 7


def test_other_arrays_are_widened_or_made_contiguous():
    narrow, gaps = np.arange(6, dtype=np.int32), np.arange(12)[::2]
    for array in (narrow, gaps):
        view = frozen(array, np.int64)
        assert (view.dtype, view.tolist()) == (np.int64, array.tolist())
        assert view.flags.c_contiguous
        assert not view.flags.writeable
    assert narrow.flags.writeable
    for array, dtype in ((np.arange(3.0), np.int64), (np.arange(3), np.int32)):
        with pytest.raises(TypeError, match="Cannot cast"):
            frozen(array, dtype)
