"""Prediction for one user from a release: from their own ratings, or from a vector that the release holds.

Own ratings never leave the device. The predictors that use them share one model, r_i = μ_i + b + z_i + noise:
the released item effect μ_i, the user's level b ~ N(user_mean, user_variance), their taste z ~ N(0, C) with
the released item covariance C, and independent noise of variance τ_i². They differ in how they hold C: as
factors (C = F Fᵀ), or, for nearest neighbours, as factors or dense, together with a similarity. A release of
kind "factors and people" also holds a level and factors for every listed user. Plain nearest neighbours do
not use this model; their predictors are in ``hushrec.release.neighbour_predictors``. Lists are ordered by how
likely the user chooses an item (``hushrec.release.choice``), for which the level does not matter. Releases of
interactions only rank.
"""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.choice import ABSENCE, choice
from hushrec.release.neighbour_predictors import NearestPeople, SimilarItems

_PAIRS = 1 << 14  # pairs predicted at once: bounds the memory, does not change the result


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
        """Scores by which lists of ``targets`` are ordered, shape (n_targets,); arguments as ``predict``."""
        ...


class FactorPredictor:
    """Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD").

    Each item's row is extended by a constant for the user's level, x = (√user_variance, f_i). The posterior
    mean of the user's vector is p = (I + Σ x xᵀ/τ_i²)⁻¹ Σ x (r_i − μ_i − user_mean)/τ_i², and the prediction
    is μ_i + user_mean + x·p. For ranking, the taste is the posterior mean of the factors alone, given
    residuals that are all raised by ``ABSENCE``.

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        tensors, constants = release.tensors, release.constants
        self._effects = tensors["item_effects"].astype(np.float64) + constants["user_mean"]
        bias = np.full((len(self._effects), 1), np.sqrt(constants["user_variance"]))
        self._rows = np.hstack([bias, tensors["item_factors"].astype(np.float64)])
        self._precision = 1 / tensors["item_noise"].astype(np.float64)
        self._popularity, self._span = _popularity(release)

    def fold_in(self, rated: Ints, ratings: Floats) -> Floats:
        """The user's vector, shape (1 + rank,): first the level, then the factors."""
        return self._regressed(self._rows[rated], rated, ratings - self._effects[rated])

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale."""
        vector = self.fold_in(rated, ratings)
        return np.asarray(self._effects[targets] + self._rows[targets] @ vector, dtype=np.float64)

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        raised = ratings - self._effects[rated] + ABSENCE * self._span
        taste = self._regressed(self._rows[rated, 1:], rated, raised)
        return choice(self._popularity[targets], self._rows[targets, 1:] @ taste, self._span)

    def _regressed(self, rows: Floats, rated: Ints, residuals: Floats) -> Floats:
        weighted = rows * self._precision[rated, None]
        normal = weighted.T @ rows
        normal.flat[:: len(normal) + 1] += 1
        return np.asarray(np.linalg.solve(normal, weighted.T @ residuals), dtype=np.float64)


class NeighbourPredictor:
    """k nearest neighbours with jointly derived weights (Bell & Koren 2007, §3; McSherry & Mironov 2009, §5).

    The neighbours N of a target i are the k rated items with the largest similarity Wgt_ij. The weights solve
    (C_NN + diag τ_N²) w = C_Ni, and the prediction is μ_i + b + Σ_j w_j (r_j − μ_j − b), where b is the
    user's shrunk mean. For ranking, the taste is Σ_j w_j (r_j − μ_j + ``ABSENCE``).

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        tensors, constants = release.tensors, release.constants
        self._effects = tensors["item_effects"].astype(np.float64) + constants["user_mean"]
        self._noise = tensors["item_noise"].astype(np.float64)
        self._level_noise, self._bias_variance = constants["bias_noise"], constants["user_variance"]
        self._k = int(constants["neighbours"])
        self._covariance = _Symmetric(release, "item_factors", "covariance")
        self._similarity = _Symmetric(release, "similarity_factors", "similarity")
        self._popularity, self._span = _popularity(release)

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale."""
        residuals = ratings - self._effects[rated]
        precision = len(rated) / self._level_noise
        bias = residuals.mean() * precision / (precision + 1 / self._bias_variance) if len(rated) else 0.0
        return np.asarray(
            self._effects[targets] + bias + self._weighted(rated, residuals - bias, targets), dtype=np.float64
        )

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        raised = ratings - self._effects[rated] + ABSENCE * self._span
        return choice(self._popularity[targets], self._weighted(rated, raised, targets), self._span)

    def _weighted(self, rated: Ints, residuals: Floats, targets: Ints) -> Floats:
        """Σ_j w_j x_j over the neighbours of each target, with the residuals x."""
        if not len(rated):
            return np.zeros(len(targets))
        k = min(self._k, len(rated))
        similar = self._similarity.block(targets, rated)
        nearest = np.argpartition(-similar, k - 1, axis=1)[:, :k]
        among = self._covariance.block(rated, rated)
        among.flat[:: len(rated) + 1] += self._noise[rated]
        system = among[nearest[:, :, None], nearest[:, None, :]]
        right = np.take_along_axis(self._covariance.block(targets, rated), nearest, axis=1)
        weights = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        return np.asarray((weights * residuals[nearest]).sum(axis=1), dtype=np.float64)


class ItemScores:
    """The same scores for everybody, such as popularity: a user's own items leave the list, and no more.

    Privacy: post-processing of a release.
    """

    def __init__(self, release: Release) -> None:
        self._scores = release.tensors["item_scores"].astype(np.float64)

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings."""
        return np.asarray(self._scores[targets])

    rank = predict


