"""Files of DuckDB: types, and a query that reaches nothing but its file."""

import duckdb
import pytest

import hushrec as hr
from hushrec.data.readers.databases.database import Database
from hushrec.data.readers.databases.duckdb_source import DuckDBSource
from support.databases import ODD, QUERY, frame
from support.databases import duckdb as stored
from support.refusals import DOMAIN, refused


def loaded(path, query):
    return hr.load(Database(path, query), DOMAIN).to_polars().rows()


def test_types_are_read_exactly(tmp_path):
    path = stored(tmp_path / "r.duckdb", [])
    query = """SELECT 9007199254740993::bigint AS user_id, 10 AS item_id, 2.25::decimal(5, 2) AS rating,
        TIMESTAMPTZ '2024-01-02 03:04:05.6+02' AS timestamp
        UNION ALL SELECT 170141183460469231731687303715884105727::hugeint, 20, 3, NULL"""
    expected = [
        ("170141183460469231731687303715884105727", "20", 3.0, 0),
        ("9007199254740993", "10", 2.0, 1704157445),
    ]
    assert loaded(path, query) == expected
    name = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    values = f"'{name}'::uuid AS user_id, 10 AS item_id, DATE '1970-01-02' AS timestamp"
    query = f"SELECT {values}, true AS rating"
    assert hr.load(Database(path, query), DOMAIN).dropped.rating == 1, "as true in a CSV file"
    assert loaded(path, query.replace("true", "4::double")) == [(name, "10", 4.0, 86400)]
    for kind in ("float", "double"):
        told = refused(Database(path, f"SELECT 1::{kind} AS user_id, 10 AS item_id, 4 AS rating"))
        assert "floating-point" in told


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM 'ratings.csv'",
        "SELECT * FROM read_csv('ratings.csv')",
        "SELECT content AS user_id, 1 AS item_id, 1 AS rating FROM read_text('/etc/hostname')",
        "COPY ratings TO 'stolen.csv'",
        "ATTACH 'new.duckdb' AS new",
        "INSTALL httpfs",
        "SET enable_external_access = true",
    ],
)
def test_nothing_beside_the_file_is_reached(tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    frame().write_csv("ratings.csv")
    assert "cannot be run" in refused(Database(stored(tmp_path / "r.duckdb"), query))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.duckdb", "ratings.csv"]


def test_the_session_cannot_write(tmp_path):
    source = DuckDBSource(stored(tmp_path / "r.duckdb"), "db")
    for statement in ("DELETE FROM ratings RETURNING user_id", "CREATE TABLE more (x int)"):
        with pytest.raises(hr.errors.DataError):
            list(source.rows(statement))
    source.close()


def test_a_file_in_use_or_damaged_is_refused(tmp_path):
    path = stored(tmp_path / "r.duckdb", ODD)
    with duckdb.connect(str(path)):
        assert "is another program writing it" in refused(Database(path, QUERY))
    path.write_bytes(path.read_bytes()[:5000])
    assert "cannot be opened" in refused(Database(path, QUERY))
