"""``hushrec similar``: the items most like one, from the release alone."""

import json

import hushrec as hr


def test_it_is_what_the_client_says(factors, hushrec):
    shown = hushrec("similar factors.safetensors i00001 -n 4").out
    expected = hr.Client(factors).similar("i00001", 4)
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert rows == [[str(rank), item, f"{score:.2f}"] for item, score, rank in expected]
    assert len(rows) == 4


def test_what_it_cannot_know_is_refused(release, ranking, refused):
    assert "not in this release's catalogue" in refused("similar films.safetensors unheard")
    assert "does not tell which items are alike" in refused(f"similar plain.safetensors {ranking[0]}")
    assert "n" in refused("similar films.safetensors i00001 -n 0")


def test_the_list_is_one_object(factors, hushrec):
    facts = json.loads(hushrec("similar factors.safetensors i00001 -n 4 --json").out)
    expected = hr.Client(factors).similar("i00001", 4)
    assert facts["item"] == "i00001"
    found = [(of["item_id"], of["score"], of["rank"]) for of in facts["similar"]]
    assert found == [(item, score, rank) for item, score, rank in expected]
