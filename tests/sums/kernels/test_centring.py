"""Centred entries against NumPy, and their weighted sums against Python's integers."""

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.sums.kernels.centring import centre, reference_centre, truncated_item_sums, weighted_item_sums
from hushrec.sums.sensitivity import shift_of_mean


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(-1, 5),
    st.integers(-3000, 3000),
    st.integers(1, 9000),
)
def test_centring_equals_its_reference(rows, reg, prior, bound):
    steps = np.array([s for row in rows for s in row], dtype=np.uint8)
    indptr = np.cumsum([0, *map(len, rows)])
    items = np.concatenate([np.arange(len(row)) for row in rows]).astype(np.int32)
    offsets = np.linspace(3000, 21_000, 8).astype(np.int64)
    arguments = (indptr, items, steps, np.arange(1, 6) * 4096, offsets, 8192, prior, reg, bound)
    np.testing.assert_array_equal(centre(*arguments), reference_centre(*arguments))


def test_a_new_rating_moves_the_others_by_their_shift_of_which_the_step_is_needed():
    """The largest distance of a rating to a mean, which is rounded down."""
    for c, reg in itertools.product((1, 2, 5), (0, 1, 6)):
        steps = np.array([*[0] * c, *[0] * c, 1], np.uint8)
        rows = np.array([0, c, 2 * c + 1]), np.array([*range(c), *range(c + 1)], np.int32), steps
        offsets = np.zeros(c + 1, np.int64)
        entries = centre(*rows, np.array([499, -498]), offsets, 500, 499, reg, 1000)
        (most,) = shift_of_mean(np.array([c + 1.0]), 997.0, reg, 1.0)
        assert 997 / (c + 1 + reg) < entries[c] - entries[0] <= most


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-9000, 9000)), max_size=9), st.integers(0, 12))
def test_weighted_sums_equal_those_of_pythons_integers(ratings, dropped):
    """One sum rounds each term down, the other one toward zero."""
    weights = np.array([0, 1, 4095])
    indptr = np.array([0, len(ratings) // 3, len(ratings) // 2, len(ratings)])
    items = np.array([item for item, _ in ratings], np.int32)
    entries = np.array([entry for _, entry in ratings], np.int32)
    down, toward_zero = [0, 0, 0], [0, 0, 0]
    for place, (item, entry) in enumerate(ratings):
        product = int(weights[np.searchsorted(indptr, place, side="right") - 1]) * entry
        down[item] += product // 2**dropped
        toward_zero[item] += int(math.copysign(abs(product) // 2**dropped, product))
    arguments = indptr, items, entries, weights, dropped, 3
    assert weighted_item_sums(*arguments).tolist() == down
    assert truncated_item_sums(*arguments).tolist() == toward_zero


def test_a_truncated_term_is_at_most_its_weights_share():
    """Rounded down, a negative term of small weight would be more than that."""
    one, item, entry = np.array([0, 1]), np.zeros(1, np.int32), np.array([-1000], np.int32)
    for weight in range(1, 5000, 7):
        arguments = one, item, entry, np.array([weight]), 12, 1
        assert abs(truncated_item_sums(*arguments)[0]) * 4096 <= weight * 1000
        assert abs(weighted_item_sums(*arguments)[0]) * 4096 >= weight * 1000
