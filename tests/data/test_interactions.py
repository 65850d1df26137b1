"""Interactions: rows of items, with counts where the domain declares them, and refused where it does not."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.feedback import Interactions
from hushrec.data.load import load
from hushrec.errors import DataError

ITEMS = ["a", "b", "c", "d"]
PLAIN = Domain(ITEMS, max_users=9)
COUNTED = Domain(ITEMS, counts=5, max_users=9)


def made(domain, occurrences=None, **more):
    return Interactions(
        domain, pl.Series(["x", "y"]), np.array([0, 3, 4]), np.array([0, 2, 3, 1]), occurrences, **more
    )


def test_rows_and_values():
    plain, counted = made(PLAIN), made(COUNTED, np.array([1, 5, 2, 1]))
    assert (plain.n_users, plain.n_interactions, plain.counts.tolist()) == (2, 4, [3, 1])
    assert plain.values().tolist() == [1, 1, 1, 1]
    assert counted.values().tolist() == [1, 5, 2, 1]
    assert counted.occurrences.dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        counted.occurrences[0] = 2


@pytest.mark.parametrize(
    ("domain", "occurrences"),
    [
        (PLAIN, [1, 1, 1, 1]),
        (COUNTED, None),
        (COUNTED, [1, 1, 1]),
        (COUNTED, [1, 1, 1, 0]),
        (COUNTED, [1, 1, 1, 6]),
    ],
)
def test_counts_that_do_not_fit_are_refused(domain, occurrences):
    with pytest.raises(DataError, match="not compressed rows of this domain's interactions"):
        made(domain, None if occurrences is None else np.array(occurrences))


def test_a_domain_of_ratings_has_none():
    with pytest.raises(
        DataError, match="Interactions works on interactions, and this domain declares ratings"
    ):
        made(Domain(ITEMS, scale=(1, 5, 1), max_users=9))


def test_polars_and_back():
    times = np.array([5, 6, 7, 8])
    plain, counted = (
        made(PLAIN),
        made(COUNTED, np.array([1, 5, 2, 1]), timestamps=times, personal_epsilon=np.ones(2)),
    )
    assert plain.to_polars().columns == ["user_id", "item_id"]
    assert counted.to_polars().columns == ["user_id", "item_id", "count", "timestamp", "personal_epsilon"]
    for one in (plain, counted):
        assert load(one.to_polars(), one.domain).digest() == one.digest()


def test_a_cap_keeps_the_most_recent():
    capped = made(PLAIN, timestamps=np.array([9, 3, 8, 1])).capped(2)
    assert capped.items.tolist() == [0, 3, 1]
    assert capped.timestamps.tolist() == [9, 8, 1]


def test_a_cap_without_timestamps_is_that_of_ratings():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"user_id": rng.integers(0, 30, 900), "item_id": rng.integers(0, 60, 900), "rating": 3}
    )
    domains = Domain(range(60), max_users=99), Domain(range(60), scale=(1, 5, 1), max_users=99)
    interactions, ratings = (load(table, domain).capped(7) for domain in domains)
    assert (interactions.items == ratings.items).all()


def test_the_digest_sees_timestamps_which_choose_what_a_cap_keeps():
    one, other = (made(PLAIN, timestamps=np.array([9, 3, last, 1])) for last in (8, 2))
    assert one.capped(2).items.tolist() != other.capped(2).items.tolist()
    assert one.digest() != other.digest() != made(PLAIN).digest()


def test_the_digest_sees_counts():
    one, other = (made(COUNTED, np.array([1, 5, last, 1])) for last in (2, 3))
    assert one.digest() != other.digest()
    assert replace(one, occurrences=other.occurrences).digest() == other.digest()
