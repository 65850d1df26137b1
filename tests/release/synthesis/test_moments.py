"""People's items and their numbers: drawn by the law, and with the moments that a release states."""

from types import SimpleNamespace

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.synthetic import interactions
from hushrec.models.lists.estimate import pair_factors
from hushrec.models.lists.estimate.pair_factors import Crowd, ItemFactors, ease, muting
from hushrec.models.lists.outputs import linear_release
from hushrec.release.synthesis import moments as module
from hushrec.release.synthesis.moments import (
    Choices,
    Lengths,
    _log_factors,
    _simulate,
    calibrate,
    lengths_with,
    lengths_with_part,
    lengths_with_root,
    popularity_moments,
    user_moments,
)
from support.releases import statement


def test_items_are_distinct_and_ascend():
    choices = Choices(np.linspace(-3, 3, 40), np.random.default_rng(0).normal(size=(40, 2)))
    lengths = np.random.default_rng(1).integers(1, 21, 500)
    rows, people = choices.draw(lengths, np.random.default_rng(2))
    assert np.diff(rows.indptr).tolist() == lengths.tolist()
    assert people.shape == (500, 2)
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        assert (np.diff(rows.items[start:end]) > 0).all()


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.full
def test_one_item_is_drawn_by_its_weight(replaced):
    """False alarm 1e-6: five standard deviations of each count. A fault: weights that are not exp(β)."""
    levels = np.log([1.0, 2.0, 3.0, 4.0])
    choices = Choices(levels / 2 if replaced else levels, np.zeros((4, 0)))
    n = 200_000
    rows, _ = choices.draw(np.ones(n, dtype=np.int64), np.random.default_rng(3))
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    apart = (np.bincount(rows.items, minlength=4) - n * chances) / np.sqrt(n * chances * (1 - chances))
    assert (abs(apart).max() < 5.2) is not replaced


def test_two_items_are_drawn_without_replacement():
    """False alarm below 1e-6: P(i, j) = p_i p_j/(1 − p_i) + p_j p_i/(1 − p_j), each within 5.2 deviations."""
    chances, n = np.array([0.5, 0.3, 0.2]), 100_000
    rows, _ = Choices(np.log(chances), np.zeros((3, 0))).draw(
        np.full(n, 2, dtype=np.int64), np.random.default_rng(4)
    )
    first, second = rows.items.reshape(n, 2).T
    for i, j in ((0, 1), (0, 2), (1, 2)):
        p, q = chances[i], chances[j]
        expected = p * q / (1 - p) + p * q / (1 - q)
        counted = ((first == i) & (second == j)).sum()
        assert abs(counted - n * expected) < 5.2 * np.sqrt(n * expected * (1 - expected))


def test_tastes_make_people_differ():
    tastes = np.array([[3.0], [3.0], [-3.0], [-3.0]])
    rows, _ = Choices(np.zeros(4), tastes).draw(np.full(4000, 2, dtype=np.int64), np.random.default_rng(5))
    pairs = rows.items.reshape(-1, 2)
    alike = ((pairs == [0, 1]).all(axis=1) | (pairs == [2, 3]).all(axis=1)).mean()
    assert alike > 0.7  # 1/3 without tastes


def test_extreme_utilities_are_finite():
    choices = Choices(np.array([1e30, -1e30, 0.0]), np.zeros((3, 0)))
    rows, _ = choices.draw(np.ones(50, dtype=np.int64), np.random.default_rng(6))
    assert set(rows.items.tolist()) == {0}


# -- numbers of items of synthetic people -----------------------------------------------------------------


def test_every_number_of_people_has_the_same_distribution():
    lengths = Lengths(40.0, 1000)
    few, many = lengths.quantiles(500), lengths.quantiles(100_000)
    assert few.mean() == pytest.approx(many.mean(), rel=0.03)
    assert np.quantile(few, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(many, [0.1, 0.5, 0.9]), rel=0.03)


def test_they_stay_within_the_catalogue():
    numbers = Lengths(40.0, 50).quantiles(2000)
    assert (numbers.min(), numbers.max()) == (1, 50)
    assert Lengths(0.1, 50).quantiles(10).min() == 1


@pytest.mark.parametrize("mean", [2.0, 30.0, 165.0])
def test_lengths_have_the_mean_that_is_asked_for(mean):
    assert lengths_with(mean, 4000).mean == pytest.approx(mean, rel=1e-6)
    assert lengths_with(mean, 4000).quantiles(50_000).mean() == pytest.approx(mean, rel=0.01)


def test_lengths_have_the_mean_of_roots_that_is_asked_for():
    assert np.sqrt(lengths_with_root(5.0, 4000).quantiles(50_000)).mean() == pytest.approx(5.0, rel=0.01)
    numbers = lengths_with_part(0.11, 4000).quantiles(50_000)
    assert np.sqrt(numbers).mean() / numbers.mean() == pytest.approx(0.11, rel=0.01)


def test_a_mean_beyond_the_catalogue_gives_the_most_there_is():
    assert lengths_with(1e6, 20).quantiles(5).max() == 10


# -- moments of users, read back out of a release of linear scores ----------------------------------------


N, RANK, TOTAL = 60, 3, 900.0


class Model(SimpleNamespace):
    def settings(self):
        return {"rank": RANK}


