"""Releasing data: what is charged, whose rows come out, what is refused, and what may be made from it."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.curator.randomize import report_rows
from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    BudgetUnsupported,
    ConfigError,
    DataError,
)
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.testing import Seeded

ITEMS = [f"i{n:02d}" for n in range(20)]
ALTER = {"keep_probability": 0.8, "group_probability": 0.5, "threshold": 30.0, "groups": "ratings"}


def budget(epsilon=20.0, delta=0.0, **others):
    return hr.Budget(**{"epsilon": epsilon, "delta": delta, "unit": "user", "adjacency": "replace", **others})


def grant(plan, seed=1):
    total = plan.budget.model_copy(update={"epsilon": max(plan.epsilon, plan.budget.epsilon)})
    return Ledger.ephemeral(total).charge(plan, entropy=Seeded(seed))


def rows_of(ratings):
    """Item and steps of every row."""
    cells = list(zip(ratings.items.tolist(), ratings.values.tolist(), strict=True))
    return [cells[a:b] for a, b in zip(ratings.indptr[:-1], ratings.indptr[1:], strict=True)]


def test_a_release_says_what_a_cell_and_a_person_lose_and_is_charged(ratings, tmp_path):
    Ledger.create(tmp_path / "ledger.db", budget())
    data = hr.randomize(
        ratings, hr.RandomizedResponse(), budget(), ledger=tmp_path / "ledger.db", accept="weak"
    )
    said = data.statement
    assert said.private
    assert said.ledger["domain"] == ratings.domain.digest
    assert said.epsilon == 20
    assert said.local.epsilon == pytest.approx(1.0)  # 20 items, none capped
    assert Ledger.open(tmp_path / "ledger.db").state().remaining < 1e-6
    assert set(data.table.column_names) == {"user_id", "item_id", "rating"}
    assert data.n_people == ratings.n_users
    with pytest.raises(BudgetExceeded):
        hr.randomize(ratings, hr.RandomizedResponse(), budget(), ledger=tmp_path / "ledger.db", accept="weak")
    assert Ledger.open(tmp_path / "ledger.db").artefact(0) == data.to_bytes()


def test_rows_are_the_persons_own_in_an_order_that_tells_nothing(ratings):
    """At an ε of 40 a cell nothing is flipped: once in 1e14 runs."""
    plan = hr.RandomizedResponse().plan(ratings.domain, budget(800.0))
    made = report_rows(ratings, hr.RandomizedResponse(), plan, grant(plan))
    there, mine = rows_of(made.data.ratings), rows_of(ratings)
    assert [there[place] for place in made.rows] == mine
    assert (np.diff(made.rows) == 1).mean() < 0.2
    assert abs(np.corrcoef(made.rows, np.arange(made.rows.size))[0, 1]) < 0.5  # 5.4 standard deviations


def test_everybody_on_a_roster_has_a_row_whether_he_rated_or_not():
    domain = hr.Domain(ITEMS, scale=(1, 5, 1), max_users=50, users=[f"p{n:02d}" for n in range(50)])
    ratings = hr.load(_table([("p03", "i01", 4.0), ("p40", "i19", 1.0)]), domain)
    plan = hr.RandomizedResponse().plan(domain, budget(10.0))
    made = report_rows(ratings, hr.RandomizedResponse(), plan, grant(plan))
    assert made.data.n_people == made.rows.size == 50
    assert made.data.ratings.n_users > 40  # the empty rows' cells are flipped as well


def test_a_device_reports_and_whoever_collects_only_post_processes(tmp_path):
    reports = []
    for person, cells in {"ann": [("i01", 5.0)], "bob": [("i01", 4.0), ("i07", 2.0)], "eve": []}.items():
        mine = hr.Domain(ITEMS, scale=(1, 5, 1), max_users=1, users=[person])
        own = hr.load(_table([(person, *cell) for cell in cells]), mine)
        device = tmp_path / person
        device.mkdir()
        ledger = Ledger.create(device / "ledger.db", budget(60.0))
        reports.append(hr.randomize(own, hr.RandomizedResponse(), budget(60.0), ledger=ledger, accept="weak"))
        assert ledger.state().remaining < 1e-6
        assert mine.digest.encode() in ledger.path.read_bytes()
        assert mine.digest not in str(reports[-1].statement.to_json())  # an id could be tried against it
    data = hr.ReleasedData.collect(reports)
    assert data.n_people == 3
    assert data.statement.private
    assert data.statement.epsilon == 60
    assert not set(data.table["user_id"].to_pylist()) & {"ann", "bob", "eve"}


def test_whose_epsilon_is_his_own_is_refused(ratings):
    asking = ratings.with_personal_epsilon(np.ones(ratings.n_users))
    with pytest.raises(DataError, match="column personal_epsilon"):
        hr.testing.randomize(asking, hr.RandomizedResponse(), budget(), entropy=Seeded(1))


@pytest.mark.parametrize(
    ("method", "paid", "error"),
    [
        (hr.RandomizedResponse(), None, BudgetError),
        (hr.RandomizedResponse(), budget(adjacency="add-remove"), BudgetUnsupported),
        (hr.RandomizedResponse(), budget(unit="record"), BudgetUnsupported),
        (hr.RandomizedResponse(sample=21), budget(), ConfigError),
        (hr.DistanceBased(**ALTER), budget(), BudgetUnsupported),
    ],
)
def test_what_cannot_be_promised_is_refused_before_it_is_charged(ratings, tmp_path, method, paid, error):
    ledger = Ledger.create(tmp_path / "l.db", budget())
    with pytest.raises(error):
        hr.randomize(ratings, method, paid, ledger=ledger)
    assert not ledger.state().charges


def test_what_is_made_from_a_data_set_says_what_the_data_set_says(ratings, tmp_path):
    ledger = Ledger.create(tmp_path / "l.db", budget(100.0))
    data = hr.randomize(ratings, hr.RandomizedResponse(), budget(100.0), ledger=ledger, accept="weak")
    for model in (
        hr.UserKNN(n_neighbours=5),
        hr.ItemKNN(),
        hr.MatrixFactorization(rank=2),
        hr.CovarianceSVD(),
    ):
        release = hr.fit_released(data, model)
        assert release.statement == data.statement
        assert not release.users  # numbers, which could be somebody's id
        opened = hr.Release.from_bytes(release.to_bytes())
        assert opened.statement == data.statement
        predicted = hr.Client(opened).predict({data.ratings.domain.items[0]: 5.0})
        assert all(1 <= value <= 5 for value in predicted.values())


def _table(rows):
    return pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")
