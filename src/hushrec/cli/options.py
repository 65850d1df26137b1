"""Options that several commands share, named and explained as in the library.

Options that go together are one value to a command, and one option each on its command line. An option
without a help of its own has that of the library's argument of the same name.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, getdoc, signature
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

from hushrec import models
from hushrec.errors import ConfigError, DataError, DomainError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.data.reading import Reading
    from hushrec.models.base import Model
    from hushrec.models.du_leighton_patel.method import Method
    from hushrec.privacy.accounting.budget import Budget

Returned = TypeVar("Returned")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Base class of groups: a frozen dataclass, whose fields are annotated as Typer's parameters are."""


def grouped(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Offer each field of a command's groups as an option of its own.

    Typer reads a command's signature. It is shown one in which every parameter that is a ``Group`` is
    replaced by the group's fields; when the command runs, the groups are made of what was given.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {
        name: kind for name, kind in hints.items() if isinstance(kind, type) and issubclass(kind, Group)
    }
    offered: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        kind = groups.get(parameter.name)
        inside = signature(kind, eval_str=True).parameters.values() if kind else [parameter]
        offered += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in inside]

    @wraps(command)
    def gathered(**values: Any) -> Returned:
        instances = {name: kind(**_taken(values, kind)) for name, kind in groups.items()}
        return command(**values, **instances)

    shown: Any = gathered
    shown.__signature__ = Signature(offered)
    shown.__annotations__ = {one.name: one.annotation for one in offered}
    return gathered


def _taken(values: dict[str, Any], kind: type[Group]) -> dict[str, Any]:
    return {field.name: values.pop(field.name) for field in fields(kind)}


SHARED = (
    "hushrec.curator.fit:fit",
    "hushrec.privacy.accounting.budget:Budget",
    "hushrec.data.reading:Reading",
    "hushrec.data.domain:Domain.from_catalogue",
)
"""What explains options of several commands, where nothing of a command's own does."""


class Command(TyperCommand):
    """A command whose options are explained where the library explains its arguments.

    That is read only when the help is asked for, so no other call imports what it does not need.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the library's where an option has none."""
        lacking = {one["name"]: one for one in map(vars, self.params) if not one.get("help", "none to give")}
        for home in (*getattr(self.callback, "homes", ()), *SHARED):
            for name, text in arguments(home) if lacking else ():
                # An option that may be given several times, such as --feature, is one of the features.
                option = lacking.pop(name, None) or lacking.pop(name.removesuffix("s"), None)
                if option:
                    option["help"] = text
        assert not lacking, f"nothing explains {', '.join(lacking)}"
        super().format_help(ctx, formatter)


def explained(*homes: str) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Name the functions and classes, as ``module:name``, whose arguments a command offers as options."""

    def marked(command: Callable[..., Returned]) -> Callable[..., Returned]:
        vars(command)["homes"] = homes
        return command

    return marked


def arguments(home: str) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a function or class, each with what its docstring says of it."""
    module, _, name = home.partition(":")
    documented = getdoc(attrgetter(name)(import_module(module))) or ""
    section = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", documented, re.MULTILINE)
    entries = re.findall(r"^ {4}(\w[\w, ]*): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE)
    for names, text in entries:
        line = " ".join(text.replace("``", "").split())
        for one in names.split(", "):
            yield one, line[0].upper() + line[1:]


METHOD_NAMES = tuple(map(models.command_name, models.METHODS))


DomainFile = Annotated[Path, typer.Option("--domain", help="The domain, as hushrec domain writes it.")]
if TYPE_CHECKING:
    MethodName: TypeAlias = str
else:  # the choices follow from the names in ``hushrec``, which a type checker cannot see
    MethodName = Literal[METHOD_NAMES]


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the model, such as rank=20, noise=laplace, covariance.clip=0.2; may be repeated.",
    ),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="PUB", help="The owner's public key: refuse a release that it did not sign."
    ),
]
Epsilon = Annotated[float, typer.Option()]


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Group):
    """A model with its settings."""

    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The algorithm, as hushrec models lists it, or a model of your own, as module:Class; by "
            "default what is recommended for this domain and budget.",
        ),
    ] = None
    settings: Settings = None

    def build(self) -> "Model | None":
        """The model; None if none is named, so that the recommended one is taken."""
        if self.model is not None:
            return model(self.model, self.settings)
        if self.settings:
            raise ConfigError("--set is a setting of a model: name it with --model, or leave it out")
        return None


