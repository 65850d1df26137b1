"""The packed triangle against the full matrix."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.csr import bands, diagonal_positions, packed_size, unpack


@pytest.mark.parametrize("n", [0, 1, 2, 9, 64, 200])
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


@pytest.mark.parametrize("n", [0, 1, 2, 9, 64, 200])
@pytest.mark.parametrize("most", [1, 10, 300, 10**6])
def test_bands_cover_each_row_once_and_are_as_large_as_they_may_be(n, most):
    cut = bands(n, most)
    assert [row for top, bottom in cut for row in range(top, bottom)] == [*range(n)]
    for top, bottom in cut:
        cells = sum(n - row for row in range(top, bottom))
        assert cells <= most or bottom - top == 1
        assert bottom == n or cells + n - bottom > most
