"""Worlds of the product's tests, in which published forms are fitted by the laboratory's own verb."""

import pytest

import hushrec as hr
from lab import published
from support.worlds import budget, listed, ratings, world

__all__ = ["budget", "listed", "listed_rmse", "ratings", "rmse", "world"]


def scored(parts):
    """RMSE of a form under a budget, or without noise."""
    train, test = parts

    def score(form, spent=None, seed=0):
        release = published.fit(train, form, spent, seed) if spent else hr.baseline(train, form)
        return hr.evaluate(release, train=train, test=test)["rmse"]

    return score


@pytest.fixture(scope="session")
def rmse(world):
    return scored(world)


@pytest.fixture(scope="session")
def listed_rmse(listed):
    return scored(listed)
