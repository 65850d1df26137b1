"""Parts of people: for training and for testing."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import binom

from hushrec.data import split
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.split import held_out_people, holdout, kfold, load_split
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
    assert tests[0] != tests[2]


@pytest.mark.parametrize(("fraction", "size"), [(0, 0), (0.1, 20), (0.333, 67), (1, 200)])
def test_holdout_has_the_asked_size(fraction, size):
    train, test = holdout(of([40] * 5), fraction, 0)
    assert (train.n_entries, test.n_entries) == (200 - size, size)


def test_folds_are_disjoint_and_even():
    people = of([30, 17, 1, 55])
    tests = [rows(test) for _, test in kfold(people, 5, 0)]
    assert sorted(map(len, tests)) == [20, 20, 21, 21, 21]
    assert sorted(row for test in tests for row in test) == sorted(rows(people))


def test_nothing_splits_into_nothing_and_wrong_requests_are_explained():
    train, test = holdout(of([]), 0.5, 0)
    assert train.n_entries == test.n_entries == 0
    assert np.array_equal(test.indptr, [0])
    people = of([9])
    for wrong, message in (
        (lambda: holdout(people, 1.5, 0), "between 0 and 1"),
        (lambda: kfold(people, 1, 0), "2 to 255"),
        (lambda: kfold(people, 256, 0), "2 to 255"),
        *(
            (
                lambda more=more: held_out_people(people, **{"people": 1, "seed": 0} | more),
                "change people, fr",
            )
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


# -- by time ----------------------------------------------------------------------------------------------

KINDS = {"ratings": {"scale": (1, 5, 1)}, "likes": {"scale": (1, 5, 1), "likes": 4}, "counts": {"counts": 9}}
DAY = 86_400


def events(counts, seed=0, days=9):
    """Events with repeats, several of a moment, some without a time, and some of no known item."""
    rng = default_rng(seed)
    rows = [
        (
            f"u{user}",
            str(rng.integers(0, 12)) if rng.random() < 0.9 else "unknown",
            int(rng.integers(1, 6)),
            int(rng.integers(0, days)) * DAY // 2 if rng.random() < 0.95 else None,
        )
        for user, count in enumerate(counts)
        for _ in range(count)
    ]
    return pl.DataFrame(
        rows,
        schema=dict.fromkeys(("user_id", "item_id"), str) | {"rating": int, "timestamp": int},
        orient="row",
    )


def loaded(frame, kind):
    return load(frame.rename({"rating": "count"}) if kind == "counts" else frame, domain_of(kind))


def domain_of(kind):
    return Domain(range(12), max_users=10_000, **KINDS[kind])


def by_hand(frame, where, kind):
    """The records before and since each person's cut, one person at a time."""
    before, since = [], []
    for (_,), mine in frame.drop_nulls("timestamp").group_by("user_id"):
        came = {}
        for _, item, rating, moment in mine.rows():
            if item != "unknown" and (kind != "likes" or rating >= 4):
                came[item] = min(moment, came.get(item, moment))
        n = {"last": 1, "last-fifth": max(int(len(came) / 5 + 0.5), 1)}.get(where)
        late = [moment for moment in sorted(came.values())[-n:] if moment > min(came.values())] if n else []
        cut = min(late, default=np.inf) if n else 2 * DAY  # 1970-01-03
        before.append(mine.filter(pl.col("timestamp") < cut))
        since.append(mine.filter(pl.col("timestamp") >= cut))
    return [rows(loaded(pl.concat(part), kind)) for part in (before, since)]


def divided(frame, where, kind):
    source = frame.rename({"rating": "count"}) if kind == "counts" else frame
    return [rows(part) for part in load_split(source, domain_of(kind), where)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["last", "last-fifth", "1970-01-03"])
def test_nothing_of_after_the_cut_is_in_the_training_part(where, kind, monkeypatch):
    """Both parts are what loading makes of their own records; a split that lets in more is noticed."""
    for seed in range(5):
        frame = events([30, 12, 1, 2, 25, 7], seed)
        assert divided(frame, where, kind) == by_hand(frame, where, kind)
        assert divided(frame.sample(fraction=1, shuffle=True, seed=seed), where, kind) == divided(
            frame, where, kind
        )
    frame = events([5] * 40)
    # The moment of the cut is let in, then records without a time, which may be later.
    for right, wrong in (("time < cut", "time <= cut"), ("WHERE mark & 32 = 0", "")):
        with monkeypatch.context() as planted:
            assert split._DIVIDED.count(right) == 1
            planted.setattr(split, "_DIVIDED", split._DIVIDED.replace(right, wrong))
            assert divided(frame, where, kind) != by_hand(frame, where, kind)


def test_what_is_repeated_later_leaves_no_trace_before_the_cut():
    """Loaded at once, a counts by its last record: 1 star, on day 5."""
    given = [("u", "0", 5, 1), ("u", "1", 4, 2), ("u", "2", 4, 4), ("u", "0", 1, 5), ("v", "3", 5, 9)]
    given = [(*who, moment * DAY) for *who, moment in given]
    frame = pl.DataFrame(given, schema=["user_id", "item_id", "rating", "timestamp"], orient="row")
    train, test = load_split(frame, domain_of("ratings"), "last")
    assert rows(train) == [("u", "0", 5, DAY), ("u", "1", 4, 2 * DAY), ("v", "3", 5, 9 * DAY)]
    assert rows(test) == [("u", "0", 1, 5 * DAY), ("u", "2", 4, 4 * DAY)]
    train, test = load_split(frame, domain_of("ratings"), "1970-01-05")
    assert rows(train) == [("u", "0", 5, DAY), ("u", "1", 4, 2 * DAY)]
    assert named(test) == {"u", "v"}


def test_a_split_by_time_that_cannot_be_is_refused_with_the_fix(tmp_path):
    frame, domain = events([30, 12]), domain_of("ratings")
    load(frame, domain, where=tmp_path / "people")
    for source, where, message in (
        (frame.drop("timestamp"), "last", "these ratings have none: name their column"),
        (frame, "first", "give last, last-fifth or a day such as 2025-03-01"),
        (frame, "2025-03-01", "leaves nothing before its cut, or nothing from it on"),
        (frame.filter(pl.col("timestamp") == 0), "last", "leaves nothing before its cut"),
        (tmp_path / "people", "last", "give the files"),
    ):
        with pytest.raises(DataError, match=message):
            load_split(source, domain, where)
