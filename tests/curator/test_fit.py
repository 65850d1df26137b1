"""Fits: of what is charged and of nothing else, and of noise that has no finite ε that anybody knows."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, ConfigError, GrantError
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.release.artefact import Release


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def test_nobody_gives_more_ratings_than_the_cap(small, budget):
    """Unit user: the bounds of all sums rest on it, and the loss of a posterior sample has no other."""
    few = hr.Domain(small.domain.items, scale=(1, 5, 1), max_users=2000, max_per_user=2)
    whole = hr.People(few, small.users, small.indptr, small.items, small.values)
    assert whole.counts.max() > 2
    for config in (hr.GlobalEffects(), hr.PosteriorMF(rank=2, epochs=2)):
        made = [
            hr.testing.fit(ratings, config, budget(2.0, unit="user"), entropy=hr.testing.Seeded(1)).to_bytes()
            for ratings in (whole, whole.capped(2))
        ]
        assert made[0] == made[1]


# -- the plan that is charged is what runs ----------------------------------------------------------------


class Swapped(GlobalEffects):
    """Lists one sum and measures another of its name."""

    def fit(self, feedback, grant) -> Release:
        (first, *_) = self.queries(feedback.domain, grant.terms)
        grant.measure(
            dataclasses.replace(first, sensitivity=first.sensitivity / 2), np.zeros(first.size, int)
        )
        raise AssertionError("it was measured")


class Smuggling(GlobalEffects):
    """Measures what it does not list."""

    def fit(self, feedback, grant) -> Release:
        grant.measure(
            Measurement("more", 0.0, "l2", 1.0, 4), np.arange(4)
        )  # exact, were it taken at its word
        raise AssertionError("it was measured")


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Swapped, "item sums: the charged plan lists it otherwise"), (Smuggling, "more: not booked")],
)
def test_a_model_cannot_measure_what_was_not_charged(small, budget, tmp_path, kind, told):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    with pytest.raises(GrantError, match=told):
        hr.fit(small, kind(), budget(1.0), ledger=ledger)
    assert {charge.state for charge in ledger.state().charges} == {"charged"}
    assert not [*tmp_path.glob("*.sums/*/*.safetensors")]


def test_queries_are_those_of_the_plan_and_not_made_again_for_the_fit(small, budget):
    """A model that changes its mind between plan and fit measures what the fit lists, on the plan's noise."""
    lists = []

    class Counting(GlobalEffects):
        def queries(self, domain, terms):
            lists.append(terms.epsilon)
            return super().queries(domain, terms)

    hr.testing.fit(small, Counting(), budget(2.0), entropy=hr.testing.Seeded(1))
    assert set(lists) == {2.0}, "every list is made from the budget that is charged"
    lists.clear()
    hr.baseline(small, Counting())
    assert set(lists) <= {math.inf}, "the baseline has no budget that stands in"


def test_what_is_no_model_is_refused_with_the_verb_for_it(small, budget):
    for use in (
        lambda: hr.testing.fit(small, hr.GlobalEffects, budget(1.0), entropy=hr.testing.Seeded(1)),
        lambda: hr.plan(small.domain, hr.GlobalEffects, budget(1.0)),
        lambda: hr.baseline(small, hr.GlobalEffects),
    ):
        with pytest.raises(ConfigError, match=r"GlobalEffects is a class, .*; give GlobalEffects\(\)$"):
            use()
    with pytest.raises(ConfigError, match="RandomizedResponse is not a model; to release data, call"):
        hr.testing.fit(small, hr.RandomizedResponse(), budget(1.0), entropy=hr.testing.Seeded(1))
    asked = r"RandomizedResponse is not a model; ask for its own plan, .* hushrec randomize --plan$"
    with pytest.raises(ConfigError, match=asked):
        hr.plan(small.domain, hr.RandomizedResponse(), budget(1.0))


def test_people_who_ask_are_refused_where_nobody_is_weighed(small, budget):
    asking, user = small.with_personal_epsilon(np.ones(small.n_users)), budget(2.0, unit="user")
    able = 'use PosteriorMF or PosteriorSampleMF with unit "user" and adjacency "add-remove", or drop'
    for config, allowed in (
        (GlobalEffects(), user),
        (GlobalEffects(), None),
        (hr.PosteriorSampleMF(rank=2), budget(2.0, "user", "replace", 0.0)),
    ):
        seeded = {"entropy": hr.testing.Seeded(1)}
        fit = hr.baseline if allowed is None else partial(hr.testing.fit, budget=allowed, **seeded)
        with pytest.raises(BudgetUnsupported, match=able):
            fit(asking, config)
    short = hr.PosteriorMF(rank=2, epochs=2)
    assert hr.testing.fit(asking, short, user, entropy=hr.testing.Seeded(1)).statement.personal_epsilon
    assert hr.baseline(asking, short).kind == "factors"


@pytest.mark.parametrize("noise", [True, False])
def test_a_release_carries_the_domains_titles_and_is_else_the_same(small, budget, noise):
    """Of a model that expects nothing of titles; ``test_public_items`` has the others."""
    titles = [f"Film {item}" for item in small.domain.items]
    domain = hr.Domain(
        small.domain.items,
        scale=small.domain.scale,
        max_per_user=small.domain.max_per_user,
        max_users=small.domain.max_users,
        titles=titles,
        features={"genres": ["War"] * len(titles)},
    )
    assert domain == small.domain
    titled = dataclasses.replace(small, domain=domain)
    config = hr.PosteriorSampleMF(rank=2, chain={"chains": 2, "epochs": 20})

    def fit(ratings):
        if not noise:
            return hr.baseline(ratings, config)
        return hr.testing.fit(ratings, config, budget(2.0, unit="user"), entropy=hr.testing.Seeded(0))

    made, plain = fit(titled), fit(small)
    assert made.titles == tuple(titles)
    assert made.features == {"genres": ("War",) * len(titles)}
    assert plain.titles == ()
    assert dataclasses.replace(made, titles=(), features={}).to_bytes() == plain.to_bytes()
    assert titled.digest() == small.digest()
