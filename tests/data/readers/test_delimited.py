"""Delimited text: dialects, quotes and blocks give the table that was written."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 0.5), max_users=99)


TIMED = [("1", "10", 3.5, 100), ("1", "30", 5.0, 200), ("2", "20", 1.0, 300)]


BARE = [row[:3] for row in TIMED]


def rows(path, **options):
    return load(path, DOMAIN, Reading(**options)).to_polars().rows()


def test_dialects_are_explicit(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"user;item;rating\n1;10;3,5\n1;30;5\n2;20;1,0\n2;30;1.000\n")
    assert rows(path, separator=";", decimal=",") == BARE  # 1.000 might be a thousand or a one: dropped
    assert rows(path, separator=";") == [("1", "30", 5.0), ("2", "30", 1.0)]


def test_positions_say_that_there_is_no_header(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"10,1,100,3.5\n30,1,200,5\n20,2,300,1\n")
    assert rows(path, columns={"user_id": 1, "item_id": 0, "rating": 3, "timestamp": 2}) == TIMED
    assert rows(path, columns={"user_id": 1, "item_id": 0, "rating": 3}) == BARE


def test_names_are_mapped_in_files(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"who,what,rating\n1,10,3.5\n1,30,5\n2,20,1\n")
    assert rows(path, columns={"user_id": "who", "item_id": "what"}) == BARE
    assert rows(str(path), columns={"user_id": "who", "item_id": "what"}, format="csv") == BARE


IDS = st.text(st.sampled_from(["a", "7", ",", '"', "\n", " ", "é", ";", "\t", ":"]), max_size=4)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(IDS, st.sampled_from(["10", "20", "x"]), st.sampled_from(["1", "2.5", "?"])), max_size=8
    ),
    st.integers(9, 60),
    st.booleans(),
)
@pytest.mark.full
def test_quoted_csv_is_the_table_whatever_the_block(tmp_path_factory, records, block, all_quoted):
    """Ids may hold separators, quotes and line ends, and blocks may end anywhere."""
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(text, quoting=quoting, lineterminator="\n")
    writer.writerows([("user", "item", "rating"), *records])
    path = tmp_path_factory.mktemp("csv") / "ratings.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    table = pl.DataFrame(records, schema=dict.fromkeys(["user", "item", "rating"], pl.String), orient="row")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushrec.data.readers.delimited.BLOCK", block)
        assert rows(path) == load(table, DOMAIN).to_polars().rows()
