"""Files of synthetic people."""

import json

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import hushrec as hr
from hushrec.curator import write_people as module
from hushrec.curator.write_people import KEY, described, facts_of, write_people
from hushrec.errors import ReleaseError
from support.releases import ranker, release


@pytest.fixture
def people():
    return ranker(["a", "b", "c", "d"], titles=("A", "B", "C", "D")).synthesize(40, mean_items=2)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_file_has_the_rows_and_what_they_are(people, tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    write_people(people, path)
    table = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path, dtype=str)
    assert [*table.columns] == ["user_id", "item_id", "title"]
    drawn = pd.DataFrame(people.columns())
    pd.testing.assert_frame_equal(drawn, table[["user_id", "item_id"]], check_dtype=False)
    assert (table["title"] == table["item_id"].str.upper()).all()
    assert facts_of(path) == people.facts()
    note = (
        parquet.read_metadata(path).metadata[KEY.encode()]
        if suffix == ".parquet"
        else (tmp_path / "people.csv.synthetic.json").read_text()
    )
    assert json.loads(note)["statement"] == people.release.statement.to_json()


def test_rows_of_a_release_of_ratings_load_again(tmp_path):
    made = release(n=12)
    write_people(made.synthesize(60, mean_items=4), tmp_path / "people.parquet")
    domain = hr.Domain(made.items, scale=made.scale, max_users=100, max_per_user=12)
    assert hr.load(tmp_path / "people.parquet", domain).n_users == 60


def test_names_and_files_that_are_refused(people, tmp_path):
    with pytest.raises(ReleaseError, match="one of these formats"):
        write_people(people, tmp_path / "people.txt")
    (tmp_path / "people.csv").write_text("")
    with pytest.raises(ReleaseError, match="exists"):
        write_people(people, tmp_path / "people.csv")


def test_more_people_than_the_disk_holds_are_refused(tmp_path, monkeypatch):
    made = ranker(["a", "b", "c", "d"])
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: type("Disk", (), {"free": 10})())
    with pytest.raises(ReleaseError, match="draw fewer people"):
        write_people(made.synthesize(1000), tmp_path / "people.csv")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("name", "value"), [("says", 3), ("n_users", "many"), ("statement", 5)])
def test_damaged_facts_are_refused(people, tmp_path, name, value):
    write_people(people, tmp_path / "people.csv")
    note = tmp_path / "people.csv.synthetic.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), name: value}))
    with pytest.raises(ReleaseError, match=r"damaged|malformed"):
        described(tmp_path / "people.csv")


def test_other_files_are_no_synthetic_people(tmp_path):
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    assert facts_of(tmp_path / "other.parquet") is facts_of(tmp_path / "cut.parquet") is None
    assert facts_of(tmp_path / "nothing.csv") is None
