"""Text in blocks of whole records: rows are counted right, and sizes are capped before anything is parsed."""

import gzip
import tracemalloc

import polars as pl
import pytest

from hushrec.data.load import load
from hushrec.data.readers import delimited
from hushrec.data.reading import Reading
from support.refusals import DOMAIN, refused

HEAD = b"user,item,rating\n"


def test_the_row_is_right_in_later_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.delimited.BLOCK", 64)
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
    assert load(tmp_path / "r.csv", DOMAIN, Reading(max_bytes=99_999)).n_users == 1


CONTENT = b"\xef\xbb\xbfone\r\n\ntwo\nd\xc3\xa9j\xc3\xa0,vu\nthe end"


@pytest.mark.parametrize("size", [3, 4, 5, 7, 11, 99])
@pytest.mark.parametrize("zipped", [False, True])
def test_blocks_are_the_lines_wherever_they_end(tmp_path, monkeypatch, size, zipped):
    """A byte order mark goes, CRLF becomes LF, the last line is ended; each block begins at its row."""
    monkeypatch.setattr(delimited, "BLOCK", size)
    path = tmp_path / ("r.txt.gz" if zipped else "r.txt")
    path.write_bytes(gzip.compress(CONTENT) if zipped else CONTENT)
    found = list(delimited.blocks(path, 10**6))
    assert b"".join(block.data for block in found) == "one\n\ntwo\ndéjà,vu\nthe end\n".encode()
    row = 1
    for block in found:
        assert (block.row, block.data[-1:]) == (row, b"\n")
        row += block.data.count(b"\n")
