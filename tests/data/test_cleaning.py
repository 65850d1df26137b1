"""Content: whatever a record holds, it is kept, mended or dropped by its own user's rule, silently."""

import warnings

import polars as pl
import pytest

from hushrec.data.cleaning import Cleaner
from hushrec.data.domain import Domain
from hushrec.data.load import load
from support.refusals import refused

COLUMNS = ["user_id", "item_id", "rating", "timestamp"]


def frame(*rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def rows(ratings):
    return ratings.to_polars().rows()


def test_ids_stay_what_they_are():
    """The classic ways to merge two users or to lose one, none of which may happen."""
    users = [
        "7",
        "007",
        "NA",
        "null",
        "NaN",
        "9007199254740992",
        "9007199254740993",
        " x",
        "x",
        "X",
        "1e3",
        "1000",
    ]
    domain = Domain(["007", "7"], scale=(1, 5, 1), max_users=99)
    ratings = load(frame(*((user, "007", "4", "0") for user in users)), domain)
    assert ratings.users.to_list() == sorted(users, key=str.encode)
    assert (ratings.items == 0).all()


def test_user_ids_are_normalised_to_nfc(domain):
    """NFC and NFD of one name are one person; were they two, both would be protected half."""
    ratings = load(frame(("caf\u00e9", "a", "1", "0"), ("cafe\u0301", "b", "2", "0")), domain)
    assert ratings.users.to_list() == ["caf\u00e9"]
    assert ratings.n_ratings == 2


def test_item_ids_match_after_nfc():
    domain = Domain(["\u00e9"], scale=(1, 5, 1), max_users=9)
    assert load(frame(("x", "e\u0301", "1", "0")), domain).n_ratings == 1


@pytest.mark.parametrize("user", ["", None, "x\0y", "x" * 257, "\u00e9" * 129], ids=repr)
def test_records_of_impossible_users_are_dropped(domain, user):
    ratings = load(frame((user, "a", "1", "0"), ("ok", "a", "1", "0"), ("x" * 256, "b", "1", "0")), domain)
    assert ratings.users.to_list() == ["ok", "x" * 256]
    assert ratings.dropped.user_id == 1


@pytest.mark.parametrize("item", ["z", "7", "A", " a", "", None, "a\0"], ids=repr)
def test_items_outside_the_catalogue_are_dropped(domain, item):
    ratings = load(frame(("x", item, "1", "0"), ("y", "007", "1", "0")), domain)
    assert rows(ratings) == [("y", "007", 1.0, 0)]
    assert ratings.dropped.item_id == 1


@pytest.mark.parametrize(
    "rating", ["nan", "NaN", "inf", "-inf", "1e400", "", None, "five", "4,5", "1_0", "0x3", "٣"]
)
def test_ratings_that_are_no_number_are_dropped(domain, rating):
    ratings = load(frame(("x", "a", rating, "0"), ("x", "b", "2", "0")), domain)
    assert rows(ratings) == [("x", "b", 2.0, 0)]
    assert ratings.dropped.rating == 1


@pytest.mark.parametrize(
    ("rating", "becomes"),
    [
        ("0", 1),
        ("-1e300", 1),
        ("5.1", 5),
        ("1e300", 5),
        ("3.49", 3),
        ("3.5", 4),
        ("4.0", 4),
        (" 3", 3),
        ("+2", 2),
    ],
)
def test_ratings_are_clamped_and_rounded(domain, rating, becomes):
    assert load(frame(("x", "a", rating, "0")), domain).values().tolist() == [becomes]


def test_clamped_and_rounded_are_counted_confidentially(domain):
    ratings = load(frame(("x", "a", "9", "0"), ("x", "b", "2.2", "0"), ("y", "a", "3", "0")), domain)
    assert (ratings.dropped.clamped, ratings.dropped.rounded, ratings.dropped.rating) == (1, 1, 0)


@pytest.mark.parametrize(
    ("stamp", "becomes"),
    [
        *(("978300760", 978300760), ("978300760.9", 978300760), ("2005-09-06", 1125964800)),
        *(("-5", 0), ("1e30", 2**40), ("inf", 2**40)),
        *((bad, 0) for bad in ("", None, "nan", "yesterday", "2005-13-06")),
    ],
)
def test_timestamps_are_clamped_or_zero(domain, stamp, becomes):
    assert load(frame(("x", "a", "3", stamp)), domain).timestamps.tolist() == [becomes]


@pytest.mark.parametrize(
    ("pairs", "rating"),
    [
        ([("5", "10"), ("3", "20")], 3),  # the last, where scipy would make it 8
        ([("3", "10"), ("5", "10"), ("4", "10")], 5),  # of the last the largest
        ([("5", "-9"), ("3", "-1")], 5),  # both clamped to 0
        ([("2", ""), ("1", "1")], 1),  # missing is before all others
    ],
)
def test_of_duplicates_the_last_then_the_largest_counts(domain, pairs, rating):
    records = [("x", "a", *pair) for pair in pairs]
    for order in (records, records[::-1]):
        ratings = load(frame(*order), domain)
        assert ratings.values().tolist() == [rating]
        assert ratings.dropped.duplicate == len(pairs) - 1


def test_what_has_no_time_is_counted_only_where_it_is_kept_and_never_refused(domain):
    records = [("x", "a", "3", "soon"), ("x", "b", "3", ""), ("y", "a", "3", "1700000000000")]
    records += [("y", "b", "3", "2024-01-01"), ("z", "a", "3", "5"), ("z", "b", "", "soon")]
    ratings = load(frame(*records), domain)
    assert (ratings.dropped.timestamp, ratings.dropped.rating) == (3, 1)
    assert ratings.dropped.refused(domain, ratings.n_users) == ("dropped",)
    assert load(frame(*records).drop("timestamp"), domain).dropped.timestamp == 0


def test_without_timestamps_the_largest_duplicate_counts(domain):
    for order in ([3, 5, 4], [5, 4, 3]):
        table = pl.DataFrame({"user": ["x"] * 3, "item": ["b"] * 3, "rating": order})
        ratings = load(table, domain)
        assert ratings.values().tolist() == [5]
        assert ratings.timestamps is None


def test_dirt_is_silent(domain, capfd, caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(frame(("", "z", "?", "!"), ("x", "a", "nan", "1"), ("x", "a", "9", "1e99")), domain)
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("role", "column"),
    [
        ("rating", pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"]))),
        ("timestamp", pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"]))),
        ("rating", pl.Series([["SECRET"]], dtype=pl.List(pl.Enum(["SECRET"])))),
        ("user_id", pl.Series([{"SECRET": 1}])),
        ("item_id", pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"])).reshape((1, 1))),
    ],
)
def test_the_type_of_a_column_does_not_tell_its_values(role, column, tmp_path):
    table = pl.DataFrame({"user_id": ["a"], "item_id": ["10"], "rating": [1]}).with_columns(
        column.alias(role)
    )
    said = refused(table)
    assert f"column {role} is of type " in said
    assert str(column.dtype.base_type()) in said


@pytest.mark.parametrize("failure", [pl.exceptions.PanicException, pl.exceptions.ComputeError])
def test_what_polars_says_while_ratings_are_cleaned_is_not_passed_on(failure, monkeypatch):
    def gives_up(*_):
        raise failure("SECRET")

    monkeypatch.setattr(Cleaner, "_cleaned", gives_up)
    assert "cannot process" in refused(pl.DataFrame({"user_id": ["a"], "item_id": ["10"], "rating": [1]}))


def listing(*users):
    return Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=30, users=users)


def test_people_who_are_not_on_the_roster_are_dropped():
    records = [("x", "a", "1", "0"), ("y", "a", "2", "0"), ("", "a", "3", "0"), ("007", "zz", "3", "0")]
    ratings = load(frame(*records), listing("x", "caf\u00e9", "007"))
    assert rows(ratings) == [("x", "a", 1.0, 0)]
    assert (ratings.dropped.user_id, ratings.dropped.item_id) == (2, 1)


def test_the_roster_is_matched_as_text_in_nfc():
    records = [("cafe\u0301", "a", "1", "0"), ("7", "a", "2", "0")]
    ratings = load(frame(*records), listing("caf\u00e9", "007"))
    assert rows(ratings) == [("caf\u00e9", "a", 1.0, 0)]
    integers = pl.DataFrame({"user_id": [7, 8, None], "item_id": ["a"] * 3, "rating": [1.0] * 3})
    assert load(integers, listing(7)).users.to_list() == ["7"]


def test_nobody_on_the_roster_is_valid():
    ratings = load(frame(("x", "a", "1", "0")), listing("y"))
    assert (ratings.n_users, ratings.n_ratings) == (0, 0)
