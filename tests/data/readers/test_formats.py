"""Every file format, written by the test, gives the same ratings as the table it was written from."""

import csv
import gzip
import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load, load_pairs
from hushrec.data.readers.formats import FORMATS, recognise
from hushrec.errors import DataError

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 0.5), max_users=99)
TIMED = [("1", "10", 3.5, 100), ("1", "30", 5.0, 200), ("2", "20", 1.0, 300)]
BARE = [row[:3] for row in TIMED]


def rows(path, **options):
    return load(path, DOMAIN, **options).to_polars().rows()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("u.data", b"2\t20\t1\t300\n1\t10\t3.5\t100\n1\t30\t5\t200\n", TIMED),
        ("u1.base", b"2\t20\t1\t300\n1\t10\t3.5\t100\n1\t30\t5\t200", TIMED),
        ("ratings.dat", b"1::10::3.5::100\n1::30::5::200\n2::20::1::300", TIMED),
        (
            "ratings.csv",
            b"userId,movieId,rating,timestamp\n1,10,3.5,100\n1,30,5.0,200\n2,20,1.0,300\n",
            TIMED,
        ),
        ("ratings.csv", b"userId,movieId,rating\r\n1,10,3.5\r\n1,30,5.0\r\n2,20,1.0\r\n", BARE),
        ("ratings.csv", b"\xef\xbb\xbfuser,item,rating\n1,10,3.5\n\n1,30,5\n\n\n2,20,1\n\n", BARE),
        (
            "ratings.csv",
            b'note,rating,"item","user"\n"a,""b""",3.5,"10","1"\n,"5",30,1\n"x\ny",1,20,2\n',
            BARE,
        ),
        ("ratings.csv", b'user,item,rating\n\n"1",10,3.5\n\n\n1,30,5\n"2",20,1\n\n', BARE),
        ("ratings.tsv", b"user\titem\trating\n1\t10\t3.5\n1\t30\t5\n2\t20\t1\n", BARE),
        ("ratings.txt", b"1 10 3.5\n1 30 5\n2 20 1\n", BARE),
        ("ratings.txt", b"  1 \t 10  3.5 \r\n\n1\t30\t5\n2  20   1", BARE),
        ("ratings.txt", b"1 10 3.5 100\n1 30 5 200\n2 20 1 300\n", TIMED),
    ],
)
def test_text(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content)
    assert rows(tmp_path / name) == expected
    with gzip.open(tmp_path / f"{name}.gz", "wb") as file:
        file.write(content)
    assert rows(tmp_path / f"{name}.gz") == expected


NETFLIX = b"10:\n1,3,1970-01-02\n20:\n30:\n2,4,1970-01-03\n1,5,bad\n"
NETFLIX_ROWS = [("1", "10", 3.0, 86400), ("1", "30", 5.0, 0), ("2", "30", 4.0, 172800)]


@pytest.mark.parametrize("name", ["combined_data_1.txt", "mv_0000010.txt", "combined_data_1.txt.gz"])
def test_netflix_file(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(NETFLIX) if name.endswith(".gz") else NETFLIX)
    assert rows(tmp_path / name) == NETFLIX_ROWS


def test_netflix_folder_of_movies(tmp_path):
    (tmp_path / "mv_0000010.txt").write_bytes(b"10:\r\n1,3,1970-01-02\r\n")
    (tmp_path / "mv_0000020.txt").write_bytes(b"20:\n")
    (tmp_path / "mv_0000030.txt").write_bytes(b"30:\n2,4,1970-01-03\n1,5,bad\n")
    assert rows(tmp_path) == NETFLIX_ROWS


def test_netflix_movies_reach_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.text.BLOCK", 7)
    (tmp_path / "combined_data_1.txt").write_bytes(NETFLIX)
    assert rows(tmp_path / "combined_data_1.txt") == NETFLIX_ROWS


def test_probe_lists_pairs(tmp_path):
    (tmp_path / "probe.txt").write_bytes(b"1:\n30878\n2647871\n10:\n1952305\n")
    pairs = load_pairs(tmp_path / "probe.txt")
    assert pairs.rows() == [("30878", "1"), ("2647871", "1"), ("1952305", "10")]
    assert pairs.columns == ["user_id", "item_id"]
    with pytest.raises(DataError, match="load_pairs"):
        rows(tmp_path / "probe.txt")


