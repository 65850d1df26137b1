import xml.etree.ElementTree as ElementTree

import pytest

from hushrec.experiments.demo import charts


@pytest.fixture(scope="module")
def statement(made):
    return made.statement


@pytest.fixture(scope="module")
def figures(list_rows, rows, statement):
    return {
        "list curve": charts.list_curve(list_rows),
        "curve": charts.curve(rows),
        "popularity": charts.popularity(rows),
        "split": charts.budget_split(statement),
    }


def words(svg):
    return " ".join(
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter() if text.tag.endswith("}text")
    )


def test_figures_are_svg_with_a_title_and_letters_as_letters(figures):
    for svg in figures.values():
        root = ElementTree.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("aria-label")
        assert words(svg)


def test_curve_shows_every_epsilon_infinity_and_the_references(figures, rows):
    shown = words(figures["curve"])
    for label in (
        "1",
        "8",
        "∞",
        "item average",
        "global average",
        "CovarianceSVD without noise",
        "RMSE, stars",
    ):
        assert label in shown
    assert all(f"{row.rmse:.3f}" in shown for row in rows)


def test_list_curve_shows_every_epsilon_infinity_and_popularity(figures, list_rows):
    shown = words(figures["list curve"])
    first, last = (list_rows[place].popular.ndcg for place in (0, -1))
    for label in ("1", "8", "∞", f"popularity at the same ε  {first:.3f} to {last:.3f}", "nDCG@100"):
        assert label in shown
    assert all(f"{row.found.ndcg:.3f}" in shown for row in list_rows)


def test_popularity_and_split_name_their_parts(figures, statement):
    shown = words(figures["popularity"])
    assert all(
        label in shown for label in ("ε = 1", "ε = 8", "ε = ∞", "item average", "fifth of the catalogue")
    )
    shown = words(figures["split"])
    assert all(f"{part.name} {part.share:.1%}" in shown for part in statement.measurements)


def test_the_same_numbers_give_the_same_bytes(figures, rows):
    assert charts.curve(rows) == figures["curve"]
