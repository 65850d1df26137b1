"""Lists are asked for by title, and show titles; what may mean several items is refused."""

from dataclasses import replace

import pytest

import hushrec as hr
from support.releases import release as planted

TITLES = ("Alien (1979)", "Aliens (1986)", "Heat (1995)", "Heat (1986)", "Matrix, The (1999)", "\x1b[31mRed")
ITEMS = ("1", "2", "3", "4", "5", "Heat")


@pytest.fixture
def titled(here):
    made = planted(n=6, items=ITEMS)
    made = replace(made, titles=tuple(t.replace("\x1b", "\\x1b") for t in TITLES))
    made.save("titled.safetensors")
    return made


def test_titles_are_taken_said_and_shown(titled, hushrec):
    found = hushrec(
        "recommend titled.safetensors --rating 'alien (1979)=5' --rating 'the matrix=2' --why -n 6"
    )
    by_id = hushrec("recommend titled.safetensors --rating 1=5 --rating 5=2 --why -n 6")
    assert found.out == by_id.out
    assert found.err == "alien (1979): Alien (1979) (1)\nthe matrix: Matrix, The (1999) (5)\n"
    assert by_id.err == ""
    assert "rank item title" in " ".join(found.out.split("\n")[0].split())
    assert "Aliens (1986)" in found.out
    assert "Matrix, The (1999) " in found.out  # among the reasons
    assert "\x1b" not in found.out
    assert "\\x1b[31mRed" in found.out


def test_an_id_that_is_a_title_and_several_titles_are_refused(titled, hushrec, refused):
    told = refused("recommend titled.safetensors --rating Heat=5")
    assert "'Heat' may be Heat (\\x1b[31mRed), 3 (Heat (1995)), 4 (Heat (1986)): give another id" in told
    assert hushrec("recommend titled.safetensors --rating '\\x1b[31mRed=5'").err.endswith("Red (Heat)\n")
    told = refused("recommend titled.safetensors --rating heat=5")
    assert told.rstrip().endswith("3 (Heat (1995)), 4 (Heat (1986)): give another id, or a title in full")
    assert "Aliens (1986)" in refused("recommend titled.safetensors --exclude alien --exclude ali")
    assert "Heat (1995)" not in hushrec("recommend titled.safetensors --exclude 'Heat (1995)' -n 6").out


def test_similar_items_are_asked_for_and_shown_by_title(titled, hushrec, refused):
    shown = hushrec("recommend titled.safetensors --similar matrix -n 3")
    assert shown.out == hushrec("recommend titled.safetensors --similar 5 -n 3").out
    assert shown.err == "matrix: Matrix, The (1999) (5)\n"
    assert "title" in shown.out.splitlines()[0]
    expected = hr.Client(titled).similar("5", 3)
    rows = [line.split() for line in shown.out.splitlines()[2:]]
    assert [(row[1], row[-1]) for row in rows] == [(item, f"{score:.2f}") for item, score, _ in expected]
    assert "give another id" in refused("recommend titled.safetensors --similar heat")
    assert "not in this release's catalogue" in refused("recommend titled.safetensors --similar Solaris")
    assert "--similar needs no ratings" in refused("recommend titled.safetensors --similar 5 --rating 1=5")


def test_an_id_is_not_taken_for_the_film_of_that_title(titled, hushrec, refused):
    items, titles = ("300", "7", "3", "4", "5", "6"), ("Quiz Show (1994)", "300 (2006)", "", "", "", "")
    replace(titled, items=items, titles=titles).save("films.safetensors")
    for command in ("--rating 300=5", "--exclude 300", "--similar 300"):
        command = f"recommend films.safetensors {command}"
        assert "'300' may be 300 (Quiz Show (1994)), 7 (300 (2006)): give another id" in refused(command)
        assert hushrec(command.replace("300", "7", 1)).err == ""
    assert hushrec("recommend films.safetensors --exclude 'Quiz Show (1994)'").err.endswith("(300)\n")
