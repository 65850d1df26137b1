"""Pages of stored rows are what these rows make."""

import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

from lab.pages import figures, paper
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


def test_the_paper_has_the_figures_of_the_stored_rows(monkeypatch):
    text = paper.PAGE.read_text("utf-8")
    assert paper.write(text) == text
    stored = paper.read
    monkeypatch.setattr(paper, "read", lambda name: stored(name).head(60))
    with pytest.raises((TypeError, ZeroDivisionError)):
        paper.write(text)


def test_figures_of_the_documentation_are_drawn_from_stored_rows(tmp_path):
    figures.documentation(tmp_path)
    assert "(choosing.svg)" in (figures.DOCS / "choosing.md").read_text("utf-8")
    assert {"Gaussian noise", "unit record"} <= words(tmp_path / "choosing.svg")


@pytest.mark.full
def test_figures_that_pages_of_results_name_are_drawn_from_stored_rows(tmp_path):
    for rows in figures.LAB.glob("*/*.csv"):
        (tmp_path / rows.parent.name).mkdir(exist_ok=True)
        shutil.copy(rows, tmp_path / rows.parent.name)
    figures.laboratory(tmp_path)
    named = {
        (page.parent.name, figure)
        for page in figures.LAB.glob("*/*.md")
        for figure in re.findall(r"`make figures` draws `([^`]*)` here", page.read_text("utf-8"))
        if page.parent.name != "templates"
    }
    drawn = {path.stem: path for path in tmp_path.glob("*/*.svg")}
    assert {(path.parent.name, path.name) for path in drawn.values()} == named
    legends = {
        "fbk-corrected-replace": ["MM's SVD", "global effects 0.9161"],
        "fbk-published-add-remove": ["PALS †"],
        "figures-fig-5a": ["kNN", "kNN: FriedmanKNN · bands and intervals: 95 % over 2 splits"],
        "liu-personal": ["an ε per user", "45 %"],
        "mm-fig1-record": ["kNN, raw", "as published; dotted: refitted"],
        "mm-fig2": ["θ = 1", "ε = 2.2"],
    }
    for name, said in legends.items():
        assert set(said) <= words(drawn[name]), name


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
