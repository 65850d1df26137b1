"""Titles for the demonstration's items."""

from itertools import pairwise

from hushrec.experiments.demo.made_up_titles import made_up_titles


def test_every_item_has_a_title_of_its_own():
    made = made_up_titles([f"i{n}" for n in range(1600)])
    assert len({row.title for row in made}) == 1600
    assert [row.item_id for row in made[:2]] == ["i0", "i1"]
    assert all(not set(a.title.split()) & set(b.title.split()) for a, b in pairwise(made))


def test_years_and_genres_are_as_a_table_has_them():
    for row in made_up_titles([str(n) for n in range(100)]):
        assert 1950 <= int(row.year) < 2020
        assert all(genre.isalpha() for genre in row.genres.split("|"))


def test_the_same_items_get_the_same():
    assert made_up_titles(["a", "b"]) == made_up_titles(["a", "b"])
