import json
from pathlib import Path

import pytest

import hushrec as hr


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


def test_a_file_that_holds_none(release, refused):
    for text in ("[1, 2]", "{", '{"i00001": null}'):
        Path("mine.json").write_text(text)
        assert 'JSON of the form {"item": stars' in refused("recommend films.safetensors --ratings mine.json")
    Path("mine.json").write_text('["i00001"]')
    told = "either items with a number or items alone (--item)"
    assert told in refused("recommend films.safetensors --ratings mine.json --rating i00001=5")


def test_a_listed_person_gives_his_id(listing, hushrec, refused):
    user = hr.Release.open(listing).users[7]
    shown = hushrec(f"recommend people.safetensors --user {user} -n 3").out
    expected = hr.Client(listing).recommend(user=user, n=3)
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert rows == [[str(rank), item, f"{s:.2f}", f"{rating:.2f}"] for item, s, rank, rating in expected]
    assert "give either own ratings or user=, not both" in refused(
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


# -- filters, varied lists, reasons -----------------------------------------------------------------------


def test_items_are_left_out_or_chosen(release, hushrec):
    whole = listed(hushrec("recommend films.safetensors --rating i00001=5 -n 30"))
    left = hushrec(f"recommend films.safetensors --rating i00001=5 -n 30 --exclude {whole[0]} --exclude A")
    assert listed(left) == whole[1:]
    assert "Ignored, not in this release's catalogue: A" in left.err
    Path("mine.txt").write_text("\n".join(["unheard", whole[7], whole[3]]))
    chosen = hushrec("recommend films.safetensors --rating i00001=5 --allowed mine.txt")
    assert listed(chosen) == [whole[3], whole[7]]


def test_reasons_are_shown_beside_each_item(factors, listing, hushrec, refused):
    own = {"i00001": 5, "i00002": 1}
    shown = hushrec("recommend factors.safetensors --rating i00001=5 --rating i00002=1 -n 3 --why").out
    client = hr.Client(factors)
    for line, (item, score, rank, stars) in zip(
        shown.splitlines()[2:], client.recommend(own, 3), strict=True
    ):
        words = {True: "pulled up by", False: "pushed down by"}
        because = "; ".join(
            f"{words[added > 0]} {name} {added:+.2f}" for name, added, *_ in client.reasons(own, item)
        )
        assert " ".join(line.split()) == f"{rank} {item} {score:.2f} {stars:.2f} {because}"
        assert "i0000" in because
    assert all(word in shown for word in ("pulled up by", "pushed down by"))
    user = hr.Release.open(listing).users[7]
    assert "give own ratings" in refused(f"recommend people.safetensors --user {user} --why")


def test_a_list_that_is_the_same_for_everybody_says_so(release, ranking, hushrec):
    told = hushrec("recommend films.safetensors --rating i00001=5").err
    assert "This list is the same for everyone: no taste survived the noise at ε = 1.\n" in told
    assert "Planted learns no tastes" in hushrec("recommend plain.safetensors").err
