"""Options that several commands share, named as in the library."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from hushrec import registry
from hushrec.errors import ConfigError, DataError, DomainError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.local.method import Method
    from hushrec.models.base import Model
    from hushrec.privacy.accounting.budget import Budget

MODEL_NAMES = tuple(map(registry.command_name, registry.MODELS))
METHOD_NAMES = tuple(map(registry.command_name, registry.METHODS))


DomainFile = Annotated[Path, typer.Option("--domain", help="The domain, as hushrec domain writes it.")]
if TYPE_CHECKING:
    MethodName: TypeAlias = str
else:  # the choices follow from the registry, which a type checker cannot see
    MethodName = Literal[METHOD_NAMES]


def complete_model(typed: str) -> list[str]:
    """What a shell offers."""
    return [name for name in MODEL_NAMES if name.startswith(typed)]


ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        autocompletion=complete_model,
        help="The algorithm, as hushrec models lists it, or a model of your own, as module:Class; by default "
        "what is recommended for this domain and budget.",
    ),
]
MethodOption = Annotated[
    MethodName | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="randomized-response randomizes every cell of a user's row; distance-based replaces items by "
        "others, mostly near ones.",
    ),
]
Noise = Annotated[
    Literal["gaussian", "laplace"] | None,
    typer.Option(help="The noise distribution; by default the model's own."),
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
OptionalDelta = Annotated[float | None, typer.Option(help="δ, below 1/(10 · users); 0 with Laplace noise.")]
Unit = Annotated[
    Literal["user", "rating"],
    typer.Option(help="What is protected: everything that one user gave, or one rating."),
]
Adjacency = Annotated[
    Literal["add-remove", "replace", "replace-items"],
    typer.Option(
        help="add-remove hides whether the unit is present; replace hides only its content; replace-items "
        "hides only which items the ratings are of."
    ),
]
OptionalUnit = Annotated[
    Literal["user", "rating"] | None,
    typer.Option(help="What is protected: everything that one user gave, or one rating."),
]
OptionalAdjacency = Annotated[
    Literal["add-remove", "replace"] | None,
    typer.Option(help="add-remove hides whether the unit is present; replace hides only its content."),
]
Length = Annotated[int, typer.Option("-n", min=1, help="Length of the list.")]
Allowed = Annotated[
    Path | None,
    typer.Option(
        help="The only items to recommend: .txt with an id a line, or .csv, .tsv or .parquet.",
        exists=True,
        dir_okay=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object in place of text.")]


def model(name: str, noise: str | None, settings: list[str] | None) -> "Model":
    """The configuration that the options describe."""
    chosen = _chosen(settings, **({"noise": noise} if noise else {}))
    made = registry.class_of(name, registry.MODELS)
    return made(**chosen)  # type: ignore[no-any-return]


def named_model(name: str | None, noise: str | None, settings: list[str] | None) -> "Model | None":
    """As ``model``; None if none is named, so that the recommended one is taken."""
    if name is not None:
        return model(name, noise, settings)
    if noise or settings:
        raise ConfigError(
            "--noise and --set are settings of a model: name it with --model, or leave them out"
        )
    return None


OF_A_SERIES = "--series takes its budget from the ledger, and its model from the domain"


def series_model(domain: "Domain") -> "Model":
    """The model of a series, which follows from what people give."""
    from hushrec.models.global_effects import GlobalEffects
    from hushrec.models.popularity import Popularity

    return GlobalEffects() if domain.feedback == "ratings" else Popularity()


def method(
    name: str,
    settings: list[str] | None,
    domain: "Domain",
    features: Path | None,
    feature: list[str] | None,
    groups_from: Path | None,
) -> "Method":
    """The method of releasing a data set that the options describe."""
    chosen, made = _chosen(settings), registry.class_of(name)
    if "groups" not in made.model_fields:  # type: ignore[attr-defined]
        if features or feature or groups_from:
            raise ConfigError("--features and --groups-from need --method distance-based; leave them out")
        return made(**chosen)  # type: ignore[no-any-return]
    named = chosen.get("groups")
    if (named == "ratings") + bool(features) + bool(groups_from) != 1 or named not in (None, "ratings"):
        raise ConfigError(
            "choose what items are grouped by: --features FILE (public), --groups-from RELEASE (already "
            "charged), or --set groups=ratings (as published; no ε covers the groups then)"
        )
    if features:
        from hushrec.data.features import read

        chosen["groups"] = read(features, domain, features=feature or None)
    if groups_from:
        from hushrec.release.artefact import Release

        chosen["groups"] = Release.open(groups_from)
    return made(**chosen)  # type: ignore[no-any-return]


def budget(
    epsilon: float | None, delta: float | None, unit: str | None, adjacency: str | None, *, usual: str = ""
) -> "Budget | None":
    """The budget, or None if no option names any part of it.

    Args:
        epsilon, delta, unit, adjacency: what the options name.
        usual: which δ is usual, for the error if it is missing.
    """
    named = {"epsilon": epsilon, "delta": delta, "unit": unit, "adjacency": adjacency}
    missing = [f"--{name}" for name, value in named.items() if value is None]
    if len(missing) == len(named):
        return None
    if missing:
        hint = f". {usual}" if usual and delta is None else ""
        raise ConfigError(
            f"a budget names ε, δ, unit and adjacency; give {' and '.join(missing)} as well{hint}"
        )
    from hushrec.privacy.accounting.budget import Budget

    return Budget(**named)  # type: ignore[arg-type]


def usual_delta(domain: "Domain | None") -> str:
    """Which δ is usual for the users that a domain declares, in words; without one, for those of 1e-6."""
    from hushrec.figures import above
    from hushrec.privacy.accounting.plan import usual_delta

    most = 99_999 if domain is None else domain.max_users
    return f"δ = {above(usual_delta(most))} is usual for up to {most:,} users: below 1/(10 · users)"


def number(text: str | None, option: str) -> float | None:
    """The number that an option gives in place of a word."""
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ConfigError(f"{option} {text}: give a number, or auto") from None


def others(ctx: typer.Context, allowed: str) -> list[str]:
    """Options that were given beside those of some parameters, which are named in one text."""
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name and parameter.name not in allowed.split()
        if str(ctx.get_parameter_source(parameter.name)).endswith("COMMANDLINE")
    ]


def require_only(ctx: typer.Context, because: str, allowed: str) -> None:
    """Refuse options that do not go with another one."""
    if given := others(ctx, allowed):
        raise ConfigError(f"{because}: leave out {' and '.join(given)}")


def require_suffix(out: Path, option: str, *suffixes: str) -> None:
    """Refuse an output file, before anything is done, whose name does not say one of its formats."""
    if out.suffix not in suffixes:
        raise ConfigError(
            f"{option} {out}: its ending says the format, which is {' or '.join(suffixes)} here; name it "
            f"{out.with_suffix(suffixes[0]).name}"
        )


def _chosen(settings: list[str] | None, **chosen: Any) -> dict[str, Any]:
    """The nested settings of ``--set``, added to those that have options of their own."""
    for setting in settings or []:
        path, value = _pair(setting, "--set")
        *outer, last = path.split(".")
        place = chosen
        for part in outer:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {path}: {part} holds one value and has no settings of its own")
        place[last] = _value(value)
    return chosen


def named_columns(given: list[str] | None) -> dict[str, str | int] | None:
    """The column of each part of a record, by name or position."""
    pairs = (_pair(column, "--column") for column in given or [])
    return {name: int(at) if at.isdecimal() else at for name, at in pairs} or None


def privacy_classes(given: list[str] | None) -> dict[str, float] | None:
    """Privacy classes, name to ε."""
    named: dict[str, float] = {}
    for name, value in (_pair(chosen, "--privacy-class") for chosen in given or []):
        if name in named:
            raise DomainError(f"--privacy-class {name} is given more than once; give each class one ε")
        try:
            named[name] = float(value)
        except ValueError:
            raise DomainError(
                f"--privacy-class {name}: the ε of a class must be a number, as in strict=0.5"
            ) from None
    return named or None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        error = _ERRORS.get(option, ConfigError)
        raise error(f"{option} takes NAME=VALUE, for example {option} " + _EXAMPLES[option])
    return name, value


_ERRORS = {"--column": DataError, "--privacy-class": DomainError}
_EXAMPLES = {"--set": "rank=20", "--column": "user_id=customer", "--privacy-class": "strict=0.5"}


def _value(text: str) -> Any:
    """A number, true, false, null or a list as in JSON; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
