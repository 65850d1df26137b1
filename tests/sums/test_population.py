"""People who take part, with their weights: the same sums from memory and from block files."""

from dataclasses import replace

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.sums import MarginalGradients
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.population import FULL, Population
from support.packed import packed
from support.people import person


@pytest.fixture
def crowd(search):
    rng = np.random.default_rng(5)
    domain = search.domain(40, 30)
    rows = [person(rng, 40, int(n)) for n in rng.integers(1, 40, 30)]
    asked = rng.choice([0.0, 0.5, 2.0, 8.0], 30)
    return search.ratings(domain, rows).with_personal_epsilon(asked)


def weigh(asked):
    return np.floor(np.minimum(asked / 4, 1) * FULL).astype(np.int64)


def effect_sums(domain):
    return EffectSums(
        domain, "user", "add-remove", "l2", 1.4, 50.0, 20, domain.scale.mid, personal_epsilon=True
    )


def test_sums_over_block_files_are_the_sums_in_memory(crowd, tmp_path):
    stored = packed(crowd, tmp_path / "blocks", 60)
    assert stored.n_blocks > 5
    sums = effect_sums(crowd.domain)
    gradients = MarginalGradients(crowd.domain, 3, 1, 0.8, 0.8, 1.5)
    factors = np.random.default_rng(2).standard_normal((40, 3))
    found = []
    for source in (crowd, stored):
        people = Population(source, weigh)
        effects = [values for _, values in sums.measure(people)]
        found.append([*effects, gradients.measure(people, np.full(40, 3.0), factors, np.ones(40))])
    for here, there in zip(*found, strict=True):
        np.testing.assert_array_equal(here, there)


def test_who_asks_for_nothing_is_not_there(crowd):
    without = crowd.select(np.repeat(crowd.personal_epsilon > 0, crowd.counts))
    here, there = Population(crowd, weigh), Population(without, weigh)
    assert (here.n_listed, there.n_listed) == (crowd.n_users, int((crowd.personal_epsilon > 0).sum()))
    assert there.n_listed < crowd.n_users
    (ours, weights), (theirs, same) = next(here.blocks()), next(there.blocks())
    assert ours.digest() == theirs.digest()
    np.testing.assert_array_equal(weights, same)


def test_nobody_at_all_gives_zeros(search):
    domain = search.domain(40, 3)
    people = Population(search.ratings(domain, [[None] * 40] * 3))
    sums = effect_sums(domain)
    assert people.n_listed == 0
    assert all(not values.any() for _, values in sums.measure(people))


def test_sums_without_weights_are_refused_for_people_who_have_them(crowd):
    """Or they would count in full, whatever they ask for."""
    asking, silent = Population(crowd, weigh), Population(replace(crowd, personal_epsilon=None), weigh)
    everyone = Population(crowd)
    with pytest.raises(ValueError, match="takes no weights"):
        _ = asking.in_full
    for people in (silent, everyone):
        assert next(people.in_full.blocks()).n_users == crowd.n_users
        assert (next(people.blocks()).weights == FULL).all()
