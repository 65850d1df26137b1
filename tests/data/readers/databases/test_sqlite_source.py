"""Files of SQLite: cells of any type, nothing written, and no ledger."""

import sqlite3

import pytest

import hushrec as hr
from hushrec.data.readers.databases import sqlite_source
from hushrec.data.readers.databases.database import Database
from hushrec.privacy.ledger.stores import ledger_files
from support.databases import ODD, QUERY
from support.databases import sqlite as stored
from support.refusals import DOMAIN, refused


def test_every_cell_has_a_type_of_its_own(tmp_path):
    path = tmp_path / "ratings.db"
    database = sqlite3.connect(path)
    with database:
        database.execute("CREATE TABLE ratings (user_id, item_id, rating, timestamp)")
        rows = [(None, 10, 4, 1)] * 3000  # more than a driver looks at before it settles on types
        rows += [(2**53 + 1, 10, 4.0, 3.7), ("007", "20", "2", "5"), (7, 30, b"5", None), ("a\0b", 10, 1, 1)]
        database.executemany("INSERT INTO ratings VALUES (?, ?, ?, ?)", rows)
    database.close()
    read = hr.load(Database(path, QUERY), DOMAIN)
    assert read.to_polars().rows() == [
        ("007", "20", 2.0, 5), ("7", "30", 5.0, 0), ("9007199254740993", "10", 4.0, 3)
    ]  # fmt: skip
    assert (read.dropped.user_id, read.dropped.rating) == (3001, 0), "an id with NUL is dropped, not cut"


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    path = stored(tmp_path / "ratings.db", ODD[:1])
    query = "SELECT CAST(x'ff41' AS text) AS user_id, item_id, rating FROM ratings"
    assert "not UTF-8" in refused(Database(path, query))


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH 'new.db' AS new",
        "SELECT load_extension('x') AS user_id, 1 AS item_id, 1 AS rating",
        "VACUUM INTO 'new.db'",
    ],
)
def test_nothing_beside_the_file_is_reached(tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    assert "cannot be run" in refused(Database(stored(tmp_path / "ratings.db"), query))
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.db"]


def test_the_session_cannot_write(tmp_path):
    path = stored(tmp_path / "ratings.db")
    source = sqlite_source.SQLiteSource(path, "db")
    for statement in ("DELETE FROM ratings RETURNING user_id", "CREATE TABLE more (x)"):
        with pytest.raises(hr.errors.DataError):
            list(source.rows(statement))
    source._cursor.execute("PRAGMA query_only = OFF")
    with pytest.raises(hr.errors.DataError):
        list(source.rows("DELETE FROM ratings RETURNING user_id"))
    source.close()


def test_a_damaged_file_is_refused(tmp_path):
    path = stored(tmp_path / "ratings.db", ODD * 1000)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    assert "cannot be" in refused(Database(path, QUERY))
    path.write_bytes(whole[:5000])
    assert "cannot be" in refused(Database(path, QUERY))


def test_a_ledger_is_refused(tmp_path):
    assert sqlite_source._LEDGER == ledger_files.APPLICATION
    budget = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    hr.Ledger.create(tmp_path / "ledger.db", budget)
    assert "is a ledger of hushrec" in refused(Database(tmp_path / "ledger.db", "SELECT 1"))
