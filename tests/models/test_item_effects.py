"""Item effects from sums, checked by hand where there is no noise."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.models.effects import EffectSettings
from support import runs


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(60, 12, 300, 2)


def exact(ratings, unit="record", **settings):
    chosen, run = EffectSettings(**settings), runs.exact(unit)
    return chosen.measure(chosen.sums(ratings.domain, run.terms, "l2"), ratings, run)


def test_effects_and_level_together_are_right_on_average(small):
    """What shrinking takes from the items is in the level, so no rating is off by it on average."""
    found = exact(small)
    predicted = found.item_effects[small.items] + found.user_mean
    assert predicted.mean() == pytest.approx(small.numbers().mean(), abs=1e-3)
    assert found.user_mean != 0


def test_where_people_are_protected_the_level_is_that_of_their_own_means(small):
    found = exact(small, "user", contribution_cap=100.0)
    means = np.add.reduceat(small.numbers(), small.indptr[:-1]) / small.counts
    level = found.user_mean + found.counts @ found.item_effects / found.counts.sum()
    assert level == pytest.approx(means.mean(), abs=1e-3)


def test_less_noise_leaves_room_for_more_of_a_person(small, budget):
    def contribution_cap(epsilon, **settings):
        sums = EffectSettings(**settings).sums(small.domain, budget(epsilon, "user"), "l2")
        return sums.contribution_cap

    assert contribution_cap(0.01) == 1.0 < contribution_cap(1.0) < contribution_cap(4.0)
    assert contribution_cap(4.0, contribution_cap=3.0) == 3.0
