import json
from pathlib import Path

import polars as pl
import pytest

import hushrec as hr
from support.commands import fit


def test_it_is_what_the_client_says(release, hushrec):
    shown = hushrec("recommend films.safetensors --rating i00001=5 --rating i00002=1 -n 4").out
    expected = hr.Client(release).recommend({"i00001": 5, "i00002": 1}, n=4)
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert rows == [[str(rank), item, f"{s:.2f}", f"{rating:.2f}"] for item, s, rank, rating in expected]


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


@pytest.mark.parametrize("text", ["[1, 2]", "7", "{", '{"i00001": "good"}', '{"i00001": null}'])
def test_a_file_that_holds_none(release, refused, text):
    Path("mine.json").write_text(text)
    assert 'JSON of the form {"item": stars' in refused("recommend films.safetensors --ratings mine.json")


def test_a_listed_person_gives_his_id(listing, hushrec, refused):
    user = hr.Release.open(listing).users[7]
    shown = hushrec(f"recommend people.safetensors --user {user} -n 3").out
    expected = hr.Client(listing).recommend(user=user, n=3)
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert rows == [[str(rank), item, f"{s:.2f}", f"{rating:.2f}"] for item, s, rank, rating in expected]
    assert "not among the" in refused("recommend people.safetensors --user nobody")
    assert "lists no people" in refused("recommend films.safetensors --user nobody")
    assert "give either --user or ratings" in refused(
        f"recommend people.safetensors --user {user} --rating i00001=5"
    )


def listed(result):
    return [line.split()[1] for line in result.out.splitlines()[2:]]


@pytest.mark.parametrize("name", ["plain", "counted", "likes"])
def test_items_alone_get_a_list(ranking, hushrec, name):
    shown = hushrec(f"recommend {name}.safetensors --item {ranking[1]} --item {ranking[0]} -n 2")
    assert listed(shown) == [ranking[2], ranking[3]]
    Path("mine.json").write_text(json.dumps([ranking[0]]))
    both = hushrec(f"recommend {name}.safetensors --ratings mine.json --item {ranking[1]} -n 2")
    assert both.out == shown.out
    assert listed(hushrec(f"recommend {name}.safetensors -n 1")) == [ranking[0]]
    assert "unheard" in hushrec(f"recommend {name}.safetensors --item unheard").err


def test_numbers_are_taken_where_they_count(ranking, hushrec):
    shown = hushrec(f"recommend likes.safetensors --rating {ranking[0]}=5 --rating {ranking[1]}=2 -n 1")
    assert listed(shown) == [ranking[2]]
    Path("mine.json").write_text(json.dumps({ranking[0]: 3}))
    assert listed(hushrec("recommend counted.safetensors --ratings mine.json -n 1")) == [ranking[1]]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("plain.safetensors --rating A=5", "which have no ratings; give --item ITEM"),
        ("counted.safetensors --rating A=5", "which have no ratings; give --item ITEM"),
        ("plain.safetensors --ratings numbers.json", "item ids without numbers"),
        ("likes.safetensors --rating A=5 --item B", "either items with a number or items alone (--item)"),
        ("likes.safetensors --ratings numbers.json --item B", "either items with a number or items alone"),
        ("plain.safetensors --user A --item B", "give either --user or ratings"),
        ("plain.safetensors --user A", "lists no people"),
    ],
)
def test_what_a_release_of_interactions_does_not_take(ranking, refused, command, message):
    Path("numbers.json").write_text('{"A": 5}')
    assert message in refused(f"recommend {command}")


def test_items_alone_are_refused_by_a_release_of_ratings(release, refused):
    Path("mine.json").write_text('["i00001"]')
    for own in ("--item i00001", "--ratings mine.json"):
        assert "give yours as --rating ITEM=STARS, not --item" in refused(
            f"recommend films.safetensors {own}"
        )


def test_clicks_become_a_list_by_popularity(here, hushrec, budget):
    pl.read_csv("train.csv").select("user_id", "item_id").write_csv("clicks.csv")
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o domain.json")
    assert "your interactions were used at all" in squeezed(
        hushrec(fit(budget, "clicks.csv", out="popular.safetensors", more="--model popularity")).out
    )
    hushrec("plan --domain domain.json --model popularity " + budget)
    shown = hushrec("recommend popular.safetensors --item i00003 -n 30").out
    assert shown.count("\n") > 25
    assert "i00003" not in shown
    assert "claim does not hold" not in hushrec(f"audit popularity {budget} --runs 100").out


def squeezed(text):
    return " ".join(text.split())
