"""Files become blocks of the same people with the same ratings as in memory, whatever their order."""

import gc
import gzip
import itertools
import json
import subprocess
import sys
import tempfile

import numpy as np
import polars as pl
import pytest

from hushrec.data import cleaning, pack
from hushrec.data.blocks import Blocks
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.feedback import Interactions
from hushrec.data.load import load
from hushrec.data.pack import load_blocks, too_large
from hushrec.data.readers import binary, delimited
from hushrec.data.readers.dataframes import parts_of
from hushrec.data.reading import PLAIN, Reading
from hushrec.errors import DataError


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Many tables, many parts."""
    monkeypatch.setattr(delimited, "BLOCK", 1 << 14)
    monkeypatch.setattr(binary, "_ROWS", 600)
    monkeypatch.setattr(cleaning, "_SLICE", 400)


@pytest.fixture(scope="module")
def domain():
    return Domain(range(30), scale=(1, 5, 0.5), max_users=200, personal_epsilon={"strict": 0.5, "loose": 9})


@pytest.fixture(scope="module")
def table():
    """Records of every kind: good, odd and bad, people's own in all places, some twice."""
    rng = np.random.default_rng(3)
    n = 3000
    users = [f"caf\u00e9{u}" if u % 2 else f"cafe\u0301{u}" for u in rng.integers(0, 99, n)]
    users = np.where(rng.random(n) < 0.5, users, [user.replace("e\u0301", "\u00e9") for user in users])
    cells = {
        "user_id": users,
        "item_id": rng.integers(0, 32, n).astype(str),
        "rating": rng.choice(["1", "2.5", "4.4", "5", "9", "none"], n),
        "timestamp": rng.integers(0, 50, n).astype(str),
        "personal_epsilon": rng.choice(["strict", "loose", "1.5", "3", "0", "often", "-1"], n),
    }
    return pl.DataFrame(cells)


def sorted_rows(parts):
    return pl.concat([part.to_polars() for part in parts]).sort("user_id", maintain_order=True)


def check(blocks, ratings):
    assert sorted_rows(blocks.blocks()).equals(ratings.to_polars())
    assert blocks.dropped == ratings.dropped
    assert blocks.has_personal_epsilon == ratings.has_personal_epsilon
    people = [user for block in blocks.blocks() for user in block.users.to_list()]
    assert sorted(people) == ratings.users.to_list()  # nobody is in two blocks
    assert all(len(block.items) <= 200 for block in blocks.blocks())
    assert blocks.n_blocks >= 8


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.parquet", "r.arrow", "table"])
def test_they_are_what_load_finds(table, domain, tmp_path, name):
    path = tmp_path / name
    if name == "table":
        path = table
    elif name == "r.csv.gz":
        path.write_bytes(gzip.compress(table.write_csv().encode()))
    else:
        {"csv": table.write_csv, "parquet": table.write_parquet, "arrow": table.write_ipc}[name[2:]](path)
    blocks = load_blocks(path, domain, tmp_path / "packed", ratings_per_block=200)
    check(blocks, load(path, domain))
    assert blocks.dropped != Dropped()
    assert {file.name for file in tmp_path.iterdir()} <= {name, "packed"}


@pytest.mark.parametrize("timed", [True, False])
def test_an_opt_out_counts_wherever_it_stands(table, domain, tmp_path, timed):
    """Also in a file of its own of which nothing is kept, for people of every part."""
    people = table["user_id"].unique().sort()
    out = people[::3]
    refusals = table[: len(out)].with_columns(
        user_id=out, item_id=pl.lit("nosuch"), personal_epsilon=pl.lit("0")
    )
    mine = table.with_columns(personal_epsilon=pl.lit("3"))
    sources = [refusals, mine] if timed else [refusals.drop("timestamp"), mine.drop("timestamp")]
    names = set(out.str.normalize("NFC"))
    for number, both in enumerate((sources, sources[::-1])):
        blocks = load_blocks(both, domain, tmp_path / str(number), ratings_per_block=200)
        check(blocks, load(pl.concat(both), domain))
        for block in blocks.blocks():
            for user, epsilon in zip(block.users.to_list(), block.personal_epsilon.tolist(), strict=True):
                assert epsilon == (0 if user in names else 3)
            assert (block.timestamps is not None) is timed


