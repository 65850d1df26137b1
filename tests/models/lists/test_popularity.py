"""Popularity: the most given items come first, for everybody, and its ε is what it says."""

import dataclasses

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, DataError
from hushrec.models.lists.sums import CrowdSize
from hushrec.sums.item_sums import ItemCounts
from support.interactions import interactions_of

N = 20


@pytest.fixture(scope="module")
def given():
    return hr.synthetic.interactions(3000, 100, 60_000, seed=2)


@pytest.fixture(scope="module")
def best(given):
    """The items that most people gave."""
    return first(np.bincount(given.items, minlength=given.domain.n_items))


def first(scores):
    return {*np.argsort(-scores, kind="stable")[:N].tolist()}


def found(given, budget, seed=1, **settings):
    """The best items of a release."""
    release = hr.testing.fit(given, hr.Popularity(**settings), budget, entropy=hr.testing.Seeded(seed))
    return first(release.tensors["item_scores"])


def test_without_noise_scores_are_counts(given):
    release = hr.baseline(given, hr.Popularity())
    counts = np.bincount(given.items, minlength=given.domain.n_items)
    assert (release.tensors["item_scores"] == counts).all()
    assert str(release.statement).startswith("NOT PRIVATE: no noise")


@pytest.mark.parametrize("unit", ["user", "record"])
def test_less_noise_finds_more_of_the_best(given, best, budget, unit):
    """At ε = 100 hardly any noise is left, at 0.001 the order is that of the noise."""
    split = [len(best & found(given, budget(epsilon, unit))) / N for epsilon in (0.001, 1.0, 100.0)]
    assert split[0] < 0.5
    assert split[1] >= 0.8
    assert split[2] >= 0.9


def test_what_it_does_not_protect_or_know_is_refused(given, world, budget):
    with pytest.raises(BudgetUnsupported, match="user under add-remove"):
        hr.plan(given.domain, hr.Popularity(), budget(unit="user", adjacency="replace"))
    with pytest.raises(BudgetUnsupported, match="delta > 0"):
        hr.plan(given.domain, hr.Popularity(), budget(delta=0.0))
    with pytest.raises(
        DataError, match=r"works on interactions, .*choose CovarianceSVD \(--model covariance-svd\)"
    ):
        hr.baseline(world[0], hr.Popularity())
    with pytest.raises(DataError, match="GlobalEffects works on ratings"):
        hr.baseline(given, hr.GlobalEffects())


# -- counts of items: nobody moves them by more than Δ, and somebody by nearly as much --------------------


N_ITEMS, CAP = 60, 40


def people(*rows):
    """People who gave the items of each row, capped."""
    return interactions_of(N_ITEMS, rows, max_per_user=CAP).capped(CAP)


def counted(counts, *rows):
    return counts.measure(people(*rows))


def of(unit):
    return ItemCounts(people().domain, unit)


def farthest(search, counts):
    """Largest distance over Δ that a user with any number of items moves the counts."""
    beside = [range(5), range(3, 50)]
    without = counted(counts, *beside)
    moved = (counted(counts, *beside, range(n)) - without for n in range(1, N_ITEMS + 1))
    return max(search.exceeds(counts.query, change, np.zeros_like(change)) for change in moved)


def test_no_user_moves_the_counts_by_more_than_delta(search):
    assert 0.999 < farthest(search, of("user")) <= 1


def test_one_interaction_moves_one_count_by_one(search):
    counts, row = of("record"), [*range(CAP)]
    for left_out in row:
        one, other = (
            counted(counts, row, row[:3]),
            counted(counts, [i for i in row if i != left_out], row[:3]),
        )
        assert search.exceeds(counts.query, one, other) == 1
    understated = dataclasses.replace(counts.query, sensitivity=0.999)
    assert search.exceeds(understated, one, other) > 1


def test_counts_are_those_of_people():
    counts = of("record")
    assert (counted(counts, [0, 1], [1], [1, 5]) * counts.query.step)[:6].tolist() == [1, 3, 0, 0, 0, 1]
    weighed = of("user")
    found = counted(weighed, range(16), [1]) * weighed.query.step
    assert found[:3].tolist() == [0.25, 1.25, 0.25]
    assert weighed.query.sensitivity == pytest.approx(1)


@pytest.mark.parametrize("unit", ["user", "record"])
def test_nobody_moves_the_size_of_the_crowd_by_more_than_delta(search, unit):
    """Rows of 1 to M items beside others: the user, or one interaction; the first moves it by 1."""
    size, beside, found = CrowdSize(unit), [range(5), range(3, 50)], []
    for n in range(1, CAP + 1):
        with_it = size.measure(people(*beside, range(n)))
        without = size.measure(people(*beside, *([] if unit == "user" else [range(n - 1)])))
        found.append(search.exceeds(size.query, with_it, without))
    assert 0.998 < max(found) <= 1
    first = [size.measure(people(*rows)) for rows in ([[3]], [])]
    assert search.exceeds(dataclasses.replace(size.query, sensitivity=0.95), *first) > 1


def test_the_size_is_a_number_of_people_or_of_roots():
    rows = [[3], range(4), range(9), range(10)]
    for unit, expected in (("user", 4), ("record", 1 + 2 + 3 + 10**0.5)):
        size = CrowdSize(unit)
        (found,) = size.measure(people(*rows)) * size.query.step
        assert expected - 4 * size.query.step < found <= expected
