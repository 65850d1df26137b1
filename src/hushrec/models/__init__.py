"""A folder for each paper, for lists and for factorization without noise; beside them, what several share.

This file knows the models by name, and imports none: ``hushrec.HOMES`` says where each stands. The command
line's choices and the tables of the documentation follow from these names.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import hushrec
from hushrec.errors import ConfigError

MODELS = (*hushrec.MODELS,)
"""Names of the models, in the order of the tables."""
METHODS = (*hushrec.METHODS,)
"""Names of the methods that release data."""


def file_name(name: str) -> str:
    """Return the file of a model or method, without its suffix: ``covariance_svd`` for ``CovarianceSVD``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def command_name(name: str) -> str:
    """Return a model's or method's name on the command line: ``covariance-svd``."""
    return file_name(name).replace("_", "-")


def page(name: str) -> str:
    """Return where ``docs/models/`` describes a model or method: a page, or its part of a shared one."""
    kind: Any = class_of(name)
    shared = kind.glance.get("page")
    return f"{shared}.md#{name.lower()}" if shared else f"{file_name(name)}.md"


def class_of(name: str, among: Sequence[str] = ()) -> type:
    """Return the class of a model or a method.

    Args:
        name: its own name, that of the command line, or ``module:Class`` of a model outside hushrec. Such a
            module is imported, and the current folder is searched after all installed packages.
        among: names to choose from; by default those of all models and methods.
    """
    if ":" in name:
        return _outside(name)
    every = among or (*MODELS, *METHODS)
    by_name = {key: class_name for class_name in every for key in (class_name, command_name(class_name))}
    if name not in by_name:
        raise ConfigError(
            f"there is no model {name!r}; there are {', '.join(map(command_name, every))}; a model of your "
            "own is named by its module and class, as in mypackage.mine:MyModel"
        )
    kind = getattr(hushrec, by_name[name])
    assert isinstance(kind, type)
    return kind


def name_of(kind: type) -> str:
    """Return the name by which ``class_of`` finds a class."""
    ours = kind.__module__.partition(".")[0] == "hushrec"
    return kind.__name__ if ours else f"{kind.__module__}:{kind.__qualname__}"


def _outside(name: str) -> type:
    """Return the class of a model outside hushrec. Errors in its module pass, for its author to see."""
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", name):
        raise ConfigError(f"{name!r} is not a module and a class; write it as in mypackage.mine:MyModel")
    module, _, class_name = name.partition(":")
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)  # for good: experiments send models to processes that import them again
    try:
        kind = getattr(import_module(module), class_name, None)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and what it imports is not
        raise ConfigError(
            f"there is no module {module!r} for the model {name}; install its package, or run the command in "
            "the folder that holds it"
        ) from None
    if not (isinstance(kind, type) and issubclass(kind, import_module("hushrec.models.base").Model)):
        fault = "does not exist" if kind is None else "is not a model"
        raise ConfigError(
            f"{name} {fault}; name a class of {module} that extends hushrec.models.base.PrivateModel, as "
            f"in {module}:MyModel"
        )
    return kind
