"""Which noisy cells are ratings: probabilities that are honest."""

import itertools

import numpy as np
import pytest

from hushrec.models.friedman_berkovsky_kaafar.estimate import NoisyRatings, membership_probability


def simulated(seed=0, scale=0.45, clip=1.0, n=(600, 200)):
    """Cells by the model's own assumptions: rated by popularity, clamped normal residuals, Laplace noise."""
    rng = np.random.default_rng(seed)
    users, items = rng.uniform(0.05, 0.6, n[0]) * n[1], rng.uniform(0.4, 1.0, n[1])
    items *= users.sum() / items.sum()
    rated = rng.random(n) < np.minimum(np.outer(users, items) / items.sum(), 0.95)
    residuals = np.clip(0.22 * 4 * rng.standard_normal(n), -clip, clip) * rated
    noisy = residuals + rng.laplace(0, scale, n)
    kept = np.abs(noisy) >= 0.6
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    cells = NoisyRatings(
        indptr, np.nonzero(kept)[1].astype(np.int32), noisy[kept].astype(np.float32), scale * np.sqrt(2)
    )
    return cells, users, items, rated[kept]


def places(cells):
    rows = np.repeat(np.arange(len(cells.indptr) - 1), np.diff(cells.indptr))
    return list(zip(rows.tolist(), cells.columns.tolist(), strict=True))


def test_the_weights_are_honest_probabilities():
    """Of the cells said to be ratings with probability w, about w are."""
    cells, users, items, true = simulated()
    kept, weights = membership_probability(cells, users, items, 1.0, 4.0)
    by_place = dict(zip(places(cells), true.tolist(), strict=True))
    found = np.array([by_place[place] for place in places(kept)])
    edges = np.quantile(weights, [0, 0.25, 0.5, 0.75, 1])
    for low, high in itertools.pairwise(edges):
        here = (weights >= low) & (weights <= high)
        n, p = here.sum(), weights[here].mean()
        assert abs(found[here].mean() - p) < 5.5 * np.sqrt(p * (1 - p) / n) + 0.005
    assert edges[-1] > 3 * edges[0], "they differ"
    assert weights.min() >= 0.02
    assert weights.max() <= 1
    assert np.abs(kept.values).max() <= 1, "clamped to what a residual can be"
    assert len(weights) == kept.indptr[-1]


def test_cells_that_are_hardly_ratings_are_dropped():
    """Where a hundredth is rated and the noise is as loud as that, a small cell is next to nothing."""
    cells, users, items, _ = simulated(scale=1.0)
    kept, weights = membership_probability(cells, users / 50, items / 50, 1.0, 4.0)
    assert 0 < len(weights) < len(cells.values)
    assert weights.min() >= 0.02
    assert {*places(kept)} < {*places(cells)}


def test_louder_noise_is_believed_less():
    cells, users, items, _ = simulated()
    means = []
    for sigma in (0.2, 0.5, 1.5):
        _, weights = membership_probability(cells._replace(sigma=sigma), users, items, 1.0, 4.0)
        means.append(float(weights.mean()))
    assert means[0] > means[1] > means[2]


def test_no_cells_are_no_trouble():
    empty = NoisyRatings(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0.5)
    kept, weights = membership_probability(empty, np.ones(3), np.ones(2), 1.0, 4.0)
    assert (len(weights), kept.indptr.tolist()) == (0, [0, 0, 0, 0])


def test_quiet_noise_is_believed_wholly():
    cells = NoisyRatings(
        np.array([0, 2]), np.arange(2, dtype=np.int32), np.array([0.9, 0.7], np.float32), 0.01
    )
    kept, weights = membership_probability(cells, np.array([2.0]), np.array([1.0, 1.0]), 1.0, 4.0)
    assert weights.tolist() == pytest.approx([1, 1])
    assert len(kept.columns) == 2
