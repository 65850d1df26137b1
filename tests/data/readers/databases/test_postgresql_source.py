"""PostgreSQL: types, a transaction that cannot write, and failures that quote nothing."""

import os
import subprocess
import sys

import psycopg
import pytest

import hushrec as hr
from hushrec.data.readers.databases.database import Database
from hushrec.data.readers.databases.postgresql_source import PostgreSQLSource
from support.databases import ODD, QUERY, SECRET, postgresql
from support.postgres import PASSWORD
from support.refusals import DOMAIN, refused


def told(source):
    """The message of a refusal, which holds no password."""
    message = refused(source)
    assert PASSWORD not in message
    return message


def test_without_a_server_it_is_said_what_to_see_to():
    message = told(Database(f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db", QUERY))
    assert message.startswith("postgresql://127.0.0.1:1/db: no connection")


@pytest.fixture(scope="module")
def address(postgres):
    return postgresql(postgres)


@pytest.fixture
def shell(address):
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def loaded(address, query):
    return hr.load(Database(address, query), DOMAIN).to_polars().rows()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("9007199254740993::int8", "9007199254740993"),
        ("4294967295::oid", "4294967295"),
        ("12345678901234567890123::numeric", "12345678901234567890123"),
        ("1.50::numeric(5, 2)", "1.50"),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("'007'::text", "007"),
        ("'x'::char(5)", "x"),
        ("'a'::mood", "a"),
        ("'10.0.0.1'::inet", "10.0.0.1/32"),
        ("'{1,2}'::int[]", "{1,2}"),
        ("true", "true"),
    ],
)
def test_ids_of_any_type_are_text(address, shell, value, text):
    shell.execute("DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('a')")
    query = f"SELECT {value} AS user_id, 10::int2 AS item_id, 4 AS rating"
    assert loaded(address, query) == [(text, "10", 4.0)]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("value", "rating"),
    [("4::float4", 4), ("4.0::numeric", 4), ("'5'::text", 5), ("3::int2", 3), ("2.4::float8", 2)]
    + [(value, None) for value in ("'NaN'::numeric", "'-Infinity'::float8", "true", "'4'::money", "NULL")],
)
def test_ratings_are_numbers_or_dropped(address, value, rating):
    query = f"SELECT 'u' AS user_id, '10' AS item_id, {value} AS rating"
    assert [row[2] for row in loaded(address, query)] == [rating] * (rating is not None)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("timestamptz '2024-01-02 03:04:05.6+02'", 1704157445),
        ("timestamp '2024-01-02 03:04:05'", 1704164645),
        ("date '1970-01-02'", 86400),
        ("timestamptz 'infinity'", 1 << 40),
        ("timestamptz '-infinity'", 0),
        ("date '1960-01-01'", 0),
        ("1704157445", 1704157445),
        ("NULL::timestamptz", 0),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_times_are_unix_seconds_in_utc_whatever_the_zone_of_the_session(
    address, value, seconds, zone, monkeypatch
):
    monkeypatch.setenv("PGTZ", zone)
    query = f"SELECT 'u' AS user_id, '10' AS item_id, 4 AS rating, {value} AS timestamp"
    assert loaded(address, query) == [("u", "10", 4.0, seconds)]


@pytest.mark.postgres
def test_ids_that_were_merged_already_are_refused(address):
    for kind in ("float4", "float8"):
        query = f"SELECT 1::{kind} AS user_id, '10' AS item_id, 4 AS rating"
        assert "floating-point" in told(Database(address, query))


WRITERS = {
    "a function": "SELECT gone() AS user_id, '10' AS item_id, 4 AS rating",
    "a function for each row": "SELECT user_id, item_id, gone() AS rating FROM ratings",
    "a setting": "SELECT set_config('transaction_read_only', 'off', false) AS user_id, gone() AS item_id, 1 "
    "AS rating",
    "a sequence": "SELECT nextval('numbers') AS user_id, '10' AS item_id, 4 AS rating",
    "a lock": f"{QUERY} FOR UPDATE",
    "a table": "SELECT user_id, item_id, rating INTO copied FROM ratings",
}


@pytest.mark.postgres
@pytest.mark.parametrize("writer", WRITERS)
def test_what_writes_fails_in_the_database(address, shell, writer):
    shell.execute(
        "CREATE OR REPLACE FUNCTION gone() RETURNS text LANGUAGE sql AS "
        "'DELETE FROM ratings; SELECT ''10''::text'; CREATE SEQUENCE IF NOT EXISTS numbers"
    )
    message = told(Database(address, WRITERS[writer]))
    assert "only reads" in message or "it writes" in message
    assert shell.execute("SELECT count(*) FROM ratings").fetchone() == (len(ODD),)
    assert shell.execute("SELECT last_value, is_called FROM numbers").fetchone() == (1, False)


@pytest.mark.postgres
def test_what_a_read_only_transaction_allows_is_rolled_back(address, shell):
    """Before version 16, PostgreSQL lets such a transaction make large objects."""
    query = "SELECT lo_create(77) AS user_id, '10' AS item_id, 4 AS rating"
    if shell.info.server_version < 160000:
        assert loaded(address, query) == [("77", "10", 4.0)]
    else:
        told(Database(address, query))
    assert shell.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchone() == (0,)


