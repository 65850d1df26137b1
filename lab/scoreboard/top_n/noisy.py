"""Peers with noise for all that they measure: DP-ALS of likes and of ratings, and DP-SGD.

DP-ALS (Chien et al. 2021) minimises Σ over likes of w (1 − p·q)² + a Σ over all pairs of (p·q)², and a
penalty on |p|² and |q|². DP-SGD (Abadi et al. 2016; whole people as McMahan et al. 2018) descends by noisy
gradients of item factors, on Σ over a person's items of (1 − p·q)² + a Σ over all items of (p·q)²: they solve
for p at home, and send the gradient of q.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix


def moments(
    weights: csr_matrix, other: np.ndarray, ratings: csr_matrix | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Σ w q qᵀ and Σ w y q of every row, shapes (n, rank, rank) and (n, rank); likes are ratings y of 1.

    Both matrices hold the same entries, in the same order.
    """
    n, rank = weights.shape[0], other.shape[1]
    gram, right = np.zeros((n, rank, rank), other.dtype), np.zeros((n, rank), other.dtype)
    for row, (start, end) in enumerate(zip(weights.indptr[:-1], weights.indptr[1:], strict=True)):
        if end > start:
            known = other[weights.indices[start:end]]
            weighted = known * weights.data[start:end, None]
            gram[row] = weighted.T @ known
            right[row] = weighted.sum(0) if ratings is None else weighted.T @ ratings.data[start:end]
    return gram, right


def solved(rows: csr_matrix, other: np.ndarray, unobserved: float, penalty: float) -> np.ndarray:
    """Factors of the rows given those of the other side, shape (n, rank)."""
    gram, right = moments(rows, other)
    return ridge(gram + unobserved * (other.T @ other), right, penalty)


def ridge(gram: np.ndarray, right: np.ndarray, penalty: float) -> np.ndarray:
    penalised = gram + np.eye(gram.shape[-1], dtype=gram.dtype) * gram.dtype.type(penalty)
    return np.linalg.solve(penalised, right[..., None])[..., 0]


@dataclass(frozen=True)
class DPALS:
    """DP-ALS at a given μ, with the weights of Krichene et al. 2023.

    μ² is divided exactly over all Gaussian measurements. Under add-remove of a user these are

    * item counts Σ x/√c_u with Δ = 1, which choose the head of the catalogue and the weights of items;
    * in each of ``steps`` rounds Σ u uᵀ with Δ = Γ², all Σ w u uᵀ together with Δ = √B Γ², all Σ w u together
      with Δ = √B Γ: users solve for u at home, |u| ≤ Γ, and their weights have Σ w² = B over the head.

    Symmetric noise has variance σ² on the diagonal and σ²/2 beside it, since a Frobenius norm is bounded.
    No step reads private data otherwise: nothing is centred, no penalty and no head follows exact counts.

    Args:
        rank: length of the vectors.
        steps: rounds.
        unobserved: a, the weight of all pairs.
        penalty: that on |p|² and |q|².
        clip: Γ.
        weight: an item's weight is its count to this power.
        head: share of the catalogue that is trained.
        counts: share of μ² for the counts.
        right: share of Σ w u, in the rest, beside Σ w u uᵀ.
        budget: B; only its ratio to the other weights matters.
    """

    rank: int
    steps: int
    unobserved: float
    penalty: float
    clip: float
    weight: float
    head: float
    counts: float
    right: float
    budget: float = 100.0

    def fit(self, train: csr_matrix, mu: float, seed: int) -> np.ndarray:
        """Item factors, shape (n_items, rank); zero outside the head."""
        rng = np.random.default_rng([seed, 2])
        n_items = train.shape[1]
        liked = np.diff(train.indptr)
        counts = np.asarray(train.T @ (1 / np.sqrt(np.maximum(liked, 1)))).ravel()
        counts += rng.normal(0, 1 / (mu * self.counts**0.5), n_items)
        head = np.sort(np.argsort(-counts)[: round(self.head * n_items)])
        train = train[:, head].tocsr()
        weights = np.maximum(counts[head], 1) ** self.weight
        columns = self._weighted(train, weights).T.tocsr()
        step = mu * ((1 - self.counts) / self.steps) ** 0.5
        items = rng.normal(0, 0.1, (len(head), self.rank)).astype(np.float32)
        for _ in range(self.steps):
            users = solved(train, items, self.unobserved, self.penalty)
            users *= np.minimum(1, self.clip / np.maximum(np.linalg.norm(users, axis=1), 1e-9))[:, None]
            items = self._items(columns, users, step, rng)
        everything = np.zeros((n_items, self.rank), np.float32)
        everything[head] = items
        return everything

    def _weighted(self, train: csr_matrix, weights: np.ndarray) -> csr_matrix:
        """Weights of the head's items, scaled user by user to Σ w² = B."""
        found = train.copy()
        found.data = weights[found.indices].astype(np.float32)
        owner = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        squares = np.bincount(owner, found.data.astype(float) ** 2, found.shape[0])
        found.data *= np.sqrt(self.budget / squares[owner]).astype(np.float32)
        return found

    def _items(self, columns, users, mu, rng):
        overall = 0.02  # the share of Σ u uᵀ, whose Δ is the smallest
        local, right = ((1 - overall) * share for share in (1 - self.right, self.right))
        square, whole = self.clip**2, self.budget**0.5
        gram, sum_ = moments(columns, users)
        gram += symmetric(rng, gram.shape, whole * square / (mu * local**0.5))
        sum_ += rng.normal(0, whole * self.clip / (mu * right**0.5), sum_.shape)
        shared = users.T @ users + symmetric(rng, (1, *gram.shape[1:]), square / (mu * overall**0.5))[0]
        return ridge(positive(gram) + self.unobserved * positive(shared[None]), sum_, self.penalty)

    def scores(self, items: np.ndarray, given: csr_matrix) -> np.ndarray:
        return solved(given, items, self.unobserved, self.penalty) @ items.T


