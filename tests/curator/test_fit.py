"""Fits whose published noise has no finite ε that anybody knows: seeded experiments, and nothing else."""

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hushrec.statistics.query import Query

import hushrec as hr
from hushrec.curator.accounts import start
from hushrec.errors import BudgetError, BudgetUnsupported, LedgerError
from hushrec.models.global_effects import GlobalEffects
from hushrec.privacy.accounting.events import Spherical
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement


class Rows(GlobalEffects):
    """Item effects as usual, and beside them noise on rows that nothing is made from."""

    def queries(self, domain, budget) -> Sequence[tuple[Query, float]]:
        rows = Query("rows", 1.0, "l2", 2.0**-20, 60, claimed=1.0)
        return [*super().queries(domain, budget), (rows, 0.5)]

    def default_split(self, budget) -> Mapping[str, float]:
        return {**super().default_split(budget), "rows": 0.5}

    def plan(self, domain, budget) -> Plan:
        usual = GlobalEffects(analysis="published").plan(domain, budget)
        listed = tuple(Measurement(m.event, m.share / 2) for m in usual.measurements)
        rows = Measurement(Spherical("rows", math.inf, 2.0, 2.0**-20, 60), 0.5)
        facts = {name: getattr(usual, name) for name in usual.__dataclass_fields__}
        return Plan(**facts | {"measurements": (*listed, rows)})

    def release(self, ratings, budget, grant) -> Release:
        noisy = grant.release_rows("rows", np.zeros((12, 5)), np.full(12, 2.0))
        assert noisy.values.shape == (12, 5)
        return super().release(ratings, budget, grant)


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def test_a_seeded_fit_without_a_ledger_says_what_it_is(small, budget):
    config = Rows(analysis="published")
    release = hr.fit(small, config, budget(1.0), entropy=hr.testing.Seeded(1))
    statement = release.statement
    lines = str(statement).splitlines()
    assert lines[0] == "NOT PRIVATE: seeded"
    assert "the published analysis claims ε = 1," in lines[1]
    assert lines[1].endswith("No finite ε is known for this noise.")
    assert (statement.epsilon, statement.claimed_epsilon, statement.ledger) == (math.inf, 1.0, {})
    assert [m.cost for m in statement.measurements if m.name == "rows"] == [math.inf]
    assert Release.from_bytes(release.to_bytes()).statement == statement
    text = json.dumps(statement.to_json(), allow_nan=False)
    assert Statement.from_json(json.loads(text)) == statement
    again = hr.fit(small, config, budget(1.0), entropy=hr.testing.Seeded(1))
    assert again.to_bytes() == release.to_bytes()


def test_nobody_gives_more_ratings_than_the_cap(small, budget):
    """Unit user: the bounds of all sums rest on it, and the loss of a posterior sample has no other."""
    few = hr.Domain(small.domain.items, scale=(1, 5, 1), max_users=2000, cap=2)
    whole = hr.Ratings(few, small.users, small.indptr, small.items, small.steps)
    assert whole.counts.max() > 2
    for config in (hr.GlobalEffects(), hr.PosteriorMF(rank=2, rounds=2)):
        made = [
            hr.fit(ratings, config, budget(2.0, unit="user"), entropy=hr.testing.Seeded(1)).to_bytes()
            for ratings in (whole, whole.capped(2))
        ]
        assert made[0] == made[1]


def test_no_ledger_takes_it_and_nothing_unseeded_is_made(small, budget, tmp_path):
    config = Rows(analysis="published")
    hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    for entropy in (None, hr.testing.Seeded(1)):
        with pytest.raises(BudgetError, match='set analysis="corrected", or make a seeded experiment'):
            hr.fit(small, config, budget(1.0), ledger=tmp_path / "ledger.db", entropy=entropy)
    assert hr.Ledger.open(tmp_path / "ledger.db").entries() == ()
    with pytest.raises(LedgerError, match="charged to a ledger"):
        hr.fit(small, config, budget(1.0))


@pytest.mark.parametrize(
    "published", [Rows(analysis="published"), GlobalEffects(noise="laplace", analysis="published")]
)
def test_a_first_fit_that_is_refused_starts_no_ledger(small, budget, tmp_path, published):
    """Else its budget would be the population's total, and another unit or adjacency could not follow."""
    path, limit = tmp_path / "ledger.db", budget(1.0, adjacency="replace")
    with pytest.raises(BudgetError):  # raw sums move by 5 where the paper says 4
        start(path, published.plan(small.domain, budget(1.0)))
    assert not path.exists()
    start(path, GlobalEffects().plan(small.domain, limit))
    hr.fit(small, GlobalEffects(), limit, ledger=path)
    assert hr.Ledger.open(path).total == limit


@pytest.mark.parametrize(("config", "free"), [(GlobalEffects(), True), (hr.PrivateALS(rank=2), False)])
def test_without_delta_laplace_noise_is_advised_where_it_may_be_had(small, budget, config, free):
    with pytest.raises(BudgetUnsupported, match="needs delta > 0") as refused:
        hr.plan(config, small.domain, budget(1.0, delta=0.0))
    assert ('noise="laplace"' in str(refused.value)) == free
