"""DP-SGD for lists (Abadi et al. 2016; whole people as McMahan et al. 2018): noisy gradients of item factors.

The loss of a person is Σ over their items of (1 − p·q)² + a Σ over all items of (p·q)²; they solve for p at
home, and send the gradient of q.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from top_n.least_squares import solved


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
