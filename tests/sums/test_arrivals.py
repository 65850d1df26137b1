"""What a series remembers of people: it depends on their own records alone, and bounds all that they add."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from hushrec.sums.series import WEIGHT_BITS, Arrivals, Dated
from support.series import given

ONE = 1 << WEIGHT_BITS


def told(dated: Dated):
    """(user, item): (weight, age) of every record."""
    rows = dated.rows
    owner = np.repeat(rows.users.to_numpy(), rows.counts)
    keys = zip(owner, rows.items.tolist(), strict=True)
    return dict(zip(keys, zip(dated.weights.tolist(), dated.ages.tolist(), strict=True), strict=True))


def test_records_keep_the_weight_and_the_release_that_they_came_with():
    cap = 4.5625
    seen, first = Arrivals().joined(given({1: [0, 1], 2: [5]}), 0, cap)
    assert told(first) == {("u1", 0): (ONE, 0), ("u1", 1): (ONE, 0), ("u2", 5): (ONE, 0)}
    seen, second = seen.joined(given({1: [0, *range(2, 10)], 3: [1]}), 2, cap)
    half = ONE // 2  # what is left of K, 2.5625, is shared by eight new records and a quarter of nine
    assert told(second) == {
        ("u1", 0): (ONE, 2),
        **{("u1", item): (half, 0) for item in range(2, 10)},
        ("u3", 1): (ONE, 0),
    }
    assert second.people.tolist() == [2, 0]
    _, third = seen.joined(given({1: [0, 20], 2: [5]}), 3, cap)
    last = int(ONE * ((4.5625 - 2 - 8 / 4) / 1.5) ** 0.5)
    assert told(third) == {("u1", 0): (ONE, 3), ("u1", 20): (last, 0), ("u2", 5): (ONE, 0)}
    assert third.people.tolist() == [3, 3]


def test_a_weight_never_changes_with_what_comes_later():
    seen, first = Arrivals().joined(given({1: [0]}), 0, 10.0)
    _, second = seen.joined(given({1: range(40)}), 1, 10.0)
    assert told(second)["u1", 0] == (ONE, 1)
    assert told(first)["u1", 0] == (ONE, 0)


def test_nobody_counts_anew_by_leaving_and_coming_back():
    seen, first = Arrivals().joined(given({1: range(9)}), 0, 9.0)
    seen, _ = seen.joined(given({2: [3]}), 1, 9.0)
    assert seen.table.filter(pl.col("user_id") == "u1")["item_id"].to_list() == [None], (
        "records are forgotten"
    )
    _, back = seen.joined(given({1: range(9)}), 2, 9.0)
    assert int((first.weights**2).sum()) + int((back.weights**2).sum()) <= 9 * ONE**2
    assert max(back.weights) < first.weights[0] / 2
    assert back.people.tolist() == [2]


def test_other_people_change_nothing_for_a_person():
    alone = Arrivals()
    crowd = Arrivals()
    for part, own in enumerate(([0, 3, 5], [0, 5, 7, 8], [], [0, 9])):
        alone, one = alone.joined(given({4: own}), part, 4.5)
        others = {user: range(user + part, 30, user) for user in (1, 3, 5, 9)}
        crowd, many = crowd.joined(given(others | {4: own}), part, 4.5)
        assert {key: value for key, value in told(many).items() if key[0] == "u4"} == told(one)


def test_what_is_remembered_survives_its_file():
    seen, _ = Arrivals().joined(given({1: [0, 1, 2], 2: [5]}), 3, 2.0)
    again = Arrivals.from_bytes(seen.to_bytes())
    assert again.table.equals(seen.table)
    assert "u1" not in repr(again)
    assert Arrivals.from_bytes(Arrivals().to_bytes()).table.equals(Arrivals().table)


def test_nobody_at_all_is_remembered_too():
    seen, dated = Arrivals().joined(given({}), 0, 3.0)
    assert len(seen.table) == len(dated.weights) == 0
    assert dataclasses.replace(seen) is not seen


@pytest.mark.parametrize("cap", [1.0, 2.5, 30.0, 1e5])
@pytest.mark.parametrize("arriving", [1, 2, 3, 7, 39, 40])
def test_squares_of_weights_never_exceed_the_cap(cap, arriving):
    _, dated = Arrivals().joined(given({1: range(arriving)}), 0, cap)
    exact = int(cap * ONE**2)
    square = int((dated.weights**2).sum())
    assert square <= exact
    assert square >= min(arriving * ONE**2, exact * 4 // 5) - 2 * arriving * ONE


def test_what_comes_later_counts_too():
    """Ten ratings at once and one more each time: none gets less than a fifth of the weight of the first."""
    memory, least = Arrivals(), ONE
    for part in range(11):
        memory, dated = memory.joined(given({1: range(10 + part)}), part, 5.0)
        least = min(least, min(dated.weights))
    assert least > dated.weights[0] / 5
    used = memory.table.filter(pl.col("item_id").is_null())["weight"].item()
    assert used == int((dated.weights**2).sum()) <= 5 * ONE**2
