"""Options that several commands share, with the same words as the library's."""

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hushrec.errors import ConfigError, DataError, DomainError

if TYPE_CHECKING:
    from hushrec.data.blocks import Blocks
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
    "posterior-mf",
]
_MODELS: dict[ModelName, str] = {
    "global-effects": "GlobalEffects",
    "covariance-svd": "CovarianceSVD",
    "covariance-knn": "CovarianceKNN",
    "input-perturbation-mf": "InputPerturbationMF",
    "private-sgd": "PrivateSGD",
    "private-als": "PrivateALS",
    "posterior-mf": "PosteriorMF",
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
        help="Where user_id, item_id, rating, timestamp or epsilon (each person's own) stands: a name, or a "
        "position from 0.",
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

    return load(
        source,
        domain,
        columns=named_columns(columns),
        format=format,
        separator=separator,
        decimal=decimal,
    )


def named_columns(given: list[str] | None) -> dict[str, str | int] | None:
    """Where each part of a rating stands, by name or position.

    Raises:
        DataError: An option is no NAME=COLUMN.
    """
    pairs = (_pair(column, "--column") for column in given or [])
    return {name: int(at) if at.isdecimal() else at for name, at in pairs} or None


def packed_or_loaded(
    source: Path,
    domain: "Domain",
    columns: list[str] | None,
    format: str | None,
    separator: str | None,
    decimal: str,
) -> "Ratings | Blocks":
    """Ratings of a file, or of a folder as hushrec data pack makes it.

    Raises:
        DataError: An option is wrong, or the file or folder cannot be read.
    """
    from hushrec.data.blocks import MANIFEST, Blocks

    if not (source / MANIFEST).is_file():
        return load(source, domain, columns, format, separator, decimal)
    if columns or format or separator or decimal != ".":
        raise DataError(
            f"{source} holds packed ratings, whose form is known: leave --column and --format out"
        )
    return Blocks.open(source, domain)


def levels(given: list[str] | None) -> dict[str, float] | None:
    """Classes of privacy, name to ε.

    Raises:
        DomainError: An option is no NAME=EPSILON, or names a class again.
    """
    named: dict[str, float] = {}
    for name, value in (_pair(level, "--level") for level in given or []):
        if name in named:
            raise DomainError(f"--level {name} is given more than once; give every class one ε")
        try:
            named[name] = float(value)
        except ValueError:
            raise DomainError(f"--level {name}: the ε of a class is a number, as in strict=0.5") from None
    return named or None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        error = _ERRORS.get(option, ConfigError)
        raise error(f"{option} takes NAME=VALUE, for example {option} " + _EXAMPLES[option])
    return name, value


_ERRORS = {"--column": DataError, "--level": DomainError}
_EXAMPLES = {"--set": "rank=20", "--column": "user_id=customer", "--level": "strict=0.5"}


def _value(text: str) -> Any:
    """A number, true, false, null or a list as JSON has it; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
