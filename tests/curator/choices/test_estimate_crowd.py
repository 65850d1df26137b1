"""Pilots: what they cost, what they tell, and that they are counted once."""

import dataclasses

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.choices.estimate_crowd import PART, crowd_plan
from hushrec.errors import BudgetError, BudgetUnsupported, DataError, RecordsDropped
from hushrec.privacy.accounting.accountant import largest_rho


@pytest.fixture(scope="module")
def people():
    return hr.synthetic.netflix_like(3_000, 100, 60_000, 1)


@pytest.mark.parametrize("unit", ["user", "record"])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_it_tells_about_how_many_there_are(people, unit, delta, budget):
    ledger = hr.Ledger.ephemeral(budget(8.0, unit=unit, delta=delta), 2)
    told = hr.testing.estimate_crowd(people, ledger, entropy=hr.testing.Seeded(1))
    assert told.expected_users == pytest.approx(3_000, rel=0.05)
    assert told.expected_records == pytest.approx(60_000, rel=0.05)
    assert told.crowd.declared
    assert told.model_dump(exclude={"expected_users", "expected_records"}) == people.domain.model_dump(
        exclude={"expected_users", "expected_records"}
    )
    assert len(f"{told.expected_records}".rstrip("0")) <= 2


def test_it_costs_two_percent_and_the_fit_takes_the_rest(people, budget):
    total = budget(4.0, unit="user")
    ledger = hr.Ledger.ephemeral(total, 2)
    declared = hr.estimate_crowd(people, ledger)
    assert ledger.spent.rho <= largest_rho(total) * PART
    assert ledger.spent.rho == pytest.approx(largest_rho(total) * PART, rel=1e-6)
    assert {entry.measurement for entry in ledger.entries()} == {"number of users", "number of ratings"}
    again = dataclasses.replace(people, domain=declared)
    release = hr.fit(again, budget="auto", ledger=ledger)
    assert release.model == type(hr.suggest_model(declared, total)).__name__
    assert 3.9 < release.statement.epsilon < 4
    assert ledger.releases_left == 0


def test_what_it_tells_is_noisy(people, budget):
    """Of so small a total, the standard deviation of either number is above 1,000."""
    told = [
        hr.testing.estimate_crowd(
            people, hr.Ledger.ephemeral(budget(0.05, unit="user"), 2), entropy=hr.testing.Seeded(seed)
        )
        for seed in range(4)
    ]
    assert len({domain.expected_users for domain in told}) == 4
    assert len({domain.expected_records for domain in told}) > 1


def test_the_same_index_gives_the_same_numbers_and_charges_nothing(people, budget):
    ledger = hr.Ledger.ephemeral(budget(1.0, unit="user"), 3)
    first = hr.estimate_crowd(people, ledger)
    spent = ledger.spent
    fewer = hr.synthetic.netflix_like(30, 100, 600, 1)
    assert fewer.domain != people.domain
    assert hr.estimate_crowd(people, ledger, release_index=0).crowd == first.crowd
    assert ledger.spent == spent
    hr.estimate_crowd(people, ledger)
    assert ledger.spent != spent


def test_it_does_not_follow_the_largest_raters(budget):
    """A person's ratings beyond 200 do not count for unit user, whatever the cap."""
    many = hr.synthetic.netflix_like(40, 400, 14_000, 1)
    assert many.counts.max() > 200
    totals, planned = crowd_plan(many.domain, budget(1.0, unit="user"))
    assert totals.most == 200
    assert [event.sensitivity for event in planned.events] == [1, 200]
    assert planned.epsilon <= planned.budget.epsilon


def test_what_it_cannot_count_is_refused_and_charges_nothing(people, budget):
    def refused(error, match, ratings=people, ledger=None, **more):
        ledger = ledger or hr.Ledger.ephemeral(budget(1.0, unit="user"), 2)
        before = ledger.spent
        with pytest.raises(error, match=match):
            hr.estimate_crowd(ratings, ledger, **more)
        assert ledger.spent == before

    refused(BudgetError, "one release more", ledger=hr.Ledger.ephemeral(budget(1.0, unit="user"), 1))
    refused(BudgetUnsupported, "unprotected", ledger=hr.Ledger.ephemeral(budget(adjacency="replace"), 2))
    refused(DataError, r"load it first with hushrec\.load", ratings="ratings.csv")
    classes = hr.Domain(people.domain.items, scale=(1, 5, 1), max_users=5_000, personal_epsilon={"low": 0.5})
    refused(
        BudgetUnsupported,
        "does not support personal_epsilon",
        ratings=dataclasses.replace(people, domain=classes),
    )
    asking = people.with_personal_epsilon(np.full(people.n_users, 0.5))
    refused(BudgetUnsupported, "does not support personal_epsilon", ratings=asking)


def test_a_population_that_lost_most_records_is_refused_before_the_charge(people, budget, tmp_path):
    nobody = people.select(people.items < 0)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0, unit="user"), max_releases=2)
    with pytest.raises(RecordsDropped):
        hr.estimate_crowd(nobody, ledger)
    assert not ledger.entries()


def test_noise_can_push_no_number_out_of_the_domain(budget):
    few = hr.synthetic.netflix_like(5, 20, 10, 1)
    for seed in range(20):
        ledger = hr.Ledger.ephemeral(budget(0.1, unit="user"), 2)
        told = hr.testing.estimate_crowd(few, ledger, entropy=hr.testing.Seeded(seed))
        assert 1 <= told.expected_users <= few.domain.max_users
        assert told.expected_users <= told.expected_records <= told.expected_users * 20
