"""Item effects from sums, checked by hand where there is no noise."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.models.phases.item_effects import EffectSettings
from hushrec.privacy.exact_grant import unprotected


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(60, 12, 300, 2)


def exact(ratings, budget, *, published=False, **settings):
    chosen = EffectSettings(**settings)
    sums = chosen.sums(ratings.domain, budget, "l2", published=published)
    return chosen.measure(sums, sums.measure(ratings), unprotected())


def test_as_published_an_item_leans_on_the_global_mean(small, budget):
    """(Σ r + β G)/(n + β) (McSherry & Mironov 2009, §4.2)."""
    values, n = small.values(), np.bincount(small.items, minlength=12)
    level = values.mean()
    found = exact(small, budget(), published=True, item_strength=7.0)
    by_hand = (np.bincount(small.items, values, minlength=12) + 7 * level) / (n + 7)
    np.testing.assert_allclose(found.item_effects, by_hand, atol=1e-3)
    np.testing.assert_array_equal(found.counts, n)


def test_effects_and_level_together_are_right_on_average(small, budget):
    """What shrinking takes from the items is in the level, so no rating is off by it on average."""
    found = exact(small, budget())
    predicted = found.item_effects[small.items] + found.user_mean
    assert predicted.mean() == pytest.approx(small.values().mean(), abs=1e-3)
    assert found.user_mean != 0


def test_where_people_are_protected_the_level_is_that_of_their_own_means(small, budget):
    found = exact(small, budget(unit="user"))
    means = np.add.reduceat(small.values(), small.indptr[:-1]) / small.counts
    level = found.user_mean + found.counts @ found.item_effects / found.counts.sum()
    assert level == pytest.approx(means.mean(), abs=1e-3)


def test_less_noise_leaves_room_for_more_of_a_person(small, budget):
    def contribution_cap(epsilon, **more):
        settings = EffectSettings(contribution_cap=more.pop("contribution_cap", None))
        return settings.sums(
            small.domain, budget(epsilon, "user"), "l2", published=more.pop("published", False)
        ).contribution_cap

    assert contribution_cap(0.01) == 1.0 < contribution_cap(1.0) < contribution_cap(4.0)
    assert contribution_cap(4.0, contribution_cap=3.0) == 3.0
    assert contribution_cap(4.0, contribution_cap=3.0, published=True) == 1.0
