"""Prediction from nearest neighbours: by a released covariance, among public rows of ratings, or among items.

The last two use the same arithmetic as ``hushrec.sums.kernels.neighbours``, which predicts for many users at
once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.kinds import DISTANCES
from hushrec.release.lists import cosines, noisy_cosines
from hushrec.release.predictors.scores import (
    ABSENCE,
    LEAST_POPULARITY,
    LIKING,
    choice,
    popularity_and_span,
    slope_columns,
    solved_with_slopes,
)

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
        return np.asarray(base + self._taste_of(rated, residuals - added[rated], targets), dtype=np.float64)

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        raised = ratings - self._effects[rated] + ABSENCE * self._span
        return choice(self._popularity[targets], self._taste_of(rated, raised, targets), self._span)

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

    def _taste_of(self, rated: Ints, residuals: Floats, targets: Ints) -> Floats:
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
        # C + diag τ² over all that was rated: each target's system is a part of it.
        among.flat[:: len(rated) + 1] += self._noise[rated]
        nearest = np.empty((len(targets), k), dtype=np.int64)
        weights = np.empty((len(targets), k))
        size = max(_CELLS // k**2, 1)
        for start in range(0, len(targets), size):
            part = slice(start, start + size)
            # Wgt as the similarity of kNN: McSherry & Mironov 2009, §5.1.
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
    # The k-th largest may have equals: of these, the first ones fill the k places.
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


_NEGLIGIBLE = 1e-10  # a centred row with less than this part of Σ r² is constant up to rounding
_GRID = 1 << 23  # grid of similarities, so that the order of a sum does not break ties


class NearestPeople:
    """Mean rating by the K nearest users who rated the item (Du, Leighton & Patel 2019, §IV.B).

    A user is the vector of their ratings, 0 where they rated nothing; all vectors leave out the target item.
    Ties in distance are broken by row order. For a user without ratings, everyone who rated the item is a
    neighbour. An item that no one rated gets the user's own mean, or the overall mean if they rated nothing.

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        tensors, constants = release.tensors, release.constants
        lo, hi, step = release.require_scale()
        items, counts = tensors["row_items"], np.diff(tensors["row_starts"])
        by_item = np.argsort(items, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(items, minlength=len(release.items)))])
        self._raters = np.repeat(np.arange(len(counts), dtype=np.int32), counts)[by_item]
        self._values = (lo + step * tensors["row_steps"][by_item].astype(np.float64)).astype(np.float32)
        self._counts = counts.astype(np.float64)
        self._sums = self._over_rows(self._raters, self._values)
        self._squares = self._over_rows(self._raters, self._values.astype(np.float64) ** 2)
        self._k, self._distance = int(constants["neighbours"]), DISTANCES[int(constants["distance"])]
        self._overall = float(self._values.mean(dtype=np.float64)) if len(items) else (lo + hi) / 2
        self._span, raters = hi - lo, np.diff(self._starts)
        sums = np.bincount(items[by_item], self._values, minlength=len(raters))
        self._means = np.full(len(raters), self._overall)
        np.divide(sums, raters, out=self._means, where=raters > 0)
        # Σ (1 + 2 (r − middle)/span), which is n_i (1 + 2 b_i/span).
        liking = raters + LIKING / self._span * (sums - raters * (lo + hi) / 2)
        self._popularity = np.maximum(liking, LEAST_POPULARITY)

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``; a person's own rating of a target does not count for it."""
        return _without_targets(self._predict, rated, ratings, targets)

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        taste = self.predict(rated, ratings, targets) - self._means[targets]
        return choice(self._popularity[targets], taste, self._span)

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Refused: own ratings decide who is near, and are not added up."""
        raise ReleaseError(
            "this release predicts by the nearest people, so no single item of yours explains a prediction"
        )

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine of two items' columns of ratings, 0 where a user did not rate the item; 0 if no one did."""
        raters, values, owners = self._columns(others)
        lengths = np.sqrt(np.bincount(owners, values**2, minlength=len(others)))
        own_lengths, products = np.zeros(len(items)), np.zeros((len(items), len(others)))
        for place, item in enumerate(items):
            column = slice(*self._starts[item : item + 2])
            ratings = np.zeros(len(self._counts))
            ratings[self._raters[column]] = self._values[column]
            products[place] = np.bincount(owners, ratings[raters] * values, minlength=len(others))
            own_lengths[place] = np.linalg.norm(ratings)
        return cosines(products, own_lengths, lengths)

    def _columns(self, items: Ints) -> tuple[Ints32, Floats, Ints]:
        """All ratings of some items: who rated, the rating, and the place of the item among ``items``."""
        counts = self._starts[items + 1] - self._starts[items]
        owners = np.repeat(np.arange(len(items)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        ratings = self._starts[items][owners] + within
        return self._raters[ratings], self._values[ratings].astype(np.float64), owners

    def _predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        # In single precision first, as the kernel takes them: the same neighbours, bit for bit.
        own_ratings = ratings.astype(np.float32).astype(np.float64)
        squares = (own_ratings**2).sum()
        if self._distance == "pearson" and len(own_ratings):
            own_ratings = own_ratings - own_ratings.mean()
        square = (own_ratings**2).sum()
        square = square if square > _NEGLIGIBLE * squares else 0.0
        columns = [slice(*self._starts[item : item + 2]) for item in rated]
        raters = np.concatenate([self._raters[column] for column in columns] or [np.zeros(0, np.int32)])
        products = self._over_rows(
            raters,
            np.concatenate(
                [q * self._values[c] for q, c in zip(own_ratings, columns, strict=True)] or [own_ratings]
            ),
        )
        # Σ q r and Σ q of each row over the items in common, down the columns of the user's own items.
        totals = self._over_rows(raters, np.repeat(own_ratings, [c.stop - c.start for c in columns]))
        mean = float(ratings.mean()) if len(ratings) else self._overall
        predicted = np.full(len(targets), mean)
        for place, target in enumerate(targets):
            column = slice(*self._starts[target : target + 2])
            rows, values = self._raters[column], self._values[column].astype(np.float64)
            # Everybody who rated it is a neighbour: no distance decides.
            if len(rows) and (not len(own_ratings) or len(rows) <= self._k):
                predicted[place] = values.mean()
            elif len(rows):
                apart = self._apart(square, products[rows], totals[rows], rows, values)
                predicted[place] = values[np.argsort(apart, kind="stable")[: self._k]].mean()
        return predicted

    def _apart(self, square: float, products: Floats, totals: Floats, rows: Ints32, values: Floats) -> Floats:
        """Distances of these rows from the user, without their ratings of the target.

        Args:
            square: Σ q² of the user's ratings, centred if the distance requires it.
            products: Σ q r over the items that both rated.
            totals: Σ q over the same items.
            rows: indices of the rows.
            values: the rows' ratings of the target.
        """
        squares = self._squares[rows] - values**2
        if self._distance == "squared":
            apart: Floats = np.maximum(square + squares - 2 * products, 0).astype(np.float32)
            return apart
        if self._distance == "pearson":
            means = (self._sums[rows] - values) / np.maximum(self._counts[rows] - 1, 1)
            centred = squares - (self._sums[rows] - values) * means
            squares = np.where(centred > _NEGLIGIBLE * squares, centred, 0.0)
            products = products - means * totals
        bounds = np.sqrt(square * squares)
        cosines = np.divide(products, bounds, out=np.zeros(len(rows)), where=bounds > 0)
        return np.asarray(np.rint((1 - np.clip(cosines, -1, 1)) * _GRID), dtype=np.float64)

    def _over_rows(self, raters: NDArray[Any], values: NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(raters, values, minlength=len(self._counts)), dtype=np.float64)


class SimilarItems:
    """Ratings of the K most similar items that the user rated (Sarwar et al. 2001, §3.2.1).

    mean_i + Σ_j s_ij (r_j − mean_j) / Σ_j s_ij over the items with s_ij > 0; mean_i if there are none.

    Privacy: post-processing of a release and the user's own ratings.
    """

    def __init__(self, release: Release) -> None:
        self._means = release.tensors["item_means"].astype(np.float64)
        self._popularity, self._span = popularity_and_span(release)
        self._similarity, self._k = release.tensors["similarity"], int(release.constants["neighbours"])

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Ratings of ``targets``; a person's own rating of a target does not count for it."""
        return _without_targets(self._predict, rated, ratings, targets)

    def rank(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """How likely the user chooses and likes ``targets``: ``choice`` of popularity and taste."""
        taste = self.predict(rated, ratings, targets) - self._means[targets]
        return choice(self._popularity[targets], taste, self._span)

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """s_ij (r_j − mean_j) / Σ_j s_ij; a person's own rating of a target does not count for it."""
        residuals = ratings.astype(np.float32) - self._means[rated]
        terms = np.zeros((len(rated), len(targets)))
        for place, target in enumerate(targets):
            others = np.flatnonzero(rated != target)
            nearest, similar = self._nearest(rated[others], target)
            terms[others[nearest], place] = similar * residuals[others[nearest]] / similar.sum()
        return terms

    def similarity(self, items: Ints, others: Ints) -> Floats:
        low, high = np.minimum.outer(items, others), np.maximum.outer(items, others)
        packed = low * len(self._means) - low * (low - 1) // 2 + high - low
        return np.asarray(self._similarity[packed], dtype=np.float64)

    def _nearest(self, rated: Ints, target: int) -> tuple[Ints, Floats]:
        """Places among ``rated`` of the K items most similar to the target, and their similarities."""
        similar = self.similarity(np.array([target]), rated)[0]
        nearest = np.argsort(-similar, kind="stable")[: self._k]
        nearest = nearest[similar[nearest] > 0]
        return nearest, similar[nearest]

    def _predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        residuals = ratings.astype(np.float32) - self._means[rated]
        predicted = self._means[targets]
        for place, target in enumerate(targets):
            nearest, similar = self._nearest(rated, target)
            if len(nearest):
                predicted[place] += similar @ residuals[nearest] / similar.sum()
        return predicted


def _without_targets(
    predict: Callable[[Ints, Floats, Ints], Floats], rated: Ints, ratings: Floats, targets: Ints
) -> Floats:
    """Predict all unrated targets at once, and each rated one without its own rating."""
    predicted = np.empty(len(targets))
    is_rated = np.isin(targets, rated)
    predicted[~is_rated] = predict(rated, ratings, targets[~is_rated])
    for place in np.flatnonzero(is_rated):
        others = rated != targets[place]
        predicted[place] = predict(rated[others], ratings[others], targets[place : place + 1])[0]
    return predicted
