"""Du, Leighton & Patel 2019 as printed: answers for two symbols, and representatives that all rows share."""

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from hushrec.models.du_leighton_patel.features import ItemFeatures
from hushrec.models.du_leighton_patel.groups import quantile_threshold
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.testing import Seeded
from lab.attacks.linkage import seeded, simulate_attack
from lab.du_leighton_patel.published import SharedRandomizer
from lab.published import Cost, DuRepresentatives, DuResponse, cost, randomize


def budget(epsilon=20.0, delta=0.0, **others):
    return hr.Budget(**{"epsilon": epsilon, "delta": delta, "unit": "user", "adjacency": "replace", **others})


def of(items=1000, scale=(1, 5, 1), max_per_user=200):
    return hr.Domain(range(items), scale=scale, max_users=1000, max_per_user=max_per_user)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 40.0, 4000.0])
def test_a_cell_loses_a_logarithm_more_than_is_printed(epsilon):
    """Untrue with probability 1/(1 + e^ε_k), ε_k = ε/m; the loss is ε_k + ln(k − 1), of k = 6 symbols."""
    event = DuResponse().event(of(), budget(epsilon))
    assert (event.symbols, event.sensitivity, event.size) == (6, 400, 1000)
    assert event.noise == pytest.approx(1 / (1 + math.exp(epsilon / 1000)), rel=1e-14)
    assert abs(float(event.loss) - (epsilon / 1000 + math.log(5))) < 1e-9


def test_the_printed_chance_is_that_of_two_symbols():
    """−ln(1/(1 + e^ε_k)) whatever the number of symbols, where 1/(e^ε_k + k − 1) would keep the claim."""
    two, six = (DuResponse().event(of(scale=scale), budget(40.0)) for scale in ((0, 1, 1), (1, 5, 1)))
    assert two.exponent == six.exponent == pytest.approx(math.log1p(math.exp(0.04)))
    assert float(two.loss) == pytest.approx(0.04 + math.log(2))  # not rated, 0 and 1
    corrected = hr.RandomizedResponse().plan(of(max_per_user=1000), budget(40.0)).noisy[0]
    assert float(corrected.loss) == pytest.approx(0.04)


def test_what_it_costs_stands_beside_its_claim(ratings):
    domain = ratings.domain
    assert cost(DuResponse(), domain, budget(1.0)) == Cost(1.0, pytest.approx(1 + 20 * math.log(5)))
    assert float(DuResponse().event(domain, budget(1.0)).loss) == pytest.approx(1 / 20 + math.log(5))
    data = randomize(ratings, DuResponse(), budget(1.0), 1).data
    assert (data.method, data.settings["symbols"]) == ("DuResponse", 6)
    turned = data.ratings.n_entries / (data.n_people * domain.n_items)
    assert turned > 0.4, "half of all cells are answered untruly, most of them by a rating"


# -- §III.C: one representative of each item, for all rows ------------------------------------------------

ITEMS, PEOPLE, KEEP, GROUP = 12, 400, 0.6, 0.75
TASTES = ItemFeatures(np.eye(3)[np.arange(ITEMS) % 3], ("red", "green", "blue"))
"""Groups of four, each item with the three others of its kind."""
AWAY = budget(1.0, adjacency="replace-items")
SHARED = DuRepresentatives(keep_probability=KEEP, group_probability=GROUP, threshold=1.0, groups=TASTES)


def one_each(item=None):
    """People who rated one item each: all the same, or all items in turn."""
    rated = [(f"u{u:04d}", u % ITEMS if item is None else item, u % 5 + 1) for u in range(PEOPLE)]
    domain = hr.Domain(range(ITEMS), scale=(1, 5, 1), max_per_user=ITEMS, max_users=1000)
    schema = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}
    return hr.load(pl.DataFrame(rated, schema=schema, orient="row"), domain)


def landed(seed, ratings=None, method=SHARED):
    """Item of each slot before and after."""
    ratings = one_each() if ratings is None else ratings
    made = seeded(ratings, method, AWAY if method is SHARED else None, Seeded(seed))
    return ratings.items, made.data.ratings.items[made.rows]


