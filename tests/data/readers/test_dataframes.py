"""Tables that a caller already holds: the same ratings from each, and clear words about wrong ones."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.dataframes import from_table
from hushrec.data.reading import Reading
from hushrec.errors import DataError
from support.refusals import refused


def rows(ratings):
    return ratings.to_polars().rows()


def duck(data):
    """A relation of DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    rows = ", ".join(str(row) for row in zip(*data.values(), strict=True))
    return duckdb.connect().sql(f"select * from (values {rows}) as t({', '.join(data)})")


CLEAN = {"user": [2, 1, 1], "item": [7, 7, 8], "rating": [5.0, 1.0, 3.0], "timestamp": [3, 2, 1]}


@pytest.mark.parametrize(
    "make",
    [
        pl.DataFrame,
        pd.DataFrame,
        pa.table,
        lambda data: pl.DataFrame(data).with_columns(pl.all().cast(pl.String)),
        lambda data: pl.DataFrame(data).with_columns(
            pl.col("user", "item").cast(pl.String).cast(pl.Categorical)
        ),
        lambda data: pd.DataFrame(data).astype(str),
        lambda data: pd.DataFrame(data).astype(object),
        lambda data: pd.DataFrame(data).astype({"user": "category", "rating": "float32"}),
        lambda data: pd.DataFrame(data).astype({"user": "Int64", "item": "uint64"}),
        lambda data: nw.from_native(pl.DataFrame(data)),
        pl.LazyFrame,
        lambda data: nw.from_native(pl.LazyFrame(data)),
        lambda data: pl.LazyFrame(data).with_columns(pl.col("user") + 1).with_columns(pl.col("user") - 1),
        lambda data: pa.table(data).to_batches()[0],
        lambda data: pa.table(data).to_reader(1),
        lambda data: dataset.dataset(pa.table(data)),
        lambda data: pa.table(data).cast(pa.schema([(name, pa.string()) for name in data])),
        lambda data: pa.table({**data, "item": pa.array(["7", "7", "8"]).dictionary_encode()}),
        lambda data: duck(data),
        lambda data: duck(data).filter("rating > 0").order("rating"),
    ],
    ids=[
        "polars",
        "pandas",
        "arrow",
        "text",
        "categorical",
        "pandas text",
        "objects",
        "category",
        "Int64",
        "narwhals",
        "lazy",
        "narwhals lazy",
        "a query",
        "batch",
        "stream",
        "dataset",
        "arrow text",
        "arrow dictionary",
        "DuckDB",
        "a query of DuckDB",
    ],
)
def test_any_table_gives_the_same_ratings(make):
    domain = Domain([7, 8], scale=(1, 5, 1), max_users=9)
    assert rows(load(make(CLEAN), domain)) == [("1", "7", 1.0, 2), ("1", "8", 3.0, 1), ("2", "7", 5.0, 3)]


def test_large_integers_are_not_merged():
    table = pl.DataFrame({"user": [2**53, 2**53 + 1, 2**63 - 1], "item": ["a"] * 3, "rating": [1] * 3})
    ratings = load(table, Domain(["a"], scale=(1, 5, 1), max_users=9))
    assert ratings.users.to_list() == ["9007199254740992", "9007199254740993", "9223372036854775807"]


def test_a_blank_in_a_pandas_column_of_text_drops_one_record(domain):
    for dtype in (None, "string", object):
        table = pd.DataFrame({"user": ["x", None, "z"], "item": ["a", "a", np.nan], "rating": [1, 2, 3]})
        if dtype is not None:  # else pandas' own choice, which depends on its version
            table = table.astype({"user": dtype, "item": dtype})
        assert rows(load(table, domain)) == [("x", "a", 1.0)]


def test_dates_are_timestamps(domain):
    stamps = pd.to_datetime(["2005-09-06", None])
    table = pd.DataFrame({"user": ["x", "y"], "item": ["a", "a"], "rating": [1, 1], "timestamp": stamps})
    assert load(table, domain).timestamps.tolist() == [1125964800, 0]
    assert load(pl.from_pandas(table).cast({"timestamp": pl.Date}), domain).timestamps.tolist() == [
        1125964800,
        0,
    ]


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ({"user": ["x"], "item": ["a"]}, None, "no column for rating; it has user, item; .*columns="),
        ({"user": ["x"], "movie": ["a"], "rating": [1]}, None, "no column for item_id"),
        ({"user": ["x"], "item": ["a"], "rating": [1]}, {"item_id": "what"}, "no column for item_id"),
        (
            {"user": ["x"], "userId": ["y"], "item": ["a"], "rating": [1]},
            None,
            "more than one column for user_id",
        ),
        ({"user": ["x"], "item": ["a"], "rating": [1]}, {"usr": "user"}, "unknown key 'usr'"),
        ({"user": ["x"], "item": ["a"], "rating": [1]}, {"user_id": 0}, "give names"),
        ({"user": ["x"], "item": ["a"], "rating": [1]}, {"user_id": 0, "rating": "r"}, "mixes names"),
        ({"user": [1.0], "item": ["a"], "rating": [1]}, None, "user_id is of type Float64; ids must be text"),
        ({"user": ["x"], "item": [True], "rating": [1]}, None, "item_id is of type Boolean"),
        ({"user": ["x"], "item": ["a"], "rating": [True]}, None, "rating is of type Boolean"),
        ({"user": ["x"], "item": ["a"], "rating": [[1]]}, None, "rating is of type List"),
        ({"user": [b"x"], "item": ["a"], "rating": [1]}, None, "user_id is of type Binary"),
    ],
)
def test_a_table_of_the_wrong_structure_is_explained(domain, table, columns, message):
    with pytest.raises(DataError, match=message):
        load(pl.DataFrame(table), domain, Reading(columns=columns or {}))


