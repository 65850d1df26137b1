"""Which ratings stay where only so many count."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.capping import chosen, chosen_latest, chosen_slots

PROFILES = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.sets(st.integers(0, 60), min_size=n, max_size=n),
        st.sets(st.integers(0, 60), min_size=n, max_size=n),
        st.randoms(use_true_random=False),
    )
)
SOMEBODY = pa.array(["somebody"])


def kept_stars(choose, items, stars, cap):
    """Stars of one person's ratings that stay, sorted."""
    order = np.argsort(items)
    items, stars = np.array(items, dtype=np.int32)[order], np.array(stars, dtype=np.uint8)[order]
    mask = choose(SOMEBODY, np.array([0, items.size]), items, stars, cap)
    return sorted(stars[mask] if mask is not None else stars)


@settings(deadline=None)  # the first example compiles
@given(PROFILES, st.integers(1, 20))
def test_stars_of_kept_slots_tell_nothing_of_the_items(profile, cap):
    stars, items, others, random = profile
    moved = random.sample(sorted(others), len(others))
    here = kept_stars(chosen_slots, sorted(items), stars, cap)
    assert here == kept_stars(chosen_slots, moved, stars, cap)
    assert len(here) == min(len(stars), cap)


def test_a_choice_by_items_alone_would_tell():
    """The fault that the test above catches."""

    def by_items(users, indptr, items, stars, cap):
        return chosen(users, indptr, items, cap)

    drawn = [np.random.default_rng(seed).permutation(60)[:6] for seed in range(20)]
    assert len({tuple(kept_stars(by_items, items, [0, 0, 0, 4, 4, 4], 3)) for items in drawn}) > 1


def test_every_slot_is_as_likely_to_stay():
    """Of 20,000 people with 8 ratings, cap 3: each place is kept by 3/8, within 6 standard deviations."""
    n, each, cap = 20_000, 8, 3
    users = pa.array([f"u{i:05d}" for i in range(n)])
    items = np.tile(np.arange(each, dtype=np.int32), n)
    stars = np.tile(np.array([0, 1, 2, 2, 3, 3, 4, 4], dtype=np.uint8), n)
    mask = chosen_slots(users, np.arange(n + 1) * each, items, stars, cap).reshape(n, each)
    assert (mask.sum(axis=1) == cap).all()
    error = np.sqrt(3 / 8 * 5 / 8 / n)
    assert np.abs(mask.mean(axis=0) - 3 / 8).max() < 6 * error


def test_light_people_keep_all_whoever_else_is_there():
    users, indptr, items = pa.array(["a", "b"]), np.array([0, 2, 6]), np.array([0, 1, 0, 1, 2, 3], np.int32)
    mask = chosen_slots(users, indptr, items, np.zeros(6, np.uint8), 2)
    assert (mask[:2].all(), mask[2:].sum()) == (True, 2)
    assert chosen_slots(users, indptr, items, np.zeros(6, np.uint8), 4) is None


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), unique_by=lambda row: row[0]),
    st.integers(1, 9),
)
def test_the_most_recent_are_kept(rows, cap):
    items, times = np.array(sorted(rows), dtype=np.int64).reshape(-1, 2).T
    mask = chosen_latest(SOMEBODY, np.array([0, len(rows)]), items.astype(np.int32), times, cap)
    if mask is None:
        assert len(rows) <= cap
        return
    assert mask.sum() == cap < len(rows)
    assert times[mask].min() >= times[~mask].max()


def test_of_equal_times_the_hash_keeps_what_it_keeps_without_times():
    """Users a, b and c with 40 items each; a choice by the order of items would keep the same of everyone."""
    users, indptr = pa.array(["a", "b", "c"]), np.arange(4) * 40
    items = np.tile(np.arange(40, dtype=np.int32), 3)
    found = chosen_latest(users, indptr, items, np.zeros(120, dtype=np.int64), 7)
    assert (found == chosen(users, indptr, items, 7)).all()
    assert not (found[:40] == found[40:80]).all()
