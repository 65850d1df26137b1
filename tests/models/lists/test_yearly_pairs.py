"""Pairs of a year are carried over to the lens of now; the lists of a year gain from all its releases.

Statistical bounds are six standard errors or more wide: a false alarm has a chance below 1e-6, and the seeds
are fixed.
"""

import functools
import math

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import LedgerWarning
from hushrec.estimation.head import Head
from hushrec.estimation.yearly import UNKNOWN
from hushrec.estimation.yearly_matrix import YearlyMatrix
from hushrec.models.lists.estimate.pair_factors import Muting
from hushrec.models.lists.estimate.yearly_pairs import YearlyPairs, passed_on, yearly_pairs
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import WithoutNoise
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noisy import Noisy

ITEMS = tuple("abcdef")


def lens_of(rng, n):
    direction, mass = rng.uniform(0.1, 1, n), rng.uniform(0.2, 2, n)
    return Muting(rng.uniform(0.1, 1, n), direction / np.linalg.norm(direction), mass / mass.mean())


def pairs_of(rng, items, n_items, rank=2):
    n = len(items)
    upper = np.triu(rng.normal(0, 10, (n, n)), 1)
    head = Head(n_items, np.array(items))
    sums = YearlyMatrix((upper + upper.T).astype(np.float32), rng.uniform(1, 9, n), 0.5, head, size=100.0)
    return YearlyPairs(sums, lens_of(rng, n), rng.normal(size=(n, rank)).astype(np.float32).astype(float))


def carried(pairs, items=ITEMS):
    return Carried(items, pairs.arrays())


def test_pairs_are_carried_over_entry_by_entry_to_the_crowd_and_the_weights_of_now():
    """Step 3 of the recipe: ρ = (d′/d)/√c."""
    rng = np.random.default_rng(0)
    before, noise = pairs_of(rng, [4, 0, 2, 3], 6), 3.0
    head, lens = Head(6, np.array([5, 2, 4, 0])), lens_of(rng, 4)._replace(direction=np.zeros(4))
    after = before.carry_over(250.0, head, lens, noise)

    at = [before.sums.head.items.tolist().index(item) if item != 5 else None for item in head.items]
    grown = [0.0 if k is None else lens.weights[i] / before.lens.weights[k] for i, k in enumerate(at)]
    mass = [0.0 if k is None else before.lens.variance[k] for k in at]
    c = sum(t * by**2 for t, by in zip(mass, grown, strict=True)) / sum(mass)
    ratio = np.array(grown) / math.sqrt(c)
    for i, one in enumerate(at):
        for j, other in enumerate(at):
            apart = i != j and None not in (one, other)
            expected = 2.5 * ratio[i] * before.sums.matrix[one, other] * ratio[j] if apart else 0.0
            assert after.sums.matrix[i, j] == pytest.approx(expected, rel=1e-5)
    variance = [
        UNKNOWN * noise if k is None else 2.5**2 * before.sums.variance[k] * ratio[i] ** 4
        for i, k in enumerate(at)
    ]
    np.testing.assert_allclose(after.sums.variance, variance)
    factors = [np.zeros(2) if k is None else ratio[i] * before.factors[k] for i, k in enumerate(at)]
    np.testing.assert_allclose(after.factors, factors)
    assert after.lens is lens


def test_the_first_pairs_are_what_was_measured():
    rng = np.random.default_rng(3)
    measured, lens = Noisy("item pairs", rng.normal(size=15), 2.0, 1.0, None), lens_of(rng, 6)
    first = yearly_pairs(None, ITEMS, Head(6, np.arange(6)), measured, 100.0, lens)
    assert first.sums.matrix[np.triu_indices(6, 1)].tolist() == measured.values.astype(np.float32).tolist()
    assert first.sums.variance.tolist() == [4.0] * 6
    assert first.lens is lens
    assert first.factors.shape == (6, 0)
    assert first.typical_variance == 4.0


def test_an_item_that_leaves_while_pairs_are_passed_on_gets_no_other_s_row():
    kept = carried(pairs_of(np.random.default_rng(5), [4, 0, 2], 6))
    now = ("a", "b", "c", "d", "f")
    twice = passed_on(Carried(now, passed_on(kept, now)), now)
    assert twice["pairs.items"].tolist() == [-1, 0, 2]


# -- releases ---------------------------------------------------------------------------------------------


def budget(epsilon, unit="user"):
    return hr.Budget(epsilon=epsilon, delta=1e-6, unit=unit, adjacency="add-remove")


def year(people, model, total, shares, seed=0):
    return list(
        hr.testing.year(
            people, model, total, shares, entropy=lambda index: hr.testing.Seeded(100 * seed + index)
        )
    )


