"""``hushrec add-items``: new items in a release, from a public list of them."""

import json
from pathlib import Path

import pytest

from hushrec.release.artefact import Release
from support.releases import ranker, valued


@pytest.fixture
def films(here):
    genres = ("Comedy", "Drama", "War", "Drama")
    years = ("1993", "1997", "2000", "1994")
    made = ranker(tuple("abcd"), **valued(1, 4, rank=3), features={"genres": genres, "year": years})
    return made.save(Path("old.safetensors"))


def test_a_table_of_new_items_makes_a_longer_release(films, hushrec):
    Path("new.csv").write_text(
        "id,title,year,genres,colour\nx,Ex,1994,Drama|Wra,red\ny,Why,1994,War|Wra,red\n"
    )
    shown = hushrec("add-items old.safetensors new.csv -o new.safetensors")
    assert shown.out == "Wrote new.safetensors: 2 items added, 6 in all\n"
    assert shown.err == "Ignored, not in the release: genres: Wra (of 2 items)\n"
    longer = Release.open("new.safetensors")
    assert longer.items == (*"abcdxy",)
    assert longer.titles == ("", "", "", "", "Ex", "Why")
    assert longer.features["genres"][-2:] == ("Drama|Wra", "War|Wra")
    assert "2 items came after the fit" in " ".join(hushrec("show new.safetensors").out.split())
    assert longer.statement == Release.open(films).statement


def test_it_prints_json(films, hushrec):
    Path("new.csv").write_text("id,genres\nx,Wra\n")
    facts = json.loads(hushrec("add-items old.safetensors new.csv -o new.safetensors --json").out)
    assert facts == {"file": "new.safetensors", "n_added": 1, "n_items": 5, "unknown": {"genres: Wra": 1}}


def test_what_cannot_be_added_is_refused(films, refused):
    Path("new.csv").write_text("id,genres,colour\nx,War,red\n")
    Path("again.csv").write_text("id,genres\na,War\n")
    assert "'a' is in the release already" in refused(
        "add-items old.safetensors again.csv -o new.safetensors"
    )
    assert "no feature 'colour'" in refused(
        "add-items old.safetensors new.csv -o new.safetensors --feature colour"
    )
    assert "exists; choose another file" in refused("add-items old.safetensors new.csv -o old.safetensors")
    ranker(tuple("pq")).save(Path("popular.safetensors"))
    assert "does not say what features" in refused("add-items popular.safetensors new.csv -o new.safetensors")
    assert not Path("new.safetensors").exists()
