"""Files of Parquet: what they give, and what damage does. Their types are those of test_tables."""

import itertools
import random
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.refusals import SECRET, refused, rows

TIMED = [("1", "10", 4.0, 100), ("1", "30", 5.0, 200), ("2", "20", 1.0, 300)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.parquet"


@pytest.mark.parametrize("name", ["r.parquet", "r[1]'*.parquet", "R.PQ"])
def test_a_file_is_its_records(tmp_path, name):
    table = pl.DataFrame(TIMED, schema=["userId", "movieId", "rating", "timestamp"], orient="row")
    table = table.with_columns(note=pl.lit("x"), more=pl.lit([1]))
    ids = pl.col("userId", "movieId")
    for made in (table, table.with_columns(ids.cast(pl.Int32)), table.with_columns(ids.cast(pl.Categorical))):
        made.write_parquet(tmp_path / name, row_group_size=2)
        assert rows(tmp_path / name) == TIMED
        assert rows(tmp_path / name, columns={"user_id": "userId"}) == TIMED
    made.clear().write_parquet(tmp_path / name)
    assert rows(tmp_path / name) == []


def test_a_folder_may_state_a_column_whatever_the_others_are(tmp_path):
    (tmp_path / "rating=2").mkdir()
    for unit in ("ms", "us"):
        columns = {"timestamp": pa.array([7000, 8000], pa.timestamp(unit)), "more": [1, 2]}
        made = pa.table(columns | {"user": ["x", "y"], "item": ["10", "20"]})
        pq.write_table(made, tmp_path / "rating=2" / "0.parquet")
        assert [row[:3] for row in rows(tmp_path)] == [("x", "10", 2.0), ("y", "20", 2.0)]


def written(path):
    columns = {"user": ["SECRET7"] * 400, "item": ["10", "20"] * 200, "rating": [1, 2, 3, 4] * 100}
    pl.DataFrame(columns | {"note": ["x"] * 400}).write_parquet(path, row_group_size=150)
    return path.read_bytes()


def test_what_is_no_parquet_is_refused(path):
    content = written(path)
    cut = [content[:size] for size in sorted(random.Random(0).sample(range(len(content)), 60))]
    for bad in (*cut, b"", b"SECRET7", b"PAR1SECRET7PAR1", content + b"SECRET7"):
        path.write_bytes(bad)
        assert refused(path) == f"{path} is not a Parquet file, or is damaged or cut short; write it again"


def test_text_that_is_not_utf_8_is_refused_where_it_is_read(path):
    bad = pa.array([b"SECRET7", b"SECRET\xff"]).view(pa.string())
    made = {"user": ["x", "y"], "item": ["10", "20"], "rating": ["1", "2"]}
    for role, dictionary in itertools.product(made, (True, False)):
        pq.write_table(pa.table(made | {role: bad}), path, use_dictionary=dictionary)
        assert "is damaged or cut short" in refused(path)
    pq.write_table(pa.table(made | {"note": bad}), path)
    assert len(rows(path)) == 2


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
        assert "SECRET" not in str(error)
print("done")
"""


def test_flipped_bytes_are_read_or_refused(path):
    """A flip may go unnoticed, since pages have no checksum; it must not leak, nor raise anything else."""
    written(path)
    done = subprocess.run([sys.executable, "-c", FLIPS, str(path)], capture_output=True, text=True)
    assert SECRET not in done.stdout + done.stderr
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_bomb_is_refused_before_it_is_read(path):
    """A few kB of ten million equal rows, or of a few long texts: the file says so, and is not unpacked."""
    ones = pl.select(pl.repeat(1, 10_000_000, dtype=pl.Int8)).to_series()
    long = ["SECRET" * 300_000 + str(n) for n in range(50)]
    for user, rest in ((ones, ones), (long, [10] * 50)):
        table = {"user": user, "item": rest, "rating": rest}
        pl.DataFrame(table).write_parquet(path)
        assert path.stat().st_size < 800_000
        assert "unpacks to over 100 times its size" in refused(path)
    few = {"user": ["SECRET7"] * 1000, "item": ["10"] * 1000, "rating": [1] * 1000}
    pl.DataFrame(few).write_parquet(path)
    assert "more than 9999 bytes; if it should, pass a larger max_bytes" in refused(path, max_bytes=9999)
    assert rows(path, max_bytes=99_999) == [("SECRET7", "10", 1.0)]
