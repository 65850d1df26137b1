"""The head of a catalogue: which items it has, and what is spread over the catalogue from it."""

import numpy as np
import pytest

from hushrec.estimation.head import Head
from hushrec.kernels.csr import unpack

COUNTS = np.array([3.0, 9.0, 0.5, 9.0, 4.0])


def test_the_items_with_the_largest_counts_ascend_by_them():
    assert Head.of(COUNTS, 3).items.tolist() == [4, 3, 1]


@pytest.mark.parametrize("most", [5, 6, 10**6])
def test_a_catalogue_without_a_tail_is_whole(most):
    head = Head.of(COUNTS, most)
    assert head.items.tolist() == [2, 0, 4, 3, 1]
    assert head.places.tolist() == [1, 4, 0, 3, 2]


def test_places_are_those_in_the_head():
    head = Head.of(COUNTS, 3)
    assert head.places.tolist() == [-1, 2, -1, 1, 0]
    assert head.places.dtype == np.int32


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_a_triangle_of_the_head_lies_at_the_pairs_of_its_items(most):
    head = Head.of(COUNTS, most)
    packed = np.arange(1, most * (most + 1) // 2 + 1, dtype=np.float32)
    whole = unpack(head.spread_triangle(packed), 5, np.float32)
    np.testing.assert_array_equal(whole[np.ix_(head.items, head.items)], unpack(packed, most, np.float32))
    assert np.count_nonzero(whole) == most**2
