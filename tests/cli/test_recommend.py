import json
from pathlib import Path

import pytest

import hushrec as hr
from release.predictors.test_linear_items import linear


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
    for text in ("[1, 2]", "{", '{"i00001": null}', '{"not_for_me": ["i00001"]}'):
        Path("mine.json").write_text(text)
        assert 'JSON of the form {"item": stars' in refused("recommend films.safetensors --ratings mine.json")
    for text in ("", "item,rating\ni00001,5\n", "item_id,rating\ni00001,five\n", "item_id,rating\ni00001\n"):
        Path("mine.csv").write_text(text)
        assert "neither CSV with the columns" in refused("recommend films.safetensors --ratings mine.csv")
    Path("mine.json").write_text('["i00001"]')
    told = "either items with a number or items alone (--item)"
    assert told in refused("recommend films.safetensors --ratings mine.json --rating i00001=5")


OWN = {"i2": "2026-05-03", "i4": "2026-05-01", "i7": "2026-05-02"}
TIMED = "".join(f"{item},{time},4\n" for item, time in OWN.items())
FILES = {
    "times.csv": f"item_id,timestamp,shelf\ni2,2025-01-01,4\n{TIMED}",
    "rows.csv": "item_id\ni4\ni7\ni2\n",
    "page.json": '{"own": ["i4", "i7", "i2"], "not_for_me": ["i1", "i8"]}',
}


@pytest.mark.parametrize("name", FILES)
def test_files_say_the_order_and_what_was_dismissed(here, hushrec, name):
    linear().save("films.safetensors")
    Path(name).write_text(FILES[name])
    away = ["i1", "i8"] if name == "page.json" else []
    expected = [row.item_id for row in hr.Client(linear()).recommend([*OWN], 9, times=OWN, exclude=away)]
    assert listed(hushrec(f"recommend films.safetensors --ratings {name}")) == expected
    shown = hushrec(f"recommend films.safetensors --ratings {name} --no-recency --why")
    alike = hr.Client(linear()).recommend({*OWN}, 9, exclude=away)
    assert listed(shown) == [row.item_id for row in alike] != expected
    for line, row in zip(shown.out.splitlines()[2:], alike, strict=True):
        for why in hr.Client(linear()).reasons({*OWN}, row.item_id):
            assert f"{why.item_id} {why.contribution:+.3g}" in line


def test_a_file_of_stars_has_the_latest_of_each_item(release, hushrec):
    Path("mine.csv").write_text("item_id,rating,timestamp\ni00002,4,9\ni00001,5,70\ni00002,1,100\n")
    from_file = hushrec("recommend films.safetensors --ratings mine.csv").out
    assert from_file == hushrec("recommend films.safetensors --rating i00001=5 --rating i00002=1").out


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
