"""Tastes from who rated what: items that the same people rated are alike, whatever they gave them."""

import numpy as np
import pytest

from hushrec.estimation.choice_factors import choice_tastes

N = 60


def chosen(rng, people=4_000):
    """Σ e eᵀ/√c of people who rate popular items, half of them more often those of even numbers."""
    popularity = np.linspace(0.05, 0.5, N)
    likes = np.where(rng.random(people)[:, None] < 0.5, np.arange(N) % 2 == 0, np.arange(N) % 2 == 1)
    rated = (rng.random((people, N)) < popularity * np.where(likes, 1.5, 0.5)).astype(np.float64)
    weights = 1 / np.sqrt(np.maximum(rated.sum(axis=1), 1))
    return (rated.T @ (rated * weights[:, None])).astype(np.float32), rated.sum(axis=0)


@pytest.mark.parametrize("sigma", [0.0, 3.0])
def test_items_that_the_same_people_rate_have_alike_tastes(sigma):
    rng = np.random.default_rng(4)
    pairs, counts = chosen(rng)
    noise = np.triu(sigma * rng.standard_normal((N, N)), 1)
    found = choice_tastes((pairs + noise + noise.T).astype(np.float32), sigma, counts, 4.0)
    alike = found @ found.T
    even = np.arange(N) % 2 == 0
    same = alike[np.ix_(even, even)].mean() + alike[np.ix_(~even, ~even)].mean()
    assert same > 0 > alike[np.ix_(even, ~even)].mean()
    # They explain 0.2 % of the squared width of the scale, over what is chosen.
    explained = float(counts @ (found**2).sum(axis=1) / counts.sum())
    assert explained == pytest.approx(0.002 * 16)


@pytest.mark.parametrize("sigma", [0.0, 1.0])
@pytest.mark.parametrize("n", [2, 3, 50])
def test_pairs_without_anything_have_finite_tastes(n, sigma):
    found = choice_tastes(np.zeros((n, n), dtype=np.float32), sigma, np.full(n, 1e-3), 4.0)
    assert found.shape[0] == n
    assert np.isfinite(found).all()
