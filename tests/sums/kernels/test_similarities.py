"""Similarities of items against plain NumPy, pair by pair."""

import numpy as np
import pytest

from hushrec.sums.kernels.neighbours import COSINE, PEARSON, SQUARED, similarities

DISTANCES = pytest.mark.parametrize("distance", [SQUARED, COSINE, PEARSON])


def rows_of(table):
    """Compressed rows of a table that is NaN where nothing is rated."""
    rated = ~np.isnan(table)
    indptr = np.concatenate([[0], np.cumsum(rated.sum(axis=1))]).astype(np.int64)
    return indptr, np.nonzero(rated)[1].astype(np.int32), table[rated].astype(np.float32)


def vector(row, distance):
    """0 where nothing is rated; centred on its own mean if the distance asks for it."""
    if np.isnan(row).all():
        return np.zeros(len(row))
    mean = np.nanmean(row) if distance == PEARSON else 0.0
    return np.where(np.isnan(row), 0.0, np.round(row - mean, 12))


def cosine(a, b):
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return a @ b / length if length > 1e-6 else 0.0


def reference_similarities(table, distance):
    columns = [vector(column, distance) for column in table.T]
    rated = ~np.isnan(table).all(axis=0)
    n = len(columns)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if distance == SQUARED:
                found[i, j] = 1 / (1 + ((columns[i] - columns[j]) ** 2).sum())
            elif rated[i] and rated[j]:
                found[i, j] = cosine(columns[i], columns[j])
    return found


def table_of(seed, n_rows=40, n_items=25, whole=True):
    """A row and an item are empty, and a row and an item hold one value only."""
    rng = np.random.default_rng(seed)
    shape = n_rows, n_items
    table = rng.integers(1, 6, shape) if whole else rng.uniform(-1, 3, shape).astype(np.float32)
    table = np.where(rng.random(shape) < 0.5, table, np.nan).astype(np.float64)
    table[3], table[:, 4] = np.nan, np.nan
    table[5], table[6:, 6] = np.where(np.isnan(table[5]), np.nan, 3), 2
    return table


@DISTANCES
@pytest.mark.parametrize("whole", [True, False])
def test_similarities_are_what_their_reference_finds(distance, whole):
    table = table_of(3, whole=whole)
    indptr, items, values = rows_of(table)
    found = similarities(indptr, items, values, 25, distance)
    expected = reference_similarities(table, distance)
    np.testing.assert_allclose(found, expected[np.triu_indices(25)], atol=1e-6)
    np.testing.assert_array_equal(similarities(indptr, items, values, 25, distance, threads=1), found)
    other = reference_similarities(table, (distance + 1) % 3)
    assert np.abs(found - other[np.triu_indices(25)]).max() > 0.1
