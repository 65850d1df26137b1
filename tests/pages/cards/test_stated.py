"""A statement in blocks: each part below its heading."""

from hushrec.pages.cards.document import Caution, Grid, Points, Text
from hushrec.pages.cards.stated import guarantee, sections
from support.releases import statement
from support.statements import LEVELS, SAMPLED, UNPROTECTED


def headings(said):
    return [section.title for section in sections(said)]


def test_the_parts_have_headings():
    assert headings(statement()) == ["In plain words", "What was measured", "Assumed", "The ledger"]
    personal = statement(personal=True, promises=LEVELS, measurements=(SAMPLED,))
    assert headings(personal)[1:3] == ["What each class is promised", "What was measured"]
    chain = statement(diagnostics={"R̂": 1.25})
    assert headings(chain)[-3:] == ["The chain", "Assumed", "The ledger"]


def test_a_table_has_the_cells_of_the_statement():
    (grid,) = next(section.blocks for section in sections(statement()) if "measured" in section.title)
    assert isinstance(grid, Grid)
    assert grid.rows == tuple(line.cells() for line in statement().measurements)


def test_a_caveat_is_a_caution_before_the_figures():
    caution, loss = guarantee(statement(caveat=UNPROTECTED))
    assert isinstance(caution, Caution)
    assert caution.lines == (UNPROTECTED,)
    assert isinstance(loss, Text)
    assert loss.text.startswith("ε = 1.25 at δ = 1e-06")
    assert not loss.strong
    (alone,) = guarantee(statement())
    assert alone.strong


def test_a_file_of_exact_statistics_has_no_figures():
    (caution,) = guarantee(statement(caveat="NOT PRIVATE: exact", measurements=()))
    assert caution.lines[-1] == "The exact statistics were used: do not publish this file."


def test_no_assumption_is_an_empty_list():
    (points,) = next(
        section.blocks for section in sections(statement(assumes=())) if section.title == "Assumed"
    )
    assert points == Points(())
