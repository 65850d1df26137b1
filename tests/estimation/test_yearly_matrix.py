"""A matrix over pairs of items is carried over and combined entry by entry, and its noise is not understated.

Statistical bounds are six standard errors or more wide: a false alarm has a chance below 1e-6, and the seeds
are fixed.
"""

import math

import numpy as np
import pytest
from scipy.linalg import orth

from hushrec.estimation.head import Head
from hushrec.estimation.yearly import SMOOTHING, UNKNOWN
from hushrec.estimation.yearly_matrix import YearlyMatrix, head_of, unpack_triangle
from hushrec.privacy.carried import Carried


def symmetric(rng, n, scale=1.0):
    upper = np.triu(rng.normal(0, scale, (n, n)))
    return (upper + np.triu(upper, 1).T).astype(np.float32)


def matrix_of(rng, items, n_items, size=100.0, misfit=0.0):
    """A matrix over these items of a catalogue, with a variance of each."""
    n = len(items)
    return YearlyMatrix(
        symmetric(rng, n, 10.0), rng.uniform(1, 9, n), misfit, Head(n_items, np.array(items)), size
    )


# -- packing ----------------------------------------------------------------------------------------------


def test_triangles_with_and_without_a_diagonal_are_unpacked():
    assert unpack_triangle(np.arange(1.0, 4.0), 3).tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    assert unpack_triangle(np.arange(1.0, 7.0), 3).tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    assert unpack_triangle(np.zeros(0), 1).tolist() == [[0]]


def test_what_is_handed_over_is_read_back_by_id(tmp_path):
    """Of a catalogue in another order that lost an item: it stays in the matrix, and is in no place."""
    made = matrix_of(np.random.default_rng(0), [3, 1, 0], 4, misfit=-0.5)
    Carried(("a", "b", "c", "d"), made.arrays("pairs")).save(tmp_path / "carried")
    kept = Carried.open(tmp_path / "carried")
    read = YearlyMatrix.of(kept, "pairs", ("new", "a", "d"))
    np.testing.assert_array_equal(read.matrix, made.matrix)
    np.testing.assert_array_equal(read.variance, made.variance)
    assert (read.misfit, read.size, read.head.n_items) == (-0.5, 100.0, 3)
    assert read.head.items.tolist() == [2, -1, 1]
    assert head_of(kept, "pairs", ("new", "a", "d")).places.tolist() == [-1, 2, 0]
    assert YearlyMatrix.of(kept, "others", ("a",)) is None
    assert YearlyMatrix.of(None, "pairs", ("a",)) is None
    assert head_of(kept, "others", ("a",)) is None
    assert head_of(None, "pairs", ("a",)) is None


# -- another head -----------------------------------------------------------------------------------------


def test_an_item_leaves_the_head_only_for_another_that_is_twice_as_common():
    before = Head(5, np.array([1, 0]))
    assert Head.of(np.array([10.0, 8.0, 15.9, 3.0, 1.0]), 2, before).items.tolist() == [1, 0]
    assert Head.of(np.array([10.0, 8.0, 16.1, 3.0, 1.0]), 2, before).items.tolist() == [0, 2]
    assert Head.of(np.array([10.0, 8.0, 15.9, 3.0, 1.0]), 2).items.tolist() == [0, 2]


# -- carried over, and combined ---------------------------------------------------------------------------


