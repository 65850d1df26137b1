"""Released averages of items and of people, by Algorithms 1 and 2 and by the corrected form."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from hushrec.models.phases.biases import BiasSettings
from hushrec.privacy.exact_grant import unprotected
from hushrec.privacy.grant import SEAL, Grant


def measured(ratings, budget, norm, grant, *, published, **settings):
    return BiasSettings(**settings).measure(ratings, budget, norm, grant, published=published)


def test_as_published_without_noise_they_are_algorithms_1_and_2(listed, budget):
    train, _ = listed
    values, users = train.values(), np.repeat(np.arange(train.domain.n_users), np.diff(train.roster_indptr()))
    n = np.bincount(train.items, minlength=150)
    level = values.mean()
    items = np.clip((np.bincount(train.items, values, minlength=150) + 15 * level) / (n + 15), 1, 5)
    left = values - items[train.items]
    counts = np.bincount(users, minlength=train.domain.n_users)
    sums = np.bincount(users, left, minlength=train.domain.n_users)
    people = np.clip((sums + 20 * left.mean()) / (counts + 20), -2, 2)
    found = measured(train, budget(), "l1", unprotected(), published=True)
    np.testing.assert_allclose(found.item_effects, items, atol=1e-3)
    np.testing.assert_allclose(found.user_effects, people, atol=1e-3)
    np.testing.assert_array_equal(found.user_counts, counts)


def test_as_published_they_are_clamped(listed, budget):
    train, _ = listed
    planned = hr.plan(
        hr.GlobalEffects(user_biases="released", analysis="published", noise="laplace"),
        train.domain,
        budget(0.05),
    )
    grant = Grant(planned.events, hr.testing.Seeded(1), seal=SEAL)
    found = measured(train, budget(0.05), "l1", grant, published=True)
    assert (found.item_effects.min(), found.item_effects.max()) == (1, 5)
    assert (found.user_effects.min(), found.user_effects.max()) == (-2, 2)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_corrected_form_is_nearer_to_the_averages_under_noise(listed, budget, adjacency):
    train, _ = listed
    clean = measured(train, budget(), "l2", unprotected(), published=False)
    errors = {}
    for analysis in ("corrected", "published"):
        config = hr.GlobalEffects(user_biases="released", analysis=analysis, noise="gaussian")
        allowed = budget(2.0, adjacency=adjacency)
        planned = hr.plan(config, train.domain, allowed)
        grant = Grant(planned.events, hr.testing.Seeded(2), seal=SEAL)
        found = measured(train, allowed, "l2", grant, published=analysis == "published")
        errors[analysis] = [
            float(np.mean((found.item_effects - clean.item_effects) ** 2)),
            float(np.mean((found.user_effects - clean.user_effects) ** 2)),
        ]
    assert all(ours < theirs for ours, theirs in zip(*errors.values(), strict=True)), errors


def test_variances_say_how_far_off_levels_are(listed, budget):
    train, _ = listed
    clean = measured(train, budget(), "l2", unprotected(), published=False)
    allowed = budget(3.0)
    planned = hr.plan(hr.GlobalEffects(user_biases="released", noise="gaussian"), train.domain, allowed)
    found = measured(
        train, allowed, "l2", Grant(planned.events, hr.testing.Seeded(3), seal=SEAL), published=False
    )
    scaled = (found.user_effects - clean.user_effects) ** 2 / found.user_variance
    assert 0.3 < scaled.mean() < 2


def test_levels_of_people_are_released_or_stay_at_home(listed, listed_rmse, budget):
    train, _ = listed
    released, home = (hr.GlobalEffects(user_biases=user_biases) for user_biases in ("released", "client"))
    one, other = (hr.fit(train, m, budget(), entropy=hr.testing.Seeded(1)) for m in (released, home))
    assert (one.kind, other.kind) == ("factors and people", "factors")
    assert one.users == train.domain.users
    assert other.users == ()
    assert one.tensors["user_factors"].shape == (train.domain.n_users, 0)
    assert listed_rmse(released) == pytest.approx(listed_rmse(home), abs=0.01)
    assert listed_rmse(home, budget(1.0)) < listed_rmse(released, budget(1.0)), "at home needs no noise"


def test_levels_of_protected_people_stay_at_home(listed, budget):
    with pytest.raises(BudgetUnsupported, match='set user_biases="client"'):
        hr.plan(hr.GlobalEffects(user_biases="released"), listed[0].domain, budget(unit="user"))
    assert hr.plan(hr.GlobalEffects(user_biases="client"), listed[0].domain, budget(unit="user")).events


def test_as_published_the_global_means_get_a_fiftieth(listed, budget):
    planned = hr.plan(
        hr.GlobalEffects(user_biases="released", analysis="published", noise="laplace"),
        listed[0].domain,
        budget(adjacency="replace"),
    )
    shares = {m.event.name: m.share for m in planned.measurements}
    assert shares == pytest.approx(
        {"global sum": 0.01, "residual sum": 0.01, "item sums": 0.54, "user sums": 0.44}
    )
