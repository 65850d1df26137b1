"""The rule: what is chosen from public facts, what it says, and that no choice costs anything."""

import math
import re

import pytest

import hushrec as hr
from hushrec.curator import suggest_model as module
from hushrec.curator.suggest_model import choice, same_list
from hushrec.errors import BudgetUnsupported, DataError

ITEMS = range(500)
MANY = {"max_users": 200_000, "expected_users": 100_000, "expected_records": 5_000_000}
FEW = {"max_users": 500, "expected_users": 300, "expected_records": 3_000}


def stars(**crowd):
    return hr.Domain(ITEMS, scale=(1, 5, 1), **crowd)


def clicks(**crowd):
    return hr.Domain(ITEMS, **crowd)


@pytest.mark.parametrize(
    ("domain", "unit", "epsilon", "model"),
    [
        # The first sums decide, and not the hint.
        (stars(**MANY), "user", 1.0, hr.AdaptiveFactors()),
        (stars(**FEW), "user", 1.0, hr.AdaptiveFactors()),
        (stars(**MANY), "record", 1.0, hr.AdaptiveFactors()),
        (stars(max_users=500), "record", 1.0, hr.AdaptiveFactors()),
        (clicks(**MANY), "user", 1.0, hr.PrivateEASE()),
        (clicks(**MANY), "record", 1.0, hr.PrivateEASE()),
        # Unless the bound on users leaves nothing to decide.
        (clicks(**FEW), "user", 1.0, hr.PrivateEASE()),
        (clicks(**{**MANY, "expected_records": 200_000}), "user", 1.0, hr.PrivateEASE()),
        (clicks(max_users=50), "user", 1.0, hr.Popularity()),
        (clicks(max_users=50), "record", 0.1, hr.Popularity()),
    ],
)
def test_the_crowd_and_the_noise_decide(domain, unit, epsilon, model, budget):
    asked = budget(epsilon, unit=unit, delta=1e-7)
    assert hr.suggest_model(domain, asked) == model
    assert choice(domain, asked).reason


@pytest.mark.parametrize("model", [None, hr.CovarianceSVD()], ids=["suggested", "capped by the crowd"])
def test_it_does_not_depend_on_the_ratings(budget, model):
    """Two populations of one domain, one of which has hardly any ratings, get the same model and caps."""
    crowd = {"max_users": 2_000, "expected_users": 1_000, "expected_records": 100_000}
    asked = budget(8.0, unit="user")
    made = []
    for size in (100, 1_600):
        drawn = hr.synthetic.netflix_like(50, 40, size, 1)
        domain = hr.Domain(drawn.domain.items, scale=(1, 5, 1), **crowd)
        people = hr.People(domain, drawn.users, drawn.indptr, drawn.items, drawn.values)
        made.append(hr.testing.fit(people, model, asked, entropy=hr.testing.Seeded(1)))
    assert {release.model for release in made} == {type(model or hr.suggest_model(domain, asked)).__name__}
    assert made[0].settings == made[1].settings
    (one, other) = (
        {each.name: each.sensitivity for each in release.statement.measurements} for release in made
    )
    shared = one.keys() & other.keys()
    assert {"item sums", "item counts"} <= shared
    assert {name: one[name] for name in shared} == {name: other[name] for name in shared}


def test_noise_of_pure_epsilon_and_one_sided_adjacency(budget):
    exact = budget(1.0, delta=0.0)
    assert hr.suggest_model(stars(**MANY), exact) == hr.GlobalEffects(noise="laplace")
    content = budget(8.0, adjacency="replace", delta=1e-7)
    assert hr.suggest_model(stars(**MANY), content) == hr.CovarianceSVD()


@pytest.mark.parametrize(
    ("domain", "asked", "told"),
    [
        (stars(**MANY), {"unit": "user", "adjacency": "replace"}, "choose adjacency 'add-remove'"),
        (clicks(**MANY), {"unit": "user", "adjacency": "replace"}, "choose adjacency 'add-remove'"),
        (clicks(**MANY), {"delta": 0.0}, "and delta > 0 for interactions"),
    ],
)
def test_what_no_model_supports_is_refused_and_charges_nothing(domain, asked, told, budget):
    asked = budget(**{"delta": 1e-7, **asked})
    with pytest.raises(BudgetUnsupported, match=told):
        hr.suggest_model(domain, asked)
    ledger = hr.Ledger.ephemeral(asked)
    make = hr.synthetic.netflix_like if domain.feedback == "ratings" else hr.synthetic.interactions
    for given in (asked, "auto"):
        with pytest.raises(BudgetUnsupported, match=told):
            hr.fit(make(20, 6, 60, 1), budget=given, ledger=ledger)
    assert not ledger.state().charges


def test_a_small_catalogue_has_a_small_rank(budget):
    tiny = hr.Domain(range(3), scale=(1, 5, 1), **MANY)
    assert hr.suggest_model(tiny).rank == 3
    classes = hr.Domain(range(3), scale=(1, 5, 1), **MANY, personal_epsilon={"strict": 0.5})
    assert hr.suggest_model(classes, budget(unit="user", delta=1e-7)).rank == 3
    for unit in ("user", "record"):
        asked = budget(unit=unit, delta=1e-7)
        hr.plan(tiny, hr.suggest_model(tiny, asked), asked)


