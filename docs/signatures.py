"""Writes the signatures of the Python reference from the code, for ``tables.py``."""

import inspect
import re
import types
import typing
from functools import cached_property
from importlib import import_module
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

import hushrec
from hushrec import errors

REFERENCE = {
    "declare": {
        "Domain": ("from_catalogue", "open", "save", "feedback", "n_items", "n_users"),
        "load": (),
        "Reading": (),
        "Database": (),
        "check": (),
        "Check": ("refused", "hints", "document"),
        "Ratings": (
            "n_users",
            "n_entries",
            "values",
            "select",
            "capped",
            "to_polars",
            "with_personal_epsilon",
        ),
        "Interactions": ("n_users", "n_entries", "values"),
        "Blocks": ("open", "write", "n_blocks", "n_users", "n_entries", "verify"),
        "SparkFeedback": ("of", "n_blocks", "n_users", "n_entries", "verify"),
        "progress_bar": (),
    },
    "plan": {
        "Budget": (),
        "suggest_model": (),
        "estimate_crowd": (),
        "plan": (),
        "privacy.accounting.plan.Plan": ("epsilon", "measurements", "caveats", "facts"),
        "split_budget": (),
        "plan_series": (),
        "worth": (),
    },
    "fit": {
        "fit": (),
        "baseline": (),
        "fit_released": (),
        "add_items": (),
        "curator.public_items.Added": ("release", "unknown"),
        "randomize": (),
        "ReleasedData": ("table", "estimates", "save", "open", "collect", "statement"),
    },
    "publish": {
        "Release": (
            "open",
            "save",
            "to_bytes",
            "from_bytes",
            "statement",
            "items",
            "dimensions",
            "document",
            "synthesize",
        ),
        "release.statement.Statement": (
            *("unit", "adjacency", "epsilon", "delta", "private", "guarantee", "together", "caveats"),
            *("sentence", "headline", "document", "to_json", "from_json"),
        ),
        "sign": (),
    },
    "recommend": {
        "Client": ("recommend", "predict", "similar", "reasons", "find", "title"),
        "recommend_all": (),
        "recommend_on_spark": (),
        "write_people": (),
    },
    "evaluate": {
        "evaluate": (),
        "data.split.holdout": (),
        "data.split.latest": (),
        "data.split.since": (),
        "data.split.held_out_people": (),
        "evaluation.protocol.Evaluation": ("scores", "to_dict", "document"),
    },
    "audit": {
        "audit.fits.audit": (),
        "testing.search_neighbours": (),
        "testing.Seeded": (),
        "testing.fit": (),
        "synthetic.interactions": (),
        "synthetic.netflix_like": (),
    },
    "account": {
        "Ledger": (
            *("create", "open", "ephemeral", "total", "spent", "remaining", "releases_left", "share"),
            *("extend", "confirm", "declare", "charge", "forfeit_index", "document", "export"),
        ),
    },
}
"""Subject → names, each with the methods and attributes that users need."""
CONSTRUCTED = {"Domain", "Reading", "Database", "Budget", "Client", "Seeded"}
"""Classes that users construct. Functions return instances of the others."""
INSTANCES = {"ReleasedData": "data", "SparkFeedback": "feedback", "Interactions": "clicks"}
"""What an instance is called where its class in lower case would not do."""
AT_ONCE = set(hushrec.__all__) - {"data"}
"""Names that ``import hushrec as hr`` is enough for; modules of ``hushrec.data`` are imported."""
WIDTH = 112
"""Characters in a line of the page."""
LONGEST_DEFAULT = 12
"""Characters of a default that is shown; a longer one is ``...``."""
FEW_CHOICES = 4
"""Values of a ``Literal`` that are shown; where there are more, its type is."""


def by_subject(subject):
    """Every name of a subject with its signature, a sentence, and its members."""
    parts = [part for path, members in REFERENCE[subject].items() for part in entry(path, members)]
    return re.sub(r"^(- .*\n)\n(?=- )", r"\1", "\n".join(parts), flags=re.MULTILINE)


def by_class(names):
    """A line for each model or method: its settings with their defaults, and a sentence."""
    return "".join(f"- `hr.{name}{settings(load(name))}`: {sentence(load(name))}\n" for name in names)


def by_error():
    """A line for each error, below the one that it extends."""
    listed = [error for error in vars(errors).values() if getattr(error, "__module__", "") == errors.__name__]
    listed = [error for error in listed if inspect.isclass(error)]

    def below(parent, depth):
        for error in listed:
            if error.__bases__[0] is parent:
                yield f"{'  ' * depth}- `{error.__name__}`: {sentence(error)}\n"
                yield from below(error, depth + 1)

    return "".join(line for root in (Exception, UserWarning) for line in below(root, 0))


def load(path):
    """The object of a name below ``hushrec``, public or in a module."""
    first, _, rest = path.partition(".")
    if hasattr(hushrec, first):
        public = getattr(hushrec, first)
        if not isinstance(public, types.ModuleType) or hasattr(public, rest):
            return attrgetter(rest)(public) if rest else public
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"hushrec.{module}"), name)


