"""The registry: public names, models and methods.

The command line's choices and the tables of the documentation follow from it. ``__init__.pyi`` repeats the
names for type checkers, and a test compares the two.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType

from hushrec.errors import ConfigError

MODELS = (
    "GlobalEffects",
    "AdaptiveFactors",
    "CovarianceKNN",
    "CovarianceSVD",
    "InputPerturbationMF",
    "PrivateSGD",
    "UserLevelSGD",
    "PrivateALS",
    "PosteriorMF",
    "PosteriorSampleMF",
    "Popularity",
    "PrivateEASE",
    "MatrixFactorization",
    "UserKNN",
    "ItemKNN",
)
"""Names of the models, in the order of the tables; each stands in ``models/``, in the file of its name."""
METHODS = ("RandomizedResponse", "DistanceBased")
"""Names of the methods that release data; each stands in ``local/``, in the file of its name."""
_OTHERS = {
    "": ("data", "errors", "testing"),
    "curator.choices.split_budget": ("split_budget",),
    "curator.choices.suggest_model": ("suggest_model",),
    "curator.fit": ("baseline", "fit", "fit_released", "plan"),
    "curator.public_items": ("add_items",),
    "curator.recommend_all": ("recommend_all",),
    "curator.recommend_on_spark": ("recommend_on_spark",),
    "curator.randomize": ("randomize",),
    "curator.series.series_plan": ("plan_series",),
    "curator.write_people": ("write_people",),
    "data": ("synthetic",),
    "data.checks.checkup": ("Check", "check"),
    "data.domain": ("Domain",),
    "data.interactions": ("Interactions",),
    "data.load": ("load",),
    "data.packed.blocks": ("Blocks",),
    "data.ratings": ("Ratings",),
    "data.reading": ("Reading",),
    "data.spark.spark_feedback": ("SparkFeedback",),
    "errors": ("BudgetExceeded",),
    "evaluation.protocol": ("evaluate",),
    "local.released": ("ReleasedData",),
    "privacy.accounting.budget": ("Budget",),
    "privacy.ledger.ledger": ("Ledger",),
    "progress": ("progress_bar",),
    "release.artefact": ("Release",),
    "release.client": ("Client",),
    "release.signature": ("new_key", "sign"),
}
"""Module → its other public names."""


def file_name(name: str) -> str:
    """Return the file of a model or method, without its suffix: ``covariance_svd`` for ``CovarianceSVD``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def command_name(name: str) -> str:
    """Return a model's or method's name on the command line: ``covariance-svd``."""
    return file_name(name).replace("_", "-")


HOMES = MappingProxyType(
    {name: f"hushrec.{module}".rstrip(".") for module, names in _OTHERS.items() for name in names}
    | {name: f"hushrec.models.{file_name(name)}" for name in MODELS}
    | {name: f"hushrec.local.{file_name(name)}" for name in METHODS}
)
"""Public name → the module it lives in."""


def load(name: str) -> object:
    """Import the object of a public name.

    Raises:
        AttributeError: hushrec has no such name.
    """
    if name not in HOMES:
        raise AttributeError(f"module 'hushrec' has no attribute {name!r}")
    home = HOMES[name]
    if home != "hushrec" and hasattr(module := import_module(home), name):
        return getattr(module, name)
    return import_module(f"{home}.{name}")


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
    kind = load(by_name[name])
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
            f"{name} {fault}; name a class of {module} that extends hushrec.models.private.PrivateModel, as "
            f"in {module}:MyModel"
        )
    return kind
