import pytest

from hushrec.release.titles import Titles

NAMES = (
    "Alien (1979)",
    "Aliens (1986)",
    "Matrix, The (1999)",
    "Heat (1995)",
    "Heat (1986)",
    "Amélie (Fabuleux destin d'Amélie Poulain, Le) (2001)",
    "Schindler's List (1993)",
    "M*A*S*H (1970)",
    "Die Hard (1988)",
    "Hard Target (1993)",
    "Misérables, Les (1995)",
    "Toy Story (1995)",
    "Toy Story 2 (1999)",
    "Romeo & Juliet",
    "東京物語 (1953)",
    "Straße, Die (1954)",
    "Œdipe à Łódź",
    "Smørrebrød og Þættir",
    "A (1999)",
    "...",
    "",
)
IDS = [f"id{n}" for n in range(len(NAMES))]
FOUND = Titles(IDS, NAMES)


def names(text):
    return [NAMES[at] for at in FOUND.find(text)]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("alien", "Alien (1979)"),
        ("  ALIEN (1979) ", "Alien (1979)"),
        ("Alien (1978)", "Alien (1979)"),
        ("the matrix", "Matrix, The (1999)"),
        ("Matrix", "Matrix, The (1999)"),
        ("matrix, the", "Matrix, The (1999)"),
        ("Heat (1986)", "Heat (1986)"),
        ("amelie", "Amélie (Fabuleux destin d'Amélie Poulain, Le) (2001)"),
        ("Le fabuleux destin d’Amélie Poulain", "Amélie (Fabuleux destin d'Amélie Poulain, Le) (2001)"),
        ("schindlers list", "Schindler's List (1993)"),
        ("mash", "M*A*S*H (1970)"),
        ("Die hard", "Die Hard (1988)"),
        ("Les Miserables", "Misérables, Les (1995)"),
        ("Toy Story", "Toy Story (1995)"),
        ("Romeo and Juliet", "Romeo & Juliet"),
        ("東京物語", "東京物語 (1953)"),
        ("strasse", "Straße, Die (1954)"),
        ("die STRASSE", "Straße, Die (1954)"),
        ("STRAẞE", "Straße, Die (1954)"),
        ("oedipe a lodz", "Œdipe à Łódź"),
        ("lodz", "Œdipe à Łódź"),
        ("smorrebrod og thaettir", "Smørrebrød og Þættir"),
        ("A", "A (1999)"),
        ("...", "..."),
        ("schind", "Schindler's List (1993)"),
        ("juliet", "Romeo & Juliet"),
    ],
)
def test_a_title_is_found_as_it_is_remembered(text, title):
    assert names(text) == [title]


def test_several_are_all_told_in_the_catalogues_order():
    assert names("heat") == ["Heat (1995)", "Heat (1986)"]
    assert names("toy") == ["Toy Story (1995)", "Toy Story 2 (1999)"]
    assert names("hard") == ["Hard Target (1993)"]
    assert names("ali") == ["Alien (1979)", "Aliens (1986)"]


def test_what_is_unheard_of_is_not_found():
    assert names("Solaris") == []
    assert names("") == []
    assert names("alien story") == []


def test_an_item_without_title_is_called_by_its_id():
    assert FOUND.find("ID20") == [20]
    assert Titles(["Alien", "Heat"]).find("heat") == [1]
