"""Tables that a caller already holds: the same ratings from each, and clear words about wrong ones."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError
from support.refusals import refused


def rows(ratings):
    return ratings.to_polars().rows()


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
    for dtype in ("str", object):
        table = pd.DataFrame({"user": ["x", None, "z"], "item": ["a", "a", np.nan], "rating": [1, 2, 3]})
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
        load(pl.DataFrame(table), domain, columns=columns)


def test_a_pandas_column_of_ids_with_blanks_is_float_and_refused(domain):
    """pandas has merged 2^53 and 2^53 + 1 by then, so there is nothing left to save."""
    table = pd.DataFrame({"user": [2**53, 2**53 + 1, None], "item": ["a"] * 3, "rating": [1] * 3})
    with pytest.raises(DataError, match="Float64"):
        load(table, domain)


@pytest.mark.parametrize("source", [None, 7, [1, 2], pl.DataFrame(CLEAN).lazy(), np.zeros((2, 2))], ids=str)
def test_what_is_no_table_is_refused(domain, source):
    with pytest.raises(DataError, match="path or from an eager table"):
        load(source, domain)


def test_what_other_libraries_say_is_not_passed_on():
    class Cell(int):
        def __str__(self):
            raise ValueError("SECRET")

    table = pd.DataFrame({"user_id": pd.Series([Cell(1)], dtype=object), "item_id": ["10"], "rating": [1]})
    assert "column user_id cannot be read" in refused(table)
