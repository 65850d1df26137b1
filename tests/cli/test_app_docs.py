"""Every command and every option is in docs/cli.md, under its command's heading."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from hushrec.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
SHARED = PAGE.partition("\n## ")[0]


def commands(command, name="hushrec"):
    inside = getattr(command, "commands", {})
    return {key: made for sub in inside for key, made in commands(inside[sub], f"{name} {sub}").items()} or {
        name: command
    }


COMMANDS = commands(get_command(app))


def section(name, page=PAGE):
    """From the heading of a command to the next one; empty without it."""
    found = re.search(rf"^##+ {re.escape(name)}\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def missing(name, page=PAGE):
    text = section(name, page)
    options = [option for parameter in COMMANDS[name].params for option in parameter.opts]
    known = text + SHARED
    return [] if text and all(o in known for o in options if o.startswith("--") and o != "--help") else [name]


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name):
    assert missing(name) == []


def test_there_is_no_section_for_a_command_that_is_not():
    headings = re.findall(r"^##+ (hushrec .*)$", PAGE, re.MULTILINE)
    assert {name for name in headings if not any(c.startswith(f"{name} ") for c in COMMANDS)} == set(COMMANDS)


def test_a_missing_section_or_option_would_be_noticed():
    assert missing("hushrec show", PAGE.replace("## hushrec show", "## hushrec display"))
    assert missing("hushrec evaluate", PAGE.replace("--against", "--other"))
