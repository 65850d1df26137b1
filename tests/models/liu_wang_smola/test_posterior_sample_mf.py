"""A sample of the posterior: what it costs, on what that depends, and whom it hears."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.estimation.shrinkage import RATING_VARIANCE

QUICK = {"chains": 2, "epochs": 40}
SHORT = {"chains": 2, "epochs": 8}  # where only the bits count


def fitted(ratings, model, budget, seed=1):
    return hr.testing.fit(ratings, model, budget, entropy=hr.testing.Seeded(seed))


def sampled(**settings):
    return hr.PosteriorSampleMF(rank=2, **{"chain": QUICK, **settings})


def pure(budget, epsilon, adjacency="add-remove"):
    return budget(epsilon, "user", adjacency, delta=0.0)


@pytest.fixture
def choosing(world):
    """A third asks for nothing, a third for a little, a third for more than there is."""
    return world[0].with_personal_epsilon(np.tile([0.0, 0.5, 9.0], world[0].n_users)[: world[0].n_users])


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("replace", 2)])
def test_a_sample_costs_what_a_person_can_move_its_loss_by(world, budget, adjacency, moved):
    """B where they come or go, 2B where they change."""
    domain = world[0].domain
    bound = min(domain.max_per_user, domain.n_items) * 5.0**2
    model, allowed = sampled(), pure(budget, 8.0, adjacency)
    planned = hr.plan(domain, model, allowed)
    (event,) = planned.noisy
    assert event.sensitivity == moved * bound
    assert planned.epsilon == pytest.approx(8.0)
    assert model._target(domain, event.noise).scale == pytest.approx(8.0 / bound / moved)


def test_a_temperature_changes_the_prior_and_not_the_loss(world, budget):
    """A chain at T divides energy and prior, so the loss is scaled up by T before."""
    chain, domain = {**QUICK, "temperature": 0.125}, world[0].domain
    planned = [hr.plan(domain, model, pure(budget, 8.0)) for model in (sampled(chain=chain), sampled())]
    assert planned[0].noisy == planned[1].noisy
    assert planned[0].epsilon <= 8.0
    scales = [sampled(chain=one)._target(domain, planned[0].noisy[0].noise).scale for one in (chain, QUICK)]
    assert scales[0] == pytest.approx(0.125 * scales[1])


def test_without_noise_the_loss_has_the_ratings_own_variance(world):
    assert sampled()._target(world[0].domain, 0.0).scale == 1 / (2 * RATING_VARIANCE * 4.0**2)


@pytest.mark.full
def test_a_sample_predicts_better_the_more_it_may_tell(rmse, budget):
    errors = [rmse(sampled(), pure(budget, epsilon)) for epsilon in (10.0, 1e5)]
    assert errors[1] < errors[0] - 0.05


def test_nobody_at_all_is_sampled_as_anybody_is(world, budget):
    """Whether a number can be given must not tell that somebody is there."""
    nobody = world[0].select(np.zeros(world[0].n_entries, dtype=bool))
    model = sampled(chain=SHORT)
    releases = [fitted(ratings, model, pure(budget, 1.0)) for ratings in (nobody, world[0])]
    here, there = (
        {name: type(value) for name, value in release.statement.diagnostics.items()} for release in releases
    )
    assert here == there


def test_who_asks_for_nothing_leaves_no_trace_in_a_sample(choosing, budget):
    without = choosing.select(np.repeat(choosing.personal_epsilon > 0, choosing.counts))
    model = sampled(chain=SHORT)
    here, there = (fitted(ratings, model, pure(budget, 8.0)) for ratings in (choosing, without))
    assert here.to_bytes() == there.to_bytes()
