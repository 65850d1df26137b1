"""``hushrec add-items``: new items in a release, from a public list of them."""

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
