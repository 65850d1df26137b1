"""The registry: public names, models and methods, read from ``__init__.pyi``, where each has one line.

A comment there begins a section. The command line's choices follow from them, as do the tables of the
documentation. Privacy: public.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from hushrec.errors import ConfigError

_LINE = re.compile(r"from \.([\w.]*) import (\w+) as \w+|# (\w.*)\.$", re.MULTILINE)


def _sections() -> dict[str, dict[str, str]]:
    """The sections of ``__init__.pyi``: public name → the module it lives in."""
    found: dict[str, dict[str, str]] = {(section := ""): {}}
    for module, name, heading in _LINE.findall(Path(__file__).with_name("__init__.pyi").read_text("utf-8")):
        if heading:
            found[section := heading] = {}
        else:
            found[section][name] = f"hushrec.{module}".rstrip(".")
    return found


def file_name(name: str) -> str:
    """The file of a model or method, without its suffix: ``covariance_svd`` for ``CovarianceSVD``."""
    return re.sub(r"(?<=[a-z])(?<!Mc)(?=[A-Z])", "_", name).lower()


def command_name(name: str) -> str:
    """How the command line calls a model or method: ``covariance-svd``, ``published/mcsherry-svd``."""
    own = file_name(name).replace("_", "-")
    return f"published/{own}" if name in (*PUBLISHED_MODELS, *PUBLISHED_METHODS) else own


_SECTIONS = _sections()
HOMES = MappingProxyType({name: home for names in _SECTIONS.values() for name, home in names.items()})
"""Public name → the module it lives in."""
MODELS = tuple(_SECTIONS["Models"])
"""Names of the models, in the order of the tables."""
METHODS = tuple(_SECTIONS["Methods that release data"])
"""Names of the methods that release data."""
PUBLISHED_MODELS = tuple(_SECTIONS["Published models"])
"""Names of the models that are as their papers print them."""
PUBLISHED_METHODS = tuple(_SECTIONS["Published methods"])
"""Names of the methods that are as their papers print them."""


def load(name: str) -> object:
    """What a public name stands for.

    Raises:
        AttributeError: hushrec has no such name.
    """
    if name not in HOMES:
        raise AttributeError(f"module 'hushrec' has no attribute {name!r}")
    home = HOMES[name]
    if home != "hushrec" and hasattr(found := import_module(home), name):
        return getattr(found, name)
    return import_module(f"{home}.{name}")


def class_of(name: str, among: Sequence[str] = ()) -> type:
    """The class of a model or a method.

    Args:
        name: its own name, that of the command line, or ``module:Class`` of a model outside hushrec. Such a
            module is imported, and the current folder is searched after all installed packages.
        among: names that are meant; by default those of all models and methods.

    Raises:
        ConfigError: There is none, or the class is not a model.
    """
    if ":" in name:
        return _outside(name)
    every = among or (*MODELS, *PUBLISHED_MODELS, *METHODS, *PUBLISHED_METHODS)
    known = {key: own for own in every for key in (own, command_name(own))}
    if name not in known:
        raise ConfigError(
            f"there is no model {name!r}; there are {', '.join(map(command_name, every))}; a model of your "
            "own is named by its module and class, as in mypackage.mine:MyModel"
        )
    found = load(known[name])
    assert isinstance(found, type)
    return found


def name_of(kind: type) -> str:
    """The name by which ``class_of`` finds a class. Privacy: public."""
    ours = kind.__module__.partition(".")[0] == "hushrec"
    return kind.__name__ if ours else f"{kind.__module__}:{kind.__qualname__}"


def _outside(name: str) -> type:
    """The class of a model of one's own. Errors in its module pass: its author wants to see them."""
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", name):
        raise ConfigError(f"{name!r} is not a module and a class; write it as in mypackage.mine:MyModel")
    module, _, own = name.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # for good: experiments send models to processes that import them again
    try:
        found = getattr(import_module(module), own, None)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and what it imports is not
        raise ConfigError(
            f"there is no module {module!r} for the model {name}; install its package, or run the command in "
            "the folder that holds it"
        ) from None
    if not (isinstance(found, type) and issubclass(found, import_module("hushrec.models.base").Model)):
        what = "does not exist" if found is None else "is not a model"
        raise ConfigError(
            f"{name} {what}; name a class of {module} that extends hushrec.models.private.PrivateModel, as "
            f"in {module}:MyModel"
        )
    return found
