"""Lists, patterns and folders give the records of all their files, as if they stood in one."""

import itertools
import os
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.sources import parts, parts_of
from hushrec.data.reading import PLAIN
from hushrec.errors import DataError
from support.refusals import DOMAIN, refused, rows

HEAD = b"user,item,rating,timestamp\n"
RECORDS = [("x", "10", 1, 5), ("y", "20", 2, 1), ("x", "10", 4, 3), ("x", "20", 3, 0), ("y", "20", 5, 2)]
CLEAN = [("x", "10", 1.0, 5), ("x", "20", 3.0, 0), ("y", "20", 5.0, 2)]


def table(records):
    return pl.DataFrame(records, schema=["user", "item", "rating", "timestamp"], orient="row")


@pytest.fixture
def folder(tmp_path):
    """Three files of records; the later record of a pair is not in the later file."""
    made = tmp_path / "ratings"
    (made / "more").mkdir(parents=True)
    for name, some in {"a": RECORDS[:1], "b": RECORDS[1:3], "more/c": RECORDS[3:]}.items():
        (made / f"{name}.csv").write_text(table(some).write_csv())
    (made / ".hidden.csv").write_bytes(b"\xff")
    (made / "_SUCCESS").write_bytes(b"")
    return made


def test_all_ways_to_name_files_give_the_same(folder, monkeypatch):
    files = [folder / "a.csv", str(folder / "b.csv"), folder / "more" / "c.csv"]
    assert rows(folder) == CLEAN
    for order in itertools.permutations(files):
        assert rows(list(order)) == CLEAN
    assert rows((f"{folder}/?.csv", folder / "more")) == CLEAN
    assert rows(f"{folder}/**") == rows(f"{folder}/**/*.csv") == CLEAN
    monkeypatch.chdir(folder)
    assert rows(["*.csv", "*/*.csv"]) == CLEAN
    mixed = [table(RECORDS[:2]), "b.csv", table(RECORDS[3:]).lazy()]
    assert rows(mixed) == CLEAN
    mixed[1] = folder / "two ends.csv"  # which is read twice, while a stream can be read once
    mixed[1].write_bytes((folder / "b.csv").read_bytes().replace(b"\n", b"\r\n", 2))
    assert rows([mixed[0].to_arrow().to_reader(), *mixed[1:]]) == CLEAN
    mixed[1].unlink()
    (folder / "d.jsonl").write_bytes(b'{"user":"z","item":30,"rating":1,"timestamp":0}\n')
    table(RECORDS[3:]).write_parquet(folder / "e.parquet")
    assert rows(["d.jsonl", "*.csv", folder / "e.parquet"]) == [*CLEAN, ("z", "30", 1.0, 0)]


def test_a_name_with_signs_of_a_pattern_is_a_name(tmp_path):
    for name in ("r[1].csv", "r1.csv"):
        (tmp_path / name).write_bytes(HEAD + f"{name[1]},10,1,0\n".encode())
    assert [part.file.name for part in parts(tmp_path / "r[1].csv", PLAIN)] == ["r[1].csv"]
    assert [part.file.name for part in parts(tmp_path / "r[12].csv", PLAIN)] == ["r1.csv"]
    assert [user for user, *_ in rows(tmp_path)] == ["1", "["]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_partition_columns_are_read(tmp_path, suffix):
    write = {"parquet": "write_parquet", "csv": "write_csv", "jsonl": "write_ndjson"}[suffix]
    for user, item, rating, stamp in RECORDS:
        place = tmp_path / "ratings" / f"year={stamp}" / f"rating={rating}"
        place.mkdir(parents=True)
        some = pl.DataFrame({"item_id": [item], "user": [user], "timestamp": [stamp]})
        getattr(some, write)(place / f"part.{suffix}")
    for source in (tmp_path / "ratings", f"{tmp_path}/ratings/*/*/*.{suffix}", f"{tmp_path}/ratings/year=*"):
        assert rows(source) == CLEAN
    given = load(tmp_path / "ratings", Domain(["10", "20"], max_users=9))
    assert given.dropped.unused == 4, "a rating in the name of a folder is seen"
    # A column that the file has itself is the file's, and one that is not asked for is not read.
    assert rows(tmp_path / "ratings", columns={"timestamp": "year"}) == CLEAN
    assert "no column for rating" in refused(tmp_path / "ratings" / "year=5" / "rating=1")


