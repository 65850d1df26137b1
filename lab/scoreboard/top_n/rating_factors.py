"""DP-ALS for ratings (Chien et al. 2021), with every measurement charged: see ``DPALS`` for likes."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from top_n.least_squares import positive, ridge, symmetric


@dataclass(frozen=True)
class RatingsALS:
    """Alternating least squares of ratings that people centre at home, at a given μ.

    Under add-remove of a user the measurements are item counts Σ x/√c_u with Δ = 1, and in each round
    Σ w u uᵀ with Δ = √B Γ² and Σ w y u with Δ = √B Γ Y, where |u| ≤ Γ, |y| ≤ Y and Σ w² = B of a user. The
    first column starts at 1 for all items, so what a round finds first is how far items lie above the mean.

    Args:
        rank: length of the vectors.
        steps: rounds.
        home: penalty of people's own regression.
        penalty: that of items.
        clip: Γ.
        largest: Y, bound on a centred rating.
        weight: an item's weight is its count to this power.
        counts: share of μ² for the counts.
        right: share of Σ w y u, in the rest.
    """

    rank: int = 2
    steps: int = 2
    home: float = 10.0
    penalty: float = 0.1
    clip: float = 1.0
    largest: float = 1.0
    weight: float = -0.25
    counts: float = 0.1
    right: float = 0.7
    prior: float = 5.0
    """Ratings at the middle of the scale that a person's mean is shrunk by."""

    def fit(self, train: csr_matrix, scale: tuple[float, float], mu: float, seed: int) -> np.ndarray:
        """Item factors, shape (n_items, rank); every row of ``train`` holds ratings between ``scale``."""
        rng = np.random.default_rng([seed, 5])
        centred = self._centred(train, scale)
        rated = np.maximum(np.diff(train.indptr), 1)
        counts = np.asarray((train != 0).T @ (1 / np.sqrt(rated))).ravel()
        if mu < math.inf:
            counts += rng.normal(0, 1 / (mu * math.sqrt(self.counts)), len(counts))
        weights = self._weights(train, np.maximum(counts, 1) ** self.weight)
        columns, weighed = centred.T.tocsr(), weights.T.tocsr()
        items = rng.normal(0, 0.1, (train.shape[1], self.rank))
        items[:, 0] = 1.0
        step = mu * math.sqrt((1 - self.counts) / self.steps)
        for _ in range(self.steps):
            people = self.people(centred, items)
            people *= np.minimum(1, self.clip / np.maximum(np.linalg.norm(people, axis=1), 1e-9))[:, None]
            items = self._items(columns, weighed, people, step, rng)
        return items

    def people(self, centred: csr_matrix, items: np.ndarray) -> np.ndarray:
        """Vectors of people from their centred ratings, shape (n_people, rank)."""
        ones = centred.copy()
        ones.data[:] = 1
        return ridge(*_moments(centred, ones, items), self.home)

    def predicted(
        self,
        items: np.ndarray,
        given: csr_matrix,
        scale: tuple[float, float],
        who: np.ndarray,
        what: np.ndarray,
    ) -> np.ndarray:
        """Predictions of pairs of a row of ``given``, which people fold in, and an item."""
        vectors = self.people(self._centred(given, scale), items)
        scores = self._means(given, scale)[who] + np.einsum("ij,ij->i", vectors[who], items[what])
        return np.clip(scores, *scale)

    def _means(self, rows: csr_matrix, scale: tuple[float, float]) -> np.ndarray:
        middle = sum(scale) / 2
        sums = np.asarray(rows.sum(1)).ravel()
        return (sums + self.prior * middle) / (np.diff(rows.indptr) + self.prior)

    def _centred(self, rows: csr_matrix, scale: tuple[float, float]) -> csr_matrix:
        centred = rows.astype(float)
        means = np.repeat(self._means(rows, scale), np.diff(rows.indptr))
        centred.data = np.clip(rows.data - means, -self.largest, self.largest)
        return centred

    def _weights(self, rows: csr_matrix, of_items: np.ndarray) -> csr_matrix:
        """Weights of items, scaled user by user to Σ w² = 1."""
        weights = rows.astype(float)
        owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        weights.data = of_items[rows.indices]
        squares = np.bincount(owner, weights.data**2, rows.shape[0])
        weights.data /= np.sqrt(squares[owner])
        return weights

    def _items(
        self,
        ratings: csr_matrix,
        weights: csr_matrix,
        people: np.ndarray,
        mu: float,
        rng: np.random.Generator,
    ) -> np.ndarray:
        gram, right = _moments(ratings, weights, people)
        if mu < math.inf:
            square = self.clip**2 / (mu * math.sqrt(1 - self.right))
            gram = positive(gram + symmetric(rng, gram.shape, square))
            right += rng.normal(0, self.clip * self.largest / (mu * math.sqrt(self.right)), right.shape)
        return ridge(gram, right, self.penalty)


def _moments(ratings: csr_matrix, weights: csr_matrix, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ w q qᵀ and Σ w y q of every row; both matrices hold the same entries, in the same order."""
    n, rank = ratings.shape[0], other.shape[1]
    gram, right = np.zeros((n, rank, rank)), np.zeros((n, rank))
    for row, (start, end) in enumerate(zip(ratings.indptr[:-1], ratings.indptr[1:], strict=True)):
        if end > start:
            known = other[ratings.indices[start:end]]
            weighed = known * weights.data[start:end, None]
            gram[row], right[row] = weighed.T @ known, weighed.T @ ratings.data[start:end]
    return gram, right
