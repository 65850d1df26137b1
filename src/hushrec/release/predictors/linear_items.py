"""Scores linear in a user's own items, as those of EASE (Steck 2019), or the same for whoever asks."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.lists import cosines, unlike
from hushrec.release.predictors.scores import BlockScores, InnerProducts, Rows


class ItemScores:
    """The same scores for everybody, such as popularity: a user's own items leave the list, and no more.

    Privacy: post-processing of a release.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self._products = InnerProducts(release.tensors["item_scores"].astype(np.float64)[:, None])

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings."""
        return self._products.of(np.ones(1), targets)

    rank = predict

    def scores(self, rows: Rows) -> BlockScores:
        return self._products.scores(np.ones((rows.n_users, 1)))

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Refused: a user's items change nothing."""
        raise ReleaseError("this release gives everybody the same scores; no item of yours changes them")

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Refused: scores say nothing about pairs of items."""
        raise ReleaseError(unlike(self._release.why_same))


LEAST_LENGTH = 1e-300
"""In place of a length of 0, so that nothing is divided by zero."""


class LinearItems:
    """Ranks by score_j = b_j ⟨Σ_i a_i g_i + ‖a‖ h, g_j⟩ over own items i ≠ j, or else by ``item_scores``.

    a_i is the released input weight of an item times the user's own (``own_items.py``). ‖a‖ is the length of
    the vector of all own a_i, and h the intercept: what own items do not say is filled in by popularity.

    Privacy: post-processing of a release and the user's own items.
    """

    def __init__(self, release: Release) -> None:
        tensors = release.tensors
        self._factors = tensors["item_factors"].astype(np.float64)
        self._weights = tensors["input_weights"].astype(np.float64)
        self._intercept = tensors["intercept"].astype(np.float64)
        scores = tensors["item_scores"].astype(np.float64)[:, None]
        outputs = tensors["output_weights"].astype(np.float64)[:, None]
        self._values = _ItemValues(release) if release.values else None
        # A score is the inner product of (b_j g_j, item score) and the user's vector.
        self._products = InnerProducts(np.hstack([outputs * self._factors, scores]))

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings; an own item does not count for itself."""
        order = np.argsort(rated)  # a sum does not depend on the order in which items are given
        rated, parts = rated[order], self._parts(rated[order], ratings[order])
        scores = self._products.of(_vector(parts), targets)
        # EASE has B_jj = 0: of an own item's score, its own part is taken off.
        is_own = np.isin(targets, rated)
        mine = targets[is_own]
        scores[is_own] -= (parts[np.searchsorted(rated, mine)] * self._products.rows[mine, :-1]).sum(axis=1)
        return scores

    rank = predict

    def scores(self, rows: Rows) -> BlockScores:
        """Scores of all items; those of a user's own items count themselves, and are not for ranking."""
        spans = [slice(*ends) for ends in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
        items = rows.items.astype(np.int64)
        return self._products.scores(
            np.array([_vector(self._parts(items[own], rows.values[own])) for own in spans])
        )

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """⟨a_i g_i + a_i²/‖a‖ h, g_j⟩ b_j of each own item i ≠ j; without own items there are none."""
        products = self._parts(rated, ratings) @ self._products.rows[targets, :-1].T
        products[rated[:, None] == targets] = 0
        return np.asarray(products, dtype=np.float64)

    def feature_parts(
        self, rated: Ints, ratings: Floats, target: int
    ) -> tuple[list[tuple[str, str]], Floats]:
        """Part of the contributions of own items that values of their features explain.

        Value f of own item i explains a_i e_i F_if ⟨W_f, g_j⟩ b_j.

        Returns:
            Name and value of each feature that an own item has, in the order of the release; and the part of
            each own item in each, shape (n_rated, n_values).
        """
        if self._values is None:
            return [], np.zeros((len(rated), 0))
        names, parts = self._values.parts(rated, self._products.rows[target, :-1])
        parts *= np.where(rated == target, 0, self._weights[rated] * ratings)[:, None]
        return names, parts

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine of g_i and g_j times √(a_i a_j): a is small for items with little data."""
        lengths, weights = np.linalg.norm(self._factors, axis=1), np.sqrt(np.maximum(self._weights, 0))
        alike = cosines(self._factors[items] @ self._factors[others].T, lengths[items], lengths[others])
        return np.asarray(alike * np.outer(weights[items], weights[others]), dtype=np.float64)

    def _parts(self, rated: Ints, ratings: Floats) -> Floats:
        """Each own item's part of the user's vector: ‖a‖ = Σ a_i²/‖a‖, shape (n_rated, rank)."""
        weights = (self._weights[rated] * ratings)[:, None]
        length = max(float(np.sqrt((weights**2).sum())), LEAST_LENGTH)
        return weights * self._factors[rated] + weights**2 / length * self._intercept


def _vector(parts: Floats) -> Floats:
    """(Σ a_i g_i + ‖a‖ h, 0) of the parts of own items, or (0, 1) without any; shape (rank + 1,)."""
    return np.append(parts.sum(axis=0), 0.0 if len(parts) else 1.0)


class _ItemValues:
    """Which items have which values of features, and what these explain of the items' factors."""

    def __init__(self, release: Release) -> None:
        tensors = release.tensors
        self._factors = tensors["value_factors"].astype(np.float64)
        self._starts, self._columns = (
            tensors[f"value_{name}"].astype(np.int64) for name in ("starts", "columns")
        )
        self._weights = tensors["value_weights"].astype(np.float64)
        self._names = list(dict.fromkeys(release.values))
        places = {name: place for place, name in enumerate(self._names)}
        self._places = np.array([places[name] for name in release.values], dtype=np.int64)

    def parts(self, items: Ints, towards: Floats) -> tuple[list[tuple[str, str]], Floats]:
        """Return the values that items have, and their e_i F_if ⟨W_f, towards⟩, shape (n_items, n_values)."""
        sizes = self._starts[items + 1] - self._starts[items]
        owners = np.repeat(np.arange(len(items)), sizes)
        entries = np.arange(sizes.sum()) + np.repeat(self._starts[items] - np.cumsum(sizes) + sizes, sizes)
        columns = self._columns[entries]
        carried, places = np.unique(self._places[columns], return_inverse=True)
        parts = np.zeros((len(items), len(carried)))
        np.add.at(parts, (owners, places), self._weights[entries] * (self._factors[columns] @ towards))
        return [self._names[place] for place in carried], parts
