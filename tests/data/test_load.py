"""Where people are kept, what odd cells become, and what is left where loading fails."""

import gc
import tempfile
import warnings
from pathlib import Path

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import _too_large, load
from hushrec.data.people import People
from hushrec.data.readers import duck
from hushrec.data.readers.sources import parts_of
from hushrec.data.reading import PLAIN, Reading
from hushrec.errors import DataError
from support.refusals import DOMAIN, rows

GIVEN = Domain(["10", "20", "30"], max_users=9)
COUNTED = Domain(["10", "20", "30"], counts=6, max_users=9)
TABLE = pl.DataFrame({"user_id": ["x", "y"], "item_id": ["10", "20"], "rating": [1, 5]})
NEW_YEAR = 1704067200


def became(cells, name):
    """What each cell of a column of text became, None where its record was dropped."""
    users = [str(k) for k in range(len(cells))]
    table = pl.DataFrame({"user_id": users, "item_id": "10", "rating": "3"})
    people = load(table.with_columns(pl.Series(name, cells)), DOMAIN)
    found = {row["user_id"]: row[name] for row in people.table().to_pylist()}
    return [found.get(user) for user in users], people.dropped


FIVES = ["5", " 5 ", "\t5", "5\n", "+5", "5.", "5e0", "5E+0", "00005", "1e308", "5" + "0" * 300]
ONES = [".5", "-5", "-0", "1e-400"]
NO_NUMBERS = [
    *("1_000", "5_", "+-5", "1e400", "-1e400", "nan", "inf", "-Infinity", "0x5", "5e", "5f", "5L", "5%"),
    *("", "  ", "null", "None", "true", "five", "5,5", "1,000", "1 000", "--5", "+ 5", "5\0", "'5'"),
    *("\N{NO-BREAK SPACE}5", "\N{ARABIC-INDIC DIGIT THREE}", "\N{FULLWIDTH DIGIT FIVE}", "½", "∞"),
]
NUMBERS = dict.fromkeys(FIVES, 5) | dict.fromkeys(ONES, 1) | dict.fromkeys(NO_NUMBERS)
ONE_MOMENT = [
    *("2024-01-01", " 2024-01-01\t", "2024-01-01T00:00", "2024-01-01 00:00", "2024-01-01t00:00:00z"),
    *("2024-01-01T00:00:00", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00.999999Z", "2024-01-01T00:00Z"),
    *("2024-01-01T01:00:00+01:00", "2024-01-01 01:00+0100", "2024-01-01 01:00:00,5+01"),
    *("2023-12-31T23:30:00-00:30", "2023-12-31 18:30:00 -0530", "2023-12-31T23:59:60Z"),
    *("1704067200", "1704067200.9", "+1704067200", "1.7040672e9", "\n1704067200 "),
]
TIMES = dict.fromkeys(ONE_MOMENT, NEW_YEAR)
TIMES |= {"2024": 2024, "7.9": 7, "0": 0, "2024-02-29": 1709164800, "1969-12-31T23:00-02:00": 3600}
NO_TIMES = [
    *("", None, "soon", "nan", "01.02.2024", "2024-1-1", "2024-01-01T", "2024-01-01T1:00", "12:00", "1_000"),
    *("2024-13-45", "2024-02-30", "2023-02-29", "99999-01-01", "-2024-01-01", "0000-01-01", "1969-12-31"),
    *("2024-01-01T24:00", "2024-01-01T00:60", "2024-01-01T00:00:61", "2024-01-01T00:00:00+99:00"),
    *("2024-W01-1", "2024-01-01T00:00:00+01:00x", "2024-01-01\n", "\u0662\u0660\u0662\u0664-01-01"),
    *("\ufeff2024-01-01", "1969-12-31T23:59:59.9Z", "-5", "2024-01-01" + "0" * 9999, "\0"),
    *("2024-01-01\0", "20240101T000000Z"),
]
TOO_LATE = ["9" * 400, "1700000000000", "inf"]


def test_odd_cells():
    found, dropped = became(list(NUMBERS), "rating")
    assert dict(zip(NUMBERS, found, strict=True)) == NUMBERS
    assert dropped.rating == len(NO_NUMBERS)
    cells = [*TIMES, *NO_TIMES, *TOO_LATE]
    found, dropped = became(cells, "timestamp")
    wanted = [*TIMES.values(), *[0] * len(NO_TIMES), *[2**40] * len(TOO_LATE)]
    assert dict(zip(cells, found, strict=True)) == dict(zip(cells, wanted, strict=True))
    assert dropped.timestamp == len(NO_TIMES) + len(TOO_LATE)


def test_dirt_is_silent(capfd, caplog):
    names = ["user_id", "item_id", "rating", "timestamp"]
    records = [
        ("", "z", "?", "!"),
        (None, None, None, None),
        ("x", "10", "nan", "1"),
        ("x", "10", "9", "1e99"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(pl.DataFrame(records, schema=dict.fromkeys(names, pl.String), orient="row"), DOMAIN)
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


@pytest.mark.parametrize(("name", "separator"), [("u.data", "\t"), ("r.dat", "::"), ("r.txt", " ")])
def test_files_without_a_header_may_end_after_the_item(tmp_path, name, separator):
    (tmp_path / name).write_text("x 10\ny 20\n".replace(" ", separator))
    assert rows(tmp_path / name, GIVEN) == [("x", "10"), ("y", "20")]
    (tmp_path / name).write_text("x 10 4 77\n".replace(" ", separator))
    assert rows(tmp_path / name, GIVEN) == [("x", "10", 77)]
    assert load(tmp_path / name, GIVEN).dropped.unused == 1
    positions = {"user_id": 0, "item_id": 1}
    assert rows(tmp_path / name, COUNTED, columns=positions | {"count": 2}) == [("x", "10", 4)]


# -- places ------------------------------------------------------------------------------------------------


def test_people_are_kept_where_they_are_wanted(tmp_path, monkeypatch):
    source = tmp_path / "r.csv"
    TABLE.write_csv(source)
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


def test_what_is_too_large_for_memory_is_told_by_the_sizes_of_files(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(b"0" * 8000)
    files, needed = parts_of(f"{tmp_path}/*.csv", PLAIN), 2 * 1000 * 32
    assert _too_large(files, needed - 1)
    assert not _too_large(files, needed)
    assert not _too_large([pl.LazyFrame()], 0)


def test_a_place_that_is_none_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    load(TABLE, DOMAIN, where=tmp_path / "kept")
    before = {*tmp_path.rglob("*")}
    for source, reading, where, message in (
        (TABLE, PLAIN, "Memory", r"where='Memory' is not a place; give 'memory'.* or the Path"),
        (
            "r.csv",
            Reading(format="csv", decimal=","),
            "spark",
            "Spark does not take format= and decimal=: it",
        ),
        (TABLE, PLAIN, Path("nosuch/people"), "nosuch is not a folder; choose another one"),
        (TABLE, PLAIN, Path("file/people"), "file is not a folder"),
        (TABLE, PLAIN, Path("kept"), "exists; load it in place of the files if it holds them, or choose"),
        ("kept", Reading(columns={"user_id": "who"}), "memory", "before, whose format is known: leave out"),
        ("kept", PLAIN, Path("again"), "were loaded before; leave out the other folder, again"),
    ):
        with pytest.raises(DataError, match=message):
            load(source, DOMAIN, reading, where=where)
    assert {*tmp_path.rglob("*")} == before
    assert Path("file").read_text() == "mine"


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    duck.connect().close()  # whose own place of temporary files stays until the program ends
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    full = TABLE.with_columns(timestamp=7, personal_epsilon=1)
    broken = pl.LazyFrame(TABLE).map_batches(lambda frame: 1 / 0)
    failing = {"the table cannot be read": broken, "does not exist": tmp_path / "nosuch.csv"}
    for where in (tmp_path / "people", "disk", "memory"):
        for column in ("timestamp", "personal_epsilon"):
            for source in ([full, full.drop(column)], [full.drop(column), full]):
                with pytest.raises(DataError, match=f"some files lack the column {column}"):
                    load(source, DOMAIN, where=where)
        for message, source in failing.items():
            with pytest.raises(DataError, match=message):
                load(source, DOMAIN, where=where)
    monkeypatch.setattr("hushrec.data.assemble._count", lambda *_: 1 / 0)
    for where in (tmp_path / "people", "disk", "memory"):
        with pytest.raises(ZeroDivisionError):
            load(TABLE, DOMAIN, where=where)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_without_a_place_for_temporary_files_the_fix_is_named(tmp_path, monkeypatch, where):
    (tmp_path / "r.txt").write_bytes(b"a 10 1\n")  # which is read by way of a file of CSV
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nosuch"))
    monkeypatch.setattr(duck, "MEMORY", duck.MEMORY - 1)  # so that another DuckDB starts
    with pytest.raises(DataError, match=r"temporary files cannot be written: .*; name another .* TMPDIR"):
        load(tmp_path / "r.txt" if where == "memory" else TABLE, DOMAIN, where=where)
    assert load(TABLE, DOMAIN).n_users == 2, "memory needs none"
