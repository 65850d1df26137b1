import pytest

from hushrec.data.synthetic import netflix_like
from hushrec.experiments import demo, sweep
from hushrec.models.covariance_svd import CovarianceSVD


@pytest.fixture(scope="session")
def ratings():
    return netflix_like(150, 40, 2500, 3)


@pytest.fixture(scope="session")
def runs(ratings):
    return list(sweep.sweep(ratings, CovarianceSVD(rank=3), [demo.budget(1), demo.budget(8)], [0, 1]))


@pytest.fixture(scope="session")
def rows(runs):
    return sweep.summary(runs)
