"""Every public name and its module, for type checkers: written by ``make tables``."""

from . import data as data
from . import errors as errors
from . import testing as testing
from .curator.fit import baseline as baseline
from .curator.fit import fit as fit
from .curator.fit import fit_released as fit_released
from .curator.fit import plan as plan
from .curator.public_items import add_items as add_items
from .curator.randomize import randomize as randomize
from .curator.recommend_all import recommend_all as recommend_all
from .curator.recommend_all import recommend_on_spark as recommend_on_spark
from .curator.suggest_model import suggest_model as suggest_model
from .curator.write_people import write_people as write_people
from .data import synthetic as synthetic
from .data.check import Check as Check
from .data.check import check as check
from .data.domain import Domain as Domain
from .data.load import load as load
from .data.people import People as People
from .data.reading import Reading as Reading
from .data.spark.people import SparkPeople as SparkPeople
from .errors import BudgetExceeded as BudgetExceeded
from .evaluation.protocol import evaluate as evaluate
from .models.adaptive_factors import AdaptiveFactors as AdaptiveFactors
from .models.du_leighton_patel.distance_based import DistanceBased as DistanceBased
from .models.du_leighton_patel.item_knn import ItemKNN as ItemKNN
from .models.du_leighton_patel.randomized_response import RandomizedResponse as RandomizedResponse
from .models.du_leighton_patel.released_data import ReleasedData as ReleasedData
from .models.du_leighton_patel.user_knn import UserKNN as UserKNN
from .models.factorization.matrix_factorization import MatrixFactorization as MatrixFactorization
from .models.friedman_berkovsky_kaafar.input_perturbation_mf import InputPerturbationMF as InputPerturbationMF
from .models.friedman_berkovsky_kaafar.private_als import PrivateALS as PrivateALS
from .models.friedman_berkovsky_kaafar.private_sgd import PrivateSGD as PrivateSGD
from .models.lists.popularity import Popularity as Popularity
from .models.lists.private_ease import PrivateEASE as PrivateEASE
from .models.liu_wang_smola.posterior_mf import PosteriorMF as PosteriorMF
from .models.liu_wang_smola.posterior_sample_mf import PosteriorSampleMF as PosteriorSampleMF
from .models.liu_wang_smola.user_level_sgd import UserLevelSGD as UserLevelSGD
from .models.mcsherry_mironov.covariance_knn import CovarianceKNN as CovarianceKNN
from .models.mcsherry_mironov.covariance_svd import CovarianceSVD as CovarianceSVD
from .models.mcsherry_mironov.global_effects import GlobalEffects as GlobalEffects
from .privacy.accounting.budget import Budget as Budget
from .privacy.ledger.booking import split_budget as split_budget
from .privacy.ledger.ledger import Ledger as Ledger
from .progress import progress_bar as progress_bar
from .release.artefact import Release as Release
from .release.client import Client as Client
from .release.signature import new_key as new_key
from .release.signature import sign as sign

__version__: str
__all__: list[str]
MODELS: dict[str, str]
METHODS: dict[str, str]
HOMES: dict[str, str]
MODULES: dict[str, str]