def test_people_with_an_epsilon_of_their_own_get_a_model_that_heeds_it(budget):
    classes = stars(**FEW, personal_epsilon={"strict": 0.5})
    assert hr.suggest_model(classes, budget(1.0, unit="user")) == hr.PosteriorMF()
    with pytest.raises(BudgetUnsupported, match="an ε per user needs unit 'user'"):
        hr.suggest_model(classes, budget(1.0))
    with pytest.raises(BudgetUnsupported, match="drop the column personal_epsilon"):
        choice(clicks(**FEW), budget(1.0, unit="user"), personal_epsilon=True)


def test_what_does_not_fit_into_this_machine_is_not_chosen(budget, monkeypatch):
    asked, domain = budget(8.0, delta=1e-7), hr.Domain(range(5_000), scale=(1, 5, 1), **MANY)
    monkeypatch.setattr(module, "machine", lambda: (1 << 50, 0))
    assert hr.suggest_model(domain, asked) == hr.AdaptiveFactors(), "what is free is not public"
    effects = hr.GlobalEffects().footprint(domain, asked)
    room = effects.bytes_held(int(domain.crowd.ratings), int(domain.crowd.users))
    monkeypatch.setattr(module, "machine", lambda: (int(room), 0))
    simple = choice(domain, asked)
    assert simple.model == hr.GlobalEffects()
    assert "memory" in simple.reason
    monkeypatch.setattr(module, "machine", lambda: (1, 1))
    assert hr.suggest_model(domain, asked) == hr.GlobalEffects()


def test_a_share_of_a_ledger_decides_not_its_total(budget):
    """For each of 52 releases within ε = 8 the bound on users leaves nothing to decide; for one it does."""
    domain, total = clicks(max_users=100), budget(8.0, unit="user")
    assert choice(domain, total).model == hr.PrivateEASE()
    assert choice(domain, hr.split_budget(total, 52)).model == hr.Popularity()
    drawn = hr.synthetic.interactions(60, 500, 600, 1)
    people = hr.People(domain, drawn.users, drawn.indptr, drawn.items)
    for releases, model in ((52, "Popularity"), (1, "PrivateEASE")):
        ledger = hr.Ledger.ephemeral(total, releases)
        assert hr.fit(people, budget="auto", ledger=ledger).model == model


def test_without_a_budget_it_is_the_baseline_of_the_kind():
    assert hr.baseline(hr.synthetic.netflix_like(30, 6, 90, 1)).model == "CovarianceSVD"
    assert hr.baseline(hr.synthetic.interactions(30, 6, 90, 1)).model == "PrivateEASE"
    with pytest.raises(DataError, match=r"load it first with hushrec\.load"):
        hr.baseline("ratings.csv")


@pytest.mark.parametrize("unit", ["user", "record"])
@pytest.mark.parametrize("n_items", [2, 500, 6_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("each", [1, 2, 3, 12, 90, None])
def test_choice_and_prospects_never_contradict_each_other(unit, n_items, epsilon, each, budget):
    """On either side of the number that they name, and far from it, declared and assumed.

    Where the bound on users allows for pairs, the fit decides, whatever is expected.
    """
    asked, ease = budget(epsilon, unit=unit, delta=1e-8), hr.PrivateEASE()

    def clicks_of(users):
        hints = {} if each is None else {"expected_users": users, "expected_records": users * each}
        return hr.Domain(range(n_items), max_users=users if each is None else 1_000_000, **hints)

    needed = ease.users_needed(clicks_of(1_000_000), asked)
    near = () if math.isinf(needed) else (needed - 1, needed, math.ceil(1.2 * needed))
    for users in {1, 300, 1_000_000, *map(int, near)} - {0}:
        domain = clicks_of(users)
        model, reason = choice(domain, asked)
        decides, told = isinstance(model, hr.PrivateEASE), ease.prospects(domain, asked)
        taste = ease.expects_taste(domain, asked)
        assert decides == (len(hr.plan(domain, ease, asked).noisy) > 1)
        assert decides or not taste
        assert told.startswith(f"Taste is {'' if taste else 'not '}expected to be learned from ")
        takes = told.partition(": it takes ")[2].partition(". ")[0]
        assert reason.startswith("its first sums say") if decides else reason.endswith(f": it takes {takes}")
        if number := re.search(r"about ([\d,]+) with as many each", takes):
            assert taste == (int(number[1].replace(",", "")) <= users)
        else:
            assert not taste


def test_models_that_noise_reduces_to_averages_are_found_too_and_known_features_are_no_averages(budget):
    asked = budget(1.0, unit="user", delta=1e-7)
    assert same_list(stars(**FEW), hr.PosteriorMF(), asked)
    assert not same_list(stars(**FEW), hr.PosteriorMF(epochs=2), asked)
    listed = stars(**FEW, users=["ann", "bob"])
    assert same_list(listed, hr.PrivateALS(), budget(1.0, delta=1e-7))
    genres = {"genres": ["war" if item % 2 else "comedy" for item in ITEMS]}
    assert not same_list(stars(**FEW, features=genres), hr.GlobalEffects(), asked)
    assert not same_list(stars(**FEW), hr.ItemKNN(), asked)
