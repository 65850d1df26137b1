import pytest

from hushrec.data.synthetic import netflix_like
from hushrec.experiments.demo import demonstration, sweep
from hushrec.models.covariance_svd import CovarianceSVD


@pytest.fixture(scope="session")
def ratings():
    return netflix_like(150, 40, 2500, 3)


@pytest.fixture(scope="session")
def runs(ratings):
    return list(
        sweep.sweep(
            ratings, CovarianceSVD(rank=3), [demonstration.budget(1), demonstration.budget(8)], [0, 1]
        )
    )


@pytest.fixture(scope="session")
def rows(runs):
    return sweep.summary(runs)
