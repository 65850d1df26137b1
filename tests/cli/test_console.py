"""What commands print: text, whatever it holds."""

import json

import polars as pl
import pytest

import hushrec as hr
from hushrec.cli import console
from support.hostile import harmless


def test_markup_and_emoji_are_text_also_in_heads_and_errors(capsys):
    listed = console.table("[red]head[/red]\x1b[1m", "\x9bb")
    listed.add_row("[red]x[/red]", ":smile:")
    for printer in (console.out(), console.err()):
        printer.print(listed)
        printer.print("[red]y[/red]\x1b[1m\nsecond line")
    shown = capsys.readouterr()
    for text in shown:
        assert harmless(text)
        assert {"[red]head[/red]", "[red]x[/red]", ":smile:", "[red]y[/red]"} <= set(
            text.replace("\\", " ").split()
        )
        assert "\nsecond line" in text


def test_a_table_has_text_on_the_left_and_numbers_on_the_right(capsys):
    listed = console.table("item", "score", left=1)
    listed.add_row("a", "5.00")
    listed.add_row("longer", "10.00")
    console.out().print(listed)
    head, _, *rows = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert (head.split(), rows) == (["item", "score"], ["a        5.00", "longer  10.00"])


def test_what_was_dropped_is_told_on_standard_error_alone(capsys):
    ratings = hr.load(
        pl.DataFrame({"user_id": ["a", "b"], "item_id": ["0", "9"], "rating": [3.0, 3.0]}),
        hr.Domain(range(3), scale=(1, 5, 1), max_users=1),
    )
    console.print_confidential("own\x1b.csv", ratings)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Confidential")
    assert "own\\x1b.csv: 2 records, dropped or changed:" in shown.err
    assert "1 (50.0 %) dropped: the item is not in the catalogue" in shown.err
    assert "the user id" not in shown.err  # only reasons that occurred
    assert harmless(shown.err)


def test_json_is_one_object_of_plain_text(capsys):
    console.print_json({"id": "\x1b[1mΔ\x7f\x9b", "epsilon": 0.1, "none": None})
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert harmless(shown)
    assert json.loads(shown) == {"id": "\x1b[1mΔ\x7f\x9b", "epsilon": 0.1, "none": None}
    with pytest.raises(ValueError, match="JSON"):
        console.print_json({"epsilon": float("inf")})


def test_a_closed_pipe_is_a_failure_as_any_other():
    for printer in (console.out(), console.err()):
        with pytest.raises(BrokenPipeError):
            printer.on_broken_pipe()
