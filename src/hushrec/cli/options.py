"""Options that several commands share, with the same words as the library's."""

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hushrec.errors import ConfigError, DataError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.data.ratings import Ratings
    from hushrec.models.base import Model

ModelName = Literal[
    "global-effects",
    "covariance-svd",
    "covariance-knn",
    "input-perturbation-mf",
    "private-sgd",
    "private-als",
]
_MODELS: dict[ModelName, str] = {
    "global-effects": "GlobalEffects",
    "covariance-svd": "CovarianceSVD",
    "covariance-knn": "CovarianceKNN",
    "input-perturbation-mf": "InputPerturbationMF",
    "private-sgd": "PrivateSGD",
    "private-als": "PrivateALS",
}

DomainFile = Annotated[Path, typer.Option("--domain", help="The domain, as hushrec domain writes it.")]
ModelOption = Annotated[ModelName, typer.Option("--model", help="The algorithm.")]
Analysis = Annotated[
    Literal["corrected", "published"],
    typer.Option(help="corrected claims what holds; published reproduces the paper, whose claim may not."),
]
Noise = Annotated[
    Literal["gaussian", "laplace"] | None,
    typer.Option(help="The law of the noise; what the model calls for by default."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the model, such as rank=20 or covariance.clip=0.2; may be repeated.",
    ),
]
Epsilon = Annotated[float, typer.Option(help="ε, the largest privacy loss.")]
Delta = Annotated[float, typer.Option(help="δ, below 1/(10 · users); 0 with Laplace noise.")]
Unit = Annotated[
    Literal["user", "rating"],
    typer.Option(help="What is protected: all that a person gave, or one rating."),
]
Adjacency = Annotated[
    Literal["add-remove", "replace"],
    typer.Option(help="add-remove hides whether it is there at all, replace only its content."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="Where user_id, item_id, rating or timestamp stands: a name, or a position from 0.",
    ),
]
Format = Annotated[str | None, typer.Option(help="Of the file, if its name does not tell: csv, dat, …")]
Separator = Annotated[str | None, typer.Option(help="Of csv and tsv, one character.")]
Decimal = Annotated[str, typer.Option(help="Decimal sign of csv and tsv, . or ,")]


def model(name: ModelName, analysis: str, noise: str | None, settings: list[str] | None) -> "Model":
    """The configuration that the options describe.

    Raises:
        ConfigError: A setting is unknown or wrong.
    """
    chosen: dict[str, Any] = {"analysis": analysis, "noise": noise}
    for setting in settings or []:
        path, value = _pair(setting, "--set")
        *outer, last = path.split(".")
        place = chosen
        for part in outer:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {path}: {part} holds one value and no settings of its own")
        place[last] = _value(value)
    made = getattr(import_module("hushrec"), _MODELS[name])(**chosen)
    return made  # type: ignore[no-any-return]


def load(
    source: Path,
    domain: "Domain",
    columns: list[str] | None,
    format: str | None,
    separator: str | None,
    decimal: str,
) -> "Ratings":
    """Ratings of a file.

    Raises:
        DataError: An option is wrong, or the file cannot be read.
    """
    from hushrec.data.load import load

    pairs = (_pair(column, "--column") for column in columns or [])
    named: dict[str, str | int] = {name: int(at) if at.isdecimal() else at for name, at in pairs}
    return load(
        source,
        domain,
        columns=named or None,
        format=format,
        separator=separator,
        decimal=decimal,
    )


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        error = DataError if option == "--column" else ConfigError
        raise error(f"{option} takes NAME=VALUE, for example {option} " + _EXAMPLES[option])
    return name, value


_EXAMPLES = {"--set": "rank=20", "--column": "user_id=customer"}


def _value(text: str) -> Any:
    """A number, true, false, null or a list as JSON has it; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