def entry(path, members):
    """A name's signature in a fence, a sentence, and a line for each member; or all in one line."""
    thing, name = load(path), path.rpartition(".")[2]
    prefix = "hr." if path.partition(".")[0] in AT_ONCE else "hushrec."
    if "." in path and not members:
        arguments, returned = signature(thing)
        yield f"- `{prefix}{path}({', '.join(arguments)}){returned}`: {sentence(thing)}\n"
        return
    if inspect.isclass(thing) and name not in CONSTRUCTED:
        lines = f"class {prefix}{path}"
    else:
        lines = wrapped(f"{prefix}{path}", *signature(thing))
    yield f"```python\n{lines}\n```\n{sentence(thing)}\n"
    if members:
        yield "".join(member(thing, f"{prefix}{path}", attribute) for attribute in members)


def member(kind, path, name):
    """A method, property or field of a class, as an item of a list."""
    instance = INSTANCES.get(kind.__name__, kind.__name__.lower())
    attribute = inspect.getattr_static(kind, name, None)
    if isinstance(attribute, classmethod | types.FunctionType):
        owner = (
            (path if path.startswith("hr.") else kind.__name__)
            if isinstance(attribute, classmethod)
            else instance
        )
        arguments, returned = signature(getattr(kind, name), kind)
        code = f"{owner}.{name}({', '.join(arguments)}){returned}"
        text = sentence(attribute.__func__ if isinstance(attribute, classmethod) else attribute)
    else:
        code, text = f"{instance}.{name}", explained(kind, name)
        if isinstance(attribute, property | cached_property):
            text = sentence(attribute)
        code += f": {shown(hint(kind, name, attribute), kind)}"
    return f"- `{code}`" + (f": {text}" if text else "") + "\n"


def hint(kind, name, attribute):
    """The type of a property or of a field."""
    if isinstance(attribute, property | cached_property):
        getter = attribute.fget if isinstance(attribute, property) else attribute.func
        return inspect.signature(getter, eval_str=True).return_annotation
    return typing.get_type_hints(kind)[name]


def signature(thing, owner=None):
    """The arguments of a callable, each as text, and the type that it returns."""
    found = inspect.signature(thing)
    arguments, starred = [], False
    for argument in found.parameters.values():
        if argument.name in ("self", "cls") or argument.name.startswith("_"):
            continue
        if argument.kind is argument.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        arguments.append(written(argument, owner or thing))
    returned = found.return_annotation
    if inspect.isclass(thing) or returned in (None, inspect.Signature.empty):
        return arguments, ""
    return arguments, f" -> {shown(returned, owner)}"


def written(argument, owner):
    """An argument as text: its name, its type and its default."""
    kind = "" if argument.annotation in (typing.Any, argument.empty) else shown(argument.annotation, owner)
    name = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "") + argument.name
    text = f"{name}: {kind}" if kind else name
    if argument.default is argument.empty:
        return text
    return text + (" = " if kind else "=") + default(argument.default)


def default(value):
    """A default as its reader would write it; ``...`` where that is long."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_DEFAULT and text != "<factory>" else "..."


def settings(kind):
    """The settings of a model or method with their defaults, those of its bases last."""
    fields = dict(sorted(kind.model_fields.items(), key=lambda field: field[0] not in kind.__annotations__))
    texts = [
        name if field.is_required() else f"{name}={default(field.get_default(call_default_factory=True))}"
        for name, field in fields.items()
    ]
    return f"({', '.join(texts)})"


def shown(kind, owner=None):
    """A type as text: without modules, and without what pydantic checks."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return shown(inner[0], owner)
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in inner) if len(inner) <= FEW_CHOICES else "str"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(shown(part, owner) for part in inner))
    if origin in (np.ndarray, NDArray):  # from NumPy 2.5 on, the alias is a type of its own
        return "ndarray"
    if isinstance(kind, list):  # the arguments of a Callable
        return f"[{', '.join(shown(part, owner) for part in kind)}]"
    if origin is not None:
        parts = ["str" if typing.get_origin(part) is typing.Literal else shown(part, owner) for part in inner]
        return f"{name_of(origin)}[{', '.join(parts)}]" if parts else name_of(origin)
    return owner.__name__ if kind is typing.Self and inspect.isclass(owner) else name_of(kind)


def name_of(kind):
    """The name of a plain type."""
    if kind is types.NoneType:
        return "None"
    if isinstance(kind, typing.TypeVar):
        return shown(kind.__bound__ or kind.__constraints__[0])
    return "..." if kind is Ellipsis else kind if isinstance(kind, str) else kind.__name__


def wrapped(name, arguments, returned):
    """A call as text, in lines of at most ``WIDTH`` characters."""
    lines, line = [], f"{name}("
    for place, argument in enumerate(arguments):
        part = argument + ("," if place + 1 < len(arguments) else f"){returned}")
        if len(line) + 1 + len(part) > WIDTH:
            lines.append(line)
            line = f"    {part}"
        else:
            line += part if line.endswith("(") else f" {part}"
    return "\n".join([*lines, line if arguments else f"{line}){returned}"])


def sentence(thing):
    """The first sentence of a docstring, in Markdown."""
    paragraph = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.match(r".*?\.(?=\s+[A-Z`]|$)|.*", paragraph)[0].replace("``", "`")


def explained(kind, name):
    """What the docstring of a class says of a field, as a sentence."""
    found = re.search(rf"^    {name}: (.*(?:\n     .*)*)", inspect.getdoc(kind) or "", re.MULTILINE)
    text = " ".join(found[1].split()).replace("``", "`") if found else ""
    first = re.split(r"[.;:](?: |$)", text)[0]
    return f"{first[0].upper() if first[0].isascii() else first[0]}{first[1:]}." if first else ""
