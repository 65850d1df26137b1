"""Where people are kept, what odd cells become, and what is counted for the curator alone."""

import warnings
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from hushrec.data.people import People
from hushrec.data.reading import Reading
from hushrec.errors import DataError
from support.refusals import DOMAIN, refused, rows

GIVEN = Domain(["10", "20", "30"], max_users=9)
COUNTED = Domain(["10", "20", "30"], counts=6, max_users=9)
LIKES = Domain(["10", "20", "30"], scale=(1, 5, 1), likes=4, max_users=9)
NEW_YEAR = 1704067200


def frame(*records, value="rating"):
    names = ["user_id", "item_id", value, "timestamp"]
    return pl.DataFrame(records, schema=dict.fromkeys(names, pl.String), orient="row")


def became(cells, name, domain):
    """What each cell of a column of text became, None where its record was dropped."""
    users = [str(k) for k in range(len(cells))]
    table = pl.DataFrame({"user_id": users, "item_id": "10", "rating": "3"})
    people = load(table.with_columns(pl.Series(name, cells)), domain)
    found = {row["user_id"]: row[name] for row in people.table().to_pylist()}
    return [found.get(user) for user in users], people.dropped


NUMBERS = {
    **dict.fromkeys(
        ["5", " 5 ", "\t5", "5\n", "+5", "5.", "5e0", "5E+0", "00005", "1e308", "5" + "0" * 300], 5
    ),
    **dict.fromkeys([".5", "-5", "-0", "1e-400"], 1),
    **dict.fromkeys(
        ["1_000", "5_", "+-5", "1e400", "-1e400", "nan", "inf", "-Infinity", "0x5", "5e", "5f", "5L", "5%"]
    ),
    **dict.fromkeys(
        ["", "  ", "null", "None", "true", "five", "5,5", "1,000", "1 000", "--5", "+ 5", "5\0", "'5'"]
    ),
    **dict.fromkeys(
        ["\N{NO-BREAK SPACE}5", "\N{ARABIC-INDIC DIGIT THREE}", "\N{FULLWIDTH DIGIT FIVE}", "½", "∞"]
    ),
}
ONE_MOMENT = [
    *("2024-01-01", " 2024-01-01\t", "2024-01-01T00:00", "2024-01-01 00:00", "2024-01-01t00:00:00z"),
    *("2024-01-01T00:00:00", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00.999999Z", "2024-01-01T00:00Z"),
    *("2024-01-01T01:00:00+01:00", "2024-01-01 01:00+0100", "2024-01-01 01:00:00,5+01"),
    *("2023-12-31T23:30:00-00:30", "2023-12-31 18:30:00 -0530", "2023-12-31T23:59:60Z"),
    *("1704067200", "1704067200.9", "+1704067200", "1.7040672e9", "\n1704067200 "),
]
TIMES = {
    **dict.fromkeys(ONE_MOMENT, NEW_YEAR),
    **{"2024": 2024, "7.9": 7, "0": 0, "2024-02-29": 1709164800, "1969-12-31T23:00-02:00": 3600},
}
NO_TIMES = [
    *("", None, "soon", "nan", "01.02.2024", "2024-1-1", "2024-01-01T", "2024-01-01T1:00", "12:00", "1_000"),
    *("2024-13-45", "2024-02-30", "2023-02-29", "99999-01-01", "-2024-01-01", "0000-01-01", "1969-12-31"),
    *(
        "2024-01-01T24:00",
        "2024-01-01T00:60",
        "2024-01-01T00:00:61",
        "2024-01-01T00:00:00+99:00",
        "2024-W01-1",
    ),
    *("2024-01-01T00:00:00+01:00x", "2024-01-01\n", "\u0662\u0660\u0662\u0664-01-01", "\ufeff2024-01-01"),
    *("1969-12-31T23:59:59.9Z", "-5", "2024-01-01" + "0" * 9999, "\0", "2024-01-01\0", "20240101T000000Z"),
]
TOO_LATE = ["9" * 400, "1700000000000", "inf"]


def test_odd_cells():
    found, dropped = became(list(NUMBERS), "rating", DOMAIN)
    assert dict(zip(NUMBERS, found, strict=True)) == NUMBERS
    assert dropped.rating == list(NUMBERS.values()).count(None)
    cells = [*TIMES, *NO_TIMES, *TOO_LATE]
    found, dropped = became(cells, "timestamp", DOMAIN)
    wanted = [*TIMES.values(), *[0] * len(NO_TIMES), *[2**40] * len(TOO_LATE)]
    assert dict(zip(cells, found, strict=True)) == dict(zip(cells, wanted, strict=True))
    assert dropped.timestamp == len(NO_TIMES) + len(TOO_LATE)


def test_times_agree_with_the_standard_library():
    rng = np.random.default_rng(3)
    moments = [datetime.fromtimestamp(int(n), UTC) for n in rng.integers(0, 4e9, 30)]
    for zone in ("UTC", "Asia/Kolkata", "America/St_Johns"):
        local = [moment.astimezone(ZoneInfo(zone)) for moment in moments]
        for form in ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f%z"):
            found, _ = became([moment.strftime(form) for moment in local], "timestamp", DOMAIN)
            assert found == [int(moment.timestamp()) for moment in moments]


def test_dirt_is_silent(capfd, caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(frame(("", "z", "?", "!"), ("x", "10", "nan", "1"), ("x", "10", "9", "1e99")), DOMAIN)
        nobody = load(frame(("", "z", "?", "!"), (None, None, None, None)), DOMAIN)
    assert (nobody.n_users, nobody.indptr.tolist(), nobody.timestamps.tolist()) == (0, [0], [])
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


def test_what_has_no_time_is_counted_only_where_it_is_kept():
    records = [("x", "10", "3", "soon"), ("x", "20", "3", ""), ("y", "10", "3", "1700000000000")]
    records += [("y", "20", "3", "2024-01-01"), ("z", "10", "3", "5"), ("z", "20", "", "soon")]
    people = load(frame(*records), DOMAIN)
    assert (people.dropped.timestamp, people.dropped.rating) == (3, 1)
    assert people.dropped.refused(DOMAIN, people.n_users) == ("dropped",)
    untimed = load(frame(*records).drop("timestamp"), DOMAIN)
    assert (untimed.dropped.timestamp, untimed.timestamps) == (0, None)


def test_a_roster_is_matched_as_text_in_nfc():
    listed = Domain(["10"], scale=(1, 5, 1), max_users=30, users=["caf\u00e9", "007"])
    records = [
        ("cafe\u0301", "10", "1", "0"),
        ("7", "10", "2", "0"),
        ("", "10", "3", "0"),
        ("007", "z", "3", "0"),
    ]
    people = load(frame(*records), listed)
    assert people.users.to_pylist() == ["caf\u00e9"]
    assert people.dropped == Dropped(records=4, user_id=2, item_id=1)
    assert load(frame(*records[1:2]), listed).n_users == 0


# -- likes, interactions and counts ------------------------------------------------------------------------


def test_interactions_are_given_once_and_counts_add_up():
    given = pl.DataFrame(
        [("x", "10")] * 3 + [("x", "20"), ("y", "10")], schema=["user", "item"], orient="row"
    )
    assert rows(given, GIVEN) == [("x", "10"), ("x", "20"), ("y", "10")]
    assert rows(given, COUNTED) == [("x", "10", 3), ("x", "20", 1), ("y", "10", 1)]
    table = frame(
        ("x", "10", "2", "7"), ("x", "10", "7.4", "0"), ("x", "20", ".4", "0"), ("x", "20", "?", "0")
    )
    counted = load(table.rename({"rating": "count"}), COUNTED)
    assert rows(table.rename({"rating": "count"}), COUNTED) == [("x", "10", 6, 7)]
    assert counted.dropped == Dropped(rating=2, clamped=2, records=4)  # a record and a total
    assert load(table, GIVEN).dropped == Dropped(duplicate=2, records=4, unused=4)


def test_of_a_users_ratings_of_an_item_the_last_decides_whether_it_is_liked():
    table = frame(
        ("x", "10", "2", "1"), ("x", "10", "5", "0"), ("y", "10", "3.6", "0"), ("y", "20", "3", "9")
    )
    assert rows(table, LIKES) == [("y", "10", 0)]
    assert load(table, LIKES).dropped == Dropped(
        duplicate=1, rounded=1, records=4
    )  # dislikes are not counted
    assert "no column for rating" in refused(pl.DataFrame({"user": ["x"], "item": ["10"]}), LIKES)


@pytest.mark.parametrize("name", ["u.data", "r.dat", "r.txt"])
def test_files_without_a_header_may_end_after_the_item(name, tmp_path):
    separator = {"u.data": "\t", "r.dat": "::", "r.txt": " "}[name]
    (tmp_path / name).write_text(separator.join(["x", "10"]) + "\n" + separator.join(["y", "20"]) + "\n")
    assert rows(tmp_path / name, GIVEN) == [("x", "10"), ("y", "20")]
    (tmp_path / name).write_text(separator.join(["x", "10", "4", "77"]) + "\n")
    assert rows(tmp_path / name, GIVEN) == [("x", "10", 77)]
    assert load(tmp_path / name, GIVEN).dropped.unused == 1
    positions = {"user_id": 0, "item_id": 1}
    assert load(tmp_path / name, GIVEN, Reading(columns=positions)).dropped.unused == 0
    assert rows(tmp_path / name, COUNTED, columns=positions | {"count": 2}) == [("x", "10", 4)]


def test_a_rating_in_the_name_of_a_folder_is_seen(tmp_path):
    place = tmp_path / "rating=3"
    place.mkdir()
    frame(("x", "10", "1", "0")).drop("rating").write_csv(place / "part.csv")
    assert load(tmp_path, GIVEN).dropped.unused == 1
    mixed = load([place / "part.csv", frame(("x", "20", "-1", "0"))], GIVEN)
    assert mixed.dropped.unused == 1


# -- places ------------------------------------------------------------------------------------------------


def test_people_are_kept_where_they_are_wanted(tmp_path, monkeypatch):
    source = tmp_path / "r.csv"
    source.write_text("user_id,item_id,rating\nx,10,1\ny,20,5\n")
    loaded = load(source, DOMAIN)
    assert isinstance(loaded, People)
    assert loaded.folder is load(source, DOMAIN, where="auto").folder is None
    monkeypatch.setattr("hushrec.data.load.machine", lambda: (0, 0))
    for where in ("disk", "auto", tmp_path / "kept"):
        with load(source, DOMAIN, where=where) as people:
            assert people.folder is not None, where
            assert people.gathered().table().equals(loaded.table()), where
    for where in ("memory", "disk", "auto"):
        assert load([str(tmp_path / "kept")], DOMAIN, where=where).folder == tmp_path / "kept"


def test_a_place_that_is_none_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame({"user_id": ["x"], "item_id": ["10"], "rating": [1]})
    with pytest.raises(DataError, match=r"where='Memory' is not a place; give 'memory'.* or the Path"):
        load(table, DOMAIN, where="Memory")
    with pytest.raises(DataError, match=r"Spark does not take format= and decimal=: it reads Parquet"):
        load("r.csv", DOMAIN, Reading(format="csv", decimal=","), where="spark")
    with pytest.raises(DataError, match="nosuch is not a folder; choose another one"):
        load(table, DOMAIN, where=Path("nosuch/people"))
    assert not [*tmp_path.iterdir()]
    load(table, DOMAIN, where=tmp_path / "kept")
    with pytest.raises(DataError, match="exists; load it in place of the files if it holds them"):
        load(table, DOMAIN, where=tmp_path / "kept")
    with pytest.raises(DataError, match="people that were loaded before, whose format is known: leave out"):
        load("kept", DOMAIN, Reading(columns={"user_id": "who"}))
    with pytest.raises(DataError, match="were loaded before; leave out the other folder, again"):
        load("kept", DOMAIN, where=Path("again"))


def test_a_source_that_is_refused_leaves_nothing(tmp_path):
    (tmp_path / "r.csv").write_text("user_id,item_id,rating\nSECRET,10\n")
    for where in ("disk", tmp_path / "people"):
        with pytest.raises(DataError, match="row 2: 2 field"):
            load(tmp_path / "r.csv", DOMAIN, where=where)
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]
