"""Any content, loaded: what the rules give read one record at a time, whatever the order and the others."""

import math
import unicodedata

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError

COLUMNS = ["user_id", "item_id", "rating", "timestamp"]


def frame(*rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def rows(ratings):
    return ratings.to_polars().rows()


def test_an_empty_table_is_valid(domain):
    ratings = load(frame(), domain)
    assert (ratings.n_users, ratings.n_ratings, ratings.indptr.tolist()) == (0, 0, [0])
    assert ratings.timestamps.tolist() == []
    assert rows(ratings) == []


def test_a_table_of_nothing_but_rubbish_is_as_valid(domain):
    assert load(frame(("", "z", "?", "!"), (None, None, None, None)), domain).n_users == 0


# What may stand in a cell, with everything that goes wrong in practice.
CELLS = st.tuples(
    st.sampled_from(["x", "y", "z", "e\u0301", "\u00e9", "", "a\0", "u" * 300, None]),
    st.sampled_from(["a", "b", "007", "7", "", None]),
    st.sampled_from(["1", "2", "3.5", "4.2", "5", "9", "-1", "nan", "inf", "1e999", "x", "", None]),
    st.sampled_from(["0", "5", "5", "7", "-3", "1e40", "", "x", None]),
)


def by_hand(records):
    """The rules once more, a record at a time."""

    def number(text):
        try:
            return float(text)
        except (TypeError, ValueError):
            return math.nan

    best = {}
    for user, item, rating, stamp in records:
        user = unicodedata.normalize("NFC", user or "")
        value, time = number(rating), number(stamp)
        if not 1 <= len(user.encode()) <= 256 or "\0" in user:
            continue
        if item not in ("a", "b", "007") or not math.isfinite(value):
            continue
        value = math.floor(min(max(value, 1), 5) + 0.5)
        time = 0 if math.isnan(time) else int(min(max(time, 0), 2**40))
        best[user, item] = max(best.get((user, item), (-1, 0)), (time, value))
    order = {"a": 0, "b": 1, "007": 2}
    ordered = sorted(best.items(), key=lambda entry: (entry[0][0].encode(), order[entry[0][1]]))
    return [(user, item, float(value), time) for (user, item), (time, value) in ordered]


@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.lists(CELLS, max_size=40))
def test_any_content_is_cleaned_as_by_hand(records):
    """Nothing is ever raised, and the result is that of the rules read off TRUST, one record at a time."""
    domain = Domain(["a", "b", "007"], scale=(1, 5, 1), cap=2, max_users=3)
    assert rows(load(frame(*records), domain)) == by_hand(records)


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(CELLS, max_size=30), st.randoms(use_true_random=False), st.integers(1, 9))
def test_neither_order_nor_slices_of_rows_matter(records, random, size):
    domain = Domain(["a", "b", "007"], scale=(1, 5, 1), cap=2, max_users=3)
    mixed = random.sample(records, len(records))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushrec.data.cleaning._SLICE", size)
        sliced = load(frame(*mixed), domain)
    whole = load(frame(*records), domain)
    assert rows(sliced) == rows(whole)
    assert sliced.dropped == whole.dropped


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.lists(CELLS, max_size=30))
def test_a_users_rows_do_not_depend_on_other_users(records):
    domain = Domain(["a", "b", "007"], scale=(1, 5, 1), cap=2, max_users=3)
    of_x = [record for record in records if record[0] == "x"]
    assert rows(load(frame(*of_x), domain)) == [
        row for row in rows(load(frame(*records), domain)) if row[0] == "x"
    ]


def listing(*users):
    return Domain(["a", "b", "007"], scale=(1, 5, 1), cap=2, max_users=30, users=users)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(CELLS, max_size=40), st.integers(1, 9))
def test_a_roster_drops_whole_people_and_changes_no_other(records, size):
    listed = {"x", "007", "caf\u00e9"}
    wanted = [row for row in by_hand(records) if row[0] in listed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushrec.data.cleaning._SLICE", size)
        assert rows(load(frame(*records), listing(*listed))) == wanted


CLEAN = {"user": [2, 1, 1], "item": [7, 7, 8], "rating": [5.0, 1.0, 3.0], "timestamp": [3, 2, 1]}


def test_options_of_files_do_not_go_with_tables(domain):
    with pytest.raises(DataError, match="go with a file"):
        load(pl.DataFrame(CLEAN), domain, decimal=",")
