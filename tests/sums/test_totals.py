"""Every private sum has the same bits, wherever the rows are and however they are cut and ordered."""

from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import FULL, Once, People
from hushrec.data.synthetic import netflix_like
from hushrec.estimation.head import Head
from hushrec.models.lists.sums import ItemWeights, PairSums
from hushrec.models.liu_wang_smola.sums import MarginalGradients, RidgeGradients
from hushrec.models.mcsherry_mironov import sums as covariance_sums
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.sums.factor_sums import FactorSums
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.residuals import PeopleSums, Residuals
from support.packed import packed
from support.sums import summed

N_ITEMS, RANK = 40, 3
ADDED = "add-remove"
RNG = np.random.default_rng(8)
EFFECTS, LEVELS = RNG.uniform(1, 5, N_ITEMS), RNG.uniform(-1, 1, 130)
Q, P = 0.3 * RNG.standard_normal((N_ITEMS, RANK)), 0.3 * RNG.standard_normal((130, RANK))


def one_after_another(people, add, *shapes, weighted=False, right=People.total):
    """A cluster in small: each block has sums of its own, which are added afterwards, the last one first."""
    alone = [right(block, add, *shapes, weighted=weighted) for block in reversed([*people.blocks()])]
    return [sum(parts) for parts in zip(*alone, strict=True)]


@pytest.fixture(scope="module")
def ratings():
    """120 people on a roster of 130, who ask for ε of their own."""
    made = netflix_like(120, N_ITEMS, 1500, seed=3)
    names = [f"u{number:03d}" for number in range(130)]
    domain = Domain(made.domain.items, scale=(1, 5, 1), max_per_user=N_ITEMS, max_users=130, users=names)
    users = sorted(np.random.default_rng(1).permutation(names)[: made.n_users].tolist())
    listed = People(domain, users, made.indptr, made.items, made.values)
    return listed.with_personal_epsilon(np.random.default_rng(2).choice([0.0, 0.5, 2.0, 8.0], listed.n_users))


@pytest.fixture(scope="module")
def stored(ratings, tmp_path_factory):
    """The same people in folders, which are read in one block and in many."""
    folder = tmp_path_factory.mktemp("blocks")
    return {"one block": packed(ratings, folder / "one"), "many blocks": packed(ratings, folder / "many", 90)}


def weigh(asked):
    return np.floor(np.minimum(asked / 4, 1) * FULL).astype(np.int64)


def of_effects(source, unit, *, reg=2, personal_epsilon=False):
    people = source.with_weights(weigh) if personal_epsilon else source
    more = {"reg": reg, "origin": 3.0, "overall": True, "personal_epsilon": personal_epsilon}
    sums = EffectSums(source.domain, unit, ADDED, "l2", **more)
    return [values for _, values in sums.measure(people)]


def of_covariance(source, unit, norm="l2"):
    more = {"clip": 0.65, "limit": 2.0, "reg": 7, "contribution_cap": 4.0, "offset": 5.0, "threads": 1}
    sums = CovarianceSums(source.domain, unit, ADDED, norm, **more)
    return [values for _, values in summed(sums.measure(source, EFFECTS, 0.1))]


def of_people(source):
    sums = PeopleSums(source.domain, ADDED, "l1", 1.5, overall=True)
    return [values for _, values in sums.measure(source, EFFECTS)]


def of_entries(source):
    return [*Residuals(source.domain, ADDED, 1.5).entries(source, EFFECTS, LEVELS)]


def of_factors(source):
    sums = FactorSums(source.domain, ADDED, RANK, 1, 0.9, 1.0)
    rows = sums.residuals.rows(EFFECTS, LEVELS)
    p, q = sums.in_ball(P), sums.in_ball(Q)
    of = source, rows, p
    return [sums.users(*of, q), sums.items(*of, q), sums.items(*of, -q)]


def of_ridge(source):
    gradients = RidgeGradients(source.domain, RANK, 1, 0.8, 0.7)
    return [gradients.measure(source, EFFECTS, Q, 0.3)]


def of_marginals(source):
    gradients = MarginalGradients(source.domain, RANK, 1, 0.8, 0.8, 1.5)
    return [gradients.measure(source.with_weights(weigh), EFFECTS, Q, np.linspace(0.5, 2, len(Q)))]


def of_pairs(source):
    """Of the pairs of items that people rated, whatever they gave them."""
    weights = np.linspace(0.1, 1, N_ITEMS)
    lens = ItemWeights(Head(N_ITEMS, np.arange(N_ITEMS)), weights, weights)
    return [values for _, values in PairSums(N_ITEMS, "user").measure(source, lens)]


