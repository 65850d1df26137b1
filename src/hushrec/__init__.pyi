"""Every public name and the module it lives in, one line each.

``hushrec.registry`` reads this file: a comment begins a section, and models stand in the order of all tables.
"""

from . import data as data
from . import errors as errors
from . import testing as testing
from .curator.choices.pilot import pilot as pilot
from .curator.choices.recommended import recommended as recommended
from .curator.fit import fit as fit
from .curator.fit import plan as plan
from .curator.recommend_all import recommend_all as recommend_all
from .curator.recommend_on_spark import recommend_on_spark as recommend_on_spark
from .curator.release_data import release_data as release_data
from .curator.series.fit_next import fit_next as fit_next
from .curator.series.series_plan import plan_series as plan_series
from .curator.shares import share as share
from .curator.sign import sign as sign
from .data import synthetic as synthetic
from .data.checks.checkup import Check as Check
from .data.checks.checkup import check as check
from .data.domain import Domain as Domain
from .data.interactions import Interactions as Interactions
from .data.load import load as load
from .data.packed.blocks import Blocks as Blocks
from .data.packed.pack import load_blocks as load_blocks
from .data.ratings import Ratings as Ratings
from .data.readers.databases.database import Database as Database
from .data.spark.intake import load_spark as load_spark
from .data.spark.spark_feedback import SparkFeedback as SparkFeedback
from .errors import BudgetExceeded as BudgetExceeded
from .evaluation.protocol import evaluate as evaluate
from .local.released import ReleasedData as ReleasedData

# Models.
from .models.global_effects import GlobalEffects as GlobalEffects  # isort: split

from .models.covariance_knn import CovarianceKNN as CovarianceKNN  # isort: split

from .models.covariance_svd import CovarianceSVD as CovarianceSVD  # isort: split

from .models.input_perturbation_mf import InputPerturbationMF as InputPerturbationMF  # isort: split

from .models.private_sgd import PrivateSGD as PrivateSGD  # isort: split

from .models.user_level_sgd import UserLevelSGD as UserLevelSGD  # isort: split

from .models.private_als import PrivateALS as PrivateALS  # isort: split

from .models.posterior_mf import PosteriorMF as PosteriorMF  # isort: split

from .models.posterior_sample_mf import PosteriorSampleMF as PosteriorSampleMF  # isort: split

from .models.popularity import Popularity as Popularity  # isort: split

from .models.private_ease import PrivateEASE as PrivateEASE  # isort: split

from .models.matrix_factorization import MatrixFactorization as MatrixFactorization  # isort: split

from .models.user_knn import UserKNN as UserKNN  # isort: split

from .models.item_knn import ItemKNN as ItemKNN  # isort: split

# Methods that release data.
from .local.randomized_response import RandomizedResponse as RandomizedResponse  # isort: split

from .local.distance_based import DistanceBased as DistanceBased  # isort: split

# Published models.
from .published.mcsherry_mironov import McSherryEffects as McSherryEffects  # isort: split

from .published.mcsherry_mironov import McSherryKNN as McSherryKNN  # isort: split

from .published.mcsherry_mironov import McSherrySVD as McSherrySVD  # isort: split

from .published.friedman_berkovsky_kaafar import FriedmanEffects as FriedmanEffects  # isort: split

from .published.friedman_berkovsky_kaafar import FriedmanInputMF as FriedmanInputMF  # isort: split

from .published.friedman_sgd import FriedmanBoundedSGD as FriedmanBoundedSGD  # isort: split

from .published.friedman_sgd import FriedmanUnboundedSGD as FriedmanUnboundedSGD  # isort: split

from .published.friedman_berkovsky_kaafar import FriedmanALS as FriedmanALS  # isort: split

from .published.liu_wang_smola import LiuPosterior as LiuPosterior  # isort: split

# Published methods.
from .published.du_leighton_patel import DuResponse as DuResponse  # isort: split

# Budgets and releases.
from .privacy.accounting.budget import Budget as Budget
from .privacy.ledger.ledger import Ledger as Ledger
from .progress import progress_bar as progress_bar
from .release.artefact import Release as Release
from .release.client import Client as Client

__version__: str
__all__: list[str]