@dataclass(frozen=True, kw_only=True)
class MethodOptions(Group):
    """A method of randomizing data with its settings."""

    method: Annotated[
        MethodName | None,
        typer.Option(
            metavar="NAME",
            help="randomized-response randomizes every cell of a user's row; distance-based replaces items "
            "by others, mostly near ones.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting: sample=100 (randomized response), keep_probability=0.9, group_probability=0.5, "
            "threshold=1.5, distance=cosine, groups=ratings (distance-based); may be repeated.",
        ),
    ] = None
    features: Annotated[
        Path | None,
        typer.Option(help="Public features of items, to group them by: movies.dat, u.item, csv, …"),
    ] = None
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column of --features to use; by default all except ids and title."
        ),
    ] = None
    groups_from: Annotated[
        Path | None, typer.Option(help="A release whose item factors or covariance to group items by.")
    ] = None

    def build(self, domain: "Domain") -> "Method":
        """The method, which must be named."""
        assert self.method is not None
        chosen, kind = _chosen(self.settings), models.class_of(self.method)
        if "groups" not in kind.model_fields:  # type: ignore[attr-defined]
            if self.features or self.feature or self.groups_from:
                raise ConfigError("--features and --groups-from need --method distance-based; leave them out")
            return kind(**chosen)  # type: ignore[no-any-return]
        named = chosen.get("groups")
        sources = (named == "ratings") + bool(self.features) + bool(self.groups_from)
        if sources != 1 or named not in (None, "ratings"):
            raise ConfigError(
                "choose what items are grouped by: --features FILE (public), --groups-from RELEASE (already "
                "charged), or --set groups=ratings (as published; no ε covers the groups then)"
            )
        if self.features:
            from hushrec.models.du_leighton_patel.features import read

            chosen["groups"] = read(self.features, domain, features=self.feature or None)
        if self.groups_from:
            from hushrec.release.artefact import Release

            chosen["groups"] = Release.open(self.groups_from)
        return kind(**chosen)  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(Group):
    """All of a budget but its ε."""

    delta: float | None = None
    unit: Literal["user", "record"] | None = None
    adjacency: Literal["add-remove", "replace", "replace-items"] | None = None

    def with_epsilon(self, epsilon: float | None, usual: str) -> "Budget | None":
        """The budget, or None if no option names any part of it.

        Args:
            usual: which δ is usual, for the error if it is missing.
        """
        named = {"epsilon": epsilon, **asdict(self)}
        missing = [f"--{name}" for name, value in named.items() if value is None]
        if len(missing) == len(named):
            return None
        if missing:
            hint = f". {usual}" if self.delta is None else ""
            raise ConfigError(
                f"a budget names ε, δ, unit and adjacency; give {' and '.join(missing)} as well{hint}"
            )
        from hushrec.privacy.accounting.budget import Budget

        return Budget(**named)


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


def model(name: str, settings: list[str] | None) -> "Model":
    """The configuration that the options describe."""
    kind = models.class_of(name, models.MODELS)
    return kind(**_chosen(settings))  # type: ignore[no-any-return]


def usual_delta(domain: "Domain | None") -> str:
    """Which δ is usual for the users that a domain declares, in words; without one, for those of 1e-6."""
    from hushrec.privacy.accounting.plan import usual_delta
    from hushrec.text import above

    most = 99_999 if domain is None else domain.max_users
    usual = f"δ = {above(usual_delta(most))} is usual for up to {most:,} users: below 1/(10 · users)"
    return f"{usual}; without Gaussian noise (noise=laplace, posterior-sample-mf) use δ = 0"


def number(text: str | None, option: str) -> float | None:
    """The number that an option gives in place of a word."""
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ConfigError(f"{option} {text}: give a number, or auto") from None


