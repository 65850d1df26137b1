"""PrivateEASE: close to EASE without noise, never below popularity, and its ε is what it says."""

import dataclasses
import re

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import ConfigError
from hushrec.release.top_n import Rows, top_n

N, ITEMS = 20, 200


@pytest.fixture(scope="module")
def halves():
    """A quarter of everybody's interactions is held out, but never the first."""
    given = hr.synthetic.interactions(3000, ITEMS, 60_000, seed=2)
    held = np.random.default_rng(0).random(len(given.items)) < 0.25
    held[given.indptr[:-1]] = False
    return given.select(~held), given.select(held)


def lists(release, train):
    rows = Rows(train.indptr, train.items, train.numbers())
    return np.concatenate([block.items for block in top_n(release, rows, N)])


def ease_lists(train):
    """EASE by an inverse, of users of length 1, with a ridge of the mean of the diagonal."""
    rows = np.zeros((train.n_users, ITEMS))
    rows[np.repeat(np.arange(train.n_users), np.diff(train.indptr)), train.items] = 1
    unit = rows / np.sqrt(rows.sum(axis=1, keepdims=True))
    gram = unit.T @ unit
    precision = np.linalg.inv(gram + np.diag(gram).mean() * np.eye(ITEMS))
    weights = -precision / np.diag(precision)
    np.fill_diagonal(weights, 0)
    scores = rows @ weights
    scores[rows > 0] = -np.inf
    return np.argsort(-scores, axis=1)[:, :N]


def recall(listed, halves):
    """Mean share of the held-out items, or of N of them, that the lists have."""
    train, test = halves
    of = dict(zip(train.users.to_pylist(), listed, strict=True))
    found = []
    for number, user in enumerate(test.users.to_pylist()):
        wanted = test.items[test.indptr[number] : test.indptr[number + 1]]
        found.append(np.isin(wanted, of[user]).sum() / min(len(wanted), N))
    return float(np.mean(found))


@pytest.fixture(scope="module")
def popular(halves):
    """The recall of popularity without noise."""
    return recall(lists(hr.baseline(halves[0], hr.Popularity()), halves[0]), halves)


def fitted(train, budget=None, seed=1, **settings):
    model = hr.PrivateEASE(**settings)
    if budget is None:
        return hr.baseline(train, model)
    return hr.testing.fit(train, model, budget, entropy=hr.testing.Seeded(seed))


@pytest.mark.full
def test_without_noise_it_is_close_to_ease(halves, popular):
    """Its lists share seven items of eight with those of EASE, which has no intercept."""
    train, _ = halves
    listed, exact = lists(fitted(train), train), ease_lists(train)
    shared = np.mean([np.isin(one, other).mean() for one, other in zip(listed, exact, strict=True)])
    assert shared > 0.86
    assert recall(listed, halves) > max(0.98 * recall(exact, halves), popular + 0.1)


def of_a_crowd(interactions, max_users):
    """The same interactions, with another bound on the number of people."""
    domain = hr.Domain(interactions.domain.items, max_users=max_users)
    return dataclasses.replace(interactions, domain=domain)


@pytest.mark.parametrize("unit", ["user", "record"])
def test_a_crowd_that_is_declared_small_is_ranked_by_popularity_at_the_full_budget(halves, budget, unit):
    few, small = of_a_crowd(halves[0], 8), budget(1.0, unit)
    planned = hr.plan(few.domain, hr.PrivateEASE(), small)
    assert [event.name for event in planned.noisy] == ["item counts"]
    assert planned.noisy == hr.plan(few.domain, hr.Popularity(), small).noisy
    release = fitted(few, small)
    assert release.kind == "item scores"
    popularity = hr.testing.fit(few, hr.Popularity(), small, entropy=hr.testing.Seeded(1))
    assert recall(lists(release, few), halves) >= recall(lists(popularity, few), halves) - 0.005


def test_a_crowd_that_turns_out_small_is_ranked_by_popularity(halves, budget):
    """Declared as 50,000, and 40 people came: the counts are measured again with what pairs would cost."""
    train = halves[0].select(np.arange(len(halves[0].items)) < halves[0].indptr[40])
    release = fitted(of_a_crowd(train, 50_000), budget(1.0, "user"))
    made = release.statement.measurements
    assert [each.name for each in made] == ["item counts", "crowd size", "item counts again"]
    assert [each.split for each in made] == pytest.approx([0.15, 0.01, 0.84])
    assert [decision.name for decision in release.statement.decisions] == ["branch.counts"]
    assert "every list is by popularity" in str(release.statement)
    assert release.kind == "item scores"
    assert release.why_same == "no taste survived the noise at ε = 1"


def test_the_people_may_vote_for_popularity(halves, budget):
    """Everyone draws from the same popular items, without any taste: own items say nothing."""
    rng = np.random.default_rng(5)
    weights = 1 / np.arange(1, ITEMS + 1)
    rows = [np.sort(rng.choice(ITEMS, 8, replace=False, p=weights / weights.sum())) for _ in range(4000)]
    indptr = np.arange(0, 8 * len(rows) + 1, 8)
    users = [f"u{n:05d}" for n in range(len(rows))]
    same = hr.People(
        hr.Domain(range(ITEMS), max_users=5000), users, indptr, np.concatenate(rows).astype(np.int32)
    )
    release = fitted(same, budget(2.0, "user"))
    assert release.kind == "item scores"
    assert [decision.name for decision in release.statement.decisions] == ["branch.pairs", "branch.vote"]
    assert release.taste.endswith("a vote of the people, with noise, found lists by popularity no worse.")
    assert [decision.name for decision in fitted(halves[0], budget(2.0, "user")).statement.decisions] == [
        "branch.pairs"
    ]


def test_a_catalogue_above_pair_items_has_the_pairs_of_the_most_popular(halves, popular, budget):
    release = fitted(halves[0], budget(8.0, "user"), pair_items=100)
    *_, pairs, votes = release.statement.measurements
    assert votes.name == "votes"
    assert (pairs.name, pairs.entries) == ("item pairs", 100 * 99 // 2)
    rare = np.argsort(-release.tensors["item_scores"], kind="stable")[100:]
    listed = lists(release, halves[0])
    assert np.isfinite(release.tensors["item_factors"][rare]).all()
    assert recall(listed, halves) > popular + 0.05


@pytest.mark.parametrize(("unit", "other"), [("user", {}), ("record", {"pair_items": 500})])
def test_more_people_than_64_bits_hold_are_refused_before_the_charge(unit, other, tmp_path):
    def declared(users):
        return hr.Domain(range(6000), max_users=users)

    total = hr.Budget(epsilon=4.0, delta=1e-11, unit=unit, adjacency="add-remove")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total)
    few = hr.People(declared(10**9), ["a"], np.array([0, 1]), np.array([0]))
    told = "5,000 items of 1,000,000,000 declared users may not fit 64 bits; declare at most ([0-9,]+)"
    with pytest.raises(ConfigError, match=told) as refused:
        hr.fit(few, hr.PrivateEASE(), total, ledger=ledger)
    assert not ledger.state().charges
    most = int(re.search(told, str(refused.value))[1].replace(",", ""))
    assert most > 450_000_000
    assert len(hr.plan(declared(most), hr.PrivateEASE(), total).noisy) > 1
    with pytest.raises(ConfigError, match="may not fit 64 bits"):
        hr.plan(declared(most + 1), hr.PrivateEASE(), total)
    if other:
        assert len(hr.plan(declared(10**9), hr.PrivateEASE(**other), total).noisy) > 1
