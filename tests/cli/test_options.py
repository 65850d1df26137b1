"""Options follow from the library's signatures: what each kind of parameter is given by."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

import hushrec as hr
from hushrec import models
from hushrec.cli import options
from hushrec.data.domain import Domain
from hushrec.data.load import Where
from hushrec.data.reading import Reading
from hushrec.errors import ConfigError
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget


def draw(
    width: int = 3,
    *,
    colours: Collection[str] = (),
    weights: Mapping[str, float] | None = None,
    kind: Literal["plain", "bold"] = "plain",
    framed: bool = False,
    progress: object = None,
) -> None:
    """Draw it.

    Args:
        width: how wide,
            in ``cells``.
        colours, weights: which, and how much.
        kind: of line.
        framed: in a frame.
        progress: is told.
    """


@pytest.fixture
def run():
    """Run a command of the function ``draw``, and others' values; what it was given, and what it prints."""
    given = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @options.of(draw)
    def command(
        name: Annotated[str, "What it is called."],
        *,
        domain: Domain | None = None,
        budget: Budget | Literal["auto"] | None = None,
        model: Model | None = None,
        where: Where | Path = "auto",
        reading: Reading,
        **others: Any,
    ) -> None:
        """Draw it here."""
        given.append({"budget": budget, "model": model, "where": where, "reading": reading, **others})

    def run(*line):
        del given[:]
        done = CliRunner().invoke(app, ["a", *line])
        if isinstance(done.exception, ConfigError):
            raise done.exception
        return (given or [None])[0], done.output

    return run


def test_a_parameter_of_the_library_is_an_option_with_its_type_default_and_meaning(run):
    shown = " ".join(run("--help")[1].split())
    for part in (
        *("Draw it here.", "What it is called.", "--width", "How wide, in cells.", "default: 3", "--colour "),
        *("--weight NAME=VALUE", "Which, and how much.", "plain|bold", "--framed", "--epsilon", "--set"),
        *("--no-quotes", "Decimal sign of csv"),
    ):
        assert part in shown
    assert "progress" not in shown
    usual, _ = run()
    assert usual == {
        "budget": None,
        "model": None,
        "where": "auto",
        "reading": Reading(),
        "width": 3,
        "colours": (),
        "weights": None,
        "kind": "plain",
        "framed": False,
    }


def test_values_are_given_by_their_type(run):
    line = "--width 5 --colour red --colour blue --weight red=.5 --kind bold --framed --where kept"
    line += " --no-quotes --column user_id=0 --column item_id=film"
    given, _ = run(*line.split(), "--model", "covariance-svd", "--set", "rank=7")
    assert (given["width"], given["colours"], given["kind"], given["framed"]) == (
        5,
        ["red", "blue"],
        "bold",
        True,
    )
    assert given["weights"] == {"red": 0.5}
    assert given["where"] == Path("kept")
    assert given["model"] == hr.CovarianceSVD(rank=7)
    assert given["reading"] == Reading({"user_id": 0, "item_id": "film"}, quotes=False)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--weight red", "--weight takes NAME=VALUE, for example --weight NAME=0.5"),
        ("--weight red=1 --weight red=2", "--weight red is given more than once"),
        ("--weight red=much", "--weight red much: give a number"),
        ("--column user_id", "for example --column user_id=customer"),
        ("--set rank=3", "name it with --model"),
        ("--adjacency replace --epsilon 1", "give --delta and --unit as well. δ = 1e-06 is usual for up to"),
        ("--epsilon most --delta 0 --unit user --adjacency replace", "--epsilon most: give a number or auto"),
        ("--epsilon auto --unit user", "takes δ, unit and adjacency from the ledger"),
    ],
)
def test_what_is_none_is_refused_in_the_words_of_the_command_line(run, line, told):
    with pytest.raises(ConfigError, match=told):
        run(*line.split())


def test_a_budget_is_given_by_its_parts_or_is_a_share_of_the_ledgers(run):
    pure = run(*["--epsilon", "0.5", "--delta", "0", "--unit", "user", "--adjacency", "replace"])[0]["budget"]
    assert pure == Budget(epsilon=0.5, delta=0.0, unit="user", adjacency="replace"), "a δ of 0 is given"
    assert run("--epsilon", "auto")[0]["budget"] == "auto"


def test_settings_go_as_deep_as_their_names_and_are_what_json_says():
    given = ["rank=7", "noise=laplace", "covariance.clip=.125", "covariance.cleaning=none"]
    made = options.model("covariance-svd", given)
    assert isinstance(made, hr.CovarianceSVD)
    assert (made.rank, made.noise) == (7, "laplace")
    assert (made.covariance.clip, made.covariance.cleaning) == (0.125, "none")


def test_every_model_of_the_command_line_can_be_made_and_no_other():
    for name in map(models.command_name, models.MODELS):
        assert type(options.model(name)) is models.class_of(name)
    for name in ("nosuch", "randomized-response", "nowhere:Mine"):
        with pytest.raises(ConfigError, match="there is no mod"):
            options.model(name)


@pytest.mark.parametrize("setting", ["rank", "=7", "rank.deep=7", "covariance=1", "nosuch=1"])
def test_settings_that_are_none_are_refused(setting):
    with pytest.raises(ConfigError):
        options.model("covariance-svd", ["rank=7", setting])
