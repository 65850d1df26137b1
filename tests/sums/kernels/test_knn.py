"""Nearest neighbours against plain NumPy, target by target."""

import numpy as np
import pytest

from hushrec.sums.kernels.neighbours import COSINE, PEARSON, SQUARED, item_knn, similarities, user_knn

DISTANCES = pytest.mark.parametrize("distance", [SQUARED, COSINE, PEARSON])
KS = np.array([1, 2, 5, 1000])


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


def nearness(a, b, distance):
    """The smaller the nearer, with ties where the numbers agree to 7 digits."""
    a, b = vector(a, distance), vector(b, distance)
    if distance == SQUARED:
        return np.float32(((a - b) ** 2).sum())
    return np.rint((1 - cosine(a, b)) * 2**23)


def reference_user_knn(table, queries, who, targets, own, ks, distance, *, leave_out=True):
    """DLP §IV.B as it is written; ``leave_out=False`` is a fault: the hidden item is compared as well."""
    found = np.full((len(who), len(ks)), np.nan)
    for t, (query, item) in enumerate(zip(who, targets, strict=True)):
        raters = [u for u in np.flatnonzero(~np.isnan(table[:, item])) if u != own[query]]
        others = table.copy()
        if leave_out:
            others[:, item] = np.nan
        if raters and np.isnan(queries[query]).all():
            found[t] = table[raters, item].mean()
        elif raters:
            apart = [nearness(queries[query], others[u], distance) for u in raters]
            order = np.array(raters)[np.argsort(apart, kind="stable")]
            found[t] = [table[order[:k], item].mean() for k in ks]
    return found


def reference_item_knn(similarity, means, queries, who, targets, ks):
    found = np.empty((len(who), len(ks)))
    for t, (query, item) in enumerate(zip(who, targets, strict=True)):
        rated = np.flatnonzero(~np.isnan(queries[query]) & (similarity[item] > 0))
        order = rated[np.argsort(-similarity[item, rated], kind="stable")]
        for at, k in enumerate(ks):
            s, residual = similarity[item, order[:k]], (queries[query] - means)[order[:k]]
            found[t, at] = means[item] + (s @ residual / s.sum() if len(s) else 0.0)
    return found


def case(seed, n_rows=40, n_items=25, whole=True):
    """A table, people who ask with hidden ratings, their targets and their own rows.

    A row and an item are empty, a row and an item hold one value only, and one person asks without ratings.
    """
    rng = np.random.default_rng(seed)
    shape = n_rows, n_items
    table = rng.integers(1, 6, shape) if whole else rng.uniform(-1, 3, shape).astype(np.float32)
    table = np.where(rng.random(shape) < 0.5, table, np.nan).astype(np.float64)
    table[3], table[:, 4] = np.nan, np.nan
    table[5], table[6:, 6] = np.where(np.isnan(table[5]), np.nan, 3), 2
    queries, own = table[::2].copy(), np.arange(0, n_rows, 2)
    queries[4], own[4:8] = np.nan, -1
    who = rng.permutation(np.repeat(np.arange(len(queries)), 3))
    targets = rng.integers(0, n_items, len(who))
    queries[who, targets] = np.nan
    return table, queries, who, targets, own


def asked(table, queries, who, targets, own, distance, ks=KS, **options):
    return user_knn(*rows_of(table), *rows_of(queries), who, targets, own, ks, distance, **options)


# -- people -----------------------------------------------------------------------------------------------


@DISTANCES
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_its_reference_finds(distance, whole, seed):
    parts = case(seed, whole=whole)
    np.testing.assert_allclose(
        asked(*parts, distance), reference_user_knn(*parts, KS, distance), rtol=1e-6, atol=1e-12
    )


# -- items ------------------------------------------------------------------------------------------------


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


@DISTANCES
@pytest.mark.parametrize("whole", [True, False])
def test_similarities_are_what_their_reference_finds(distance, whole):
    table, *_ = case(3, whole=whole)
    indptr, items, values = rows_of(table)
    found = similarities(indptr, items, values, 25, distance)
    expected = reference_similarities(table, distance)
    np.testing.assert_allclose(found, expected[np.triu_indices(25)], atol=1e-6)
    np.testing.assert_array_equal(similarities(indptr, items, values, 25, distance, threads=1), found)
    other = reference_similarities(table, (distance + 1) % 3)
    assert np.abs(found - other[np.triu_indices(25)]).max() > 0.1


@DISTANCES
@pytest.mark.parametrize("seed", range(3))
def test_similar_items_are_what_their_reference_finds(distance, seed):
    table, queries, who, targets, _ = case(seed)
    counts = (~np.isnan(table)).sum(axis=0)
    means = np.where(counts > 0, np.nansum(table, axis=0) / np.maximum(counts, 1), 3.0)
    packed = similarities(*rows_of(table), 25, distance)
    full = np.zeros((25, 25), np.float32)
    full[np.triu_indices(25)] = packed
    full = (full + np.triu(full, 1).T).astype(np.float64)
    found = item_knn(packed, means, *rows_of(queries), who, targets, KS)
    np.testing.assert_allclose(
        found, reference_item_knn(full, means, queries, who, targets, KS), rtol=1e-6, atol=1e-9
    )
    one = item_knn(packed, means, *rows_of(queries), who, targets, KS, threads=1)
    np.testing.assert_array_equal(one, found)
    wrong = reference_item_knn(full, means + np.arange(25) / 25, queries, who, targets, KS)
    assert np.abs(found - wrong).max() > 0.1