def test_a_pandas_column_of_ids_with_blanks_is_float_and_refused(domain):
    """pandas has merged 2^53 and 2^53 + 1 by then, so there is nothing left to save."""
    table = pd.DataFrame({"user": [2**53, 2**53 + 1, None], "item": ["a"] * 3, "rating": [1] * 3})
    with pytest.raises(DataError, match="Float64"):
        load(table, domain)


@pytest.mark.parametrize("source", [None, 7, [1, 2], {"user": ["x"]}, np.zeros((2, 2))], ids=str)
def test_what_is_no_table_is_refused(domain, source):
    with pytest.raises(DataError, match="path, or from a table of"):
        load(source, domain)


def test_what_other_libraries_say_is_not_passed_on():
    class Cell(int):
        def __str__(self):
            raise ValueError("SECRET")

    table = pd.DataFrame({"user_id": pd.Series([Cell(1)], dtype=object), "item_id": ["10"], "rating": [1]})
    assert "column user_id cannot be read" in refused(table)


@pytest.mark.parametrize("kind", ["polars", "stream", "dataset", "DuckDB"])
def test_batches_are_read_one_at_a_time(kind, domain, monkeypatch):
    """The later record of a pair counts, whichever batch it is in."""
    monkeypatch.setattr("hushrec.data.readers.dataframes._ROWS", 7)
    n = 50
    data = {
        "user_id": [f"u{row % 3}" for row in range(n)],
        "item_id": ["a"] * n,
        "rating": [1 + row % 5 for row in range(n)],
        "timestamp": [row * 7 % n for row in range(n)],
        "more": ["x"] * n,
    }
    made = {
        "polars": pl.LazyFrame,
        "stream": lambda data: pa.table(data).to_reader(9),
        "dataset": lambda data: dataset.dataset(pa.table(data)),
        "DuckDB": duck,
    }[kind](data)
    found = list(from_table(made, {}))
    assert [table.columns for table in found] == [["user_id", "item_id", "rating", "timestamp"]] * len(found)
    assert len(found) > 1
    if kind != "stream":  # which is used up
        assert rows(load(made, domain)) == rows(load(pl.DataFrame(data), domain))


def test_small_batches_of_a_stream_are_joined(domain, monkeypatch):
    """Each with a dictionary of its own, as Arrow writes them."""
    monkeypatch.setattr("hushrec.data.readers.dataframes._ROWS", 30)
    batches = [
        pa.record_batch(
            {
                "user_id": pa.array([f"u{at}", "x", f"u{at}"]).dictionary_encode(),
                "item_id": ["10", "20", "30"],
                "rating": [1, None, 5],
            }
        )
        for at in range(25)
    ]
    stream = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    joined = list(from_table(stream, {}))
    assert [len(table) for table in joined] == [0, 30, 30, 15]
    assert pl.concat(joined).rows() == [
        row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)
    ]


@pytest.mark.parametrize("kind", ["polars", "stream", "dataset", "DuckDB"])
def test_a_table_without_rows_has_columns(kind, domain):
    empty = pl.DataFrame(schema={"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64})
    made = {
        "polars": empty.lazy(),
        "stream": empty.to_arrow().to_reader(),
        "dataset": dataset.dataset(empty.to_arrow()),
        "DuckDB": duck({"user_id": ["x"], "item_id": ["a"], "rating": [1]}).filter("rating > 1")
        if kind == "DuckDB"
        else None,
    }[kind]
    assert load(made, domain).n_users == 0
    with pytest.raises(DataError, match="no column for rating"):
        load(made.drop("rating") if kind == "polars" else pa.table({"user": ["x"], "item": ["a"]}), domain)


def test_a_query_that_fails_says_nothing_of_its_cells():
    cells = {"user_id": ["x"], "item_id": ["10"], "rating": ["SECRET"]}
    lazy = pl.LazyFrame(cells)
    assert "its query fails" in refused(lazy.with_columns(pl.col("rating").cast(pl.Float64)))
    assert "its query fails" in refused(duck(cells).project("user_id, item_id, rating::int as rating"))
    assert "user_id is of type Float64" in refused(lazy.with_columns(pl.lit(1.5).alias("user_id")))


def test_a_stream_that_breaks_off_says_nothing_of_its_cells():
    def batches():
        yield pa.record_batch({"user_id": ["x"], "item_id": ["10"], "rating": [1]})
        raise ValueError("SECRET")

    schema = pa.record_batch({"user_id": ["x"], "item_id": ["10"], "rating": [1]}).schema
    assert "its query fails" in refused(pa.RecordBatchReader.from_batches(schema, batches()))
