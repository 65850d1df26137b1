"""Prediction for one user from a release: from their own ratings, or from a vector that the release holds.

Own ratings never leave the device. The predictors that use them share one model, r_i = μ_i + b + z_i + noise:
the released item effect μ_i, the user's level b ~ N(user_mean, user_variance), their taste z ~ N(0, C) with
the released item covariance C, and independent noise of variance τ_i². They differ in how they hold C: as
factors (C = F Fᵀ), or, for nearest neighbours, as factors or dense, together with a similarity. A release of
kind "factors and people" also holds a level and factors for every listed user. Plain nearest neighbours do
not use this model; their predictors are in ``hushrec.release.neighbour_predictors``. Releases of interactions
rank items instead of predicting ratings.
"""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.block_scores import BlockScores, InnerProducts, Rows
from hushrec.release.linear_items import LinearItems
from hushrec.release.lists import cosines
from hushrec.release.neighbour_predictors import NearestPeople, SimilarItems

_CELLS = 1 << 22  # of the normal equations that are solved at once
_UNLIKE = "this release does not tell which items are alike; use one with item factors or neighbours"


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

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """What each of the user's items adds to each prediction, shape (n_rated, n_targets).

        The sum over the user's items is the prediction minus what the target starts from: its effect plus the
        user's level, or its mean. A score starts from 0.

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


class FactorPredictor:
    """Ridge regression of a user's ratings on the item factors (McSherry & Mironov 2009, §5, "SVD").

    Each item's row is extended by a constant for the user's level, x = (√user_variance, f_i). The posterior
    mean of the user's vector is p = (I + Σ x xᵀ/τ_i²)⁻¹ Σ x (r_i − μ_i − user_mean)/τ_i², and the prediction
    is μ_i + user_mean + x·p.

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        tensors, constants = release.tensors, release.constants
        effects = tensors["item_effects"].astype(np.float64)[:, None] + constants["user_mean"]
        bias = np.full(effects.shape, np.sqrt(constants["user_variance"]))
        # A prediction is the inner product of (μ_i + user_mean, x) and (1, p).
        factors = tensors["item_factors"].astype(np.float64)
        self._products = InnerProducts(np.hstack([effects, bias, factors]))
        self._precision = 1 / tensors["item_noise"].astype(np.float64)

    def fold_in(self, rated: Ints, ratings: Floats) -> Floats:
        """The user's vector, shape (1 + rank,): first the level, then the factors."""
        order = np.argsort(rated)  # as in rows, so that the same ratings give the same bits
        return self._vectors(Rows(np.array([0, len(rated)]), rated[order].astype(np.int32), ratings[order]))[
            0, 1:
        ]

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale."""
        return self._products.of(np.concatenate([[1.0], self.fold_in(rated, ratings)]), targets)

    def scores(self, rows: Rows) -> BlockScores:
        """Ratings of all items, not clamped to the scale."""
        return self._products.scores(self._vectors(rows))

    def _vectors(self, rows: Rows) -> Floats:
        """(1, p) of each user, shape (n_users, 2 + rank)."""
        width = self._products.rows.shape[1]
        vectors = np.ones((rows.n_users, width))
        size = max(_CELLS // width**2, 1)
        for start in range(0, rows.n_users, size):
            part = rows.part(start, min(start + size, rows.n_users))
            moments = np.stack([self._moments(part, user) for user in range(part.n_users)])
            normal, right = moments[:, 1:, 1:], moments[:, 1:, :1]
            normal[:, np.arange(width - 1), np.arange(width - 1)] += 1
            vectors[start : start + size, 1:] = np.linalg.solve(normal, right)[:, :, 0]
        return vectors

    def _moments(self, rows: Rows, user: int) -> Floats:
        """Σ y yᵀ/τ_i² of y = (r_i − μ_i − user_mean, x) over what a user gave, shape (2 + rank, 2 + rank)."""
        own = slice(rows.indptr[user], rows.indptr[user + 1])
        rated = rows.items[own]
        both = self._products.rows[rated]
        both[:, 0] = rows.values[own] - both[:, 0]
        return (both * self._precision[rated, None]).T @ both

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """f_tᵀ (I + Σ f fᵀ/τ_i²)⁻¹ f_i (r_i − μ_i − user_mean − b)/τ_i², with b the user's level.

        Given the level that ``fold_in`` finds, the factors' part of the vector solves this regression.
        """
        rows = self._products.rows[rated]
        level = rows[:, 1] * self.fold_in(rated, ratings)[0]
        factors = rows[:, 2:]
        weighted = factors * self._precision[rated, None]
        normal = weighted.T @ factors
        normal.flat[:: len(normal) + 1] += 1
        weights = weighted @ np.linalg.solve(normal, self._products.rows[targets, 2:].T)
        return np.asarray((ratings - rows[:, 0] - level)[:, None] * weights, dtype=np.float64)

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine of two items' factors, weighted as ``_alike`` says."""
        factors = self._products.rows[:, 2:]
        if not factors.shape[1]:
            raise ReleaseError(_UNLIKE)
        lengths = np.linalg.norm(factors, axis=1)
        return _alike(factors[items] @ factors[others].T, lengths, 1 / self._precision, items, others)


