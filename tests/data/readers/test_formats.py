"""Every file format, written by the test, gives the same ratings as the table it was written from."""

import gzip

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.sources import recognise
from hushrec.data.reading import FORMATS, Reading
from hushrec.errors import DataError

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 0.5), max_users=99)
TIMED = [("1", "10", 3.5, 100), ("1", "30", 5.0, 200), ("2", "20", 1.0, 300)]
BARE = [row[:3] for row in TIMED]


def rows(path, **options):
    return load(path, DOMAIN, Reading(**options)).to_polars().rows()


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


@pytest.mark.parametrize(
    "name",
    ["ratings.csv", "ratings.tsv", "u.data", "ratings.dat", "ratings.txt", "r.csv.gz"],
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
        ("ratings", {}, "does not tell the format; give format= one of csv"),
        ("ratings.xlsx", {}, "does not tell the format"),
        ("ratings.parquet.gz", {}, "Parquet|no format"),
        ("ratings.csv", {"format": "cvs"}, "'cvs' is unknown; the formats are csv"),
        ("ratings.csv", {"decimal": "x"}, "not a decimal sign"),
        ("ratings.csv", {"separator": "::"}, "one ASCII character"),
        ("ratings.csv", {"separator": '"'}, "one ASCII character"),
        ("ratings.csv", {"separator": "é"}, "one ASCII character"),
        ("ratings.dat", {"separator": ";"}, "apply to the formats csv and tsv"),
        ("ratings.txt", {"decimal": ","}, "apply to the formats csv and tsv"),
        ("folder", {}, "without files of ratings"),
        ("folder", {"format": "csv"}, "without files of ratings"),
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
