"""Structure that cannot be read: a clear error with file, row and fix, and never a cell, not even chained."""

import contextlib
import gzip
import os
import random
import subprocess
import sys
import tracemalloc

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.binary import parquet_size
from hushrec.errors import DataError

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99)
HEAD = b"user,item,rating\n"
SECRET = b"SECRET7"  # stands in every damaged file as a cell


def refused(path, **options):
    """The message of the refusal, after a check that nothing private hangs on the exception."""
    with pytest.raises(DataError) as caught:
        load(path, DOMAIN, **options)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None, "a polars error hangs on it, whose message may hold cells"
    assert SECRET.decode() not in str(error) + repr(error)
    return str(error)


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
        ("r.csv", b"user;item;rating\nSECRET7;10;1\n", "no column for user_id; it has user;item;rating"),
        ("r.csv", b"user,item,rating,rating\nSECRET7,10,1,2\n", "more than one column for rating"),
        ("r.tsv", b"user\titem\trating\nSECRET7\t10\n", "row 2: 2 field(s)"),
        ("u.data", b"1\t10\t1\t0\nSECRET7\t10\t1\n", "row 2: 3 field(s) where the first line has 4"),
        ("u.data", b"SECRET7 10 1 0\n", "1 field(s), which is too few"),
        ("r.dat", b"1::10::1::0\nSECRET7::10::1:0\n", "row 2: 3 field(s)"),
        ("r.dat", b"1\tSECRET7\t1\n", "1 field(s), which is too few"),
        ("r.txt", b"1 10 1\n\nSECRET7 10\n", "row 3: 2 field(s)"),
        ("r.txt", b"SECRET7,10,1\n", "1 field(s), which is too few"),
        ("mv_1.txt", b"SECRET7,3,2000-01-01\n", "row 1: no line «movie:»"),
        ("mv_1.txt", b"1:\n5,3,2000-01-01\nSECRET7,3\n", "row 3: 2 field(s)"),
        ("r.csv", HEAD + b"SECRET7" * 400_000 + b",10,1\n", "row 2: over 1048576 bytes"),
        (
            "r.csv",
            HEAD + b'x,10,1\n"SECRET7,10,1\n' + b"SECRET7,10,1\n" * 100_000,
            "row 3: a quote is opened",
        ),
        ("r.parquet", b"SECRET7", "no Parquet file"),
        ("r.parquet", b"PAR1SECRET7PAR1", "no Parquet file"),
        ("r.ipc", b"SECRET7", "no Arrow IPC file"),
        ("r.csv.gz", b"SECRET7", "damaged or cut short"),
        ("r.csv.gz", gzip.compress(HEAD + b"SECRET7,10,1\n" * 99, mtime=0)[:-20], "damaged or cut short"),
    ],
)
def test_damaged_files_are_explained(tmp_path, name, content, message, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.text.BLOCK", 1 << 19)
    path = tmp_path / name
    path.write_bytes(content)
    said = refused(path)
    assert message in said
    assert str(path) in said


def test_the_row_is_right_in_later_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.text.BLOCK", 64)
    (tmp_path / "r.csv").write_bytes(HEAD + b"a,10,1\n" * 500 + b"SECRET7,10\n" + b"a,10,1\n" * 500)
    assert "row 502: 2 field(s)" in refused(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_bytes(HEAD + b"a,10,1\n" * 500 + b"\xff,10,1\n")
    assert "row 502: not UTF-8" in refused(tmp_path / "r.csv")


def test_a_folder_that_is_not_readable_is_named(tmp_path, monkeypatch):
    def denied(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "r.csv").write_bytes(HEAD)
    monkeypatch.setattr("pathlib.Path.open", denied)
    assert "cannot be opened: Permission denied" in refused(tmp_path / "r.csv")


def written(path, kind):
    table = pl.DataFrame(
        {
            "user": ["SECRET7"] * 400,
            "item": ["10", "20"] * 200,
            "rating": [1, 2, 3, 4] * 100,
            "note": ["x"] * 400,
        }
    )
    table.write_parquet(path, row_group_size=150) if kind == "parquet" else table.write_ipc(path)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_a_file_cut_short_anywhere_is_refused(tmp_path, kind):
    path = tmp_path / f"r.{kind}"
    content = written(path, kind)
    for size in sorted(random.Random(0).sample(range(len(content)), 60)):
        path.write_bytes(content[:size])
        refused(path)


FLIPS = """
import random, sys
from pathlib import Path
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError

path, random = Path(sys.argv[1]), random.Random(0)
content = path.read_bytes()
for _ in range(250):
    flipped = bytearray(content)
    for _ in range(random.randint(1, 3)):
        flipped[random.randrange(len(flipped))] ^= random.randint(1, 255)
    path.write_bytes(flipped)
    try:
        load(path, Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99))
    except DataError as error:
        assert error.__context__ is None, "chained"
print("done")
"""


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_flipped_bytes_are_read_or_refused(tmp_path, kind):
    """A flip may go unnoticed, since pages have no checksum; it must not leak, nor raise anything else.

    In a process of its own, because polars aborts the process where a page claims to be of 2^61 bytes.
    """
    path = tmp_path / f"r.{kind}"
    written(path, kind)
    flips = [sys.executable, "-c", FLIPS, str(path)]
    done = subprocess.run(flips, capture_output=True, text=True, env={**os.environ, "RUST_BACKTRACE": "0"})
    assert SECRET.decode() not in done.stdout + done.stderr
    assert done.stdout == "done\n" or "memory allocation of" in done.stderr


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.sampled_from(["r.csv", "r.tsv", "u.data", "r.dat", "r.txt", "mv_1.txt", "r.csv.gz"]),
    st.sampled_from([b"", HEAD, HEAD.replace(b",", b"\t"), b"1:\n"]),
    st.lists(
        st.sampled_from([b",", b'"', b"\n", b"\r", b"\t", b":", b" ", b"1", b"x", b"\0", b"\xff", b"\x1f"])
    ),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, name, head, parts):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(head + b"".join(parts))
    read_or_refused(path)


def test_parquet_size_is_what_the_writer_says(tmp_path):
    import pyarrow.parquet as pq

    written(tmp_path / "r.parquet", "parquet")
    footer = pq.ParquetFile(tmp_path / "r.parquet").metadata
    unpacked = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
    assert parquet_size(tmp_path / "r.parquet") == (footer.num_rows, unpacked)
    pq.write_table(pq.read_table(tmp_path / "r.parquet"), tmp_path / "r2.parquet", row_group_size=10)
    assert parquet_size(tmp_path / "r2.parquet")[0] == 400


def test_a_gzip_bomb_is_refused_in_bounded_memory(tmp_path):
    """0.7 MB that would unpack to 150 MB: refused at the first 64 MiB, in the memory of a few blocks."""
    path = tmp_path / "r.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"user,item,rating,note\n")
        for _ in range(150):
            file.write((b"SECRET7,10,1," + b"x" * 9_986 + b"\n") * 100)
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    said = refused(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "unpacks to over 100 times its size" in said
    assert peak < 200 << 20


def test_max_bytes_caps_text_and_tables(tmp_path):
    (tmp_path / "r.csv").write_bytes(HEAD + b"SECRET7,10,1\n" * 1000)
    assert "more than 9999 bytes; if it should, pass a larger max_bytes" in refused(
        tmp_path / "r.csv", max_bytes=9999
    )
    table = pl.DataFrame({"user": ["SECRET7"] * 1000, "item": ["10"] * 1000, "rating": [1] * 1000})
    table.write_parquet(tmp_path / "r.parquet")
    table.write_ipc(tmp_path / "r.ipc")
    assert "max_bytes" in refused(tmp_path / "r.parquet", max_bytes=9999)
    assert "max_bytes" in refused(tmp_path / "r.ipc", max_bytes=9999)
    assert load(tmp_path / "r.csv", DOMAIN, max_bytes=99_999).n_users == 1


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_a_bomb_of_equal_rows_is_refused_before_it_is_read(tmp_path, kind):
    """A few kB that hold ten million rows: the footer tells, and nothing is unpacked."""
    rows = pl.select(pl.repeat(1, 10_000_000, dtype=pl.Int8)).to_series()
    table = pl.DataFrame({"user": rows, "item": rows, "rating": rows})
    path = tmp_path / f"r.{kind}"
    table.write_parquet(path) if kind == "parquet" else table.write_ipc(path, compression="zstd")
    assert path.stat().st_size < 100_000
    assert "unpacks to over 100 times its size" in refused(path)