@pytest.mark.postgres
def test_the_session_cannot_write_whatever_the_role_sets(address, shell):
    shell.execute("ALTER ROLE postgres SET default_transaction_read_only = off")
    try:
        source = PostgreSQLSource(address, "db")
        for statement in ("DELETE FROM ratings RETURNING user_id", "CREATE TABLE more (x int)"):
            with pytest.raises(hr.errors.DataError, match="cannot be run"):
                list(source.rows(statement))
        source.close()
    finally:  # the role is the whole server's
        shell.execute("ALTER ROLE postgres RESET default_transaction_read_only")
    assert shell.execute("SELECT count(*) FROM ratings").fetchone() == (len(ODD),)


@pytest.mark.postgres
def test_one_snapshot_is_read(address):
    source = PostgreSQLSource(address, "db")
    level = "SELECT current_setting('transaction_isolation') AS level"
    (table,) = source.rows(level)
    assert table.rows() == [("repeatable read",)]
    source.close()


FAILURES = {
    "a cast": ("SELECT user_id, item_id, rating::int FROM ratings", "from a cell"),
    "a value in the plan": (f"SELECT '{SECRET}'::int AS user_id, 1 AS item_id, 1 AS rating", "22P02"),
    "a division": (
        "SELECT user_id, item_id, 1 / (length(item_id) - 2) AS rating FROM ratings",
        "from a cell",
    ),
    "a function that quotes": (
        "SELECT quoted(user_id) AS user_id, item_id, rating FROM ratings",
        "from a cell",
    ),
    "a table": (f'SELECT * FROM "{SECRET}"', "42P01"),
    "a column": (f'SELECT "{SECRET}" FROM ratings', "42703"),
    "an operator": ("SELECT user_id + item_id AS user_id FROM ratings", "42883"),
    "a time limit": ("SELECT r.* FROM ratings r, pg_sleep(9)", "was cancelled"),
}


@pytest.mark.postgres
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_quotes_nothing(address, shell, failure, monkeypatch):
    shell.execute(
        "CREATE OR REPLACE FUNCTION quoted(x text) RETURNS text LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION ''it was %'', x; END'"
    )
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=1000")
    query, expected = FAILURES[failure]
    assert expected in told(Database(address, query))


@pytest.mark.postgres
def test_notices_of_the_server_stay_off_the_terminal(address, shell, capfd):
    shell.execute(
        "CREATE OR REPLACE FUNCTION loud(x text) RETURNS text LANGUAGE plpgsql AS "
        "'BEGIN RAISE WARNING ''it was %'', x; RETURN x; END'"
    )
    assert hr.load(Database(address, QUERY.replace("user_id", "loud(user_id) AS user_id")), DOMAIN).n_ratings
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.postgres
def test_who_may_not_connect_or_read_is_told_so(address, shell, postgres):
    shell.execute("DROP ROLE IF EXISTS nobody_here")
    shell.execute(f"CREATE ROLE nobody_here LOGIN PASSWORD '{PASSWORD}'")
    database = address.rpartition("/")[2]
    assert "SQLSTATE 42501): the role may not read a table" in told(
        Database(postgres.url(database, "nobody_here"), QUERY)
    )
    wrong = postgres.url(database, "nobody_here").replace(PASSWORD, "another")
    assert "no connection" in told(Database(wrong, QUERY))
    assert "no connection" in told(Database(postgres.url("nowhere"), QUERY))


@pytest.mark.postgres
def test_the_password_may_come_from_the_environment(address, postgres, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert loaded(address.replace(f":{PASSWORD}", ""), QUERY) == loaded(address, QUERY)


@pytest.mark.postgres
@pytest.mark.parametrize("end", ["the backend", "the server"])
def test_a_connection_that_is_cut_is_told(postgres, end, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.dataframes._ROWS", 1)
    rows = [(f"u{n}", "10", "4", n) for n in range(200_000)]
    address = postgresql(postgres, rows)
    # Wide rows, of which the server cannot send all before somebody reads them.
    tables = Database(
        address, "SELECT user_id || repeat('x', 200) AS user_id, item_id, rating FROM ratings"
    ).tables()
    next(tables), next(tables)
    if end == "the server":
        postgres.stop("immediate")
        postgres.start()
    else:
        database = address.rpartition("/")[2]
        postgres.psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
    with pytest.raises(hr.errors.DataError, match="the connection ended before the last row") as caught:
        list(tables)
    assert PASSWORD not in str(caught.value)


@pytest.mark.postgres
def test_it_needs_the_library(address):
    code = (
        "import sys; sys.modules['adbc_driver_postgresql'] = None\n"
        "import hushrec as hr; domain = hr.Domain(['10'], scale=(1, 5, 1), max_users=9)\n"
        "hr.load(hr.Database(sys.argv[1], 'SELECT 1'), domain)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, address], capture_output=True, text=True, env=os.environ
    )
    assert run.stderr.endswith("needs pip install 'hushrec[databases]'\n")
    assert PASSWORD not in run.stderr