@pytest.mark.parametrize("kind", ["parquet", "ipc", "feather", "arrow"])
def test_binary(tmp_path, kind):
    table = pl.DataFrame(TIMED, schema=["userId", "movieId", "rating", "timestamp"], orient="row")
    table = table.with_columns(note=pl.lit("x"))
    path = tmp_path / f"ratings.{kind}"
    table.write_parquet(path) if kind == "parquet" else table.write_ipc(path, compression="zstd")
    assert rows(path) == TIMED
    numbers = table.with_columns(pl.col("userId", "movieId").cast(pl.Int32))
    numbers.write_parquet(path) if kind == "parquet" else numbers.write_ipc(path)
    assert rows(path) == TIMED
    assert rows(path, columns={"user_id": "userId"}) == TIMED


def test_parquet_of_several_row_groups(tmp_path):
    table = pl.DataFrame(TIMED * 50, schema=["user", "item", "rating", "timestamp"], orient="row")
    table.write_parquet(tmp_path / "many.parquet", row_group_size=7)
    assert rows(tmp_path / "many.parquet") == TIMED


def test_a_name_with_glob_characters_is_a_name(tmp_path):
    pl.DataFrame(BARE, schema=["user", "item", "rating"], orient="row").write_parquet(
        tmp_path / "r[1]*.parquet"
    )
    assert rows(tmp_path / "r[1]*.parquet") == BARE


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


@pytest.mark.parametrize(
    "name",
    ["ratings.csv", "ratings.tsv", "u.data", "ratings.dat", "ratings.txt", "combined_data_1.txt", "r.csv.gz"],
)
def test_an_empty_file_is_valid(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    assert rows(tmp_path / name) == []


def test_a_header_alone_is_valid(tmp_path):
    for content in (
        b"user,item,rating,timestamp",
        b"user,item,rating,timestamp\r\n",
        b"\xef\xbb\xbfuser,item,rating\n",
    ):
        (tmp_path / "ratings.csv").write_bytes(content)
        assert rows(tmp_path / "ratings.csv") == []
    pl.DataFrame(schema={"user": pl.Int64, "item": pl.Int64, "rating": pl.Int8}).write_parquet(
        tmp_path / "r.parquet"
    )
    assert rows(tmp_path / "r.parquet") == []


IDS = st.text(st.sampled_from(["a", "7", ",", '"', "\n", " ", "é", ";", "\t", ":"]), max_size=4)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(IDS, st.sampled_from(["10", "20", "x"]), st.sampled_from(["1", "2.5", "?"])), max_size=8
    ),
    st.integers(9, 60),
    st.booleans(),
)
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
        patch.setattr("hushrec.data.readers.text.BLOCK", block)
        assert rows(path) == load(table, DOMAIN).to_polars().rows()


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("u.data", "u.data"),
        ("ua.test", "u.data"),
        ("u5.base", "u.data"),
        ("RATINGS.CSV", "csv"),
        ("ratings.csv.gz", "csv"),
        ("a.tab", "tsv"),
        ("ratings.dat", "dat"),
        ("mv_0000001.txt", "netflix"),
        ("combined_data_4.txt", "netflix"),
        ("ratings.txt", "text"),
        ("a.pq", "parquet"),
        ("a.feather", "ipc"),
    ],
)
def test_the_name_tells_the_format(tmp_path, name, format):
    assert format in FORMATS
    assert recognise(tmp_path / name) == format


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ratings", {}, "tells no format; give format= one of csv"),
        ("ratings.xlsx", {}, "tells no format"),
        ("ratings.parquet.gz", {}, "Parquet|no format"),
        ("ratings.csv", {"format": "cvs"}, "'cvs' is unknown; the formats are csv"),
        ("ratings.csv", {"decimal": "x"}, "no decimal sign"),
        ("ratings.csv", {"separator": "::"}, "one ASCII character"),
        ("ratings.csv", {"separator": '"'}, "one ASCII character"),
        ("ratings.csv", {"separator": "é"}, "one ASCII character"),
        ("ratings.dat", {"separator": ";"}, "go with the formats csv and tsv"),
        ("ratings.txt", {"decimal": ","}, "go with the formats csv and tsv"),
        ("mv_1.txt", {"columns": {"user_id": 0}}, "columns are known"),
        ("folder", {}, "without combined_data"),
        ("folder", {"format": "csv"}, "is a folder"),
        ("none.csv", {}, "does not exist"),
    ],
)
def test_a_wrong_request_is_explained(tmp_path, name, options, message):
    if name == "folder":
        (tmp_path / name).mkdir()
    elif name != "none.csv":
        (tmp_path / name).write_bytes(b"user,item,rating\n")
    with pytest.raises(DataError, match=message):
        rows(tmp_path / name, **options)
