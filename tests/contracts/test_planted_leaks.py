"""An audit finds what it looks for: faults are planted, and it sees each of them."""

import pytest

import hushrec as hr
from hushrec.audit.canary import listen
from hushrec.audit.fits import replayed_pairs
from hushrec.audit.recorder import Leak
from hushrec.audit.replay import compare, record
from hushrec.audit.search import leads, most, search
from hushrec.audit.worlds import World
from support.planted import FAULTS, HEARD, MODELS, REPLAYED, SEARCHED

WORLDS = {feedback: World.of(feedback=feedback) for feedback in ("ratings", "interactions")}


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What is loaded, compiled or remembered once is not what is looked for."""
    for model, budget in {(fault.model, fault.budget) for fault in FAULTS}:
        world = world_of(MODELS[model])
        record(world.ratings(world.everybody), MODELS[model], budget)


def world_of(config):
    return WORLDS[config.feedback]


def replay_all(fault):
    world = world_of(fault.config)
    for _, _, factors in leads(fault.config, fault.budget, world, world, world):
        for pair in replayed_pairs(world, fault.budget):
            compare(fault.config, fault.budget, *map(world.ratings, pair), factors)


@pytest.mark.parametrize("fault", REPLAYED, ids=str)
@pytest.mark.full
def test_a_replay_finds_a_leak(fault):
    with fault.planted(), pytest.raises(Leak, match=fault.found):
        replay_all(fault)


@pytest.mark.parametrize("fault", SEARCHED, ids=str)
@pytest.mark.full
def test_a_search_finds_a_sensitivity_that_is_too_small(fault):
    world = world_of(fault.config)
    with fault.planted():
        found = [
            search(fault.config, fault.budget, world, lead=(branch, factors))
            for _, branch, factors in leads(fault.config, fault.budget, world, world, world)
        ]
    assert max(most(found).values()) > 1


@pytest.mark.parametrize("fault", HEARD, ids=str)
@pytest.mark.full
def test_a_canary_hears_noise_that_is_too_small(fault):
    world = world_of(fault.config)
    planned = hr.plan(world.domain, fault.config, fault.budget)
    gaps = search(fault.config, fault.budget, world, random=0, rounds=0).gaps
    assert 0.8 * planned.epsilon < listen(planned, gaps).epsilon <= planned.epsilon
    with fault.planted():
        assert listen(planned, gaps).epsilon > planned.epsilon
