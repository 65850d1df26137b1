"""Tastes for public features have the covariance that the docstring names, and help who has them."""

import numpy as np
import pytest

from hushrec.estimation.priors import feature_tastes
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior

SPAN = 4.0


def known(n=40, columns=(5, 3), seed=0):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n, sum(columns))) * rng.uniform(0.1, 10, sum(columns))
    return ItemPrior(design=design, groups=np.repeat(np.arange(len(columns)), columns))


def test_each_kind_of_feature_explains_as_much():
    prior, popularity = known(), np.arange(1.0, 41)
    found = feature_tastes(prior, popularity, SPAN)
    wanted = np.zeros((40, 40))
    for k in (0, 1):
        own = prior.design[:, prior.groups == k]
        wanted += 0.002 * SPAN**2 * own @ own.T / np.average((own**2).sum(axis=1), weights=popularity)
    np.testing.assert_allclose(found @ found.T, wanted, rtol=1e-9, atol=1e-12)
    total = np.average((found**2).sum(axis=1), weights=popularity)
    assert total == pytest.approx(2 * 0.002 * SPAN**2)


def test_without_features_there_is_nothing():
    assert feature_tastes(NOTHING_KNOWN, np.ones(4), SPAN).shape == (4, 0)
    silent = ItemPrior(design=np.zeros((4, 2)), groups=np.zeros(2, dtype=np.int64))
    assert not feature_tastes(silent, np.ones(4), SPAN).any()
