"""Every public name and its module, for type checkers; ``hushrec.registry`` has the same at run time."""

from . import data as data
from . import errors as errors
from . import testing as testing
from .curator.choices.split_budget import split_budget as split_budget
from .curator.choices.suggest_model import suggest_model as suggest_model
from .curator.fit import baseline as baseline
from .curator.fit import fit as fit
from .curator.fit import fit_released as fit_released
from .curator.fit import plan as plan
from .curator.public_items import add_items as add_items
from .curator.randomize import randomize as randomize
from .curator.recommend_all import recommend_all as recommend_all
from .curator.recommend_on_spark import recommend_on_spark as recommend_on_spark
from .curator.series.series_plan import plan_series as plan_series
from .curator.write_people import write_people as write_people
from .data import synthetic as synthetic
from .data.checks.checkup import Check as Check
from .data.checks.checkup import check as check
from .data.domain import Domain as Domain
from .data.interactions import Interactions as Interactions
from .data.load import load as load
from .data.packed.blocks import Blocks as Blocks
from .data.ratings import Ratings as Ratings
from .data.reading import Reading as Reading
from .data.spark.spark_feedback import SparkFeedback as SparkFeedback
from .errors import BudgetExceeded as BudgetExceeded
from .evaluation.protocol import evaluate as evaluate
from .local.distance_based import DistanceBased as DistanceBased
from .local.randomized_response import RandomizedResponse as RandomizedResponse
from .local.released import ReleasedData as ReleasedData
from .models.adaptive_factors import AdaptiveFactors as AdaptiveFactors
from .models.covariance_knn import CovarianceKNN as CovarianceKNN
from .models.covariance_svd import CovarianceSVD as CovarianceSVD
from .models.global_effects import GlobalEffects as GlobalEffects
from .models.input_perturbation_mf import InputPerturbationMF as InputPerturbationMF
from .models.item_knn import ItemKNN as ItemKNN
from .models.matrix_factorization import MatrixFactorization as MatrixFactorization
from .models.popularity import Popularity as Popularity
from .models.posterior_mf import PosteriorMF as PosteriorMF
from .models.posterior_sample_mf import PosteriorSampleMF as PosteriorSampleMF
from .models.private_als import PrivateALS as PrivateALS
from .models.private_ease import PrivateEASE as PrivateEASE
from .models.private_sgd import PrivateSGD as PrivateSGD
from .models.user_knn import UserKNN as UserKNN
from .models.user_level_sgd import UserLevelSGD as UserLevelSGD
from .privacy.accounting.budget import Budget as Budget
from .privacy.ledger.ledger import Ledger as Ledger
from .progress import progress_bar as progress_bar
from .release.artefact import Release as Release
from .release.client import Client as Client
from .release.signature import new_key as new_key
from .release.signature import sign as sign

__version__: str
__all__: list[str]
