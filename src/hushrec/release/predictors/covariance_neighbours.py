"""Prediction by the nearest of a user's own items, with weights from a released covariance."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release
from hushrec.release.lists import noisy_cosines
from hushrec.release.predictors.choice import ABSENCE, choice, popularity_and_span
from hushrec.release.predictors.slopes import slope_columns, solved_with_slopes

_CELLS = 1 << 17  # of the systems that are solved at once, such that they fit in a cache
_CONDITION = 1e8  # of a system, whose solution is right to a millionth up to there


class NeighbourPredictor:
    """k nearest neighbours with jointly derived weights (Bell & Koren 2007, §3; McSherry & Mironov 2009, §5).

    The neighbours N of a target i are the k rated items with the largest similarity Wgt_ij. The weights solve
    (C_NN + diag τ_N²) w = C_Ni, and the prediction is μ_i + b_i + Σ_j w_j (r_j − μ_j − b_j), where b_i is the
    user's level with what their slopes add (``slopes``), from all residuals. For ranking, the taste is
    Σ_j w_j (r_j − μ_j + ``ABSENCE`` span).

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        tensors, constants = release.tensors, release.constants
        self._effects = tensors["item_effects"].astype(np.float64) + constants["user_mean"]
        self._noise = tensors["item_noise"].astype(np.float64)
        self._level_noise = constants["bias_noise"]
        level = np.full((len(self._effects), 1), np.sqrt(constants["user_variance"]))
        slopes = slope_columns(release)
        self._own = np.hstack([level, slopes])
        self._n_slopes, self._odds = slopes.shape[1], constants.get("slope_odds", 1.0)
        self._k = int(constants["neighbours"])
        self._covariance = _Symmetric(release, "item_factors", "covariance")
        self._similarity = _Symmetric(release, "similarity_factors", "similarity")
        self._popularity, self._span = popularity_and_span(release)

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``, not clamped to the scale."""
        residuals = ratings - self._effects[rated]
        added = self._level(rated, residuals)
        base = self._effects[targets] + added[targets]
        return np.asarray(base + self._added(rated, residuals - added[rated], targets), dtype=np.float64)

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        raised = ratings - self._effects[rated] + ABSENCE * self._span
        return choice(self._popularity[targets], self._added(rated, raised, targets), self._span)

    def at_most(self, rated: Ints, ratings: Floats) -> Floats:
        """Bounds on ``rank`` of every item, shape (n_items,), from C = F Fᵀ; ∞ without factors.

        With M = diag(1/τ_N) F_N, an item's taste is f_i·(I + Mᵀ M)⁻¹ Mᵀ (x_N/τ_N). A singular value s of M
        becomes s/(1 + s²) ≤ ½ there, so the taste is at most ½ |f_i| |x_N/τ_N|. The k largest terms of what
        the user gave bound the second norm for any k neighbours.
        """
        lengths, noise = self._covariance.lengths, self._noise[rated]
        if lengths is None or (lengths[rated] ** 2).sum() > _CONDITION * noise.min(initial=np.inf):
            return np.full(len(self._effects), np.inf)
        squares = (ratings - self._effects[rated] + ABSENCE * self._span) ** 2 / noise
        largest = np.sort(squares)[-self._k :].sum()
        return choice(self._popularity, (0.5 + 1e-6) * np.sqrt(largest) * lengths, self._span)

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """w_j (r_j − μ_j − b_j) of the target's neighbours, 0 of the user's other items."""
        terms = np.zeros((len(targets), len(rated)))
        if len(rated):
            nearest, weights = self._weights(rated, targets)
            residuals = ratings - self._effects[rated]
            added = weights * (residuals - self._level(rated, residuals)[rated])[nearest]
            np.put_along_axis(terms, nearest, added, axis=1)
        return terms.T

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine by the released similarity, weighted as ``noisy_cosines`` says.

        The similarity itself is a number of users, which is largest for popular items whatever they are like.
        """
        lengths = np.sqrt(np.maximum(self._similarity.diagonal(), 0))
        return noisy_cosines(self._similarity.block(items, others), lengths, self._noise, items, others)

    def _level(self, rated: Ints, residuals: Floats) -> Floats:
        """b_i of every item: the user's level and what their slopes add, shape (n_items,)."""
        rows = self._own[rated]
        normal = rows.T @ rows / self._level_noise + np.eye(rows.shape[1])
        vector = solved_with_slopes(
            normal, rows.T @ residuals / self._level_noise, self._n_slopes, self._odds
        )
        return np.asarray(self._own @ vector, dtype=np.float64)

    def _added(self, rated: Ints, residuals: Floats, targets: Ints) -> Floats:
        """Σ_j w_j x_j over the neighbours of each target, with the residuals x; shape (n_targets,)."""
        if not len(rated):
            return np.zeros(len(targets))
        nearest, weights = self._weights(rated, targets)
        return np.asarray((weights * residuals[nearest]).sum(axis=1), dtype=np.float64)

    def _weights(self, rated: Ints, targets: Ints) -> tuple[Ints, Floats]:
        """Places of each target's neighbours among ``rated``, and w; shapes (n_targets, k).

        Those of a target have the same bits whatever other targets there are.
        """
        k = min(self._k, len(rated))
        order = np.argsort(rated)  # ties in similarity go to the earlier item, whatever is given first
        among = self._covariance.block(rated, rated)
        among.flat[:: len(rated) + 1] += self._noise[rated]
        nearest = np.empty((len(targets), k), dtype=np.int64)
        weights = np.empty((len(targets), k))
        size = max(_CELLS // k**2, 1)
        for start in range(0, len(targets), size):
            part = slice(start, start + size)
            places = order[_largest(self._similarity.rows(targets[part], rated[order]), k)]
            right = np.take_along_axis(self._covariance.rows(targets[part], rated), places, axis=1)
            system = among[places[:, :, None], places[:, None, :]]
            nearest[part] = places
            weights[part] = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        return nearest, weights


def _largest(values: Floats, k: int) -> Ints:
    """Places of the k largest values of each row, largest first, equal ones in their order; shape (n, k).

    As a stable sort of the whole rows gives them, in a third of the time.
    """
    least = np.partition(values, values.shape[1] - k, axis=1)[:, values.shape[1] - k, None]
    chosen = values >= least
    many = np.flatnonzero(chosen.sum(axis=1) > k)  # rows where several equal the least
    tied, above = values[many] == least[many], values[many] > least[many]
    chosen[many] = above | tied & (np.cumsum(tied, axis=1) <= k - above.sum(axis=1, keepdims=True))
    places = np.nonzero(chosen)[1].reshape(-1, k)
    order = np.argsort(-np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(places, order, axis=1), dtype=np.int64)


class _Symmetric:
    """A symmetric item × item matrix, stored as factors or as a packed upper triangle."""

    def __init__(self, release: Release, factors: str, packed: str) -> None:
        self._factors = release.tensors.get(factors)
        self.lengths: Floats | None = None
        """|f_i| of every item, shape (n_items,), if the matrix is F Fᵀ."""
        if self._factors is not None:
            self.lengths = np.sqrt((self._factors.astype(np.float64) ** 2).sum(axis=1))
        else:
            n = len(release.items)
            self._dense = np.zeros((n, n), dtype=np.float32)
            rows, columns = np.triu_indices(n)
            self._dense[rows, columns] = self._dense[columns, rows] = release.tensors[packed]

    def block(self, rows: Ints, columns: Ints) -> Floats:
        if self._factors is None:
            return self._dense[np.ix_(rows, columns)].astype(np.float64)
        return self._factors[rows].astype(np.float64) @ self._factors[columns].T.astype(np.float64)

    def rows(self, rows: Ints, columns: Ints) -> Floats:
        """As ``block``, but each row has the same bits whatever other rows there are."""
        if self._factors is None:
            return self.block(rows, columns)
        left, right = (self._factors[items].astype(np.float64) for items in (rows, columns))
        return np.asarray(np.matmul(left[:, None, :], right.T)[:, 0], dtype=np.float64)

    def diagonal(self) -> Floats:
        if self.lengths is None:
            return np.diagonal(self._dense).astype(np.float64)
        return self.lengths**2