def solved(unit="user", popular=0.3, users=TOTAL):
    """A release whose covariance is known: factors, the part along v, the total."""
    rng = np.random.default_rng(0)
    counts = users * np.sort(rng.uniform(0.02, 0.6, N))[::-1]
    weights = muting(counts, 1000.0)
    factors = rng.normal(size=(N, RANK)) * np.sqrt(TOTAL * weights.variance / N)[:, None] / 2
    factors -= np.outer(weights.direction, weights.direction @ factors)
    crowd = Crowd(TOTAL, TOTAL, 1000.0, 1000.0, 0.4)
    linear, _ = ease(ItemFactors(factors, np.zeros((0, RANK))), weights, popular * TOTAL, crowd)
    domain = SimpleNamespace(
        items=tuple(f"i{k}" for k in range(N)), rating_scale=None, likes=None, counts=None
    )
    made = linear_release(Model(), domain, linear, counts)
    object.__setattr__(made, "statement", statement(unit=unit, interactions=True))
    return made, factors, weights, counts


def test_the_covariance_that_ease_was_solved_for_is_read_back():
    made, factors, weights, counts = solved()
    moments = user_moments(made)
    assert moments.popular_part == pytest.approx(0.3, rel=0.02)
    assert moments.factors @ moments.factors.T == pytest.approx(factors @ factors.T / TOTAL, abs=2e-4)
    assert moments.direction == pytest.approx(weights.direction, abs=1e-5)
    assert counts.sum() / moments.counts.sum() == pytest.approx(TOTAL, rel=0.01)  # the crowd


def test_people_have_as_many_items_as_the_counts_say():
    made, _, _, counts = solved(users=TOTAL / 5)  # Σ √c of as many people as the factors are of
    lengths = user_moments(made).lengths
    assert lengths.root_mean == pytest.approx(counts.sum() / TOTAL, rel=0.01)


def test_of_unit_record_the_crowd_follows_from_lengths():
    made, _, weights, counts = solved("record", users=TOTAL / 4)
    moments = user_moments(made)
    n_users = counts.sum() / moments.counts.sum()
    # The total is Σ ‖y‖, and people have the items that counts and weights say.
    square = counts @ weights.weights**2 / counts.sum()
    numbers = moments.lengths.quantiles(20_000)
    assert n_users * np.sqrt(numbers).mean() * np.sqrt(square) == pytest.approx(TOTAL, rel=0.02)
    assert moments.counts.sum() == pytest.approx(numbers.mean(), rel=0.01)


def test_the_constants_are_those_of_the_model():
    assert (module.RIDGE, module.FLOOR) == (pair_factors.RIDGE, pair_factors._FLOOR)


def test_counts_alone_hold_no_taste():
    lengths = user_moments(solved()[0]).lengths
    moments = popularity_moments(np.array([3.0, 1.0, 0.0]), lengths)
    assert moments.factors.shape == (3, 0)
    assert moments.counts[0] == pytest.approx(3 * moments.counts[1])


# -- synthetic people agree with the moments that a release states -----------------------------------------


@pytest.fixture(scope="module")
def stated():
    data = interactions(1500, 150, 30_000, 0)
    return user_moments(hr.baseline(data, hr.PrivateEASE(rank=8)))


def apart(stated, choices, seed=1):
    """How far the pairs of drawn people are from the released ones, relative; and their counts."""
    rng = np.random.default_rng(seed)
    shown = np.flatnonzero((stated.factors**2).sum(axis=1) > 0)
    numbers = rng.permutation(stated.lengths.quantiles(40_000))
    eye = np.eye(len(shown))
    drawn = _simulate(choices, stated, shown, eye, numbers, rng)
    pairs = stated.factors[shown] @ stated.factors[shown].T
    np.fill_diagonal(pairs, 0)
    error = np.linalg.norm(drawn.pairs - pairs) / np.linalg.norm(pairs)
    counts = abs(drawn.counts / 40_000 - stated.counts).sum() / stated.counts.sum()
    return error, counts


def test_drawn_people_have_the_released_moments(stated):
    pairs, counts = apart(stated, calibrate(stated))
    assert counts < 0.05
    assert pairs < 0.42


@pytest.mark.full
def test_without_rounds_the_moments_are_missed(stated, monkeypatch):
    """A planted fault: the closed form alone, which draws without replacement weaken."""
    close, _ = apart(stated, calibrate(stated))
    monkeypatch.setattr(module, "_ROUNDS", 1)
    monkeypatch.setattr(module, "_AVERAGED", 1)
    monkeypatch.setattr(module, "_taste_step", lambda *of: np.zeros_like(of[2]))
    far, _ = apart(stated, calibrate(stated))
    assert far > 1.3 * close


@pytest.mark.full
def test_the_same_moments_give_the_same_choices(stated):
    first, again = calibrate(stated), calibrate(stated)
    assert (first.levels == again.levels).all()
    assert (first.tastes == again.tastes).all()


def test_popularity_alone_is_kept_though_draws_are_without_replacement():
    from hushrec.release.synthesis.moments import lengths_with

    popularity = np.array([0.9] + [0.05] * 40)
    stated = popularity_moments(popularity, lengths_with(2.0, 41))
    rows, _ = calibrate(stated).draw(np.full(20_000, 2, dtype=np.int64), np.random.default_rng(0))
    drawn = np.bincount(rows.items, minlength=41) / 20_000
    assert drawn[1:].mean() == pytest.approx(stated.counts[1:].mean(), rel=0.1)


def test_factors_of_a_logarithm_that_has_low_rank():
    """Rows of the matrix are made block by block; here it is known whole."""
    rng = np.random.default_rng(0)
    tastes, scale = rng.normal(size=(80, 2)) / 3, rng.uniform(0.5, 2, 80)
    lifts = np.exp(tastes @ tastes.T) - 1
    values, vectors = np.linalg.eigh(lifts)
    factors = _log_factors(vectors * np.sqrt(np.maximum(values, 0)), scale, 2)
    off = ~np.eye(80, dtype=bool)
    assert (factors @ factors.T)[off] == pytest.approx((tastes @ tastes.T)[off], abs=0.1)
