"""What files hold is shown, and never acts: on a terminal, in a message, in a page."""

import pytest
from typer.testing import CliRunner

from hushrec.cli.app import app
from hushrec.errors import BudgetExceeded, HushrecError
from hushrec.text import LARGEST_LINE, escaped, is_address, one_line, scheme_of
from support.hostile import ACTS, HOSTILE, harmless
from support.releases import _release  # noqa: F401  (a fixture)


@pytest.mark.parametrize("sign", sorted(ACTS - set(range(32))) + list(range(32)) + [0xD800, 0xE0001, 0x61C])
def test_signs_that_act_are_written_out(sign):
    shown = escaped(f"a{chr(sign)}b")
    assert shown.isprintable()
    assert shown[1] == "\\"
    assert shown.encode().decode("unicode_escape") == f"a{chr(sign)}b"


@pytest.mark.parametrize(
    "text", ["Alien³", "نیم\u200cفاصله", "👩\u200d🚀", "東京\u3000物語", "C:\\new\\x1b", "", "«é»\u00a0!"]
)
def test_other_text_stays_what_it_is(text):
    assert escaped(text) == text


@pytest.fixture
def hostile(release, tmp_path):
    items = (HOSTILE, "[bold]b[/bold]", "\x1b[31mc", "d :smile:")
    path = release(items=items).save(tmp_path / "evil.safetensors")
    return path, items


def test_recommendations_show_ids_and_do_not_act(hostile):
    path, items = hostile
    shown = CliRunner().invoke(app, ["recommend", str(path)], env={"COLUMNS": "300"}).output
    assert harmless(shown)
    assert len(shown.splitlines()) == 2 + len(items)
    for item in items:
        assert escaped(item) in shown


def test_shown_files_and_refusals_do_not_act(hostile, tmp_path):
    (tmp_path / ("x\x1b[31m\ny.safetensors")).write_bytes(hostile[0].read_bytes())
    (tmp_path / ("z\x1b[31m\nz.safetensors")).write_bytes(b"nothing")
    for name, code in (("x\x1b[31m\ny.safetensors", 0), ("z\x1b[31m\nz.safetensors", 2), ("none\x1b\n", 2)):
        result = CliRunner().invoke(app, ["show", str(tmp_path / name)], env={"COLUMNS": "900"})
        assert result.exit_code == code
        assert harmless(result.output)
        assert ("\\x1b" in result.output) == (name[0] != "z")
        assert (code == 0) or len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  Alien\t(1979)\n", "Alien (1979)"),
        ("Ame\u0301lie", "Amélie"),
        ("a\x1b[31mb\u202e", "a\\x1b[31mb\\u202e"),
        ("é" * 300, "é" * 254 + "…"),
        ("نیم\u200cفاصله\u2028", "نیم\u200cفاصله"),
        ("", ""),
    ],
)
def test_a_title_is_one_safe_line_and_stays_it(text, line):
    assert one_line(text) == line
    assert one_line(line) == line
    assert len(line.encode()) <= LARGEST_LINE


# -- errors: one harmless line each, with figures that are not better than what holds ---------------------


def under(kind):
    return {kind}.union(*map(under, kind.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(under(HushrecError) - {BudgetExceeded}, key=str))
def test_every_error_is_one_harmless_line(kind):
    shown = str(kind(f"no item {HOSTILE} here"))
    assert shown == f"no item {escaped(HOSTILE)} here"
    assert harmless(shown, lines=False)


HIGH = 1.0000004  # prints as 1 where it is rounded to the nearest
LOW = 1.2345678


def test_a_refusal_rounds_up_what_is_asked_and_down_what_is_left():
    for started in (True, False):
        text = str(BudgetExceeded(HIGH, LOW, "user", started=started))
        assert "ε = 1.00001 per user" in text
        assert "ε = 1.23456" in text
        assert "ε = 1.23457" not in text


# -- an address that may hold a password is told from the name of a file ----------------------------------


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("postgresql://u:SEKRET@h/db", "postgresql"),
        ("POSTGRESQL://u:SEKRET@h/db", "postgresql"),
        ("postgresql+psycopg://u:SEKRET@h/db", "postgresql+psycopg"),
        ("postgres:/u:SEKRET@h/db", ""),
        ("host=h password=SEKRET dbname=films", ""),
        ("dbname=films PASSWORD = SEKRET", ""),
    ],
)
def test_addresses_are_recognised_also_mistyped(text, scheme):
    assert is_address(text)
    assert scheme_of(text) == scheme


@pytest.mark.parametrize(
    "text", ["ledger.db", "a/b.csv", "C:/films.csv", "C://films.csv", "ghost=1.csv", "a:b.db"]
)
def test_names_of_files_are_none(text):
    assert not is_address(text)
    assert not scheme_of(text)