def symmetric(rng: np.random.Generator, shape: tuple[int, ...], sigma: float) -> np.ndarray:
    noise = rng.normal(0, sigma, shape).astype(np.float32)
    return (noise + noise.swapaxes(1, 2)) / 2


def positive(matrices: np.ndarray) -> np.ndarray:
    """Nearest positive semidefinite matrices."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0)[:, None]) @ vectors.swapaxes(1, 2)


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
        return ridge(*moments(ones, items, centred), self.home)

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
        gram, right = moments(weights, people, ratings)
        if mu < math.inf:
            square = self.clip**2 / (mu * math.sqrt(1 - self.right))
            gram = positive(gram + symmetric(rng, gram.shape, square))
            right += rng.normal(0, self.clip * self.largest / (mu * math.sqrt(self.right)), right.shape)
        return ridge(gram, right, self.penalty)


@dataclass(frozen=True)
class DPSGD:
    """Rounds over everybody, each person's gradient scaled to norm 1, Gaussian noise on the sum.

    Args:
        rank: length of the vectors.
        rounds: steps of descent.
        unobserved: a, the weight of all pairs.
        penalty: that on |p|².
        step: how far all rounds together move the factors, as a multiple of the size of the first ones.
    """

    rank: int
    rounds: int
    unobserved: float
    penalty: float
    step: float

    def fit(self, train: csr_matrix, sigma: float, seed: int) -> np.ndarray:
        """Item factors, shape (n_items, rank).

        Args:
            train: who has what.
            sigma: standard deviation of the noise on each entry of the sum.
            seed: of the noise and the first factors.
        """
        rng = np.random.default_rng([seed, 4])
        shape = train.shape[1], self.rank
        items = rng.normal(0, 0.1, shape).astype(np.float32)
        items[:, 0] = 0.1  # what everybody shares is found first
        for _ in range(self.rounds):
            noisy = self._gradients(train, items) + rng.normal(0, sigma, shape)
            length = max(np.linalg.norm(noisy), 1e-12)
            items -= (self.step * 0.1 * np.sqrt(items.size) / self.rounds * noisy / length).astype(np.float32)
        return items

    def _gradients(self, people: csr_matrix, items: np.ndarray) -> np.ndarray:
        """The sum of their gradients, which are s pᵀ with s_i = a p·q_i + [theirs] (p·q_i − 1)."""
        vectors = solved(people, items, self.unobserved, self.penalty)
        scores = vectors @ items.T
        slopes = self.unobserved * scores
        theirs = people.nonzero()
        slopes[theirs] += scores[theirs] - 1
        norms = np.linalg.norm(slopes, axis=1) * np.linalg.norm(vectors, axis=1)
        return slopes.T @ (vectors / np.maximum(norms, 1e-12)[:, None])

    def scores(self, items: np.ndarray, given: csr_matrix) -> np.ndarray:
        return solved(given, items, self.unobserved, self.penalty) @ items.T


COUNTS, TOTAL = 10.0, 100.0
"""α and β of ``weighted_sums``: squared weights of the counts and of the total beside the pairs."""


def weighted_sums(train: csr_matrix) -> tuple[float, np.ndarray, np.ndarray]:
    """Σ w, Σ w x_i and Σ w x_i x_j (i < j) over people, the marginals to which mbi fits a distribution.

    A person of c likes weighs w = 1/√(β + α c + c(c − 1)/2), so √β w, their √α w and their pairs w together
    have norm 1: scaled so, all sums are one measurement with Δ = 1 under add-remove of a person.
    """
    liked = np.diff(train.indptr)
    weights = 1 / np.sqrt(TOTAL + COUNTS * liked + liked * (liked - 1) / 2)
    rows = csr_matrix(train.multiply(weights[:, None]))
    return float(weights.sum()), np.asarray(rows.sum(0)).ravel(), np.triu((train.T @ rows).toarray(), 1)