@pytest.mark.parametrize(
    "column", [[], ["timestamp"], ["personal_epsilon"], ["timestamp", "personal_epsilon"]]
)
def test_nobody_has_the_columns_of_somebody(table, domain, tmp_path, column):
    """Of a source without a good record the manifest says what it says of a full one."""
    told = []
    for name, source in (
        ("full", table),
        ("empty", table[:0]),
        ("bad", table[:9].with_columns(item_id=pl.lit("nosuch"))),
    ):
        blocks = load_blocks(source.drop(column), domain, tmp_path / name)
        told.append(
            (
                blocks.has_personal_epsilon,
                json.loads((blocks.folder / "manifest.json").read_text())["optional"],
            )
        )
        assert (blocks.n_users > 0) is (name == "full")
    assert told[0][0] is ("personal_epsilon" not in column)
    assert told[1:] == told[:1] * 2


def test_several_files_are_one_source(table, domain, tmp_path):
    table[:1000].write_csv(tmp_path / "a.csv")
    table[1000:].write_parquet(tmp_path / "b.parquet")
    sources = [tmp_path / "a.csv", tmp_path / "b.parquet"]
    check(load_blocks(sources, domain, tmp_path / "p", ratings_per_block=200), load(table, domain))


@pytest.mark.parametrize("column", ["timestamp", "personal_epsilon"])
def test_files_of_several_kinds_are_refused(table, domain, tmp_path, column):
    for sources in ([table, table.drop(column)], [table.drop(column), table]):
        with pytest.raises(DataError, match=f"column {column}"):
            load_blocks(sources, domain, tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def test_blocks_do_not_depend_on_the_order_of_rows(table, domain, tmp_path):
    """The same people in the same blocks: the digests of all files are alike."""
    whole, turned = (
        load_blocks(part, domain, tmp_path / name, ratings_per_block=300)
        for name, part in (("a", table), ("b", table[::-1]))
    )
    assert whole.digest() == turned.digest()


def test_a_roster_and_an_empty_file(table, domain, tmp_path):
    listed = Domain(range(30), scale=(1, 5, 0.5), max_users=200, users=["caf\u00e91", "caf\u00e98", "nobody"])
    found = load_blocks(table, listed, tmp_path / "a")
    wanted = load(table, listed)
    assert sorted_rows(found.blocks()).equals(wanted.to_polars())
    assert found.dropped == wanted.dropped
    (tmp_path / "r.csv").write_text("")
    assert load_blocks(tmp_path / "r.csv", domain, tmp_path / "b").n_blocks == 0


def test_what_cannot_be_packed_is_refused_before_anything_is_read(table, domain, tmp_path):
    (tmp_path / "p").mkdir()
    for folder in (tmp_path / "p", tmp_path / "no" / "p"):
        with pytest.raises(DataError, match="choose another one"):
            load_blocks(tmp_path / "nosuch.csv", domain, folder)
    with pytest.raises(DataError, match="no file to read"):
        load_blocks([], domain, tmp_path / "q")
    with pytest.raises(DataError, match="does not exist"):
        load_blocks(tmp_path / "nosuch.csv", domain, tmp_path / "q")
    with pytest.raises(DataError, match="go with a file"):
        load_blocks(table, domain, tmp_path / "q", Reading(format="csv"))
    assert [file.name for file in tmp_path.iterdir()] == ["p"]


def test_a_person_in_two_parts_would_be_noticed(table, domain, tmp_path, monkeypatch):
    """As would happen if ids were hashed as they stand, before two forms of a name become one."""
    numbers = itertools.count()
    monkeypatch.setattr("hushrec.data.pack.crc32", lambda _: next(numbers))
    with pytest.raises(DataError, match="the same person is in two"):
        load_blocks(table, domain, tmp_path / "p", ratings_per_block=200)
    assert list(tmp_path.iterdir()) == []


def test_parts_are_smaller_than_blocks(tmp_path):
    (tmp_path / "r.csv").write_bytes(b"0" * 8000)
    (tmp_path / "r.csv.gz").write_bytes(b"0" * 8000)
    assert pack._parts(parts_of([tmp_path / "r.csv", tmp_path / "r.csv.gz"], PLAIN), 1000) == 6
    assert pack._parts([pl.DataFrame({"x": range(50)})], 10) == 6
    assert pack._parts([pl.LazyFrame({"x": range(50)})], 1 << 22) == 257
    assert pack._parts(parts_of(tmp_path / "r.csv*", PLAIN), 1) == 512


@pytest.mark.full
def test_memory_is_that_of_a_block(tmp_path):
    """30 M ratings: packing takes less than half the memory of loading them, and finds the same."""
    script = """
import sys
from pathlib import Path
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.pack import load_blocks, too_large
folder = Path(sys.argv[1])
domain = Domain.open(folder / "domain.json")
def peak():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) >> 10
before = peak()
if sys.argv[2] == "load":
    load(folder / "r.csv", domain)
else:
    load_blocks(folder / "r.csv", domain, folder / "packed", ratings_per_block=1 << 20)
print(peak() - before)
"""
    from hushrec.data.synthetic import netflix_like

    ratings = netflix_like(150_000, 17_770, 30_000_000, 1)
    ratings.domain.save(tmp_path / "domain.json")
    ratings.to_polars().write_csv(tmp_path / "r.csv")
    taken = {}
    for how in ("load", "pack"):
        command = [sys.executable, "-c", script, str(tmp_path), how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        taken[how] = int(done.stdout)
    print("MB over the start:", taken)
    blocks = Blocks.open(tmp_path / "packed", ratings.domain)
    place, found = {user: at for at, user in enumerate(ratings.users.to_list())}, 0
    for block in blocks.blocks():
        there = ratings.indptr[[place.pop(user) for user in block.users.to_list()]]
        rows = np.repeat(there - block.indptr[:-1], block.counts) + np.arange(block.n_ratings)
        np.testing.assert_array_equal(ratings.items[rows], block.items)
        np.testing.assert_array_equal(ratings.steps[rows], block.steps)
        found += block.n_ratings
    assert found == ratings.n_ratings
    assert taken["pack"] < taken["load"] / 2


KINDS = {"given": {}, "counted": {"counts": 3}, "likes": {"scale": (1, 5, 0.5), "likes": 2.5}}


@pytest.mark.parametrize("kind", list(KINDS))
def test_interactions_are_what_load_finds(table, domain, tmp_path, kind):
    domain = Domain(domain.items, max_users=200, personal_epsilon=domain.personal_epsilon, **KINDS[kind])
    source = table.rename({"rating": "count"}) if kind == "counted" else table
    blocks = load_blocks(source, domain, tmp_path / "packed", ratings_per_block=100)
    assert {type(block) for block in blocks.blocks()} == {Interactions}
    whole = load(source, domain)
    check(blocks, whole)
    assert sorted_rows(blocks.capped(5).blocks()).equals(whole.capped(5).to_polars())


@pytest.mark.full
def test_without_a_folder_blocks_are_temporary(table, domain, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with load_blocks(table.lazy(), domain, ratings_per_block=200) as blocks:
        check(blocks, load(table, domain))
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
    capped = load_blocks(table, domain).capped(1)  # which keeps the files of the others
    gc.collect()
    assert capped.gathered().n_users
    del capped
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError):
        load_blocks(tmp_path / "nosuch.csv", domain)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_what_is_too_large_is_told_by_the_sizes_of_files(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"0" * 8000)
    (tmp_path / "b.csv").write_bytes(b"0" * 8000)
    needed = 2 * 1000 * 32
    assert too_large(f"{tmp_path}/*.csv", PLAIN, needed - 1)
    assert not too_large(f"{tmp_path}/*.csv", PLAIN, needed)
    assert not too_large(pl.LazyFrame(), PLAIN, 0)