def exact(data, model, total):
    """The release of the same sums without noise."""
    return model.fit(data.capped(data.domain.max_per_user), WithoutNoise(total))


def scores(release):
    return np.asarray(release.tensors["item_scores"], dtype=float)


def products(release):
    factors = np.asarray(release.tensors["item_factors"], dtype=float)
    return factors @ factors.T


def apart(one, other):
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def decisions(release):
    return [decision.name for decision in release.statement.decisions]


@functools.cache
def given(users=3000, n_items=40, each=15):
    return hr.synthetic.interactions(users, n_items, users * each, seed=2)


def rows_of(domain, rows):
    indptr = np.cumsum([0, *map(len, rows)])
    items = np.concatenate([np.sort(np.asarray(row, dtype=np.int32)) for row in rows])
    users = [f"u{number:07d}" for number in range(len(rows))]
    return hr.People(domain, users, indptr, items)


def domain_of(items, **facts):
    return hr.Domain(items, **{"max_users": 5000, "max_per_user": 50} | facts)


def grown(data, new):
    """The same people, with these items in front of the catalogue, which nobody has given."""
    domain = domain_of([*new, *data.domain.items], max_per_user=data.domain.max_per_user)
    return hr.People(domain, data.users, data.indptr, data.items + np.int32(len(new)))


@pytest.fixture
def handed(monkeypatch):
    """What every release of a year hands over."""
    kept, finish = list[Carried](), Ledger.finish

    def note(ledger, grant, *rest):
        kept.append(grant.later)
        finish(ledger, grant, *rest)

    monkeypatch.setattr(Ledger, "finish", note)
    return kept


@pytest.mark.parametrize("unit", ["user", "record"])
def test_popularity_of_four_releases_has_a_quarter_of_the_noise(unit):
    """Of 480 counts, the logarithm of a ratio of two variances has a standard error of .09."""
    total, truth = budget(1.0, unit), scores(exact(given(), hr.Popularity(), budget(1.0, unit)))
    errors = np.zeros(2)
    for seed in range(12):
        releases = year([given()] * 4, hr.Popularity(), total, [0.25] * 4, seed)
        errors += [np.square(scores(releases[at]) - truth).sum() for at in (0, -1)]
    assert errors[1] < 0.45 * errors[0]


@pytest.mark.parametrize("unit", ["user", "record"])
def test_ease_with_hardly_any_noise_stays(unit):
    total, model = budget(1000.0, unit), hr.PrivateEASE(rank=6)
    first, second = year([given()] * 2, model, total, [0.5] * 2)
    assert apart(products(second), products(first)) < 0.01
    assert decisions(second) == ["branch.pairs"]


def test_the_last_of_several_is_closer_to_pairs_without_noise_than_a_share_alone():
    """In each of three years: what differs is how much noise is inside."""
    total, model, data = budget(3.0, "record"), hr.PrivateEASE(rank=16), given(3000, 200)
    truth = products(exact(data, model, total))
    for seed in range(3):
        releases = year([data] * 4, model, total, [0.25] * 4, seed)
        first, last = (apart(products(releases[at]), truth) for at in (0, -1))
        assert last < 0.85 * first


def test_lists_wait_while_the_year_is_worth_pairs_and_its_sums_are_not_yet():
    releases = year([given(690)] * 4, hr.PrivateEASE(rank=8), budget(0.8), [0.25] * 4)
    assert decisions(releases[0]) == ["branch.both", "branch.waits"]
    assert releases[0].kind == "item scores"
    assert "branch.waits" not in decisions(releases[-1])
    waits = next(one for one in releases[0].statement.decisions if one.name == "branch.waits")
    assert waits.values["signal"] < waits.values["least"]
    assert "until further releases say more" in str(releases[0].statement)


def test_a_week_without_pairs_passes_them_on(handed):
    """People with one item each take the counts; the week after combines its pairs with those before."""
    domain = given().domain
    lonely = rows_of(domain, [[number % 40] for number in range(3000)])
    with pytest.warns(LedgerWarning, match="less than half"):
        releases = year([given(), lonely, given()], hr.PrivateEASE(rank=6), budget(8.0), [1 / 3] * 3)
    assert [decisions(one)[0] for one in releases] == ["branch.pairs", "branch.few_items", "branch.pairs"]
    assert "people have too few items each" in releases[1].taste
    first, second, third = (of.arrays for of in handed)
    np.testing.assert_array_equal(second["pairs.triangle"], first["pairs.triangle"])
    np.testing.assert_array_equal(second["pairs.factors"], first["pairs.factors"])
    assert third["pairs.noise"].mean() < 0.7 * first["pairs.noise"].mean()
    assert len(third["crowd.sizes"]) == 3
