"""Standings of published rows against NumPy."""

import numpy as np
import pytest

from lab.attacks.linkage_scores import standings


def reference(grid, kinds, items, tables, own):
    """The kernel's answers by NumPy, a dense score at a time."""
    out = []
    for known, table, row in zip(items, tables, own, strict=True):
        scores = sum(table[k, kinds, grid[:, i]] for k, i in enumerate(known))
        first, second = np.sort(scores)[[-1, -2]]
        behind = scores[row] - first if row >= 0 else -np.inf
        chance = 1 / np.exp(scores - first).sum()
        ties = np.count_nonzero(np.isclose(scores, first, rtol=0, atol=1e-12))
        out.append((ties, (first - second) / scores.std(), chance, behind))
    return map(np.array, zip(*out, strict=True))


def made_up():
    """Symbols of 60 rows' cells of 20 items, a third of them not empty."""
    rng = np.random.default_rng(3)
    return rng.integers(1, 6, (60, 20)) * (rng.random((60, 20)) < 1 / 3)


def by_item(grid):
    """The cells that are not empty, item by item: starts, rows, steps."""
    items, rows = np.nonzero(grid.T)
    starts = np.searchsorted(items, np.arange(grid.shape[1] + 1))
    return starts, rows.astype(np.int32), (grid.T[items, rows] - 1).astype(np.uint8)


def test_standings_are_those_of_numpy_for_any_number_of_threads():
    rng, grid = np.random.default_rng(3), made_up()
    kinds = rng.integers(0, 3, 60).astype(np.uint8)
    items = np.array([rng.permutation(20)[:4] for _ in range(40)], np.int32)
    tables, own = rng.standard_normal((40, 4, 3, 6)), rng.integers(-1, 60, 40)
    expected = reference(grid, kinds, items, tables, own)
    results = [standings(*by_item(grid), kinds, items, tables, own, threads=n) for n in (1, 3)]
    for one, other in zip(*results, strict=True):
        assert one.tolist() == other.tolist()
    for mine, one in zip(results[0][1:], expected, strict=True):
        assert mine == pytest.approx(one, abs=1e-12)
    for target, row in enumerate(results[0][0]):
        *_, behind = reference(grid, kinds, items[[target]], tables[[target]], [row])
        assert behind == pytest.approx(0, abs=1e-12)  # the row that is named has the highest score


def test_equal_scores_are_shared_and_name_nobody():
    grid, kinds = made_up(), np.zeros(60, np.uint8)
    items, own = np.zeros((2, 1), np.int32), np.array([7, -1])
    tables = np.full((2, 1, 1, 6), 0.1)
    _, ties, eccentricity, chance, behind = standings(*by_item(grid), kinds, items, tables, own)
    assert ties.tolist() == [60, 60]
    assert eccentricity.tolist() == [0, 0]
    assert chance == pytest.approx(1 / 60)
    assert behind.tolist() == [0, -np.inf]
    tables[..., 1:] = 1  # all who rated the item lead together
    holders = np.count_nonzero(grid[:, 0])
    _, ties, eccentricity, *_ = standings(*by_item(grid), kinds, items, tables, own)
    assert ties.tolist() == [holders] * 2
    assert eccentricity.tolist() == [0, 0]
