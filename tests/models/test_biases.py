"""Item effects and people's levels: what they are without noise, and how far off they may be."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from hushrec.models.biases import BiasSettings
from hushrec.models.effects import EffectSettings
from support import runs
from support.runs import exact

RELEASED = hr.GlobalEffects(user_biases="released")


def measured(ratings, run, norm="l2", **settings):
    return BiasSettings(**settings).measure(ratings, run, norm)


def test_without_noise_they_are_the_averages_of_items_then_of_what_is_left(listed):
    """Up to the posterior mean's own shrinking, which is little where there are many ratings."""
    train, _ = listed
    values, users = (
        train.numbers(),
        np.repeat(np.arange(train.domain.n_users), np.diff(train.roster_indptr())),
    )
    found, n = measured(train, exact()), np.bincount(train.items, minlength=150)
    counts = np.bincount(users, minlength=train.domain.n_users)
    np.testing.assert_array_equal(found.item_counts, n)
    np.testing.assert_allclose(found.user_counts, counts, atol=0.001)
    often = n > 100
    means = np.bincount(train.items, values, minlength=150)[often] / n[often]
    np.testing.assert_allclose(found.item_effects[often], means, atol=0.05)
    left = np.clip(values - found.item_effects[train.items], -2, 2)
    sums = np.bincount(users, left, minlength=train.domain.n_users)
    rated = counts > 0
    assert np.corrcoef(found.user_effects[rated], (sums[rated] / counts[rated]))[0, 1] > 0.95
    assert found.user_effects[rated].std() < (sums[rated] / counts[rated]).std(), "shrunk"


def test_the_clip_bounds_what_a_rating_adds(listed, budget):
    domain = listed[0].domain
    for clip, bound in ((0.5, 2.0), (0.125, 0.5)):
        queries = {q.name: q for q in BiasSettings(clip=clip).queries(domain, budget(), "l1")}
        assert queries["user sums"].sensitivity == bound


def test_levels_of_people_are_released_or_stay_at_home(listed, listed_rmse, budget):
    train, _ = listed
    home = hr.GlobalEffects(user_biases="client")
    one, other = (hr.testing.fit(train, m, budget(), entropy=hr.testing.Seeded(1)) for m in (RELEASED, home))
    assert (one.kind, other.kind) == ("factors and people", "factors")
    assert one.users == train.domain.users
    assert other.users == ()
    assert one.tensors["user_factors"].shape == (train.domain.n_users, 0)
    assert listed_rmse(RELEASED) == pytest.approx(listed_rmse(home), abs=0.01)
    assert listed_rmse(home, budget(1.0)) < listed_rmse(RELEASED, budget(1.0)), "at home needs no noise"


def test_levels_of_protected_people_stay_at_home(listed, budget):
    with pytest.raises(BudgetUnsupported, match='set user_biases="client"'):
        hr.plan(listed[0].domain, RELEASED, budget(unit="user"))
    assert hr.plan(listed[0].domain, hr.GlobalEffects(user_biases="client"), budget(unit="user")).noisy


# -- item effects from sums, checked by hand where there is no noise --------------------------------------


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(60, 12, 300, 2)


def effects_of(ratings, unit="record", **settings):
    chosen, run = EffectSettings(**settings), runs.exact(unit)
    return chosen.measure(chosen.sums(ratings.domain, run.terms, "l2"), ratings, run)


def test_effects_and_level_together_are_right_on_average(small):
    """What shrinking takes from the items is in the level, so no rating is off by it on average."""
    found = effects_of(small)
    predicted = found.item_effects[small.items] + found.user_mean
    assert predicted.mean() == pytest.approx(small.numbers().mean(), abs=1e-3)
    assert found.user_mean != 0


def test_where_people_are_protected_the_level_is_that_of_their_own_means(small):
    found = effects_of(small, "user")
    means = np.add.reduceat(small.numbers(), small.indptr[:-1]) / small.counts
    level = found.user_mean + found.counts @ found.item_effects / found.counts.sum()
    assert level == pytest.approx(means.mean(), abs=1e-3)


def test_what_clipping_people_takes_from_effects_is_given_back():
    """Whatever the ratings' spread: the effects of clipped people are about as large as those of records."""
    made = hr.synthetic.netflix_like(2_000, 60, 60_000, 3)
    found, whole = effects_of(made, "user").item_effects, effects_of(made).item_effects
    slope = np.polyfit(whole - whole.mean(), found - found.mean(), 1)[0]
    assert slope == pytest.approx(1, abs=0.15)