STATISTICS = {
    "effects by rating": lambda source: of_effects(source, "record"),
    "effects by user": lambda source: of_effects(source, "user"),
    "effects not centred": lambda source: of_effects(source, "user", reg=None),
    "weighed effects": lambda source: of_effects(source, "user", personal_epsilon=True),
    "covariance by rating": lambda source: of_covariance(source, "record"),
    "covariance by user": lambda source: of_covariance(source, "user", "l1"),
    "sums of people": of_people,
    "entries": of_entries,
    "factor sums": of_factors,
    "ridge gradients": of_ridge,
    "marginal gradients": of_marginals,
}


def same(here, there):
    return len(here) == len(there) and all(starmap(np.array_equal, zip(here, there, strict=True)))


def differing(ratings, others):
    """Statistics that are not the same from all of these as from memory."""
    found = {name: measure(ratings) for name, measure in STATISTICS.items()}
    return {
        name
        for name, measure in STATISTICS.items()
        if not all(same(found[name], measure(other)) for other in others)
    }


def test_a_sum_is_the_same_from_memory_and_from_blocks(ratings, stored):
    assert (stored["one block"].n_blocks, stored["many blocks"].n_blocks > 10) == (1, True)
    assert all(array.dtype.kind == "i" for measure in STATISTICS.values() for array in measure(ratings))
    assert differing(ratings, stored.values()) == set()


def test_more_people_than_declared_have_the_same_sums_from_blocks(ratings, stored, monkeypatch):
    """High and low bits are then kept apart, and are carried at the end of each block."""
    whole = of_covariance(ratings, "record")
    monkeypatch.setattr(covariance_sums, "_KERNEL_BITS", 48)
    sums = CovarianceSums(ratings.domain, "record", ADDED, "l2", 2.0, 0.65, 7, 4.0, 5.0)
    assert not sums._fits(ratings)
    assert all(same(whole, of_covariance(source, "record")) for source in (ratings, *stored.values()))


def test_a_cluster_needs_no_change_of_any_sum(ratings, stored, monkeypatch):
    """Sums that are kept beside each block and added at last, in an order of its own."""
    found = {name: measure(ratings) for name, measure in STATISTICS.items()}
    monkeypatch.setattr(People, "total", one_after_another)
    for measured, measure in zip(found.values(), STATISTICS.values(), strict=True):
        assert same(measured, measure(stored["many blocks"]))


def test_people_of_weight_zero_may_be_all_of_a_block(ratings, tmp_path):
    first = packed(ratings, tmp_path / "first", 90)
    absent = next(first.blocks()).n_users
    asked = np.where(np.arange(ratings.n_users) < absent, 0.0, 8.0)
    asking = ratings.with_personal_epsilon(asked)
    blocks = packed(asking, tmp_path / "again", 90)
    assert next(blocks.with_weights(weigh).blocks()).n_users == 0
    for name in ("weighed effects", "marginal gradients"):
        assert same(STATISTICS[name](asking), STATISTICS[name](blocks))


def test_who_requests_nothing_is_not_there(ratings, stored):
    weighted = ratings.with_weights(weigh)
    there = ratings.personal_epsilon > 0
    assert weighted.digest() == ratings.select(np.repeat(there, ratings.counts)).digest()
    assert weighted.weights.tolist() == weigh(ratings.personal_epsilon[there]).tolist()
    assert stored["many blocks"].with_weights(weigh).gathered().digest() == weighted.digest()
    assert weighted.slice(3, 9).weights.tolist() == weighted.weights[3:9].tolist()


def test_sums_without_weights_are_refused_for_people_who_have_them(ratings, stored):
    """Or they would count in full, whatever they request."""
    for people in (ratings, stored["many blocks"]):
        with pytest.raises(ValueError, match="takes no weights"):
            people.with_weights(weigh).total(lambda block, sums: None, 1)
    silent = replace(ratings, personal_epsilon=None).with_weights(weigh)
    for people in (silent, ratings):
        assert of_effects(people, "user")
        assert (people.weights == FULL).all()


def test_memory_computes_once_and_files_in_every_pass(ratings, stored):
    for source, times in ((ratings, 1), (stored["many blocks"], 2 * stored["many blocks"].n_blocks)):
        calls = []
        made = Once(lambda block, calls=calls: calls.append(block.n_users))
        for _ in range(2):
            source.total(lambda block, count, made=made: made(block), 1)
        assert len(calls) == times
