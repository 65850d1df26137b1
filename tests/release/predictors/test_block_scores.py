"""Rough scores are within their bound, and exact ones have the same bits however they are asked for."""

import numpy as np
import pytest

from hushrec.release.predictors.scores import MULTIPLIED, InnerProducts

ITEMS, USERS = 301, 17


def drawn(width, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    rows = scale * rng.standard_normal((ITEMS, width)) * np.exp(3 * rng.standard_normal((ITEMS, 1)))
    return rows, scale * rng.standard_normal((USERS, width)) * np.exp(3 * rng.standard_normal((USERS, 1)))


def all_pairs():
    users, items = np.indices((USERS, ITEMS))
    return users.ravel(), items.ravel()


@pytest.mark.parametrize("width", [1, 2, 3, 8, 66, 700])
@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e-17, 1e12, 1e30])
def test_rough_scores_are_within_their_bound(width, scale):
    rows, vectors = drawn(width, scale=scale)
    found = InnerProducts(rows).scores(vectors)
    off = np.abs(found.rough - found.exact(*all_pairs()).reshape(USERS, ITEMS))
    assert (off <= found.error[:, None]).all()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 17, 66, 700])
def test_an_exact_score_has_the_same_bits_however_it_is_asked_for(width):
    rows, vectors = drawn(width)
    products = InnerProducts(rows)
    pairs = all_pairs()
    found = products.scores(vectors).exact(*pairs).reshape(USERS, ITEMS)
    np.testing.assert_allclose(found, vectors @ rows.T, rtol=1e-9, atol=1e-9 * np.abs(found).max())
    order = np.random.default_rng(1).permutation(len(pairs[0]))[:4000]
    users, items = pairs[0][order], pairs[1][order]
    assert (products.scores(vectors).exact(users, items) == found[users, items]).all()
    for user in range(USERS):
        assert (products.of(vectors[user], np.arange(ITEMS)) == found[user]).all()
        assert products.of(vectors[user], np.array([user]))[0] == found[user, user]
        assert (products.of(vectors[user], np.arange(3, 20)) == found[user, 3:20]).all()


@pytest.mark.parametrize("width", [1, 3, 66, 700])
def test_no_product_is_large_enough_for_several_blas_threads(width, monkeypatch):
    """Threads that wait for one another made ranking five times slower."""
    sizes, product = [], np.matmul

    def measured(left, right, **more):
        sizes.append(left.size * right.shape[1])
        return product(left, right, **more)

    monkeypatch.setattr(np, "matmul", measured)
    rows, vectors = np.zeros((20_000, width)), np.zeros((40, width))
    assert (InnerProducts(rows).scores(vectors).rough == 0).all()
    assert sum(sizes) == 20_000 * 40 * width
    assert max(sizes) <= MULTIPLIED
