"""The packed triangle against the full matrix."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.triangle import diagonal_positions, packed_size, renumbered, unpack


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_packed_layout(n):
    rng = default_rng(n)
    square = rng.integers(-9, 10, (n, n))
    square = square + square.T
    packed = square[np.triu_indices(n)]
    assert len(packed) == packed_size(n)
    assert packed[diagonal_positions(n)].tolist() == np.diag(square).tolist()
    for dtype in (np.int64, np.float32, np.float64):
        full = unpack(packed, n, dtype)
        assert full.dtype == dtype
        assert np.array_equal(full, square)
    with pytest.raises(ValueError, match="cells"):
        unpack(np.zeros(packed_size(n) + 1), n)


@pytest.mark.parametrize("n", [0, 1, 2, 9, 300])
def test_rows_and_columns_in_another_order(n):
    rng = default_rng(n)
    square = rng.integers(-(2**62), 2**62, (n, n))
    square = np.triu(square) + np.triu(square, 1).T
    places = rng.permutation(n).astype(np.int32)
    upper = np.triu_indices(n)
    for threads in (1, 3):
        made = renumbered(square[upper], places, threads=threads)
        assert np.array_equal(made, square[np.ix_(places, places)][upper])
    if n > 2:
        assert not np.array_equal(made, square[upper]), "the test would see a difference"


@pytest.mark.parametrize("places", [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1]])
def test_an_order_names_each_row_once(places):
    with pytest.raises(ValueError, match="each row of the triangle once"):
        renumbered(np.arange(6), np.array(places, np.int32))
