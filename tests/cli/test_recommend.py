import json
from pathlib import Path

import pytest

import hushrec as hr


def test_it_is_what_the_client_says(release, hushrec):
    shown = hushrec("recommend films.safetensors --rating i00001=5 --rating i00002=1 -n 4").out
    expected = hr.Client(release).recommend({"i00001": 5, "i00002": 1}, n=4)
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert rows == [[str(rank), item, f"{score:.2f}"] for item, score, rank in expected]


def test_ratings_from_a_file_and_options_add_up(release, hushrec):
    Path("mine.json").write_text(json.dumps({"i00001": 5, "i00002": 4}))
    both = hushrec("recommend films.safetensors --ratings mine.json --rating i00002=1").out
    assert both == hushrec("recommend films.safetensors --rating i00001=5 --rating i00002=1").out


def test_unknown_items_are_told(release, hushrec):
    result = hushrec("recommend films.safetensors --rating i00001=5 --rating A=B=3")
    assert "A=B" in result.err
    assert "A=B" not in result.out


def test_without_ratings_there_is_still_a_list(release, hushrec):
    assert len(hushrec("recommend films.safetensors").out.splitlines()) == 12


@pytest.mark.parametrize("rating", ["i00001", "i00001=good", ""])
def test_a_rating_that_is_none(release, refused, rating):
    assert "--rating Alien=5" in refused(f"recommend films.safetensors --rating '{rating}'")


@pytest.mark.parametrize("text", ["[1, 2]", "{", '{"i00001": "good"}', '{"i00001": null}'])
def test_a_file_that_holds_none(release, refused, text):
    Path("mine.json").write_text(text)
    assert 'JSON of the form {"item": stars' in refused("recommend films.safetensors --ratings mine.json")


def test_a_listed_person_gives_his_id(listing, hushrec, refused):
    user = hr.Release.open(listing).users[7]
    shown = hushrec(f"recommend people.safetensors --user {user} -n 3").out
    expected = hr.Client(listing).recommend(user=user, n=3)
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert rows == [[str(rank), item, f"{score:.2f}"] for item, score, rank in expected]
    assert "not among the" in refused("recommend people.safetensors --user nobody")
    assert "lists no people" in refused("recommend films.safetensors --user nobody")
    assert "give either --user or ratings" in refused(
        f"recommend people.safetensors --user {user} --rating i00001=5"
    )
