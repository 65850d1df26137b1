import pytest

from hushrec.data.synthetic import interactions, netflix_like
from hushrec.experiments.demo import clicks as lists
from hushrec.experiments.demo import demonstration, sweep
from hushrec.models.covariance_svd import CovarianceSVD
from hushrec.models.private_ease import PrivateEASE

BUDGETS = [demonstration.budget(1), demonstration.budget(8)]
PEOPLE = 100


@pytest.fixture(scope="session")
def ratings():
    return netflix_like(150, 40, 2500, 3)


@pytest.fixture(scope="session")
def runs(ratings):
    return list(sweep.sweep(ratings, CovarianceSVD(rank=3), BUDGETS, [0, 1]))


@pytest.fixture(scope="session")
def rows(runs):
    return sweep.summary(runs)


@pytest.fixture(scope="session")
def clicks():
    return interactions(1500, 200, 40_000, 3)


@pytest.fixture(scope="session")
def list_runs(clicks):
    return list(lists.list_sweep(clicks, PrivateEASE(), BUDGETS, [0, 1], PEOPLE))


@pytest.fixture(scope="session")
def list_rows(list_runs):
    return lists.list_summary("PrivateEASE", list_runs)


@pytest.fixture(scope="session")
def made(clicks, tmp_path_factory):
    return demonstration.real_release(clicks, tmp_path_factory.mktemp("demo"))
