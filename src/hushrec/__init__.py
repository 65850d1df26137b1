"""Recommender systems under differential privacy, with an ε that is true.

Each public name is imported on first use, so that a bare install, with NumPy and safetensors, runs the
client. The extra ``curator`` brings the packages that make releases.
"""

from importlib import import_module

from hushrec.errors import require_curator

__version__ = "0.1.0"

MODELS = {
    "AdaptiveFactors": "models.adaptive_factors",
    "GlobalEffects": "models.mcsherry_mironov.global_effects",
    "CovarianceSVD": "models.mcsherry_mironov.covariance_svd",
    "CovarianceKNN": "models.mcsherry_mironov.covariance_knn",
    "InputPerturbationMF": "models.friedman_berkovsky_kaafar.input_perturbation_mf",
    "PrivateSGD": "models.friedman_berkovsky_kaafar.private_sgd",
    "PrivateALS": "models.friedman_berkovsky_kaafar.private_als",
    "PosteriorMF": "models.liu_wang_smola.posterior_mf",
    "PosteriorSampleMF": "models.liu_wang_smola.posterior_sample_mf",
    "UserLevelSGD": "models.liu_wang_smola.user_level_sgd",
    "UserKNN": "models.du_leighton_patel.user_knn",
    "ItemKNN": "models.du_leighton_patel.item_knn",
    "Popularity": "models.lists.popularity",
    "PrivateEASE": "models.lists.private_ease",
    "MatrixFactorization": "models.factorization.matrix_factorization",
}
"""Model → its module, in the order of the tables."""
METHODS = {
    "RandomizedResponse": "models.du_leighton_patel.randomized_response",
    "DistanceBased": "models.du_leighton_patel.distance_based",
}
"""Method that releases data → its module."""
HOMES = {
    **MODELS,
    **METHODS,
    "Budget": "privacy.accounting.budget",
    "BudgetExceeded": "errors",
    "Check": "data.check",
    "Client": "release.client",
    "Domain": "data.domain",
    "Ledger": "privacy.ledger.ledger",
    "People": "data.people",
    "Reading": "data.reading",
    "Release": "release.artefact",
    "ReleasedData": "models.du_leighton_patel.released_data",
    "SparkPeople": "data.spark.people",
    "add_items": "curator.public_items",
    "baseline": "curator.fit",
    "check": "data.check",
    "evaluate": "evaluation.protocol",
    "fit": "curator.fit",
    "fit_released": "curator.fit",
    "load": "data.load",
    "new_key": "release.signature",
    "plan": "curator.fit",
    "progress_bar": "progress",
    "randomize": "curator.randomize",
    "recommend_all": "curator.recommend_all",
    "recommend_on_spark": "curator.recommend_all",
    "sign": "release.signature",
    "split_budget": "privacy.ledger.booking",
    "suggest_model": "curator.suggest_model",
    "write_people": "curator.write_people",
}
"""Public name → the module that defines it."""
MODULES = {"data": "data", "errors": "errors", "synthetic": "data.synthetic", "testing": "testing"}
"""Public module → where it is."""
__all__ = sorted({**HOMES, **MODULES})  # noqa: PLE0605  (the names stand above)


def __getattr__(name: str) -> object:
    try:
        if name in MODULES:
            return import_module(f"hushrec.{MODULES[name]}")
        if name not in HOMES:
            raise AttributeError(f"module 'hushrec' has no attribute {name!r}")
        return getattr(import_module(f"hushrec.{HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        require_curator(f"hushrec.{name}", error)
        raise


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