@pytest.mark.parametrize("grows", [False, True])
def test_entries_are_carried_over_by_item(grows):
    rng = np.random.default_rng(1)
    before = matrix_of(rng, [4, 0, 2, -1], 6, size=100.0, misfit=0.5)
    head, noise = Head(6, np.array([5, 2, 4, 1])), 3.0
    ratio = rng.uniform(0.5, 2, 4) if grows else None
    after = before.carry_over(250.0, head, noise, ratio)
    for i, one in enumerate(head.items):
        for j, other in enumerate(head.items):
            expected = 0.0
            if one in before.head.items and other in before.head.items:
                by = 2.5 * (ratio[i] * ratio[j] if grows else 1.0)
                row, column = (before.head.items.tolist().index(item) for item in (one, other))
                expected = by * before.matrix[row, column]
            assert after.matrix[i, j] == pytest.approx(expected, rel=1e-5)
        if one in before.head.items:
            by = 2.5**2 * (ratio[i] ** 4 if grows else 1.0)
            expected = by * before.variance[before.head.items.tolist().index(one)]
        else:
            expected = UNKNOWN * noise
        assert after.variance[i] == pytest.approx(expected)
    assert (after.misfit, after.size) == (2.5**2 * 0.5, 250.0)
    assert after.head is head


@pytest.mark.parametrize(("rank", "drift"), [(0, 0.0), (2, 0.0), (2, 0.2), (2, 3.0)])
def test_every_entry_moves_by_its_own_gain(rank, drift):
    """The formulas entry by entry, and the misfit in directions of factors."""
    rng, n, noise = np.random.default_rng(2), 300, 4.0
    before = matrix_of(rng, range(n), n)
    factors = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, rank + 1))  # some columns say nothing new
    measured = before.matrix + symmetric(rng, n, 3.0) + (drift * factors @ factors.T).astype(np.float32)
    after = before._replace(matrix=before.matrix.copy()).combine(measured.copy(), noise, factors)

    misfit, q, error = 0.0, before.variance, measured.astype(float) - before.matrix
    if rank:
        basis = orth(factors)
        assert basis.shape == (n, rank)
        beyond, weights = 0.0, 0.0
        for j in range(n):
            seen = sum((basis[:, k] @ error[:, j]) ** 2 for k in range(rank)) / rank
            by_noise = noise + math.sqrt(q[j]) * sum((basis**2).T @ np.sqrt(q)) / rank
            beyond += (seen - by_noise) / by_noise**2
            weights += 1 / by_noise**2
        misfit = SMOOTHING * beyond / weights
        assert (misfit > 1) == (drift > 0)
    assert after.misfit == pytest.approx(misfit, rel=1e-3, abs=1e-3)
    doubt = np.sqrt(np.outer(q, q)) + max(misfit, 0.0)
    gain = doubt / (doubt + noise)
    np.testing.assert_allclose(after.matrix, before.matrix + gain * error, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(after.matrix, after.matrix.T, atol=1e-4)


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (1.0, 25.0, 25.0), (25.0, 1.0, 4.0)])
def test_the_noise_of_an_entry_is_never_understated(shares):
    """Of old items, of a new one beside an old one, and of new ones, over three releases that add some.

    120 draws of 21 or more entries: the variance of the error over all has a standard error below 2.9 %.
    """
    rng, n, draws, of_items = np.random.default_rng(5), 30, 120, [16, 24, 30]
    errors = np.zeros((n, n))
    for _ in range(draws):
        year = None
        for count, noise in zip(of_items, shares, strict=True):
            truth, head = np.full((count, count), 7.0, dtype=np.float32), Head(n, np.arange(count))
            measured = truth + symmetric(rng, count, math.sqrt(noise))
            if year is None:
                year = YearlyMatrix(measured, np.full(count, noise), 0.0, head, 50.0)
            else:
                year = year.carry_over(50.0, head, noise).combine(measured, noise, np.zeros((count, 0)))
        errors += np.square(year.matrix - 7.0) / draws
    said = np.outer(year.sigma, year.sigma)
    groups = [slice(0, 16), slice(16, 24), slice(24, 30)]
    for first, one in enumerate(groups):
        for other in groups[first:]:
            part = errors[one, other].mean() / said[one, other].mean()
            assert part < 1 + 6 * 0.029
    assert errors[:16, :16].mean() / said[:16, :16].mean() > 1 - 6 * 0.029, "of old items it is exact"
    assert errors[:16, 24:].mean() / said[:16, 24:].mean() > 0.5
