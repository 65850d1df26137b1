"""What commands print: text, whatever it holds."""

import polars as pl

import hushrec as hr
from hushrec.cli import console
from support.hostile import harmless


def test_lines_are_text_whatever_they_hold(capsys):
    for print_ in (console.say, console.tell):
        print_("[red]y[/red]\x1b[1m :smile:\nsecond \x9bline")
    for text in capsys.readouterr():
        assert harmless(text)
        assert text == "[red]y[/red]\\x1b[1m :smile:\nsecond \\x9bline\n"


def test_what_was_dropped_is_told_on_standard_error_alone(capsys):
    ratings = hr.load(
        pl.DataFrame({"user_id": ["a", "b", "c"], "item_id": ["0", "9", "1"], "rating": [3.0] * 3}),
        hr.Domain(range(3), scale=(1, 5, 1), max_users=1),
    )
    console.print_confidential("own\x1b.csv", ratings)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Confidential")
    assert "own\\x1b.csv: 3 records, dropped or changed:" in shown.err
    assert "1 (33.3 %) dropped: the item is not in the catalogue" in shown.err
    assert "the user id" not in shown.err  # only reasons that occurred
    assert "more users than the domain declares" in shown.err
    assert harmless(shown.err)
