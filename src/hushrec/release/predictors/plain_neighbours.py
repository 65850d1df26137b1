"""Prediction for one user from nearest neighbours: among public rows of ratings, or among items.

Uses the same arithmetic as ``hushrec.kernels.neighbours.knn``, which predicts for many users at once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.contents.kinds import DISTANCES
from hushrec.release.lists import cosines
from hushrec.release.predictors.choice import LEAST_POPULARITY, LIKING, choice, popularity_and_span

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
        totals = self._over_rows(raters, np.repeat(own_ratings, [c.stop - c.start for c in columns]))
        mean = float(ratings.mean()) if len(ratings) else self._overall
        predicted = np.full(len(targets), mean)
        for place, target in enumerate(targets):
            column = slice(*self._starts[target : target + 2])
            rows, values = self._raters[column], self._values[column].astype(np.float64)
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
