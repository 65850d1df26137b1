"""Prediction for one user from a release and their own ratings, which never leave the device.

Predictors of factors and of covariances share one model, r_i = μ_i + b + z_i + noise: the released item
effect μ_i, the user's level b ~ N(user_mean, user_variance), their taste z ~ N(0, C) with the released item
covariance C, and independent noise of variance τ_i². A user may also have slopes, which are added to their
level (``predictors/scores.py``). The predictors differ in how they hold C: as factors (C = F Fᵀ), or, for
nearest neighbours, as factors or dense, together with a similarity. Plain nearest neighbours do not use this
model. Lists are ordered by how likely the user chooses an item (``predictors/scores.py``), for which level
and slopes do not matter. Releases of interactions only rank. A release of kind "factors and people" also
holds a level and factors for every listed user (``predictors/factor_predictor.py``).
"""

from typing import Protocol

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.predictors.factor_predictor import FactorPredictor
from hushrec.release.predictors.linear_items import ItemScores, LinearItems
from hushrec.release.predictors.neighbours import NearestPeople, NeighbourPredictor, SimilarItems


class Predictor(Protocol):
    """Predicts a user's ratings of some items from their ratings of others, or ranks by their interactions.

    Privacy: post-processing of a release and the user's own ratings or interactions.
    """

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale, or their scores, shape (n_targets,).

        Args:
            rated: items that the user gave.
            ratings: their ratings; of interactions, how often each was given, 1 without counts.
            targets: items to predict.
        """
        ...

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores by which lists of ``targets`` are ordered, shape (n_targets,).

        Of interactions they are those of ``predict``.

        Args:
            rated, ratings, targets: as in ``predict``.
        """
        ...

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Return the contribution of each of the user's items to each prediction, shape (n_rated, n_targets).

        The sum over the user's items is the prediction minus what the target starts from: its effect plus
        what the user's level and slopes add, or its mean. A score starts from 0.

        Args:
            rated, ratings, targets: as in ``predict``.

        Raises:
            ReleaseError: a prediction is not a sum over the user's items.
        """
        ...

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """How alike items are, shape (n_items, n_others); symmetric, and larger is more alike.

        Raises:
            ReleaseError: the release does not tell which items are alike.
        """
        ...


def predictor(release: Release) -> Predictor:
    """The predictor for a release's kind, from a user's own ratings.

    Privacy: post-processing.
    """
    try:
        if release.kind in ("factors", "factors and people"):
            return FactorPredictor(release)
        if release.kind == "people's rows":
            return NearestPeople(release)
        if release.kind == "item neighbours":
            return SimilarItems(release)
        if release.kind == "item scores":
            return ItemScores(release)
        if release.kind == "linear items":
            return LinearItems(release)
        return NeighbourPredictor(release)
    except KeyError as error:
        raise ReleaseError(f"the release lacks the constant {error}") from None
