"""Pages of stored rows are what these rows make."""

import xml.etree.ElementTree as ElementTree

import pytest

from lab.pages import choosing
from lab.tests.test_benchmarks import script

membership, scoreboard = script("membership"), script("scoreboard")


def words(path):
    """The lines of text of a figure."""
    return {text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("board", [membership, scoreboard], ids=["membership", "scoreboard"])
def test_tables_and_figures_are_those_of_the_rows(board):
    rows = scoreboard.read(board.ROWS) if board is scoreboard else membership.read(board.ROWS)
    text = board.PAGE.read_text("utf-8")
    assert board.page(rows, text) == text
    column = "value" if board is scoreboard else "auc"
    assert board.page(rows.with_columns(rows[column] / 2), text) != text


def test_the_page_of_lists_is_made_of_its_rows():
    text = scoreboard.LISTS_PAGE.read_text("utf-8")
    assert scoreboard.lists_page(text) == text


def test_figures_of_the_documentation_are_drawn_from_stored_rows(tmp_path):
    (tmp_path / "choosing.svg").write_text(choosing.picture(), "utf-8")
    assert "(choosing.svg)" in (choosing.DOCS / "choosing.md").read_text("utf-8")
    assert {"Gaussian noise", "unit record"} <= words(tmp_path / "choosing.svg")


def test_synthetic_ratings_lose_what_the_page_says():
    """The ratio of errors, from the scoreboard's rows."""
    rows = scoreboard.read(scoreboard.ROWS).filter(task="ratings", data="MovieLens 1M")
    both = rows.filter(method="synthetic people + CovarianceSVD").join(
        rows.filter(method="CovarianceSVD"), on=("unit", "asked", "draw")
    )
    page = scoreboard.PAGE.with_name("synthetic_people.md").read_text("utf-8")
    for unit, label in (("user", "people"), ("record", "single ratings")):
        found = (both.filter(unit=unit, asked=epsilon) for epsilon in (1.0, 4.0, 20.0))
        ratios = [(each["value"] / each["value_right"]).mean() for each in found]
        assert f"| {label} | {' | '.join(f'{ratio:.4f}' for ratio in ratios)} |" in page
