"""A query of a database: the same ratings as from files, and an address that shows no password."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.readers.databases.database import Database
from support import databases
from support.databases import ODD, QUERY, SECRET, frame
from support.refusals import DOMAIN, refused


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)])
def stored(request, tmp_path):
    """Makes a database of rows, and gives its address."""

    def made(rows=ODD):
        if request.param == "postgresql":
            return databases.postgresql(request.getfixturevalue("postgres"), rows)
        return getattr(databases, request.param)(tmp_path / f"ratings.{request.param}", rows)

    return made


def same(one, other):
    """Whether two ratings are equal, with what was dropped."""
    assert one.users.to_list() == other.users.to_list()
    for name in ("indptr", "items", "steps", "timestamps"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    return one.dropped == other.dropped


def test_odd_cells_are_what_they_are_in_files(stored, tmp_path):
    frame().write_csv(tmp_path / "odd.csv")
    frame().write_parquet(tmp_path / "odd.parquet")
    read = hr.load(Database(stored(), QUERY), DOMAIN)
    assert read.dropped.records == len(ODD)
    assert {"007", "7", "9007199254740993", "9007199254740992"} < set(read.users.to_list())
    for name in ("odd.csv", "odd.parquet"):
        assert same(read, hr.load(tmp_path / name, DOMAIN)), name


@pytest.mark.full
def test_neither_the_order_of_rows_nor_batches_change_anything(stored):
    rows = ODD * 60_000  # more than a batch
    address = stored(rows)
    expected = hr.load(frame(rows), DOMAIN)
    assert same(hr.load(Database(address, QUERY), DOMAIN), expected)
    backwards = Database(address, f"{QUERY} ORDER BY rating DESC, user_id, timestamp")
    assert same(hr.load(backwards, DOMAIN), expected)


def test_blocks_hold_what_memory_holds(stored, tmp_path):
    source = Database(stored(), QUERY)
    with hr.load(source, DOMAIN, where="disk") as blocks:
        loaded = hr.load(source, DOMAIN)
        assert (blocks.n_users, blocks.n_entries) == (loaded.n_users, loaded.n_ratings)
        assert blocks.dropped == loaded.dropped


def test_a_query_stands_beside_files(stored, tmp_path):
    frame(ODD[:3]).write_csv(tmp_path / "rest.csv")
    both = hr.load([Database(stored(ODD[3:]), QUERY), tmp_path / "rest.csv"], DOMAIN)
    assert same(both, hr.load(frame(), DOMAIN))


def test_columns_are_mapped_and_others_are_ignored(stored):
    query = 'SELECT rating, user_id AS who, \'x\' AS "an ""other", item_id, rating AS stars FROM ratings'
    source = Database(stored(), query)
    assert "no column for user_id; it has rating, who, " in refused(source)
    assert hr.load(source, DOMAIN, hr.Reading(columns={"user_id": "who"})).n_ratings
    named = {"user_id": "who", "rating": 'an "other'}
    assert hr.load(source, DOMAIN, hr.Reading(columns=named)).n_ratings == 0


@pytest.mark.parametrize("end", ["", ";", " ;\n", " -- all of them", " /* all */ ;"])
def test_a_query_may_end_as_people_end_it(stored, end):
    assert hr.load(Database(stored(ODD[:2]), QUERY + end), DOMAIN).n_ratings == 1


def test_an_empty_result_is_valid(stored):
    assert hr.load(Database(stored(), f"{QUERY} WHERE 1 = 0"), DOMAIN).n_ratings == 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM ratings RETURNING user_id, item_id, rating",
        "WITH gone AS (DELETE FROM ratings RETURNING *) SELECT * FROM gone",
        f"{QUERY}; DELETE FROM ratings",
        "UPDATE ratings SET rating = '1'",
        "DROP TABLE ratings",
        "SELECT nothing FROM ratings",
        "SELECT * FROM nowhere",
        "SELEKT",
        f"{QUERY} /* and",
    ],
)
def test_what_writes_or_is_wrong_is_refused_and_changes_nothing(stored, query):
    address = stored()
    told = refused(Database(address, query))
    assert "must be one SELECT that only reads" in told or "that it names does not exist" in told
    assert hr.load(Database(address, QUERY), DOMAIN).dropped.records == len(ODD)


def test_a_parenthesis_closed_too_early_runs_nothing_more(stored, request):
    address = stored()
    early = f"{QUERY}) AS all_of_them; DELETE FROM ratings; SELECT * FROM ({QUERY}"
    if "sqlite" in request.node.name:  # which stops after the first statement
        assert hr.load(Database(address, early), DOMAIN).n_ratings
    else:
        assert "one SELECT" in refused(Database(address, early))
    assert hr.load(Database(address, QUERY), DOMAIN).dropped.records == len(ODD)


def test_of_a_cast_that_fails_no_cell_is_told(stored, request):
    source = stored()
    if "sqlite" in request.node.name:
        pytest.skip("SQLite's casts never fail")
    query = "SELECT user_id, item_id, CAST(rating AS integer) AS rating FROM ratings "
    told = refused(Database(source, f"{query} WHERE rating LIKE '{SECRET}%'"))
    assert "cell" in told


def test_of_an_empty_query_and_options_of_files_it_is_said_what_is_wrong(stored):
    address = stored()
    assert "the query is empty; give a SELECT" in refused(Database(address, " ; "))
    for options in ({"format": "csv"}, {"separator": ";"}, {"decimal": ","}):
        assert "go with a file" in refused(Database(address, QUERY), **options)
    assert "give names in columns=" in refused(Database(address, QUERY), columns={"user_id": 0})


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://ann:hunter2@host:5433/db?sslmode=require", "postgresql://host:5433/db"),
        ("postgres://ann@[::1]:5433/db", "postgres://[::1]:5433/db"),
        ("postgresql://a.example,b.example:1/db", "postgresql://a.example,b.example:1/db"),
        ("postgresql:///db?password=hunter2", "postgresql:///db"),
        ("postgresql://ann:hun/ter2@host/db", "postgresql://…"),
        ("postgresql://ann:hun?ter2@host/db", "postgresql://…"),
        ("postgresql://ann:hun#ter2@host/db", "postgresql://…"),
        ("postgresql://ann:hun@ter2@host/db", "postgresql://…"),
        ("postgresql://ann:hunter2", "postgresql://…"),
        ("postgresql://host/db?user=a@b&password=hunter2", "postgresql://…"),
        ("mysql://ann:hunter2@host/db", "mysql://host/db"),
        ("POSTGRESQL://ann:hunter2@host/db", "postgresql://host/db"),
        ("postgresql+psycopg://ann:hunter2@host/db", "postgresql+psycopg://host/db"),
        ("host=h password=hunter2 dbname=films", "…"),
        ("sqlite:///ratings.db", "sqlite:///ratings.db"),
        (Path("ratings.duckdb"), "ratings.duckdb"),
    ],
)
def test_an_address_is_shown_without_what_opens_it(address, shown):
    source = Database(address, "SELECT 1")
    assert source.place == shown
    assert repr(source) == str(source) == f"Database({shown!r})"
    assert "hunter2" not in repr(source) + source.name


def test_an_address_without_a_query_is_refused_and_not_shown():
    told = refused("postgresql://ann:hunter2@host/db")
    assert "hushrec.Database(address, query)" in told
    assert "hunter2" not in told
    assert refused("C:/ratings.csv") == "C:/ratings.csv does not exist"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://ann:hunter2@host/db",
        "postgresql:/ann:hunter2@host/db",
        "host=h password=hunter2 dbname=films",
        "host=h password=hunt*hunter2 dbname=films",
    ],
)
@pytest.mark.parametrize("given", [str, Path])
def test_a_mistyped_address_is_refused_and_not_shown(address, given):
    for source in (given(address), Database(given(address), QUERY)):
        told = refused(source)
        assert "address" in told or "is not read" in told
        assert "hunter2" not in told + (repr(source) + source.name if isinstance(source, Database) else "")


def test_what_is_no_database_is_refused(tmp_path):
    frame().write_csv(tmp_path / "ratings.csv")
    assert "is not a database of SQLite or DuckDB" in refused(Database(tmp_path / "ratings.csv", QUERY))
    assert "No such file" in refused(Database(tmp_path / "none.db", QUERY))
    assert "Is a directory" in refused(Database(tmp_path, QUERY))
    told = refused(Database("mysql://ann:hunter2@host/db", QUERY))
    assert told.startswith("mysql:// is not read; read PostgreSQL")


def test_the_address_of_a_file_may_be_a_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    databases.sqlite(Path("r a.db"), ODD[:1])
    for address in ("r a.db", "sqlite:///r%20a.db", "SQLite:///r%20a.db", f"sqlite:///{tmp_path}/r a.db"):
        assert hr.load(Database(address, QUERY), DOMAIN).n_ratings == 1
    assert Database("sqlite:///r%20a.db", QUERY).name == "r a.db"


def test_cells_come_as_text(stored):
    tables = list(Database(stored(), QUERY).tables())
    assert all(table.schema == dict.fromkeys(frame().columns, pl.String) for table in tables)