def _popularity(release: Release) -> tuple[Floats, float]:
    """Popularity of every item, and the width of the scale."""
    lo, hi, _ = release.require_scale()
    return release.tensors["item_popularity"].astype(np.float64), hi - lo


class _Symmetric:
    """A symmetric item × item matrix, stored as factors or as a packed upper triangle."""

    def __init__(self, release: Release, factors: str, packed: str) -> None:
        self._factors = release.tensors.get(factors)
        if self._factors is None:
            n = len(release.items)
            self._dense = np.zeros((n, n), dtype=np.float32)
            rows, columns = np.triu_indices(n)
            self._dense[rows, columns] = self._dense[columns, rows] = release.tensors[packed]

    def block(self, rows: Ints, columns: Ints) -> Floats:
        if self._factors is None:
            return self._dense[np.ix_(rows, columns)].astype(np.float64)
        return self._factors[rows].astype(np.float64) @ self._factors[columns].T.astype(np.float64)


class ListedPeople:
    """Prediction for the users whom a release lists, from the vectors that it holds.

    μ_i + user_mean + b_u + f_i · p_u, with the released effect b_u and factors p_u of user u (Friedman et
    al. 2016, §4.1). Listed users can also fold in their own ratings with ``predictor``. That is often better,
    because on their own device the ratings need no noise.

    Args:
        release: of kind "factors and people".

    Raises:
        ReleaseError: The release lists nobody.

    Privacy: post-processing.
    """

    def __init__(self, release: Release) -> None:
        if not release.users:
            raise ReleaseError("this release lists no people; predict from a person's own ratings instead")
        tensors = release.tensors
        self._positions = {user: position for position, user in enumerate(release.users)}
        self._effects = tensors["item_effects"].astype(np.float64) + release.constants["user_mean"]
        self._user_effects = tensors["user_effects"].astype(np.float64)
        self._item_factors = tensors["item_factors"].astype(np.float64)
        self._user_factors = tensors["user_factors"].astype(np.float64)
        self._popularity, self._span = _popularity(release)

    def find(self, users: Iterable[str]) -> Ints:
        """Position of each id on the list, −1 for ids that are not on it."""
        return np.array([self._positions.get(user, -1) for user in users], dtype=np.int64)

    def predict(self, people: Ints, items: Ints) -> Floats:
        """The predicted rating of each (user, item) pair, not clamped to the scale.

        Args:
            people: positions on the list, shape (n_pairs,).
            items: shape (n_pairs,).

        Returns:
            Shape (n_pairs,).
        """
        return self._effects[items] + self._user_effects[people] + self._tastes(people, items)

    def rank(self, people: Ints, items: Ints) -> Floats:
        """How likely the user of each (user, item) pair chooses and likes the item, as ``predict``."""
        return choice(self._popularity[items], self._tastes(people, items), self._span)

    def _tastes(self, people: Ints, items: Ints) -> Floats:
        """f_i · p_u of each pair."""
        found = np.empty(len(items))
        for first in range(0, len(items), _PAIRS):
            part = slice(first, first + _PAIRS)
            left, right = self._item_factors[items[part]], self._user_factors[people[part]]
            found[part] = np.einsum("nk,nk->n", left, right)
        return found


def predictor(release: Release) -> Predictor:
    """The predictor for a release's kind, from a user's own ratings.

    Raises:
        ReleaseError: The release lacks a constant that the predictor needs.

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
        return NeighbourPredictor(release)
    except KeyError as error:
        raise ReleaseError(f"the release lacks the constant {error}") from None
