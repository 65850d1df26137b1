"""Merging listed cells among those that are there, against a dense walk."""

import itertools

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.privacy.noise.threshold import merge


def dense(matrix: Ints, there: np.ndarray, gaps: Ints, excesses: Ints, threshold: int, limit: int) -> Ints:
    """What is listed, as a dense matrix: one empty cell after the other."""
    listed = np.zeros_like(matrix)
    left, drawn = gaps[0], 0
    for cell in np.ndindex(*matrix.shape):
        if there[cell]:
            value = matrix[cell]
            listed[cell] = np.clip(value, -limit, limit) if abs(value) >= threshold else 0
        elif left:
            left -= 1
        else:
            excess = excesses[drawn]
            size = min(threshold + max(excess, ~excess), limit)
            listed[cell] = size if excess >= 0 else -size
            drawn += 1
            left = gaps[drawn]
    return listed


def merged(matrix: Ints, there: np.ndarray, gaps: Ints, excesses: Ints, threshold: int, limit: int) -> Ints:
    rows, columns = matrix.shape
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    reached, cells = np.full((2, matrix.size), -(10**6), np.int32)
    counts = np.empty(rows, np.int64)
    size = merge(
        starts,
        np.nonzero(there)[1].astype(np.int32),
        matrix[there],
        gaps,
        excesses,
        columns,
        threshold,
        limit,
        reached,
        cells,
        counts,
    )
    assert size == counts.sum()
    ends = np.concatenate([[0], np.cumsum(counts)])
    for first, last in itertools.pairwise(ends):
        assert np.all(np.diff(reached[first:last]) > 0)
    listed = np.zeros_like(matrix)
    listed[np.repeat(np.arange(rows), counts), reached[:size]] = cells[:size]
    return listed


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (30, 1), (7, 5), (12, 33)])
@pytest.mark.parametrize("filled", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("longest", [1, 3, 30, 1000])
def test_cells_are_listed_as_by_a_walk(shape: tuple[int, int], filled: float, longest: int) -> None:
    for seed in range(10):
        generator = np.random.default_rng(seed)
        there = generator.random(shape) < filled
        matrix = np.where(there, generator.integers(-9, 10, shape), 0)
        gaps = generator.integers(0, longest, matrix.size + 1)
        gaps[-1] = 2**31
        excesses = generator.integers(-4, 4, matrix.size + 1)
        limits = (4, 6)
        np.testing.assert_array_equal(
            merged(matrix, there, gaps, excesses, *limits), dense(matrix, there, gaps, excesses, *limits)
        )


def test_a_gap_that_counts_cells_which_are_there_is_found() -> None:
    generator = np.random.default_rng(0)
    there = generator.random((6, 20)) < 0.5
    matrix = np.where(there, 9, 0)
    gaps, excesses = generator.integers(0, 3, 121), np.zeros(121, np.int64)
    wrong = dense(matrix, np.zeros_like(there), gaps, excesses, 4, 6)
    assert np.any(merged(matrix, there, gaps, excesses, 4, 6) != wrong)
