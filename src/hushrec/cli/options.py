"""The options of a command: the parameters of the functions of the library that it calls.

A command is a function that names the functions of the library that it calls, ``@of(Ledger.create)``. Its own
parameters before the ``*`` are arguments of the command line, those after it are options, and ``**others``
stands for all parameters of these functions that it does not name. A parameter's type, default and meaning
are the library's, where the command says none: ``Annotated[type, "meaning"]``. So a parameter that the
library gets is an option at once.

How a value is given follows from its type. A list is an option that may be repeated, and a mapping one of
``NAME=VALUE``; what has a method ``open`` is given by its file, a model by its name and its settings, and any
other class by its own parameters, an option each.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from inspect import Parameter, Signature, getdoc, isclass, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from hushrec import models
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.models.base import Model
    from hushrec.privacy.accounting.budget import Budget

Returned = TypeVar("Returned")
Values = dict[str, Any]

UNOFFERED = ("self", "path", "source", "data", "progress", "max_bytes", "rated")
"""Parameters of the library that are no options of these names: commands take files, and draw bars anyway."""
FLAGS = {"out": ("--out", "-o"), "n": ("-n",), "n_users": ("-n",), "settings": ("--set",)}
"""Options that are not called as their parameter is."""
MEANINGS = {
    "domain": "The domain, as hushrec domain writes it.",
    "model": "The algorithm, as hushrec models lists it, or a model of your own, as module:Class; by default "
    "what is recommended for this domain and budget.",
    "settings": "A setting of it, such as rank=20, noise=laplace, covariance.clip=0.2; may be repeated.",
    "scale": "LO HI STEP of ratings, such as 0.5 5 0.5; LO to HI is a whole number of steps, at most 255.",
    "personal_epsilon": "A privacy class that users may choose, such as strict=0.5; may be repeated.",
    "columns": "The column of user_id, item_id, rating, count, timestamp or personal_epsilon (each user's "
    "own): a name, or a position from 0.",
    "where": "Where the people are kept: memory; disk, in temporary files; auto, on disk if memory may not "
    "suffice; spark, whose session reads the source; or a new folder, private to you, which later commands "
    "take in place of the files (docs/large.md).",
    "ledger": "The population's ledger: its file, or postgresql://host/database[?ledger=NAME].",
    "accept": "Charge although: dropped, more than a tenth of the records were dropped or changed (hushrec "
    "check); users, there are more than twice as many as declared; rating, interactions have ratings other "
    "than 1, which are not used; changed, a stopped fit goes on with other rows; share, later releases would "
    "have less than an equal share; weak, ε is above 8. May be repeated.",
    "key": "The owner's public key, a file: a release that it did not sign is refused.",
    "allowed": "The only items to recommend: a list as of hushrec domain, such as .txt with an id a line.",
}
"""Meanings of parameters that are given in other words here than in Python."""

Ratings = Annotated[
    list[str],
    "The private ratings or interactions, in files, patterns or folders: user_id, item_id, rating[, "
    "timestamp], or user_id, item_id[, count]; or a folder of people.",
]
Out = Annotated[Path, "The file to write."]
Json = Annotated[bool, "Print one JSON object in place of text."]


class Value(NamedTuple):
    """A value that a command takes: the options by which it is given, and how it is made of what they got.

    ``make`` takes these from all that was given, and sees the values that are made already.
    """

    options: list[Parameter]
    make: Callable[[Values, Values], Any]


def of(*library: Callable[..., Any]) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Offer the parameters of a command, and those of the functions of the library that it calls.

    Args:
        library: functions and classes; the first that has a parameter says its type, default and meaning.
    """
    known, texts = dict[str, Parameter](), dict[str, str]()
    for home in reversed(library):
        known |= {one.name: one for one in _parameters(home) if one.kind is not Parameter.VAR_KEYWORD}
        texts |= _meanings(home)
    texts |= MEANINGS

    def decorate(command: Callable[..., Returned]) -> Callable[..., Returned]:
        own, values = _parameters(command), dict[str, Value]()
        unnamed = known.keys() - {*UNOFFERED, *(one.name for one in own)}
        for one in own:
            if one.kind is Parameter.VAR_KEYWORD:
                more = [known[name].replace(kind=Parameter.KEYWORD_ONLY) for name in known if name in unnamed]
            elif one.default is Parameter.empty and one.name in known:
                more = [one.replace(default=known[one.name].default)]
            else:
                more = [one]
            values |= {each.name: _value(each, texts) for each in more}

        @wraps(command)
        def run(**given: Any) -> Returned:
            made: Values = {}
            for name, value in values.items():
                made[name] = value.make(given, made)
            return command(**made)

        options = [option for value in values.values() for option in value.options]
        read_by_typer: Any = run
        read_by_typer.__signature__ = Signature(options)
        read_by_typer.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


