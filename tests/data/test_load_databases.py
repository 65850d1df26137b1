"""Rows of databases as their page shows them: data frames and Arrow streams, with every id as it was."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import pandas as pd
import polars as pl
import psycopg
import pytest

import hushrec as hr
from support.refusals import rows_of

PAGE = (Path(__file__).resolve().parents[2] / "docs/load.md").read_text("utf-8")
SECTION = PAGE.partition("## A database\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```", SECTION, re.M | re.S)
SHOWN = dict(zip(("psycopg", "sqlite3", "adbc"), BLOCKS, strict=True))
ADDRESS = "postgresql://reader@db.example/shop"
NOON = "2024-01-31 12:00:00+00:00"
GIVEN = [
    (2**53, "007", 5, None),
    (2**53 + 1, "7", 1, NOON),
    (None, "7", 3, NOON),
    (2**53 + 1, "007", 2, NOON),
]
LARGE = ("9007199254740992", "9007199254740993")
KEPT = [(LARGE[0], "007", 5.0, 0), (LARGE[1], "007", 2.0, 1706702400), (LARGE[1], "7", 1.0, 1706702400)]
DOMAIN = hr.Domain(["007", "7"], scale=(1, 5, 1), max_users=9)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A file of SQLite with the table, in the current folder."""
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("shop.db")) as connection:
        connection.execute("CREATE TABLE given (user_id INTEGER, item_id TEXT, stars INTEGER, given_at TEXT)")
        connection.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", GIVEN)
        connection.commit()
    return "shop.db"


@pytest.fixture
def server(postgres):
    """The address of a database of PostgreSQL with the table."""
    address = postgres.url(postgres.database())
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE given (user_id bigint, item_id text, stars int, given_at timestamptz)"
        )
        connection.cursor().executemany("INSERT INTO given VALUES (%s, %s, %s, %s)", GIVEN)
    return address


def typed(name, address):
    """What a block of the page loads; of the one that fits, the rows that it would fit to."""
    fit = SimpleNamespace(
        load=hr.load, CovarianceSVD=hr.CovarianceSVD, fit=lambda people, *_, **__: people.gathered()
    )
    names = {"hr": fit, "domain": DOMAIN, "budget": None, "pl": pl, "pd": pd, "closing": closing}
    names |= {"sqlite3": sqlite3, "psycopg": psycopg, "adbc_driver_postgresql": adbc_driver_postgresql}
    code = SHOWN[name]
    assert ADDRESS in code or name == "sqlite3"
    exec(compile(code.replace(ADDRESS, address), "load.md", "exec"), names)
    return names["release" if name == "adbc" else "ratings"]


@pytest.mark.postgres
@pytest.mark.parametrize("name", ["psycopg", "adbc"])
def test_rows_of_postgresql_are_loaded_as_the_page_shows(name, server):
    read = typed(name, server)
    assert rows_of(read) == KEPT
    assert read.dropped.timestamp == 1


def test_a_data_frame_of_sqlite_is_loaded_as_the_page_shows_and_a_stream_too(shop):
    read = typed("sqlite3", shop)
    assert [row[:3] for row in rows_of(read)] == [row[:3] for row in KEPT]
    with adbc_driver_sqlite.dbapi.connect(shop) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT CAST(user_id AS TEXT) AS user_id, item_id, stars AS rating, given_at AS timestamp "
            "FROM given"
        )
        with hr.load(cursor.fetch_record_batch(), DOMAIN, where="disk") as people:
            assert rows_of(people.gathered()) == KEPT


@pytest.mark.postgres
def test_a_connection_that_is_cut_is_an_error(postgres, server):
    with (
        adbc_driver_postgresql.dbapi.connect(server) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT i::text AS user_id, '7' AS item_id, 3 AS rating FROM generate_series(1, 5000000) i"
        )
        stream = cursor.fetch_record_batch()
        postgres.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{server.rpartition('/')[2]}' AND query LIKE 'COPY%'"
        )
        with pytest.raises(hr.errors.DataError, match="the table cannot be read"):
            hr.load(stream, DOMAIN)
