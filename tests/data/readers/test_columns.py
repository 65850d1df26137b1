"""Which column is which: by usual names, by a mapping, by position; and what an error may show of names."""

import polars as pl
import pytest

from hushrec.data.load import load
from hushrec.data.readers.columns import (
    COUNTED,
    OTHERS,
    RATED,
    UNRATED,
    UNUSED,
    by_name,
    by_position,
    headerless,
)
from hushrec.data.reading import Reading
from hushrec.errors import DataError
from support.refusals import refused


def rows(ratings):
    return ratings.to_polars().rows()


@pytest.mark.parametrize(
    "names",
    [
        ["user_id", "item_id", "rating", "timestamp"],
        ["userId", "movieId", "rating", "timestamp"],
        ["userID", "itemID", "rating", "timestamp"],
        ["UserID", "MovieID", "Rating", "Timestamp"],
        ["user", "item", "rating", "timestamp"],
    ],
)
def test_usual_names_are_recognised(domain, names):
    table = pl.DataFrame([("x", "a", 1, 5)], schema=names, orient="row")
    assert rows(load(table, domain)) == [("x", "a", 1.0, 5)]


def test_other_names_are_mapped(domain):
    table = pl.DataFrame({"who": ["x"], "what": ["a"], "rating": [2], "user": ["not he"], "note": ["!"]})
    ratings = load(table, domain, Reading(columns={"user_id": "who", "item_id": "what"}))
    assert rows(ratings) == [("x", "a", 2.0)]


def test_a_first_line_that_may_be_somebodys_rating_is_not_shown(tmp_path):
    (tmp_path / "r.csv").write_text("SECRET,Alien,NA\nSECRET,Heat,5\n")
    assert "are not shown" in refused(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_text("userId;movieId;stars\nSECRET;Heat;5\n")
    message = refused(tmp_path / "r.csv")
    assert 'divided by semicolons: give separator=";"' in message
    assert "stars" not in message  # which may be data


@pytest.mark.parametrize(
    ("columns", "width", "found"),
    [
        ({}, 3, {"user_id": 0, "item_id": 1, "rating": 2}),
        ({}, 4, {"user_id": 0, "item_id": 1, "rating": 2, "timestamp": 3}),
        ({}, 9, {"user_id": 0, "item_id": 1, "rating": 2, "timestamp": 3}),  # an ε is never guessed
        (
            {"user_id": 4, "item_id": 0, "rating": 1, "personal_epsilon": 2},
            5,
            {"user_id": 4, "item_id": 0, "rating": 1, "personal_epsilon": 2},
        ),
    ],
)
def test_positions(columns, width, found):
    assert by_position(columns, width, "r.dat") == found


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ({}, 2),
        ({"user_id": 0, "item_id": 1}, 9),
        ({"user_id": 0, "item_id": 1, "rating": 3}, 3),
        ({"user_id": 0, "item_id": 1, "rating": -1}, 3),
    ],
)
def test_positions_that_are_not_there_are_refused(columns, width):
    with pytest.raises(DataError, match=rf"r.dat: a line has {width} field"):
        by_position(columns, width, "r.dat")


def test_a_mapping_says_whether_there_is_a_header():
    assert headerless({"user_id": 3})
    assert not any(headerless(columns) for columns in ({}, {"user_id": "who"}))
    for columns, message in (({"usr": 0}, "unknown key 'usr'"), ({"user_id": 0, "rating": "r"}, "mixes")):
        with pytest.raises(DataError, match=message):
            headerless(columns)


def test_a_mapped_name_is_taken_before_usual_ones():
    names = ["user", "who", "item", "rating", "Timestamp"]
    found = {"user_id": 1, "item_id": 2, "rating": 3, "timestamp": 4}
    assert by_name({"user_id": "who"}, names, "the table") == found
    assert by_name({}, [*names, "privacy"], "the table") == found | {"user_id": 0, "personal_epsilon": 5}


def test_an_exact_name_is_taken_before_others_unless_two_tell_an_epsilon():
    """Of two columns that might tell what people ask for, neither may be passed over."""
    names = ["user_id", "userId", "item_id", "rating"]
    assert by_name({}, names, "the table")["user_id"] == 0
    with pytest.raises(DataError, match="more than one column for personal_epsilon"):
        by_name({}, [*names, "personal_epsilon", "privacy"], "the table")


def test_interactions_need_no_rating():
    names = ["user", "item", "rating", "count", "timestamp"]
    assert by_name({}, names, "the table", UNRATED) == {"user_id": 0, "item_id": 1, "timestamp": 4}
    assert by_name({}, names, "the table", COUNTED) == {
        "user_id": 0,
        "item_id": 1,
        "count": 3,
        "timestamp": 4,
    }
    assert by_name({}, names[:2], "the table", COUNTED) == {"user_id": 0, "item_id": 1}
    assert by_position({}, 2, "r.txt", UNRATED) == {"user_id": 0, "item_id": 1}
    # The third field is a rating, as everywhere else; a count is never guessed.
    assert by_position({}, 4, "r.txt", COUNTED) == {"user_id": 0, "item_id": 1, "timestamp": 3}
    with pytest.raises(
        DataError,
        match=r'too few for user_id and item_id; .*\{"user_id": 0, "item_id": 1\}\) \(--column user_id=0',
    ):
        by_position({}, 1, "r.txt", UNRATED)
    with pytest.raises(DataError, match=r'no column for item_id; .*\{"user_id": \.\.\., "item_id": \.\.\.\}'):
        by_name({}, ["user", "what"], "the table", UNRATED)
    for roles in (UNRATED, COUNTED):
        with pytest.raises(
            DataError, match="unknown key 'rating'; the keys for this domain are user_id, item_id"
        ):
            headerless({"rating": "stars"}, roles)
    with pytest.raises(DataError, match="unknown key 'count'"):
        headerless({"count": "plays"})


def test_a_title_with_a_count_in_it_is_not_shown(tmp_path):
    (tmp_path / "r.csv").write_text("SECRET,Account of a Count,NA\nSECRET,Heat,5\n")
    assert "are not shown" in refused(tmp_path / "r.csv")


def test_the_rating_beside_interactions_is_found_unless_it_has_a_role():
    names, roles = ["user", "item", "Rating", "timestamp"], (*COUNTED, UNUSED)
    places = {"user_id": 0, "item_id": 1, "timestamp": 3}
    assert by_name({}, names, "the table", roles) == places | {UNUSED: 2}
    assert by_name({"count": "Rating"}, names, "the table", roles) == places | {"count": 2}
    assert by_name({}, ["user", "item"], "the table", roles) == {"user_id": 0, "item_id": 1}
    assert by_position({}, 4, "r.txt", roles) == places | {UNUSED: 2}
    assert by_position({"user_id": 0, "item_id": 1}, 4, "r.txt", roles) == {"user_id": 0, "item_id": 1}


def test_a_check_looks_at_verdicts_first_and_beside_interactions_alone():
    names = ["user", "item", *(f"at {k}" for k in range(20)), "is_recommended", "rating"]
    shown = [*by_name({}, names, "the table", (*UNRATED, UNUSED, OTHERS))]
    assert shown[:5] == ["user_id", "item_id", UNUSED, f"{OTHERS} is_recommended", f"{OTHERS} at 0"]
    assert len(shown) == 3 + 16
    assert f"{OTHERS} is_recommended" not in by_name({}, names, "the table", (*RATED, OTHERS))
