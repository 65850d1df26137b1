"""``hushrec synthesize``."""

import pytest
from pyarrow import csv

from support.releases import ranker


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ranker([f"i{k}" for k in range(30)], range(30, 0, -1)).save(tmp_path / "r.safetensors")


def test_a_release_becomes_a_table(published, hushrec):
    done = hushrec("synthesize r.safetensors -n 50 -o people.csv")
    assert "50 synthetic people" in done.out
    assert "These rows describe no one" in done.out
    assert len(csv.read_csv("people.csv")["user_id"].unique()) == 50


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_the_table_is_shown_with_what_it_is(published, hushrec, name):
    hushrec(f"synthesize r.safetensors -n 50 -o {name}")
    shown = hushrec(f"show {name}").out
    assert "These rows describe no one" in shown
    assert "ε = 1.25 at δ = 1e-06 per user" in " ".join(shown.split())
    assert '"epsilon": 1.25' in hushrec(f"show {name} --json").out
