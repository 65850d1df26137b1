"""DP-ALS (Chien et al. 2021): alternating least squares of likes, with noise for all that it measures.

The loss is Σ over likes of w (1 − p·q)² + a Σ over all pairs of (p·q)², and a penalty on |p|² and |q|².
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix


def sums(rows: csr_matrix, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ w q qᵀ and Σ w q of every row, shapes (n, rank, rank) and (n, rank); w are the row's values."""
    n, rank = rows.shape[0], other.shape[1]
    gram, right = np.zeros((n, rank, rank), other.dtype), np.zeros((n, rank), other.dtype)
    for row, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        if end > start:
            known = other[rows.indices[start:end]]
            weighted = known * rows.data[start:end, None]
            gram[row], right[row] = weighted.T @ known, weighted.sum(0)
    return gram, right


def solved(rows: csr_matrix, other: np.ndarray, unobserved: float, penalty: float) -> np.ndarray:
    """Factors of the rows given those of the other side, shape (n, rank)."""
    gram, right = sums(rows, other)
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
        gram, sum_ = sums(columns, users)
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
