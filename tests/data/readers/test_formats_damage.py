"""Structure that cannot be read: a clear error with file, row and fix, and never a cell, not even chained."""

import contextlib
import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.load import load
from hushrec.errors import DataError
from support.refusals import DOMAIN, refused

HEAD = b"user,item,rating\n"


def read_or_refused(path):
    """Whatever stands in the file, either it loads or ``refused`` holds."""
    with contextlib.suppress(DataError):
        load(path, DOMAIN)
        return
    refused(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", HEAD + b"SECRET7,10,1\nSECRET7,10\n", "row 3: 2 field(s) where the first line has 3"),
        ("r.csv", HEAD + b"SECRET7,10,1,9\n", "row 2: 4 field(s)"),
        ("r.csv", HEAD + b"a,10,1\n\n\nSECRET7,10\n", "row 5: 2 field(s)"),
        ("r.csv", HEAD + b"SECRET7,10\nSECRET7,10,1,9\n", "row 2: 2 field(s)"),  # one short, one long
        ("r.csv", HEAD + b'"SECRET7,x",10,1\n"SECRET7,10,1\n', "row 3: a quote is opened and not closed"),
        ("r.csv", HEAD + b'"SECRET7",10,1\n"SECRET7",10\n', "row 3: 2 field(s)"),
        ("r.csv", HEAD + b'SEC"RET7,10,1\nSECRET7",10,1\n', "quote"),
        ("r.csv", HEAD + b"a,10,1\nSECRET7\xff,10,1\n", "row 3: not UTF-8"),
        ("r.csv", "user,item,rating\nSECRET7é,10,1\n".encode("latin-1"), "row 2: not UTF-8"),
        ("r.csv", "user,item,rating\nSECRET7,10,1\n".encode("utf-16"), "row 1: not UTF-8"),
        ("r.csv", b"user,item,rating\rSECRET7,10,1\r", "CR alone"),
        ("r.csv", b"SECRET7,10,1\nSECRET7,20,1\n", "looks like data, not like a header"),
        ("r.csv", b"user,item\nSECRET7,10\n", "no column for rating; it has user, item; say which is which"),
        (
            "r.csv",
            b"user;item;rating\nSECRET7;10;1\n",
            "no column for user_id; its lines are one field, and seem to be divided by",
        ),
        ("r.csv", b"user,item,rating,rating\nSECRET7,10,1,2\n", "more than one column for rating"),
        ("r.tsv", b"user\titem\trating\nSECRET7\t10\n", "row 2: 2 field(s)"),
        ("u.data", b"1\t10\t1\t0\nSECRET7\t10\t1\n", "row 2: 3 field(s) where the first line has 4"),
        ("u.data", b"SECRET7 10 1 0\n", "1 field(s), which is too few"),
        ("r.dat", b"1::10::1::0\nSECRET7::10::1:0\n", "row 2: 3 field(s)"),
        ("r.dat", b"1\tSECRET7\t1\n", "1 field(s), which is too few"),
        ("r.txt", b"1 10 1\n\nSECRET7 10\n", "row 3: 2 field(s)"),
        ("r.txt", b"SECRET7,10,1\n", "1 field(s), which is too few"),
        ("r.csv", HEAD + b"SECRET7" * 400_000 + b",10,1\n", "row 2: over 1048576 bytes"),
        (
            "r.csv",
            HEAD + b'x,10,1\n"SECRET7,10,1\n' + b"SECRET7,10,1\n" * 100_000,
            "row 3: a quote is opened",
        ),
        ("r.parquet", b"SECRET7", "not a Parquet file"),
        ("r.parquet", b"PAR1SECRET7PAR1", "not a Parquet file"),
        ("r.ipc", b"SECRET7", "not an Arrow IPC file"),
        ("r.csv.gz", b"SECRET7", "damaged or cut short"),
        ("r.csv.gz", gzip.compress(HEAD + b"SECRET7,10,1\n" * 99, mtime=0)[:-20], "damaged or cut short"),
    ],
)
def test_damaged_files_are_explained(tmp_path, name, content, message, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.delimited.BLOCK", 1 << 19)
    path = tmp_path / name
    path.write_bytes(content)
    said = refused(path)
    assert message in said
    assert str(path) in said


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.sampled_from(["r.csv", "r.tsv", "u.data", "r.dat", "r.txt", "r.csv.gz"]),
    st.sampled_from([b"", HEAD, HEAD.replace(b",", b"\t"), b"1:\n"]),
    st.lists(
        st.sampled_from([b",", b'"', b"\n", b"\r", b"\t", b":", b" ", b"1", b"x", b"\0", b"\xff", b"\x1f"])
    ),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, name, head, parts):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(head + b"".join(parts))
    read_or_refused(path)