def others(ctx: typer.Context, allowed: str) -> list[str]:
    """Return the given options other than those of some parameters, which one text names."""
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name and parameter.name not in allowed.split()
        if str(ctx.get_parameter_source(parameter.name)).endswith("COMMANDLINE")
    ]


def require_only(ctx: typer.Context, because: str, allowed: str) -> None:
    """Refuse options that do not go with another one."""
    if refused := others(ctx, allowed):
        raise ConfigError(f"{because}: leave out {' and '.join(refused)}")


def require_suffix(out: Path, option: str, *suffixes: str) -> None:
    """Refuse an output file, before anything is done, whose name does not say one of its formats."""
    if out.suffix not in suffixes:
        raise ConfigError(
            f"{option} {out}: its ending says the format, which is {' or '.join(suffixes)} here; name it "
            f"{out.with_suffix(suffixes[0]).name}"
        )


def _chosen(settings: list[str] | None) -> dict[str, Any]:
    """The nested settings of ``--set``."""
    chosen: dict[str, Any] = {}
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


def named_columns(texts: list[str] | None) -> dict[str, str | int] | None:
    """The column of each part of a record, by name or position."""
    pairs = (_pair(column, "--column") for column in texts or [])
    return {name: int(at) if at.isdecimal() else at for name, at in pairs} or None


def personal_epsilon(texts: list[str] | None) -> dict[str, float] | None:
    """Privacy classes, name to ε."""
    named: dict[str, float] = {}
    for name, value in (_pair(chosen, "--personal-epsilon") for chosen in texts or []):
        if name in named:
            raise DomainError(f"--personal-epsilon {name} is given more than once; give each class one ε")
        try:
            named[name] = float(value)
        except ValueError:
            raise DomainError(
                f"--personal-epsilon {name}: the ε of a class must be a number, as in strict=0.5"
            ) from None
    return named or None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        error = _ERRORS.get(option, ConfigError)
        raise error(f"{option} takes NAME=VALUE, for example {option} " + _EXAMPLES[option])
    return name, value


_ERRORS = {"--column": DataError, "--personal-epsilon": DomainError}
_EXAMPLES = {"--set": "rank=20", "--column": "user_id=customer", "--personal-epsilon": "strict=0.5"}


def _value(text: str) -> Any:
    """A number, true, false, null or a list as in JSON; a number such as .5; anything else is text."""
    for read in (json.loads, float):
        with suppress(ValueError):
            return read(text)
    return text


Where = Annotated[
    str,
    typer.Option(
        metavar="auto|memory|disk|spark|FOLDER",
        help="Where the records are kept: in memory; on disk, in temporary files (in TMPDIR); in a new "
        "folder, private to you, which later commands take in place of the files; by Spark, which reads "
        "Parquet, .csv or .tsv with a header, or a table by its name (docs/large.md); auto: on disk if they "
        "may exceed this machine's memory.",
    ),
]

_PLACES = ("auto", "memory", "disk", "spark")
"""Words of ``--where``; anything else is a folder."""


@dataclass(frozen=True, kw_only=True)
class Given(Group):
    """How files are written, as far as their names do not tell."""

    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN",
            help="The column of user_id, item_id, rating, count, timestamp or personal_epsilon (each user's "
            "own): a name, or a position from 0.",
        ),
    ] = None
    format: Annotated[
        str | None, typer.Option(help="File format, if the name does not tell: csv, dat, …")
    ] = None
    separator: str | None = None
    decimal: str = "."
    quotes: bool = True

    @property
    def reading(self) -> "Reading":
        """What ``hushrec.load`` takes."""
        from hushrec.data.reading import Reading

        columns = named_columns(self.column) or {}
        return Reading(columns, self.format, self.separator, self.decimal, self.quotes)

    def described(self, names: Sequence[str]) -> str:
        """The sources in one line: the first, and how many others there are."""
        first, *others = (Path(name).name for name in names)
        return f"{first} and {len(others)} more" if others else first

    def load(self, names: Sequence[str], domain: "Domain", where: str = "auto") -> Any:
        """The people in what the arguments of a command name."""
        from hushrec.data.load import load

        place: Any = where if where in _PLACES else Path(where)
        return load([*names], domain, self.reading, where=place)