def test_partitions_may_be_escaped_absent_and_all_there_is(tmp_path):
    users = {"a%2Fb": "a/b", "a'b": "a'b", "007": "007", "e\u0301": "é", "__HIVE_DEFAULT_PARTITION__": None}
    for user in (*users, "a%00"):
        place = tmp_path / f"user_id={user}" / "item_id=10"
        place.mkdir(parents=True)
        pl.DataFrame({"rating": [2, 3]}).write_parquet(place / "0.parquet")
        pl.DataFrame({"rating": [4], "user_id": ["own"]}).write_parquet(place / "1.parquet")
    found = {user: rating for user, _, rating in rows(tmp_path)}
    assert found == {unicodedata.normalize("NFC", one): 3.0 for one in users.values() if one} | {"own": 4.0}
    strange = os.fsencode(tmp_path) + b"/user_id=\xff"
    os.mkdir(strange)
    os.link(place / "0.parquet", strange + b"/0.parquet")
    assert "is not UTF-8; rename it" in refused(tmp_path)


def test_a_requested_epsilon_in_a_folder_is_never_passed_over(tmp_path):
    (tmp_path / "r" / "epsilon=0.5").mkdir(parents=True)
    file = tmp_path / "r" / "epsilon=0.5" / "part.csv"
    file.write_bytes(HEAD + b"x,10,1,0\n")
    assert load(tmp_path / "r", DOMAIN).personal_epsilon.tolist() == [0.5]
    file.write_bytes(b"x,10,1\n")
    positions = {"user_id": 0, "item_id": 1, "rating": 2}
    assert "state the column epsilon, but the file has no header" in refused(
        tmp_path / "r", columns=positions
    )


def test_what_is_no_source_is_explained(folder, tmp_path):
    domain = Domain(["10", "20"], counts=9, max_users=9)
    assert "a.csv is named twice, so its records would count twice" in refused(
        [folder, folder / "more" / ".." / "a.csv"], domain
    )
    assert "is named twice" in refused([f"{folder}/*.csv", f"{folder}/a*"])
    assert "is named twice" in refused([folder / "a.csv", Path(f"{folder}/./a.csv")])
    assert "there is no file to read" in refused([])
    (tmp_path / "empty").mkdir()
    assert "without files of ratings" in refused(tmp_path / "empty")
    assert "matches no file" in refused(tmp_path / "nosuch" / "*.csv")
    assert "does not exist" in refused([folder / "a.csv", tmp_path / "nosuch.csv"])
    (folder / "d.tsv").write_bytes(HEAD.replace(b",", b"\t"))
    assert "several formats (csv, tsv)" in refused(folder)
    (folder / "d.tsv").rename(folder / "d.csv")
    (folder / "d.csv").write_bytes(b"user,item,rating\nx,10,1\n")
    assert "d.csv: some files lack the column timestamp" in refused(folder)
    (folder / "manifest.json").write_bytes(b"{}")
    assert "load it alone" in refused([folder, tmp_path / "other.csv"])
    (folder / "manifest.json").unlink()
    (folder / "_delta_log").mkdir()
    assert "files also hold deleted rows" in refused(folder)
    archive = tmp_path / "packed" / "r.zip"
    archive.parent.mkdir()
    archive.write_bytes(b"PK")
    for source in (archive, archive / "ml" / "ratings.csv", f"{archive}/*/ratings.csv", archive.parent):
        for options in ({}, {"format": "csv"}):
            assert "r.zip is a zip archive: unzip it first" in refused(source, **options)
    for given in ("postgresql://ann:hunter2@host/db", "postgresql:/ann:hunter2@host/db"):
        with pytest.raises(DataError, match="an address") as caught:
            parts_of(given, PLAIN)
        assert "hunter2" not in str(caught.value)
