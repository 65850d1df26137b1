"""Zip archives as streams: bombs, secrets and damage are refused, and nothing is ever unpacked to disk."""

import gzip
import os
import zipfile

import pytest

from hushrec.data.load import load
from hushrec.data.readers import archives, text
from hushrec.data.reading import Reading
from support.refusals import DOMAIN, refused

HEAD = b"user,item,rating\n"


def pack(path, files, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def rows(source, **options):
    return load(source, DOMAIN, Reading(**options)).to_polars().rows()


def test_all_members_are_read_and_hidden_ones_are_not(tmp_path):
    files = {"a/x.csv": HEAD + b"x,10,1\n", "b.csv.gz": gzip.compress(HEAD + b"y,20,2\n")}
    files |= {"__MACOSX/a/._x.csv": b"\0", ".DS_Store": b"\0", "_notes.txt": b"\0"}
    assert rows(pack(tmp_path / "r.zip", files)) == [("x", "10", 1.0), ("y", "20", 2.0)]
    assert [file.name for file in tmp_path.iterdir()] == ["r.zip"]


def test_a_member_or_a_pattern_is_chosen_by_its_path(tmp_path):
    files = {"ml/ratings.csv": HEAD + b"x,10,1\n", "ml/movies.csv": b"item,title\n10,T\n", "ml/READ.me": b"?"}
    archive = pack(tmp_path / "ml.zip", files)
    for inside in ("ml/ratings.csv", "*/ratings.csv", "ml/r*"):
        assert rows(f"{archive}/{inside}") == [("x", "10", 1.0)]
    assert "does not tell the format" in refused(archive)
    assert "no column for user_id" in refused(f"{archive}/ml/*.csv")
    assert "holds no file ml/nosuch.csv" in refused(archive / "ml" / "nosuch.csv")


def test_names_that_climb_out_write_nothing(tmp_path):
    inner = tmp_path / "in"
    inner.mkdir()
    archive = pack(inner / "r.zip", {"../evil.csv": HEAD + b"x,10,1\n", "/abs.csv": HEAD + b"y,10,2\n"})
    assert rows(f"{archive}/*.csv") == [("x", "10", 1.0), ("y", "10", 2.0)]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["in", "in/r.zip"]


def test_the_netflix_prize_in_an_archive(tmp_path):
    files = {"mv_1.txt": b"10:\n7,5,2005-09-06\n", "mv_2.txt": b"20:\n7,3,2005-09-06\n"}
    assert rows(pack(tmp_path / "r.zip", files)) == [
        ("7", "10", 5.0, 1125964800),
        ("7", "20", 3.0, 1125964800),
    ]


def test_a_bomb_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archives.Member, "open", lambda *_: pytest.fail("it was opened"))
    bomb = pack(tmp_path / "r.zip", {f"{n}.csv": b"0" * (1 << 20) for n in range(70)})
    assert bomb.stat().st_size < 1 << 18
    assert "over 100 times its size" in refused(bomb)
    many = pack(tmp_path / "s.zip", {f"{n}.csv": os.urandom(1000) for n in range(10)})
    assert "unpacks to more than 9999 bytes" in refused(many, max_bytes=9_999)


def test_a_bomb_in_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "FREE_BYTES", 1 << 16)
    inner = gzip.compress(HEAD + b"x,10,1\n" * 100_000)
    assert "over 100 times its size" in refused(pack(tmp_path / "r.zip", {"r.csv.gz": inner}))


def test_a_size_that_lies_ends_the_reading(tmp_path):
    """The archive states fewer bytes than there are: no more are unpacked, and their checksum is wrong."""
    archive = pack(tmp_path / "r.zip", {"r.csv": HEAD + b"x,10,1\n" * 1000})
    data = archive.read_bytes()
    size = len(HEAD) + 7000
    assert data.count(size.to_bytes(4, "little")) == 2  # beside the file, and in the directory
    archive.write_bytes(data.replace(size.to_bytes(4, "little"), (24).to_bytes(4, "little")))
    assert "damaged or cut short" in refused(archive)


@pytest.mark.parametrize("cut", [10, 60, -30, -1])
def test_damage_is_named(tmp_path, cut):
    archive = pack(tmp_path / "r.zip", {"r.csv": HEAD + os.urandom(300).hex().encode()}, zipfile.ZIP_STORED)
    data = archive.read_bytes()
    archive.write_bytes(data[:cut])
    assert "not a zip archive, or is damaged" in refused(archive)
    archive.write_bytes(data[:cut] + bytes([data[cut] ^ 1]) + data[cut + 1 :] if cut > 0 else b"")
    assert refused(archive)


def test_what_needs_a_disk_a_key_or_much_memory_is_refused(tmp_path):
    assert "unpack it yourself" in refused(pack(tmp_path / "p.zip", {"r.parquet": b"PAR1"}))
    assert "deflate" in refused(pack(tmp_path / "l.zip", {"r.csv": HEAD}, zipfile.ZIP_LZMA))
    locked = pack(tmp_path / "k.zip", {"r.csv": HEAD})
    data = bytearray(locked.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    locked.write_bytes(data)
    assert "is encrypted" in refused(locked)
    assert "holds no file" in refused(pack(tmp_path / "e.zip", {}))
