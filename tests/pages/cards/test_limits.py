"""What is not promised, and what a release is for."""

from hushrec.pages.cards.limits import not_promised, uses
from hushrec.pages.cards.subject import Subject
from hushrec.release.sentence import covered
from support.releases import release, statement
from support.statements import KINDS, UNPROTECTED


def points(said, kind="factors"):
    (block,) = not_promised(Subject.of(release(kind, statement=said)))
    return block.items


def test_what_an_adjacency_leaves_out_comes_first():
    for unit, adjacency in (("rating", "add-remove"), ("rating", "replace"), ("user", "replace")):
        said = statement(unit=unit, adjacency=adjacency)
        assert points(said)[0] == covered(unit, adjacency)
    assert points(statement())[0].startswith("Facts about everybody")


def test_of_interactions_no_rating_is_spoken_of():
    said = statement(unit="rating", interactions=True)
    assert "interaction" in points(said)[0]
    assert "rating" not in points(said)[0]


def test_of_a_file_that_promises_nothing_nothing_else_is_listed():
    for changes in ({"caveat": UNPROTECTED}, KINDS["exact"]):
        (point,) = points(statement(**changes))
        assert point.startswith("Anything.")


def test_people_who_are_listed_are_told():
    assert any("a row for everybody" in point for point in points(statement(), "factors and people"))
    assert not any("a row for everybody" in point for point in points(statement()))


def test_uses_are_those_of_the_file():
    (facts,) = uses(Subject.of(release()))
    named = dict(facts.rows)
    assert set(named) == {"intended use", "out of scope", "caveats"}
    assert release().taste in named["caveats"]
    seeded = dict(uses(Subject.of(release(statement=statement(caveat=UNPROTECTED))))[0].rows)
    assert "not for publication" in seeded["intended use"]
    data = dict(uses(Subject("data set", "m", {}, 4, "scale", "", statement()))[0].rows)
    assert "randomized rows" in data["intended use"]