class NeighbourPredictor:
    """k nearest neighbours with jointly derived weights (Bell & Koren 2007, §3; McSherry & Mironov 2009, §5).

    The neighbours N of a target i are the k rated items with the largest similarity Wgt_ij. The weights solve
    (C_NN + diag τ_N²) w = C_Ni, and the prediction is μ_i + b + Σ_j w_j (r_j − μ_j − b), where b is the
    user's shrunk mean.

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

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale."""
        residuals = ratings - self._effects[rated]
        bias = self._level(residuals)
        base = self._effects[targets] + bias
        if not len(rated):
            return np.asarray(base, dtype=np.float64)
        nearest, weights = self._weights(rated, targets)
        return np.asarray(base + (weights * (residuals - bias)[nearest]).sum(axis=1), dtype=np.float64)

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """w_j (r_j − μ_j − b) of the target's neighbours, 0 of the user's other items."""
        found = np.zeros((len(targets), len(rated)))
        if len(rated):
            nearest, weights = self._weights(rated, targets)
            residuals = ratings - self._effects[rated]
            added = weights * (residuals - self._level(residuals))[nearest]
            np.put_along_axis(found, nearest, added, axis=1)
        return found.T

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine by the released similarity, weighted as ``_alike`` says.

        The similarity itself is a number of users, which is largest for popular items whatever they are like.
        """
        lengths = np.sqrt(np.maximum(self._similarity.diagonal(), 0))
        return _alike(self._similarity.block(items, others), lengths, self._noise, items, others)

    def _level(self, residuals: Floats) -> float:
        """The user's shrunk mean, b."""
        if not len(residuals):
            return 0.0
        precision = len(residuals) / self._level_noise
        return float(residuals.mean()) * precision / (precision + 1 / self._bias_variance)

    def _weights(self, rated: Ints, targets: Ints) -> tuple[Ints, Floats]:
        """Places of each target's neighbours among ``rated``, and w; shapes (n_targets, k)."""
        k = min(self._k, len(rated))
        similar = self._similarity.block(targets, rated)
        nearest: Ints = np.argpartition(-similar, k - 1, axis=1)[:, :k].astype(np.int64)
        among = self._covariance.block(rated, rated)
        among.flat[:: len(rated) + 1] += self._noise[rated]
        system = among[nearest[:, :, None], nearest[:, None, :]]
        right = np.take_along_axis(self._covariance.block(targets, rated), nearest, axis=1)
        weights = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        return nearest, np.asarray(weights, dtype=np.float64)


class ItemScores:
    """The same scores for everybody, such as popularity: a user's own items leave the list, and no more.

    Privacy: post-processing of a release.
    """

    def __init__(self, release: Release) -> None:
        self._products = InnerProducts(release.tensors["item_scores"].astype(np.float64)[:, None])

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings."""
        return self._products.of(np.ones(1), targets)

    def scores(self, rows: Rows) -> BlockScores:
        """Scores of all items."""
        return self._products.scores(np.ones((rows.n_users, 1)))

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Refused: a user's items change nothing."""
        raise ReleaseError("this release gives everybody the same scores; no item of yours changes them")

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Refused: scores say nothing about pairs of items."""
        raise ReleaseError(_UNLIKE)


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

    def diagonal(self) -> Floats:
        if self._factors is None:
            return np.diagonal(self._dense).astype(np.float64)
        return np.asarray((self._factors.astype(np.float64) ** 2).sum(axis=1))


def _alike(products: Floats, lengths: Floats, noise: Floats, items: Ints, others: Ints) -> Floats:
    """The cosine of two items times p_i p_j, with p_i = min τ²/τ_i².

    The noise τ_i² is least for items with many ratings; cosines alone list many items with few.

    Args:
        products: inner products of items and others, shape (n_items, n_others).
        lengths: length of every item of the catalogue.
        noise: τ² of every item of the catalogue.
        items, others: the rows and the columns.
    """
    weights = noise.min(initial=np.inf) / noise
    return cosines(products, lengths[items], lengths[others]) * np.outer(weights[items], weights[others])


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
        effects = tensors["item_effects"].astype(np.float64)[:, None] + release.constants["user_mean"]
        # A prediction is the inner product of (μ_i + user_mean, 1, f_i) and (1, b_u, p_u).
        self._products = InnerProducts(np.hstack([effects, np.ones_like(effects), tensors["item_factors"]]))
        biases = tensors["user_effects"].astype(np.float64)[:, None]
        self._vectors = np.hstack([np.ones_like(biases), biases, tensors["user_factors"]])

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
        return self._products.pairs(self._vectors, people, items)


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
        if release.kind == "linear items":
            return LinearItems(release)
        return NeighbourPredictor(release)
    except KeyError as error:
        raise ReleaseError(f"the release lacks the constant {error}") from None
