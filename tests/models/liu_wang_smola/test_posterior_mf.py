"""Langevin dynamics under noise, and people who each ask for an ε of their own."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, DataError
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from support.packed import packed


def user(budget, epsilon=4.0):
    return budget(epsilon, unit="user")


def fitted(ratings, model, budget, seed=1):
    return hr.testing.fit(ratings, model, budget, entropy=hr.testing.Seeded(seed))


def same(one, other):
    return all(np.array_equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())


@pytest.mark.full
def test_steps_find_what_effects_leave(rmse, budget):
    config = hr.PosteriorMF(rank=4)
    assert rmse(config) < rmse(hr.GlobalEffects()) - 0.02
    assert rmse(config, user(budget, 20.0)) < rmse(hr.GlobalEffects(), user(budget, 20.0)) - 0.005
    errors = [rmse(config, user(budget, epsilon)) for epsilon in (0.3, 5.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2] + 0.005


def test_a_crowd_too_small_to_show_factors_gets_item_effects_alone(world, budget):
    """The noise of global effects, from public facts; a larger crowd or a setting brings rounds back."""
    domain, allowed = world[0].domain, user(budget, 0.5)
    few = domain.model_copy(update={"expected_users": 300, "expected_records": 9000})
    many = domain.model_copy(update={"expected_users": 10**6, "expected_records": 10**8})
    effects = hr.plan(few, hr.GlobalEffects(), allowed)
    planned = hr.plan(few, hr.PosteriorMF(), allowed)
    assert [m.noise for m in planned.measurements] == [m.noise for m in effects.measurements]
    assert len(hr.plan(many, hr.PosteriorMF(), allowed).measurements) == 5 + 32
    assert len(hr.plan(few, hr.PosteriorMF(epochs=9), allowed).measurements) == 5 + 9
    moved = hr.People(few, world[0].users, world[0].indptr, world[0].items, world[0].values)
    assert fitted(moved, hr.PosteriorMF(), allowed).tensors["item_factors"].shape[1] == 0


def test_public_factors_are_where_it_starts_and_what_noise_leaves(world, budget):
    """Half of the people are public; noise leaves what they tell, and private ratings improve on it."""
    train, test = world
    half = np.arange(train.n_users) < train.n_users // 2
    public, own = (train.select(np.repeat(part, train.counts)) for part in (half, ~half))
    prior = hr.baseline(public, hr.PosteriorMF(rank=4))
    model = hr.PosteriorMF(rank=4, epochs=8)
    found = {
        epsilon: hr.testing.fit(own, model, user(budget, epsilon), prior=prior, entropy=hr.testing.Seeded(1))
        for epsilon in (0.2, 50.0)
    }
    alone = fitted(own, model, user(budget, 0.2))
    errors = [hr.evaluate(one, train=train, test=test)["rmse"] for one in (found[50.0], found[0.2], alone)]
    assert errors[0] < errors[1] < errors[2] - 0.01
    few = hr.testing.fit(
        own, hr.PosteriorMF(rank=2, epochs=2), user(budget, 0.2), prior=prior, entropy=hr.testing.Seeded(1)
    )
    assert few.tensors["item_factors"].shape[1] == 4, "what is public and not refined stays"


def test_every_round_is_one_measurement_and_all_cost_the_budget(world, budget):
    planned = hr.plan(world[0].domain, hr.PosteriorMF(rank=3, epochs=7), user(budget))
    names = [m.name for m in planned.measurements]
    assert names[5:] == [f"items, epoch {t}" for t in range(1, 8)]
    assert {m.mechanism for m in planned.measurements} == {"gaussian"}
    assert planned.epsilon == pytest.approx(4, rel=1e-6)
    assert planned.epsilon <= 4


def test_it_protects_people_where_they_come_and_go(world, budget):
    for unit, adjacency in (("record", "add-remove"), ("record", "replace")):
        with pytest.raises(BudgetUnsupported, match="user under add-remove"):
            hr.plan(world[0].domain, hr.PosteriorMF(), budget(unit=unit, adjacency=adjacency))
    with pytest.raises(BudgetUnsupported, match=r"needs delta > 0; set delta$"):
        hr.plan(world[0].domain, hr.PosteriorMF(), budget(unit="user", delta=0.0))


def test_nobodys_vector_is_released(world, budget):
    release = fitted(world[0], hr.PosteriorMF(rank=3, epochs=3), user(budget))
    assert (release.kind, release.users) == ("factors", ())
    assert sorted(release.tensors) == ["item_effects", "item_factors", "item_noise", "item_popularity"]


def test_block_files_give_the_bits_of_memory(world, budget, tmp_path):
    blocks = packed(world[0], tmp_path / "blocks", 3000)
    assert blocks.n_blocks > 5
    model = hr.PosteriorMF(rank=3, epochs=3)
    one, other = (fitted(source, model, user(budget)) for source in (world[0], blocks))
    assert one.to_bytes() == other.to_bytes()


# -- an ε per user ----------------------------------------------------------------------------------


@pytest.fixture
def choosing(world):
    """A third asks for nothing, a third for a little, a third for more than there is."""
    return world[0].with_personal_epsilon(np.tile([0.0, 0.5, 9.0], world[0].n_users)[: world[0].n_users])


def test_who_asks_for_nothing_has_no_influence_at_all(choosing, budget):
    model = hr.PosteriorMF(rank=3, epochs=3)
    without = choosing.select(np.repeat(choosing.personal_epsilon > 0, choosing.counts))
    here, there = fitted(choosing, model, user(budget)), fitted(without, model, user(budget))
    assert here.to_bytes() == there.to_bytes()
    assert not same(
        here,
        fitted(
            choosing.select(np.repeat(choosing.personal_epsilon < 9, choosing.counts)), model, user(budget)
        ),
    )


def test_who_asks_for_nothing_has_none_without_noise_either(choosing):
    model = hr.PosteriorMF(rank=3, epochs=3)
    without = choosing.select(np.repeat(choosing.personal_epsilon > 0, choosing.counts))
    assert same(hr.baseline(choosing, model), hr.baseline(without, model))


def test_without_noise_people_are_capped_all_the_same(world):
    train = world[0]
    domain = hr.Domain(train.domain.items, scale=(1, 5, 1), max_users=2000, max_per_user=10)
    moved = hr.People(domain, train.users, train.indptr, train.items, train.values)
    model = hr.PosteriorMF(rank=2, epochs=2)
    assert same(hr.baseline(moved, model), hr.baseline(moved.capped(10), model))


def test_who_asks_for_a_little_counts_for_a_little(world, budget):
    """Under the same noise, the less people ask for the nearer the release is to that of nobody."""
    model, train = hr.PosteriorMF(rank=2, epochs=2), world[0]
    asked = 4.0, gaussian_epsilon(gaussian_mu(4.0, 1e-6) / 2, 1e-6), 0.1, 0.0
    full, half, little, nobody = (
        fitted(train.with_personal_epsilon(np.full(train.n_users, epsilon)), model, user(budget))
        for epsilon in asked
    )
    assert same(full, fitted(train, model, user(budget)))
    away = [
        np.linalg.norm(release.tensors["item_effects"] - nobody.tensors["item_effects"])
        for release in (little, half, full)
    ]
    assert 0 < away[0] < away[1] < away[2]


def test_plan_and_statement_say_what_each_class_is_promised(world, budget):
    train = world[0]
    levels = {"strict": 0.5, "default": 2.0, "generous": 8.0, "absent": 0.0}
    domain = hr.Domain(train.domain.items, scale=(1, 5, 1), max_users=2000, personal_epsilon=levels)
    moved = hr.People(domain, train.users, train.indptr, train.items, train.values)
    asked = np.array(list(levels.values()))[np.arange(train.n_users) % 4]
    model = hr.PosteriorMF(rank=2, epochs=2)
    planned = hr.plan(domain, model, user(budget, 4.0))
    promised = {level.name: level.promised for level in planned.classes}
    assert promised["absent"] == 0
    assert all(0 <= promised[name] <= min(levels[name], 4.0) for name in levels)
    assert promised["generous"] == pytest.approx(4.0)
    assert promised["strict"] > 0.49
    release = fitted(moved.with_personal_epsilon(asked), model, user(budget, 4.0))
    for name in levels:
        assert name in str(planned)
        assert name in str(release.statement)
    assert hr.Release.from_bytes(release.to_bytes()).statement == release.statement


def test_classes_that_nobody_is_in_are_an_error(world, budget):
    """Else a column of another name would have everybody used in full."""
    train = world[0]
    domain = hr.Domain(train.domain.items, scale=(1, 5, 1), max_users=2000, personal_epsilon={"strict": 0.5})
    moved = hr.People(domain, train.users, train.indptr, train.items, train.values)
    with pytest.raises(DataError, match="no column personal_epsilon"):
        fitted(moved, hr.PosteriorMF(), user(budget))
    with pytest.raises(DataError, match="no column personal_epsilon"):
        hr.baseline(moved, hr.PosteriorMF())


def test_damaged_blocks_cost_nothing(world, budget, tmp_path):
    blocks = packed(world[0], tmp_path / "blocks", 7000)
    with open(tmp_path / "blocks" / "values.bin", "r+b") as file:
        file.truncate(500)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", user(budget))
    with pytest.raises(DataError, match=r"values\.bin"):
        hr.fit(blocks, hr.PosteriorMF(rank=2, epochs=2), user(budget), ledger=ledger)
    assert ledger.state().charges == ()


def test_models_that_give_everybody_the_same_refuse_those_who_ask(choosing, budget):
    with pytest.raises(BudgetUnsupported, match="use PosteriorMF or PosteriorSampleMF with unit"):
        fitted(choosing, hr.GlobalEffects(), user(budget))
    with pytest.raises(BudgetUnsupported, match="epsilon"):
        fitted(choosing, hr.UserLevelSGD(rank=2, epochs=2), user(budget))
