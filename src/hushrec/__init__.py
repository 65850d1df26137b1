"""Recommender systems under differential privacy, with an ε that is true.

Names are loaded when they are first used, so that the client needs NumPy and safetensors alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushrec import data, errors, testing
    from hushrec.curator.fit import fit, plan
    from hushrec.curator.release_data import release_data
    from hushrec.data import synthetic
    from hushrec.data.domain import Domain
    from hushrec.data.load import load
    from hushrec.data.packed.blocks import Blocks
    from hushrec.data.packed.pack import load_blocks
    from hushrec.data.ratings import Ratings
    from hushrec.errors import BudgetExceeded
    from hushrec.evaluation.protocol import evaluate
    from hushrec.local.distance_based import DistanceBased
    from hushrec.local.randomized_response import RandomizedResponse
    from hushrec.local.released import ReleasedData
    from hushrec.models.covariance_knn import CovarianceKNN
    from hushrec.models.covariance_svd import CovarianceSVD
    from hushrec.models.global_effects import GlobalEffects
    from hushrec.models.input_perturbation_mf import InputPerturbationMF
    from hushrec.models.item_knn import ItemKNN
    from hushrec.models.matrix_factorization import MatrixFactorization
    from hushrec.models.posterior_mf import PosteriorMF
    from hushrec.models.private_als import PrivateALS
    from hushrec.models.private_sgd import PrivateSGD
    from hushrec.models.user_knn import UserKNN
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.ledger.ledger import Ledger
    from hushrec.release.artefact import Release
    from hushrec.release.client import Client

__version__ = "0.1.0"

_HOMES = {
    "Blocks": "hushrec.data.packed.blocks",
    "Budget": "hushrec.privacy.accounting.budget",
    "BudgetExceeded": "hushrec.errors",
    "Client": "hushrec.release.client",
    "CovarianceKNN": "hushrec.models.covariance_knn",
    "CovarianceSVD": "hushrec.models.covariance_svd",
    "DistanceBased": "hushrec.local.distance_based",
    "Domain": "hushrec.data.domain",
    "GlobalEffects": "hushrec.models.global_effects",
    "InputPerturbationMF": "hushrec.models.input_perturbation_mf",
    "ItemKNN": "hushrec.models.item_knn",
    "Ledger": "hushrec.privacy.ledger.ledger",
    "MatrixFactorization": "hushrec.models.matrix_factorization",
    "PosteriorMF": "hushrec.models.posterior_mf",
    "PrivateALS": "hushrec.models.private_als",
    "PrivateSGD": "hushrec.models.private_sgd",
    "RandomizedResponse": "hushrec.local.randomized_response",
    "Ratings": "hushrec.data.ratings",
    "Release": "hushrec.release.artefact",
    "ReleasedData": "hushrec.local.released",
    "UserKNN": "hushrec.models.user_knn",
    "evaluate": "hushrec.evaluation.protocol",
    "fit": "hushrec.curator.fit",
    "load": "hushrec.data.load",
    "load_blocks": "hushrec.data.packed.pack",
    "plan": "hushrec.curator.fit",
    "release_data": "hushrec.curator.release_data",
}
_MODULES = {
    "data": "hushrec.data",
    "errors": "hushrec.errors",
    "synthetic": "hushrec.data.synthetic",
    "testing": "hushrec.testing",
}

__all__ = [
    "Blocks",
    "Budget",
    "BudgetExceeded",
    "Client",
    "CovarianceKNN",
    "CovarianceSVD",
    "DistanceBased",
    "Domain",
    "GlobalEffects",
    "InputPerturbationMF",
    "ItemKNN",
    "Ledger",
    "MatrixFactorization",
    "PosteriorMF",
    "PrivateALS",
    "PrivateSGD",
    "RandomizedResponse",
    "Ratings",
    "Release",
    "ReleasedData",
    "UserKNN",
    "data",
    "errors",
    "evaluate",
    "fit",
    "load",
    "load_blocks",
    "plan",
    "release_data",
    "synthetic",
    "testing",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'hushrec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
