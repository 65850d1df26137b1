"""Worlds in which published forms are fitted by the laboratory's own verb, and tables of made-up runs."""

import hashlib
import math

import polars as pl
import pytest

import hushrec as hr
from lab import published
from lab.experiments.grid import Grid
from lab.experiments.results import SCHEMA
from lab.reproduction import GRIDS
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


def error(case):
    """Made up, of what the grids list: it falls with ε; the split and the name move it."""
    facts = repr((case.name, case.split, case.fold_in)).encode()
    noise = int.from_bytes(hashlib.sha256(facts).digest()[:4]) / 2**32
    epsilon = case.budget.epsilon if case.budget else math.inf
    return 0.85 + 0.2 / (1 + epsilon) + 0.1 * noise


@pytest.fixture
def made_up(tmp_path):
    """Write the table of a grid; the folder."""

    def made_up(*names):
        for name in names:
            rows = []
            for case in Grid.open(GRIDS / f"{name}.toml").cases():
                found = {"rmse": error(case), "mae": 0.8 * error(case), "fit_seconds": 1.0}
                epsilon = case.coordinates()["epsilon"]
                found |= {"true_epsilon": epsilon / 2, "claimed_epsilon": epsilon}
                rows.append({"name": case.name, **case.coordinates(), **found})
            table = pl.DataFrame(rows, schema={"name": pl.String, **SCHEMA})
            table.write_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / "pages").mkdir()
        return tmp_path

    return made_up
