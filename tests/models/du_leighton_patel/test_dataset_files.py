"""Files of released data sets: written whole or not at all, and read by anybody's tools."""

import os

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import ReleaseError
from hushrec.models.du_leighton_patel import released_data
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from support.released_data import FORMS, SCALE, data, same


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("limit", ["_LARGEST", "_RATIO"])
def test_what_unpacks_to_too_much_is_not_read_to_its_end(tmp_path, form, limit, monkeypatch):
    path = data().save(tmp_path / f"released.{form}")
    monkeypatch.setattr(released_data, "_FREE", 0)
    monkeypatch.setattr(released_data, "_ROWS", 50)
    monkeypatch.setattr(released_data, "_BLOCK", 500)
    assert same(ReleasedData.open(path), data())
    monkeypatch.setattr(released_data, limit, 1000 if limit == "_LARGEST" else 0.2)
    read = []
    with pytest.raises(ValueError, match="unpacks to more"):
        read.extend(part.num_rows for part in released_data._parts(path))
    assert sum(read) < data().ratings.n_entries / 2
    with pytest.raises(ReleaseError, match="altered or cut short"):
        ReleasedData.open(path)


def test_the_statement_is_there_before_the_data(tmp_path, monkeypatch):
    """A ledger must know of every data set that lies beside it."""
    order, rename = [], os.replace

    def spy(part, target):
        order.append(target.name)
        rename(part, target)

    monkeypatch.setattr(os, "replace", spy)
    data().save(tmp_path / "released.parquet")
    assert order == ["released.parquet.statement.json", "released.parquet"]


@pytest.mark.parametrize("form", FORMS)
def test_it_loads_as_ratings_and_nothing_is_dropped(tmp_path, form):
    made = data()
    path = made.save(tmp_path / f"released.{form}")
    loaded = hr.load(path, made.ratings.domain)
    assert loaded.digest() == made.ratings.digest()
    assert loaded.dropped == type(loaded.dropped)(records=len(made.ratings.items))


def test_damage_anywhere_is_noticed(tmp_path):
    """Every 97th byte of the file, set to another value, and every 997th length."""
    path = data().save(tmp_path / "released.parquet")
    good = path.read_bytes()
    noticed = 0
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :])
        try:
            assert same(ReleasedData.open(path), data())  # a byte that no reader reads
        except ReleaseError:
            noticed += 1
    assert noticed > 10
    for length in range(0, len(good), 997):
        path.write_bytes(good[:length])
        with pytest.raises(ReleaseError):
            ReleasedData.open(path)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ReleaseError, match=r"released\.parquet cannot be read: No such file"):
        ReleasedData.open(tmp_path / "released.parquet")
    path = data().save(tmp_path / "released.csv")
    (tmp_path / "released.csv.statement.json").unlink()
    with pytest.raises(ReleaseError, match=r"statement\.json cannot be read: No such.*; it describes rel"):
        ReleasedData.open(path)


def test_an_id_that_no_csv_keeps_is_refused_there(tmp_path):
    frame = Domain(("a\r\nb", "c"), scale=SCALE, max_users=1, max_per_user=2)
    rows = People(frame, ["1"], np.array([0, 1]), np.array([0]), np.array([3]))
    made = data(1, ratings=rows)
    with pytest.raises(ReleaseError, match=r"name it x\.parquet"):
        made.save(tmp_path / "x.csv")
    assert same(ReleasedData.open(made.save(tmp_path / "x.parquet")), made)
