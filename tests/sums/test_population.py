"""People who take part, with their weights: the same sums from memory and from block files."""

from dataclasses import replace

import numpy as np
import pytest

from hushrec.sums.population import FULL, Population
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


def test_who_asks_for_nothing_is_not_there(crowd):
    without = crowd.select(np.repeat(crowd.personal_epsilon > 0, crowd.counts))
    here, there = Population(crowd, weigh), Population(without, weigh)
    assert (here.n_listed, there.n_listed) == (crowd.n_users, int((crowd.personal_epsilon > 0).sum()))
    assert there.n_listed < crowd.n_users
    (ours, weights), (theirs, same) = next(here.blocks()), next(there.blocks())
    assert ours.digest() == theirs.digest()
    np.testing.assert_array_equal(weights, same)


def test_sums_without_weights_are_refused_for_people_who_have_them(crowd):
    """Or they would count in full, whatever they ask for."""
    asking, silent = Population(crowd, weigh), Population(replace(crowd, personal_epsilon=None), weigh)
    everyone = Population(crowd)
    with pytest.raises(ValueError, match="takes no weights"):
        _ = asking.in_full
    for people in (silent, everyone):
        assert next(people.in_full.blocks()).n_users == crowd.n_users
        assert (next(people.blocks()).weights == FULL).all()