def test_everybody_gets_the_same_representative_of_an_item():
    for seed in range(5):
        before, after = landed(seed)
        for item in range(ITEMS):
            assert len(set(after[before == item]) - {item}) <= 1
    fresh = hr.DistanceBased(keep_probability=KEEP, group_probability=GROUP, threshold=1.0, groups=TASTES)
    before, after = landed(0, method=fresh)
    assert max(len(set(after[before == item]) - {item}) for item in range(ITEMS)) > 1


@pytest.mark.full
def test_a_single_rating_comes_out_as_if_it_were_drawn_by_itself():
    """Over many seeds P(j | i) is that of DistanceBased: only what rows tell together differs."""
    n, found = 600, np.zeros(ITEMS)
    for seed in range(n):
        _, after = landed(seed, one_each(item=4).select(np.arange(PEOPLE) == 0))
        found[after] += 1
    chance = np.full(ITEMS, (1 - KEEP) * (1 - GROUP) / ITEMS)
    chance[[1, 7, 10]] += (1 - KEEP) * GROUP / 3
    chance[4] += KEEP
    assert chance.sum() == pytest.approx(1)
    deviation = np.sqrt(n * chance * (1 - chance))
    assert (np.abs(found - n * chance) < 4 * deviation).all()


def test_ratings_keep_their_stars_and_land_in_their_own_rows():
    law = SHARED.law(one_each(), AWAY)
    every = Rows(
        "slots",
        ITEMS,
        np.array([0, 0, ITEMS, ITEMS, ITEMS + 2]),
        np.array([*range(ITEMS), 3, 8], np.int32),
        np.array([*range(ITEMS), 200, 201], np.uint8),
    )
    seen = set()
    for number in range(40):
        key = iter(bytes([number, place]) * 16 for place in range(2)).__next__
        indptr, items, marks = law.draw(every, key())
        assert indptr[0] == indptr[1] == 0
        assert indptr[2] == indptr[3]
        whole = marks[: indptr[2]]
        assert len(set(whole)) == len(whole) == len(set(items[: indptr[2]])) <= ITEMS
        stayed = items[: indptr[2]] == whole
        assert stayed.sum() >= 3
        assert 1 <= indptr[4] - indptr[3] <= 2
        assert set(marks[indptr[3] :]) <= {200, 201}
        seen |= {(int(i), int(m)) for i, m in zip(items[indptr[3] :], marks[indptr[3] :], strict=True)}
    assert {(3, 200), (8, 201)} < seen


def test_what_was_kept_is_listed_before_a_representative():
    """Of items 0 and 1, 1 represents 0 and 2 represents 1: only a kept 1 can meet a replaced 0."""
    law = SharedRandomizer(0.5, 1.0, np.array([0, 1, 2, 3]), np.array([1, 2, 0], np.int32))
    many = np.arange(0, 2001, 2)
    columns, marks = np.tile([0, 1], 1000).astype(np.int32), np.tile([7, 9], 1000).astype(np.uint8)
    starts, items, listed = law.draw(Rows("slots", 3, many, columns, marks), bytes(32))
    found = {tuple(zip(items[i:j].tolist(), listed[i:j].tolist(), strict=True)) for i, j in pairwise(starts)}
    assert found == {((0, 7), (1, 9)), ((0, 7), (2, 9)), ((1, 9),), ((1, 7), (2, 9))}


def test_no_slot_has_a_finite_epsilon_and_the_paper_claims_none():
    domain = one_each().domain
    assert cost(SHARED, domain, AWAY) == Cost(None, math.inf)
    assert cost(SHARED, domain, budget(1e6, adjacency="replace-items")).true == math.inf
    with pytest.raises(BudgetUnsupported, match="DuRepresentatives replaces the items"):
        SHARED.printed(domain, budget())
    with pytest.raises(BudgetUnsupported, match="give the ε that is claimed"):
        seeded(one_each(), SHARED, None, Seeded(1))


# -- §V.B and §VI: what is said of it ---------------------------------------------------------------------


def test_the_attack_that_it_is_said_to_stop_finds_most_people():
    """At the most noise that the paper tries; by chance 1 of 400 rows."""
    ratings = hr.synthetic.netflix_like(users=400, items=300, ratings=20_000, seed=2)
    chances = {"keep_probability": 0.8, "group_probability": 0.8}
    near = quantile_threshold(ratings, "squared", 0.1)
    method = DuRepresentatives(**chances, threshold=near, groups="ratings")
    found = simulate_attack(ratings, method, AWAY, targets=200)
    assert found.first > 0.5
    assert found.named > 0.5
