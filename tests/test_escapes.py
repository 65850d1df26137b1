"""What files hold is shown, and never acts: on a terminal, in a message, in a page."""

import pytest
from typer.testing import CliRunner

from hushrec.cli.app import app
from hushrec.text import LARGEST_LINE, escaped, one_line
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
