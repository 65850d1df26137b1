import math

import numpy as np
import pytest

from hushrec.data.people import People
from hushrec.data.synthetic import netflix_like

LEVELS = 5


@pytest.fixture(scope="session")
def truth():
    return netflix_like(2000, 500, 100_000, seed=1)


def _grid_of(ratings):
    """Symbols of all cells, shape (users, items)."""
    grid = np.zeros((ratings.n_users, ratings.domain.n_items), np.int64)
    grid[ratings.user_index(), ratings.items] = ratings.values.astype(np.int64) + 1
    return grid


def _published(grid, domain):
    """Rows of these symbols, and where each person's went; empty ones are absent."""
    kept = grid.any(axis=1)
    rows = np.where(kept, np.cumsum(kept) - 1, -1)
    users, items = np.nonzero(grid[kept])
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(grid[kept], axis=1))])
    names = [f"{row:06}" for row in range(kept.sum())]
    return People(domain, names, indptr, items, grid[kept][users, items] - 1), rows


def _responded(ratings, epsilon, seed=0, empty_cells_too=True):
    """Every cell by randomized response at this ε, and the exponent; the fault leaves empty cells alone."""
    rng, grid = np.random.default_rng(seed), _grid_of(ratings)
    flipped = LEVELS / (math.exp(epsilon) + LEVELS)
    other = (grid + rng.integers(1, LEVELS + 1, grid.shape)) % (LEVELS + 1)
    flips = (rng.random(grid.shape) < flipped) & (empty_cells_too | (grid > 0))
    return *_published(np.where(flips, other, grid), ratings.domain), -math.log(flipped)


@pytest.fixture(scope="session")
def grid_of():
    return _grid_of


@pytest.fixture(scope="session")
def published():
    return _published


@pytest.fixture(scope="session")
def responded():
    return _responded
