import math
from itertools import pairwise

import polars as pl
import pytest

import hushrec as hr
from hushrec import models
from hushrec.errors import DomainError
from hushrec.evaluation import baselines
from lab.scoreboard import contest
from lab.scoreboard.contest import ALONE, AVERAGE, RECOMMENDED, contender

DATA = "ml-1m"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A small crowd's ratings in place of two data sets."""
    folder = tmp_path_factory.mktemp("sets")
    for name, seed in ((DATA, 1), (contest.OTHERS, 2)):
        made = pl.DataFrame(hr.synthetic.netflix_like(80, 30, 1200, seed=seed).table())
        number = pl.col("item_id").str.strip_prefix("i").cast(pl.Int64) + 1
        table = made.select(user="user_id", item=number, rating="rating")
        if name == contest.OTHERS:
            table = table.with_columns(rating=pl.col("rating") - 0.5)
        table.write_parquet(folder / f"{name}.parquet")
    return contest.Contest(folder)


def measured(bench, *settings, **more):
    (row,) = bench.measure(contender(DATA, *settings, **more))
    return row


def test_a_contender_is_fitted_on_the_split_and_its_errors_are_of_what_is_held_out(bench):
    row = measured(bench, "GlobalEffects", "record", 4.0, 3)
    train, test = bench._parts(DATA, "", False, 3)
    budget = hr.Budget(epsilon=4.0, delta=1e-6, unit="record", adjacency="add-remove")
    release = hr.testing.fit(train, hr.GlobalEffects(), budget, entropy=hr.testing.Seeded(3))
    assert row["rmse"] == pytest.approx(hr.evaluate(release, train=train, test=test)["rmse"], abs=1e-12)
    assert row["chosen"] == "GlobalEffects"
    assert row["fit_seconds"] > 0
    assert row != measured(bench, "GlobalEffects", "record", 4.0, 4)


@pytest.mark.full
def test_the_recommended_model_is_named(bench):
    exact = measured(bench, RECOMMENDED, None, math.inf, 0)
    assert exact["chosen"] in models.MODELS
    assert exact["rmse"] == measured(bench, exact["chosen"], None, math.inf, 0)["rmse"]


def test_the_item_average_and_what_is_public_alone_need_no_fit_of_these_people(bench):
    train, test = bench._parts(DATA, "", "GlobalEffects", 0)
    wanted = contest._errors(test, baselines.item_average(train, test))
    assert measured(bench, AVERAGE, None, math.inf, 0) == wanted
    release = bench._others(train.domain)
    assert bench._others(train.domain) is release
    assert measured(bench, ALONE, None, math.inf, 0)["rmse"] == pytest.approx(
        hr.evaluate(release, train=train, test=test)["rmse"], abs=1e-12
    )


def test_what_is_refused_says_why(bench):
    assert "PosteriorMF" in measured(bench, "PosteriorMF", "record", 1.0, 0)["refused"]


def test_a_prediction_that_is_no_number_is_an_error(bench):
    _, test = bench._parts(DATA, "", "GlobalEffects", 0)
    with pytest.raises(ArithmeticError, match="not a finite number"):
        contest._errors(test, test.numbers() * math.nan)


def test_those_who_need_a_roster_are_listed(bench):
    train, _ = bench._parts(DATA, "", "GlobalEffects", 0)
    needing = []
    for name in models.MODELS:
        config = models.class_of(name)()
        if config.feedback == "ratings" and (pair := min(config.supports, default=None)):
            budget = hr.Budget(epsilon=1.0, delta=1e-6, unit=pair[0], adjacency=pair[1])
            try:
                hr.plan(train.domain, config, budget)
            except DomainError:
                needing.append(name)
    assert set(needing) == set(contest.LISTING)
    assert all(measured(bench, model, "record", 4.0, 0)["rmse"] < 2 for model in contest.LISTING)


def test_ratings_are_read_once_as_long_as_they_are_the_same(bench):
    models = "GlobalEffects", contest.RECOMMENDED, "PrivateSGD", contest.UNDECLARED
    parts = [bench._parts(DATA, "", model, 0) for model in models]
    assert [a is b for a, b in pairwise(parts)] == [True, False, False]
    assert parts[0][0].domain.crowd.declared
    assert not parts[-1][0].domain.crowd.declared
