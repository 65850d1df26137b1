"""Rankers without privacy beside which hushrec's are judged (``top_n.protocol``).

Cosine item-kNN, EASE (Steck 2019) and iALS, which is the library implicit's, tuned. Settings were chosen on
the validation people of draw 0 of MovieLens 1M.
"""

from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_matrix

EASE_PENALTY = 650.0
NEIGHBOURS = 200
FACTORS = {"factors": 64, "alpha": 6.2, "regularization": 4.2, "iterations": 30}


class Similarities:
    """Scores are sums of item-item weights over what is folded in."""

    def scores(self, model: np.ndarray, given: csr_matrix) -> np.ndarray:
        return given @ model


class EASE(Similarities):
    """Steck 2019, eq. 8: B = −P / diag P with P = (XᵀX + λ)⁻¹, and a zero diagonal."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def fit(self, train: csr_matrix, seed: int) -> np.ndarray:
        gram = (train.T @ train).toarray().astype(float)
        gram[np.diag_indices_from(gram)] += self.penalty
        inverse = np.linalg.inv(gram)
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0)
        return weights.astype(np.float32)


class ItemKNN(Similarities):
    """Cosines between items (Sarwar et al. 2001), of the nearest ones of each item."""

    def __init__(self, neighbours: int) -> None:
        self.neighbours = neighbours

    def fit(self, train: csr_matrix, seed: int) -> np.ndarray:
        gram = (train.T @ train).toarray()
        norms = np.sqrt(np.maximum(np.diag(gram), 1))
        cosines = gram / norms / norms[:, None]
        np.fill_diagonal(cosines, 0)
        least = -np.partition(-cosines, self.neighbours, axis=0)[self.neighbours]
        return np.where(cosines > least, cosines, 0).astype(np.float32)


class IALS:
    """Hu, Koren & Volinsky 2008 by the library implicit, whose penalty does not grow with counts."""

    def __init__(self, **settings: float) -> None:
        self.settings = settings

    def fit(self, train: csr_matrix, seed: int):
        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(**self.settings, random_state=seed, num_threads=1)
        model.fit(train, show_progress=False)
        return model

    def scores(self, model, given: csr_matrix) -> np.ndarray:
        return model.recalculate_user(np.arange(given.shape[0]), given) @ model.item_factors.T


def installed(name: str) -> bool:
    return find_spec(name) is not None
