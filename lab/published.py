"""What the papers print, exact to the paper: to reproduce their tables, not to protect people."""

from hushrec import models
from lab.du_leighton_patel.published import DuRepresentatives, DuResponse
from lab.friedman_berkovsky_kaafar.published import (
    FriedmanALS,
    FriedmanBoundedSGD,
    FriedmanEffects,
    FriedmanInputMF,
    FriedmanUnboundedSGD,
)
from lab.friedman_berkovsky_kaafar.published_neighbours import FriedmanKNN
from lab.liu_wang_smola.published import LiuPosterior
from lab.mcsherry_mironov.published import McSherryEffects, McSherryKNN, McSherrySVD
from lab.paper import Cost, PublishedMethod, PublishedModel, analysis, cost, fit, randomize

MODELS: tuple[type[PublishedModel], ...] = (
    McSherryEffects,
    McSherryKNN,
    McSherrySVD,
    FriedmanEffects,
    FriedmanInputMF,
    FriedmanBoundedSGD,
    FriedmanUnboundedSGD,
    FriedmanALS,
    FriedmanKNN,
    LiuPosterior,
)
"""The models, in the order of the tables."""
METHODS: tuple[type[PublishedMethod], ...] = (DuResponse, DuRepresentatives)
"""The methods that release data."""
_FORMS: dict[str, type] = {kind.__name__: kind for kind in (*MODELS, *METHODS)}

__all__ = [
    "METHODS",
    "MODELS",
    "Cost",
    "DuRepresentatives",
    "DuResponse",
    "FriedmanALS",
    "FriedmanBoundedSGD",
    "FriedmanEffects",
    "FriedmanInputMF",
    "FriedmanKNN",
    "FriedmanUnboundedSGD",
    "LiuPosterior",
    "McSherryEffects",
    "McSherryKNN",
    "McSherrySVD",
    "PublishedMethod",
    "PublishedModel",
    "analysis",
    "class_of",
    "cost",
    "fit",
    "name_of",
    "randomize",
]


def class_of(name: str) -> type:
    """The class of a published form, or of a model of hushrec or outside it.

    Args:
        name: of the class, or as ``hushrec.models.class_of`` takes it.
    """
    return _FORMS.get(name) or models.class_of(name, models.MODELS)


def name_of(kind: type) -> str:
    """The name by which ``class_of`` finds a class."""
    return kind.__name__ if kind in _FORMS.values() else models.name_of(kind)
