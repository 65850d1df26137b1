"""Rankers beside which hushrec's is judged (``top_n.protocol``).

Without privacy: popularity, cosine item-kNN, EASE (Steck 2019) and iALS, which is the library implicit's,
tuned. With user-level privacy, add-remove, at δ = 1e-6: popularity, and DP-ALS (Chien et al. 2021) with every
measurement charged, once with the best settings at each ε and once with the same at all. Settings were chosen
on the validation people of draw 0 of MovieLens 1M; that choice is not charged.
"""

import math
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_matrix
from top_n.least_squares import DPALS

from hushrec.privacy.accounting.accountant import gaussian_mu

DELTA = 1e-6
EASE_PENALTY = 650.0
NEIGHBOURS = 200
FACTORS = {"factors": 64, "alpha": 6.2, "regularization": 4.2, "iterations": 30}
DP_ALS = {
    0.5: DPALS(8, 2, 0.63, 22.0, 0.057, 0.0, 0.053, 0.384, 0.8),
    1.0: DPALS(9, 3, 1.1, 16.0, 0.028, -0.25, 0.11, 0.12, 0.9),
    2.0: DPALS(22, 2, 0.71, 12.0, 0.044, 0.0, 0.143, 0.08, 0.95),
    4.0: DPALS(29, 3, 0.54, 6.5, 0.023, -0.25, 0.27, 0.05, 0.99),
    8.0: DPALS(39, 3, 0.31, 5.5, 0.031, -0.25, 0.2, 0.08, 0.95),
    20.0: DPALS(29, 4, 0.59, 6.1, 0.041, -0.5, 0.26, 0.05, 0.95),
}
ONE = 4.0
"""DP-ALS with one setting for all ε has that of this one."""


class Popularity:
    """How many like an item; with privacy, the sum of unit rows, Δ = 1, with all of μ."""

    def fit(self, train: csr_matrix, mu: float = math.inf, seed: int = 0) -> np.ndarray:
        if mu == math.inf:
            return np.asarray(train.sum(0)).ravel()
        share = 1 / np.sqrt(np.diff(train.indptr))
        return train.T @ share + np.random.default_rng([seed, 3]).normal(0, 1 / mu, train.shape[1])

    def scores(self, model: np.ndarray, given: csr_matrix) -> np.ndarray:
        return np.tile(model, (given.shape[0], 1))


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


def methods() -> Iterator[tuple[str, float, object, object]]:
    """Name, ε, method and its fit of training rows and a seed."""
    plain = {
        "popularity": Popularity(),
        "item-kNN": ItemKNN(NEIGHBOURS),
        "EASE": EASE(EASE_PENALTY),
    }
    if installed("implicit"):
        plain["iALS"] = IALS(**FACTORS)
    for name, method in plain.items():
        yield name, math.inf, method, lambda train, seed, fit=method.fit: fit(train, seed=seed)
    for epsilon in DP_ALS:
        private = {"popularity": Popularity(), "DP-ALS": DP_ALS[epsilon], "DP-ALS, one setting": DP_ALS[ONE]}
        for name, method in private.items():
            yield name, epsilon, method, partial(method.fit, mu=gaussian_mu(epsilon, DELTA))
