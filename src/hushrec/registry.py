"""The registry: public names, models and methods, read from ``__init__.pyi``, where each has one line.

A comment there begins a section. The command line's choices follow from them, as do the tables of the
documentation. Privacy: public.
"""

import re
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

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


def class_of(name: str) -> type:
    """The class of a model or a method, by its own name or by that of the command line.

    Raises:
        KeyError: There is none.
    """
    every = (*MODELS, *METHODS, *PUBLISHED_MODELS, *PUBLISHED_METHODS)
    found = load({key: own for own in every for key in (own, command_name(own))}[name])
    assert isinstance(found, type)
    return found
