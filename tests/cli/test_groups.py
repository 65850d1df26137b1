"""Options that go together are one value to a command, and one option each to its user."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hushrec.cli.options import Group, grouped


@dataclass(frozen=True, kw_only=True)
class Frame(Group):
    width: Annotated[int, typer.Option(min=1, help="How wide.")] = 3
    colours: Annotated[list[str] | None, typer.Option("--colour", help="Which.")] = None


@dataclass(frozen=True, kw_only=True)
class Titled(Frame):
    title: Annotated[str, typer.Option(help="What it says.")]


@pytest.fixture
def draw():
    """A command with two values, one of which is a group, and what it was given."""
    given = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @grouped
    def draw(name: str, frame: Titled, ctx: typer.Context, *, bold: bool = False) -> None:
        """Draw it."""
        given.append((name, frame, bold, sorted(ctx.params)))

    def run(*line):
        return CliRunner().invoke(app, line), given

    return run


def test_a_command_takes_a_group_as_one_value(draw):
    done, given = draw("a", "--title", "t", "--colour", "red", "--colour", "blue", "--bold")
    assert done.exit_code == 0, done.output
    names = ["bold", "colours", "name", "title", "width"]
    assert given == [("a", Titled(width=3, colours=["red", "blue"], title="t"), True, names)]


def test_its_fields_are_options_with_their_own_help_bounds_and_defaults(draw):
    shown = draw("--help")[0].output
    for part in ("Draw it.", "--width", "How wide.", "default: 3", "--colour", "--title", "required"):
        assert part in shown
    assert "frame" not in shown
    for line in (["a"], ["a", "--title", "t", "--width", "0"]):
        done, given = draw(*line)
        assert (done.exit_code, given) == (2, [])
