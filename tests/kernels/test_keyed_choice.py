"""The choice by a keyed hash against a few lines of NumPy."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.keyed_choice import hashes, reference_smallest, smallest

KNOWN = [0, 804215951, 2942812257, 3459073689, 697053500]


def rows(rng, sizes):
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    items = np.concatenate([np.sort(rng.choice(20_000, size, replace=False)) for size in sizes])
    return indptr, items.astype(np.int32), rng.integers(0, 2**64, len(sizes), np.uint64)


@pytest.mark.parametrize("most", [1, 2, 17, 200, 5_000])
def test_equals_numpy(most):
    """Rows from one item to four times as many as there are buckets of hashes."""
    case = rows(default_rng(most), [1, 2, 18, 300, 4_096, 16_384])
    kept = smallest(*case, most)
    assert np.array_equal(kept, reference_smallest(*case, most))
    assert np.add.reduceat(kept, case[0][:-1]).tolist() == [min(n, most) for n in np.diff(case[0])]


def test_the_hash_is_a_bijection_and_that_of_every_version():
    """Another hash would keep other ratings of the same people: known answers."""
    case = (
        np.array([0, 3, 5]),
        np.array([0, 1, 2**31 - 1, 0, 1], np.int32),
        np.array([0, 2**64 - 1], np.uint64),
    )
    assert hashes(*case).tolist() == KNOWN
    many = np.array([0, 200_000]), np.arange(200_000, dtype=np.int32), np.array([123456789], np.uint64)
    assert len(np.unique(hashes(*many))) == 200_000