def model(name: str, settings: Collection[str] | None = None) -> "Model":
    """The model of a name and of what ``--set`` says."""
    return models.class_of(name, models.MODELS)(**settings_of(settings))  # type: ignore[no-any-return]


def settings_of(settings: Collection[str] | None) -> Values:
    """The settings that ``--set`` names; those of a part of a model are a dictionary of their own."""
    chosen: Values = {}
    for path, value in _pairs(settings or (), "--set", "rank=20"):
        *outer, last = path.split(".")
        place = chosen
        for part in outer:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {path}: {part} holds one value and has no settings of its own")
        place[last] = value
        for read in (json.loads, float):  # a number, true, false, null or a list; .5; else it is text
            with suppress(ValueError):
                place[last] = read(value)
                break
    return chosen


def _parameters(home: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function or class, with their types as objects."""
    hints = get_type_hints(home, include_extras=True)
    if isclass(home):
        hints |= get_type_hints(home.__init__, include_extras=True)
    return [one.replace(annotation=hints.get(one.name, Any)) for one in signature(home).parameters.values()]


def _meanings(home: Callable[..., Any]) -> dict[str, str]:
    """Return what the docstring of a function or class says of each parameter."""
    section = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", getdoc(home) or "", re.MULTILINE)
    entries = re.findall(r"^ {4}(\w[\w, ]*): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE)
    texts = {names: " ".join(text.replace("``", "").split()) for names, text in entries}
    return {name: text[0].upper() + text[1:] for names, text in texts.items() for name in names.split(", ")}


def _value(parameter: Parameter, texts: Mapping[str, str]) -> Value:
    """How a command line gives the value of a parameter, by its type."""
    name, hint, absent = parameter.name, parameter.annotation, parameter.default
    if get_origin(hint) is Annotated:
        hint, text = get_args(hint)
        texts = {**texts, name: text}
    kinds = [kind for kind in _alternatives(hint) if kind is not NoneType]
    for kind in kinds:
        if get_origin(kind) in (list, Iterable, Sequence, Collection):
            (of_one,) = get_args(kind)
            form = "KEY=VALUE" if name == "settings" else "|".join(get_args(of_one)) or "TEXT"
            several: Any = list[int] if of_one is int else list[str]
            return _option(parameter, several, texts, lambda given: given or absent, form)
        if get_origin(kind) is Mapping:
            number = get_args(kind)[1] is float
            named = partial(_mapping, absent=absent, option=_flag(name, repeated=True), number=number)
            return _option(parameter, list[str], texts, named, "NAME=VALUE")
    if Path in kinds and get_origin(kinds[0]) is Literal:
        words = get_args(kinds[0])
        return _option(parameter, str, texts, lambda text: text if text in words else Path(text))
    kind = next((plain for plain in (str, Path) if plain in kinds), kinds[0])
    if not isclass(kind) or get_origin(kind) or kind.__module__ in ("builtins", "pathlib"):
        return _option(parameter, kind, texts)
    if hasattr(kind, "open"):
        return _option(parameter, str, texts, lambda path: absent if path is None else kind.open(path))
    if kind.__name__ == "Model":
        return _model_value(parameter, texts)
    return _value_of_parts(kind, absent, auto=Literal["auto"] in kinds)


def _flag(name: str, *, repeated: bool) -> str:
    """The option of a parameter; if it holds several values, of one of them."""
    return f"--{(name.removesuffix('s') if repeated else name).replace('_', '-')}"


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _option(
    parameter: Parameter,
    kind: Any,
    texts: Mapping[str, str],
    make: Callable[[Any], Any] = lambda given: given,
    metavar: str | None = None,
) -> Value:
    """One option of the command line, or one argument."""
    name, default, repeated = parameter.name, parameter.default, get_origin(kind) is list
    assert name in texts, f"nothing explains {name}"
    required = default is Parameter.empty
    info: Any
    if parameter.kind is Parameter.KEYWORD_ONLY:
        flags = FLAGS.get(name) or (_flag(name, repeated=repeated),)
        if kind is bool and default is True:
            flags = (f"{flags[0]}/--no-{flags[0][2:]}",)
        info = typer.Option(*flags, help=texts.get(name), metavar=metavar)
    else:
        info = typer.Argument(help=texts.get(name), metavar=name.upper())
    if not required and not isinstance(default, str | int | float | Path):
        kind, default = kind | None, None
    offered = Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)
    return Value([offered], lambda given, _: make(given.pop(name)))


def _model_value(parameter: Parameter, texts: Mapping[str, str]) -> Value:
    """A model by its name and its settings."""
    named = _option(parameter, str, texts)
    chosen = Parameter("settings", Parameter.KEYWORD_ONLY, default=None)
    options = [*named.options, *_option(chosen, list[str], texts, metavar="KEY=VALUE").options]

    def make(given: Values, _: Values) -> Any:
        name, settings = given.pop(parameter.name), given.pop("settings")
        if name is None and settings:
            raise ConfigError("--set is a setting of a model: name it with --model, or leave it out")
        return None if name is None else model(name, settings)

    return Value(options, make)


def _value_of_parts(kind: type, absent: Any, *, auto: bool) -> Value:
    """A value of a class by the parameters of the class; absent if none of those is given that it needs.

    Args:
        auto: whether ``--epsilon auto`` takes the place of all of them.
    """
    parts = [one for one in _parameters(kind) if one.name not in UNOFFERED]
    needed = [one.name for one in parts if one.default is Parameter.empty]
    texts, values = _meanings(kind) | MEANINGS, dict[str, Value]()
    for part in parts:
        offered = part.replace(kind=Parameter.KEYWORD_ONLY)
        if part.name in needed:
            offered = offered.replace(default=None)
        if auto and part.name == "epsilon":
            offered = offered.replace(annotation=str)
            texts["epsilon"] += (
                " auto takes a share of what the ledger has left (half for the first of several)."
            )
        values[part.name] = _value(offered, texts)

    def make(given: Values, made: Values) -> Any:
        got = {name: value.make(given, made) for name, value in values.items()}
        missing = [name for name in needed if got[name] is None]
        if auto and got["epsilon"] == "auto":
            if len(missing) < len(needed) - 1:
                raise ConfigError(
                    "--epsilon auto takes δ, unit and adjacency from the ledger: leave them out"
                )
            return "auto"
        if auto and got["epsilon"] is not None:
            got["epsilon"] = _number(got["epsilon"], "--epsilon", "or auto")
        if missing and len(missing) == len(needed) and absent is not Parameter.empty:
            return absent
        if missing:
            flags = " and ".join(f"--{name}" for name in missing)
            more = " as well" if len(missing) < len(needed) else ""
            raise ConfigError(f"give {flags}{more}{_usual_delta(made) if 'delta' in missing else ''}")
        return kind(**{one.name: got[one.name] for one in parts if got[one.name] is not one.default})

    return Value([option for value in values.values() for option in value.options], make)


def source_name(names: Sequence[str]) -> str:
    """The sources in one line: the first, and how many others there are."""
    first, *others = (Path(name).name for name in names)
    return f"{first} and {len(others)} more" if others else first


def budget_options(budget: "Budget") -> str:
    """The options that give a budget."""
    from hushrec.text import above

    figures = f"--epsilon {above(budget.epsilon, 15)} --delta {above(budget.delta, 15)}"
    return f"{figures} --unit {budget.unit} --adjacency {budget.adjacency}"


def require_suffix(out: Path, option: str, *suffixes: str) -> None:
    """Refuse an output file, before anything is done, whose name does not say one of its formats."""
    if out.suffix not in suffixes:
        raise ConfigError(
            f"{option} {out}: its ending says the format, which is {' or '.join(suffixes)} here; name it "
            f"{out.with_suffix(suffixes[0]).name}"
        )


def _usual_delta(made: Values) -> str:
    """Which δ is usual for the users that a domain declares; without one, for those of 1e-6."""
    from hushrec.privacy.accounting.plan import usual_delta
    from hushrec.text import above

    domain: Domain | None = made.get("domain")
    most = domain.max_users if domain else 99_999
    usual = f"δ = {above(usual_delta(most))} is usual for up to {most:,} users: below 1/(10 · users)"
    return f". {usual}; without Gaussian noise (noise=laplace, posterior-sample-mf, randomize) use δ = 0"


def _mapping(given: Collection[str] | None, absent: Any, option: str, number: bool) -> Any:
    """Values by name, absent if there are none; a column may be a position."""
    values: Values = {}
    for key, text in _pairs(given or (), option, "NAME=0.5" if number else "user_id=customer", number):
        if key in values:
            raise ConfigError(f"{option} {key} is given more than once; give it once")
        position = int(text) if text.isdecimal() else text
        values[key] = _number(text, f"{option} {key}") if number else position
    return values or absent


def _pairs(
    given: Iterable[str], option: str, example: str, number: bool = False
) -> Iterator[tuple[str, str]]:
    for text in given:
        name, equals, value = text.rpartition("=") if number else text.partition("=")
        if not (name and equals):
            raise ConfigError(f"{option} takes NAME=VALUE, for example {option} {example}")
        yield name, value


def _number(text: str, option: str, other: str = "") -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{option} {text}: give a number {other}".rstrip()) from None
