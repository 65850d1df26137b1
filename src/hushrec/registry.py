"""The registry: public names, models and methods, read from ``__init__.pyi``, where each has one line.

The command line's choices follow from it, as do the tables of the documentation. Privacy: public.
"""

import ast
import re
from importlib import import_module
from pathlib import Path
from types import MappingProxyType


def _homes() -> dict[str, str]:
    tree = ast.parse(Path(__file__).with_name("__init__.pyi").read_text("utf-8"))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {line.names[0].name: f"hushrec.{line.module or ''}".rstrip(".") for line in lines}


def file_name(name: str) -> str:
    """The file of a model or method, without its suffix: ``covariance_svd`` for ``CovarianceSVD``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def command_name(name: str) -> str:
    """How the command line calls a model or method: ``covariance-svd`` for ``CovarianceSVD``."""
    return file_name(name).replace("_", "-")


HOMES = MappingProxyType(_homes())
"""Public name → the module it lives in."""
MODELS = tuple(name for name, home in HOMES.items() if home == f"hushrec.models.{file_name(name)}")
"""Names of the models, in the order of the tables."""
METHODS = tuple(name for name, home in HOMES.items() if home == f"hushrec.local.{file_name(name)}")
"""Names of the methods that release data."""


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


def class_of(name: str) -> type:
    """The class of a model or a method, by its own name or by that of the command line.

    Raises:
        KeyError: There is none.
    """
    known = {key: own for own in (*MODELS, *METHODS) for key in (own, command_name(own))}
    found = load(known[name])
    assert isinstance(found, type)
    return found
