"""Ratings with a planted low rank, and what a model makes of them: fixtures that several folders share."""

import pytest

import hushrec as hr
from hushrec.data.split import holdout


@pytest.fixture(scope="session")
def world():
    """Ratings with a planted low rank, and their 90/10 split."""
    ratings = hr.synthetic.netflix_like(1000, 150, 40_000, seed=5)
    return holdout(ratings, 0.1, seed=0)


@pytest.fixture(scope="session")
def ratings():
    """Some people's ratings of few items, to be released as data."""
    return hr.synthetic.netflix_like(users=120, items=20, ratings=1_000, seed=3)


@pytest.fixture(scope="session")
def budget():
    return lambda epsilon=4.0, unit="record", adjacency="add-remove", delta=1e-6: hr.Budget(
        epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency
    )


def errors_of(train, test):
    """The root of the mean squared error of a model; each is fitted once in a run."""
    known = {}

    def score(config, budget=None, seed=0):
        asked = repr((type(config), config.settings(), budget, seed))
        if asked not in known:
            if budget is None:
                release = hr.baseline(train, config)
            else:
                release = hr.testing.fit(train, config, budget, entropy=hr.testing.Seeded(seed))
            known[asked] = hr.evaluate(release, train=train, test=test)["rmse"]
        return known[asked]

    return score


@pytest.fixture(scope="session")
def rmse(world):
    return errors_of(*world)


@pytest.fixture(scope="session")
def listed(world):
    """The same ratings of people who are public, three of whom have rated nothing."""
    train, test = world
    people = [*sorted({*train.users.to_pylist(), *test.users.to_pylist()}), "u99997", "u99998", "u99999"]
    domain = hr.Domain(train.domain.items, scale=(1, 5, 1), max_users=2000, users=people)
    return tuple(hr.People(domain, part.users, part.indptr, part.items, part.values) for part in world)


@pytest.fixture(scope="session")
def listed_rmse(listed):
    return errors_of(*listed)
