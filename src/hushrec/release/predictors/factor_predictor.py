"""Prediction by a user's own vector, from released item factors: made at home, or listed in the release."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.lists import noisy_cosines, unlike
from hushrec.release.predictors.scores import (
    ABSENCE,
    LIKING,
    MULTIPLIED,
    BlockScores,
    InnerProducts,
    Rows,
    choice,
    popularity_and_span,
    slope_columns,
    solved_with_slopes,
)


class ListedPeople:
    """Prediction for the users whom a release lists, from the vectors that it holds.

    μ_i + user_mean + b_u + f_i · p_u, with the released effect b_u and factors p_u of user u (Friedman et
    al. 2016, §4.1). Lists are ordered by ``choice`` of the popularity and the taste f_i · p_u. Listed users
    can also fold in their own ratings with ``predictor``. That is often better, because on their own device
    the ratings need no noise.

    Args:
        release: of kind "factors and people".

    Privacy: post-processing.
    """

    def __init__(self, release: Release) -> None:
        if not release.users:
            raise ReleaseError("this release lists no people; predict from a person's own ratings instead")
        tensors = release.tensors
        self._positions = {user: position for position, user in enumerate(release.users)}
        self._effects = tensors["item_effects"].astype(np.float64) + release.constants["user_mean"]
        self._biases = tensors["user_effects"].astype(np.float64)
        self._products = InnerProducts(tensors["item_factors"].astype(np.float64))
        self._vectors = tensors["user_factors"].astype(np.float64)
        self._popularity, self._span = popularity_and_span(release)

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
        return self._effects[items] + self._biases[people] + self._tastes(people, items)

    def rank(self, people: Ints, items: Ints) -> Floats:
        """How likely the user of each (user, item) pair chooses and likes the item, as ``predict``."""
        return choice(self._popularity[items], self._tastes(people, items), self._span)

    def _tastes(self, people: Ints, items: Ints) -> Floats:
        """f_i · p_u of each pair."""
        return self._products.pairs(self._vectors, people, items)


_CELLS = 1 << 22  # of the normal equations that are solved at once


class FactorPredictor:
    """Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD").

    Each item's row is extended by a constant for the user's level and by the columns of ``slopes``, x =
    (√user_variance, f_i, slopes). The posterior mean of the user's vector is p = (I + Σ x xᵀ/τ_i²)⁻¹ Σ x (r_i
    − μ_i − user_mean)/τ_i², but slopes may be absent (``solved_with_slopes``), and the prediction is μ_i +
    user_mean + x·p. For ranking, the taste is f_i·q: q is the posterior mean of the factors alone, given
    residuals that are all raised by ``ABSENCE`` of the scale's width. Lists are ordered by log n_i +
    2 f_i·q/span, with the popularity n_i.

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        tensors, constants = release.tensors, release.constants
        popularity, self._span = popularity_and_span(release)
        self._effects = tensors["item_effects"].astype(np.float64) + constants["user_mean"]
        self._deviation = np.sqrt(constants["user_variance"])
        # The score of a list is the inner product of (log n_i, f_i) and (1, 2 q/span).
        factors = tensors["item_factors"].astype(np.float64)
        self._products = InnerProducts(np.hstack([np.log(popularity)[:, None], factors]))
        self._factors = self._products.rows[:, 1:]
        self._precision = 1 / tensors["item_noise"].astype(np.float64)
        self._slopes = slope_columns(release)
        self._odds = constants.get("slope_odds", 1.0)

    def fold_in(self, rated: Ints, ratings: Floats) -> Floats:
        """The user's vector: the level, the factors, then the slopes; shape (1 + rank + n_slopes,)."""
        order = np.argsort(rated)  # so that the same ratings give the same bits
        rated, residuals = rated[order], (ratings - self._effects[rated])[order]
        # x = (√user_variance, f_i, slopes), so that all coefficients have the prior N(0, I).
        level = np.full(len(rated), self._deviation)
        both = np.column_stack([residuals, level, self._factors[rated], self._slopes[rated]])
        moments = self._moments(both, rated)
        normal = moments[1:, 1:] + np.eye(len(moments) - 1)
        return solved_with_slopes(normal, moments[1:, 0], self._slopes.shape[1], self._odds)

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale."""
        vector = self.fold_in(rated, ratings)
        factors = vector[1 : 1 + self._factors.shape[1]]
        tastes = self._products.of(np.array([0.0, *factors]), targets)
        return self._effects[targets] + self._level_and_slopes(vector, targets) + tastes

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        order = np.argsort(rated)  # as in rows
        rows = Rows(np.array([0, len(rated)]), rated[order].astype(np.int32), ratings[order])
        return self._products.of(self._vectors(rows)[0], targets)

    def scores(self, rows: Rows) -> BlockScores:
        """How likely each user chooses and likes every item."""
        return self._products.scores(self._vectors(rows))

    def _vectors(self, rows: Rows) -> Floats:
        """(1, 2 q/span) of each user, shape (n_users, 1 + rank)."""
        width = self._products.rows.shape[1]
        vectors = np.ones((rows.n_users, width))
        raised = rows.values - self._effects[rows.items] + ABSENCE * self._span
        size = max(_CELLS // width**2, 1)
        for start in range(0, rows.n_users, size):
            bounds = rows.indptr[start : start + size + 1]
            moments = np.empty((len(bounds) - 1, width, width))
            for place, (first, last) in enumerate(pairwise(bounds)):
                rated = rows.items[first:last]
                both = self._products.rows[rated]
                # The first entry of a row, log n_i, is no regressor: the residual takes its place.
                both[:, 0] = raised[first:last]
                moments[place] = self._moments(both, rated)
            vectors[start : start + size, 1:] = LIKING / self._span * _solve(moments)
        return vectors

    def _moments(self, both: Floats, rated: Ints | Ints32) -> Floats:
        """Σ y yᵀ/τ_i² of y = (residual, row) over what a user gave, shape (1 + width, 1 + width)."""
        weighted = both * self._precision[rated, None]
        step = max(MULTIPLIED // both.shape[1] ** 2, 1)
        moments = weighted[:step].T @ both[:step]
        for first in range(step, len(rated), step):
            moments += weighted[first : first + step].T @ both[first : first + step]
        return np.asarray(moments, dtype=np.float64)

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """f_tᵀ (I + Σ f fᵀ/τ_i²)⁻¹ f_i (r_i − μ_i − user_mean − b_i)/τ_i², with b_i from level and slopes.

        Given the level and the slopes that ``fold_in`` finds, the factors' part of the vector solves this
        regression.
        """
        added = self._level_and_slopes(self.fold_in(rated, ratings), rated)
        factors = self._factors[rated]
        weighted = factors * self._precision[rated, None]
        normal = weighted.T @ factors
        # The prior N(0, I) of the factors.
        normal.flat[:: len(normal) + 1] += 1
        # What a unit of each residual adds to each target's prediction.
        weights = weighted @ np.linalg.solve(normal, self._factors[targets].T)
        return np.asarray((ratings - self._effects[rated] - added)[:, None] * weights, dtype=np.float64)

    def _level_and_slopes(self, vector: Floats, items: Ints) -> Floats:
        """Return the contribution of the user's level and slopes to the item effects."""
        slopes = vector[1 + self._factors.shape[1] :]
        return np.asarray(self._deviation * vector[0] + self._slopes[items] @ slopes, dtype=np.float64)

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine of two items' factors, weighted as ``noisy_cosines`` says."""
        if not self._factors.shape[1]:
            raise ReleaseError(unlike(self._release.why_same))
        lengths = np.linalg.norm(self._factors, axis=1)
        products = self._factors[items] @ self._factors[others].T
        return noisy_cosines(products, lengths, 1 / self._precision, items, others)


def _solve(moments: Floats) -> Floats:
    """(I + Σ x xᵀ/τ_i²)⁻¹ Σ x r_i/τ_i² from each user's moments of (r_i, x), shape (n_users, width)."""
    normal, right = moments[:, 1:, 1:], moments[:, 1:, :1]
    places = np.arange(normal.shape[1])
    normal[:, places, places] += 1
    return np.asarray(np.linalg.solve(normal, right)[:, :, 0], dtype=np.float64)
