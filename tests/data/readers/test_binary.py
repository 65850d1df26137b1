"""Parquet and Arrow files: what they give, and what damage does."""

import os
import random
import subprocess
import sys

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading
from support.refusals import SECRET, refused

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 0.5), max_users=99)


TIMED = [("1", "10", 3.5, 100), ("1", "30", 5.0, 200), ("2", "20", 1.0, 300)]


BARE = [row[:3] for row in TIMED]


def rows(path, **options):
    return load(path, DOMAIN, Reading(**options)).to_polars().rows()


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
@pytest.mark.full
def test_flipped_bytes_are_read_or_refused(tmp_path, kind):
    """A flip may go unnoticed, since pages have no checksum; it must not leak, nor raise anything else.

    In a process of its own, because polars aborts the process where a buffer claims to be of 2^61 bytes.
    """
    path = tmp_path / f"r.{kind}"
    written(path, kind)
    flips = [sys.executable, "-c", FLIPS, str(path)]
    done = subprocess.run(flips, capture_output=True, text=True, env={**os.environ, "RUST_BACKTRACE": "0"})
    assert SECRET not in done.stdout + done.stderr
    assert done.stdout == "done\n" or "memory allocation of" in done.stderr


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_a_bomb_of_equal_rows_is_refused_before_it_is_read(tmp_path, kind):
    """A few kB that hold ten million rows: their number is stated, and nothing is unpacked."""
    rows = pl.select(pl.repeat(1, 10_000_000, dtype=pl.Int8)).to_series()
    table = pl.DataFrame({"user": rows, "item": rows, "rating": rows})
    path = tmp_path / f"r.{kind}"
    table.write_parquet(path) if kind == "parquet" else table.write_ipc(path, compression="zstd")
    assert path.stat().st_size < 100_000
    assert "unpacks to over 100 times its size" in refused(path)


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_a_bomb_of_long_texts_is_refused_once_a_part_of_it_is_read(tmp_path, kind):
    table = pl.DataFrame(
        {"user": ["SECRET" * 300_000 + str(n) for n in range(50)], "item": "10", "rating": 1}
    )
    path = tmp_path / f"r.{kind}"
    table.write_parquet(path) if kind == "parquet" else table.write_ipc(path, compression="zstd")
    assert path.stat().st_size < 800_000
    assert "unpacks to over 100 times its size" in refused(path)


def test_files_of_more_rows_than_are_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.binary._ROWS", 50)
    for size in (49, 50, 51, 100):
        pairs = [(str(n), "10", 1.0) for n in range(size)]
        table = pl.DataFrame(pairs, schema=["user", "item", "rating"], orient="row")
        table.write_parquet(tmp_path / "r.parquet", row_group_size=30)
        table.write_ipc(tmp_path / "r.ipc")
        many = Domain(["10"], scale=(1, 5, 1), max_users=500)
        assert all(load(tmp_path / name, many).n_users == size for name in ("r.parquet", "r.ipc"))
