import pytest

import hushrec as hr
from hushrec.data.split import holdout


@pytest.fixture(scope="session")
def world():
    """Ratings with a planted low rank, and their 90/10 split."""
    ratings = hr.synthetic.netflix_like(1000, 150, 40_000, seed=5)
    return holdout(ratings, 0.1, seed=0)


@pytest.fixture
def budget():
    return lambda epsilon=4.0, unit="rating", adjacency="add-remove", delta=1e-6: hr.Budget(
        epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency
    )


@pytest.fixture(scope="session")
def rmse(world):
    train, test = world

    def score(config, budget=None, seed=0):
        entropy = None if budget is None else hr.testing.Seeded(seed)
        release = hr.fit(train, config, budget, entropy=entropy)
        return hr.evaluate(release, train=train, test=test)["rmse"]

    return score
