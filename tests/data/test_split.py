"""Parts of people: for training and for testing."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import binom

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.split import held_out_people, holdout, kfold, latest, since
from hushrec.errors import DataError

N_ITEMS = 60
ORDERS = st.randoms(use_true_random=False)


def made(counts, seed=0):
    rng = default_rng(seed)
    rows = [
        (f"u{user}", str(item), int(rng.integers(1, 6)), int(rng.integers(0, 30)), user / 4)
        for user, count in enumerate(counts)
        for item in rng.choice(N_ITEMS, count, replace=False)
    ]
    names = ["user_id", "item_id", "rating", "timestamp", "personal_epsilon"]
    return pl.DataFrame(rows, schema=names, orient="row")


def people_of(frame, **kind):
    return load(frame, Domain(range(N_ITEMS), max_users=10_000, **kind or {"scale": (1, 5, 1)}))


def of(counts):
    return people_of(made(counts))


def mixed(frame, random):
    return frame[random.sample(range(frame.height), frame.height)]


def rows(people):
    return pl.from_arrow(people.table()).rows()


def named(part):
    return set(part.users.to_pylist())


SPLITS = {
    "holdout": lambda people, seed: [holdout(people, 0.3, seed)],
    "kfold": lambda people, seed: kfold(people, 4, seed),
    "latest": lambda people, _: [latest(people, 3)],
    "since": lambda people, _: [since(people, fraction=0.3)],
}


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@settings(derandomize=True, max_examples=10, deadline=None)
@for_all(counts=st.lists(st.integers(1, 40), max_size=9), random=ORDERS)
@pytest.mark.full
def test_parts_are_a_partition_whatever_the_order_of_rows(split, counts, random):
    frame = made(counts)
    people, other = people_of(frame), people_of(mixed(frame, random))
    for (train, test), parts in zip(split(people, 5), split(other, 5), strict=True):
        assert sorted(rows(train) + rows(test)) == sorted(rows(people))
        assert train.domain is test.domain is people.domain
        assert (rows(train), rows(test)) == tuple(map(rows, parts))


@pytest.mark.parametrize("split", SPLITS)
def test_interactions_are_divided_too_and_another_seed_splits_otherwise(split):
    people = people_of(made([40] * 20), counts=9)
    one, same, other = ([*SPLITS[split](people, seed)] for seed in (1, 1, 2))
    for train, test in one:
        assert sorted(rows(train) + rows(test)) == sorted(rows(people))
        assert 0 < test.n_entries < people.n_entries
    tests = [rows(parts[0][1]) for parts in (one, same, other)]
    assert tests[0] == tests[1]
    assert (tests[0] != tests[2]) == (split in ("holdout", "kfold"))


@pytest.mark.parametrize(("fraction", "size"), [(0, 0), (0.1, 20), (0.333, 67), (1, 200)])
def test_holdout_has_the_asked_size(fraction, size):
    train, test = holdout(of([40] * 5), fraction, 0)
    assert (train.n_entries, test.n_entries) == (200 - size, size)


def test_folds_are_disjoint_and_even():
    people = of([30, 17, 1, 55])
    tests = [rows(test) for _, test in kfold(people, 5, 0)]
    assert sorted(map(len, tests)) == [20, 20, 21, 21, 21]
    assert sorted(row for test in tests for row in test) == sorted(rows(people))


def test_latest_is_by_timestamp_then_catalogue():
    frame = made([40, 7, 2])
    _, test = latest(people_of(frame), 5)
    expected = []
    for user in ("u0", "u1", "u2"):
        mine = [row for row in frame.rows() if row[0] == user]
        expected += sorted(mine, key=lambda row: (row[3], int(row[1])))[-5:]
    assert {row[:2] for row in rows(test)} == {row[:2] for row in expected}
    assert test.n_entries == len(expected)


def test_nothing_splits_into_nothing_and_wrong_requests_are_explained():
    for train, test in (holdout(of([]), 0.5, 0), since(of([]), fraction=0.5)):
        assert train.n_entries == test.n_entries == 0
        assert np.array_equal(test.indptr, [0])
    people, timed, moment = people_of(made([9]).drop("timestamp")), of([9]), "either time or fraction"
    for wrong, message in (
        (lambda: holdout(people, 1.5, 0), "between 0 and 1"),
        (lambda: kfold(people, 1, 0), "2 to 255"),
        (lambda: kfold(people, 256, 0), "2 to 255"),
        (lambda: latest(people, 3), "these ratings have none"),
        (lambda: since(people, time=3), "these ratings have none"),
        (lambda: since(timed), moment),
        (lambda: since(timed, time=3, fraction=0.1), moment),
        (lambda: since(timed, fraction=1.5), "between 0 and 1"),
        *(
            (lambda more=more: held_out_people(timed, **{"people": 1, "seed": 0} | more), "change people, fr")
            for more in ({"people": 0}, {"fraction": 0}, {"fraction": 1}, {"least": 1})
        ),
    ):
        with pytest.raises(DataError, match=message):
            wrong()


# -- people held out whole --------------------------------------------------------------------------------


def test_people_are_held_out_whole_and_only_those_with_enough():
    people = of([*[20] * 30, *[4] * 10, *[5] * 10])
    train, fold_in, test = held_out_people(people, 12, 0, fraction=0.3)
    assert named(fold_in) == named(test)
    assert not named(train) & named(test)
    assert named(train) | named(test) == named(people)
    assert (len(named(test)), train.n_users) == (12, 38)
    assert sorted(rows(train) + rows(fold_in) + rows(test)) == sorted(rows(people))
    given_by = dict(zip(people.users.to_pylist(), people.counts.tolist(), strict=True))
    assert [given_by[user] for user in test.users.to_pylist()] == (fold_in.counts + test.counts).tolist()
    assert test.counts.tolist() == [{20: 6, 5: 2}[count] for count in (fold_in.counts + test.counts).tolist()]
    for fraction in (0.001, 0.999):  # something to fold in, and something to find
        _, fold_in, test = held_out_people(of([2, 3, 60]), 3, 0, fraction=fraction, least=2)
        assert fold_in.counts.min() == test.counts.min() == 1
    everybody = held_out_people(people, 40, 0)  # all who have five or more
    assert named(everybody[0]) == {f"u{user}" for user in range(30, 40)}
    with pytest.raises(DataError, match="fewer than 41 people have 5 items or more; lower people or least"):
        held_out_people(people, 41, 0)


def test_held_out_items_are_random_and_so_are_the_people():
    """Every item of 20 is held out of a fifth of 2,000 people: binomial counts, each outside once in 10^7."""
    _, fold_in, test = held_out_people(of([20] * 4000), 2000, 0)
    low, high = binom.ppf([1e-7, 1 - 1e-7], 2000, 1 / 5)
    offsets = np.concatenate([fold_in.items, test.items])
    held_out = np.repeat([False, True], [len(fold_in.items), len(test.items)])
    users = np.concatenate([fold_in.user_index(), test.user_index()])
    by_place = held_out[np.lexsort((offsets, users))].reshape(2000, 20).sum(axis=0)
    assert ((low <= by_place) & (by_place <= high)).all()
    numbers = np.array([int(user[1:]) for user in test.users.to_pylist()])
    halves = binom.ppf([1e-7, 1 - 1e-7], 2000, 1 / 2)
    assert halves[0] <= (numbers < 2000).sum() <= halves[1]


@settings(derandomize=True, max_examples=10, deadline=None)
@for_all(counts=st.lists(st.integers(1, 40), min_size=2, max_size=9), random=ORDERS)
def test_people_are_the_same_whatever_the_order_of_rows(counts, random):
    frame = made([9, *counts])
    people, turned = people_of(frame), people_of(mixed(frame, random))
    first, second, other = (
        held_out_people(*which) for which in ((people, 1, 3), (turned, 1, 3), (people, 1, 4))
    )
    assert [rows(part) for part in first] == [rows(part) for part in second]
    assert sorted(row for part in other for row in rows(part)) == sorted(rows(people))


# -- one moment for everybody -----------------------------------------------------------------------------


@pytest.mark.parametrize(("fraction", "least"), [(0, 0), (0.1, 10), (0.5, 50), (1, 100)])
def test_the_last_fraction_is_a_moment_too(fraction, least):
    """Thirty moments for a hundred ratings: those of one moment stay together."""
    people = of([40, 60])
    train, test = since(people, fraction=fraction)
    assert test.n_entries >= least
    if least:
        moment = test.timestamps.min()
        assert since(people, time=moment)[1].digest() == test.digest()
        assert (test.timestamps > moment).sum() < least
        assert train.n_entries == (people.timestamps < moment).sum()
