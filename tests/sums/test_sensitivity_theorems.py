"""The theorems of docs/theorems.md on random vectors: no counterexample, and the constants are tight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.sums.sensitivity import pairs_interaction, pairs_user

ENTRIES = st.floats(-1e3, 1e3, allow_subnormal=False)
VECTORS = st.integers(2, 8).flatmap(lambda n: st.lists(ENTRIES, min_size=n, max_size=n)).map(np.array)


def above(matrix):
    return float(np.linalg.norm(matrix[np.triu_indices(len(matrix), 1)]))


def over_length(z):
    """z zᵀ/‖z‖."""
    length = np.linalg.norm(z)
    return np.outer(z, z) / length if length else np.zeros((len(z), len(z)))


@given(VECTORS)
def test_half_of_a_unit_vectors_outer_product_lies_above_the_diagonal(z):
    length = np.linalg.norm(z)
    if length > 1e-100:
        z = z / length
        assert above(np.outer(z, z)) <= np.sqrt(0.5) + 1e-12
        assert above(np.outer(z, z)) <= pairs_user(len(z), 0.0)


@pytest.mark.full
def test_the_half_is_reached():
    z = np.full(10_000, 0.01)
    assert above(np.outer(z, z)) > np.sqrt(0.5) - 1e-4


@settings(max_examples=300)
@given(VECTORS, st.data())
def test_an_outer_product_over_its_length_moves_by_root_two_times_the_vector(z, data):
    moved = z + np.array(data.draw(st.lists(ENTRIES, min_size=len(z), max_size=len(z))))
    change = over_length(z) - over_length(moved)
    distance = np.linalg.norm(z - moved)
    rounding = 1e-12 * (np.linalg.norm(z) + np.linalg.norm(moved))
    assert np.linalg.norm(change) <= np.sqrt(2) * distance + rounding
    assert above(change) <= distance + rounding
    assert above(change) <= pairs_interaction(len(z), 0.0, 0.0, 0.0) * distance + rounding


@pytest.mark.parametrize("constant", [1.41, 1.4143])
def test_root_two_is_the_best_constant(constant):
    z, across = np.array([1.0, 0.0]), np.array([0.0, 1e-4])
    found = np.linalg.norm(over_length(z) - over_length(z + across)) / 1e-4
    assert (found > constant) is (constant < np.sqrt(2))
