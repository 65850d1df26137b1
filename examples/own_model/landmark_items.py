"""LandmarkItems: personal lists from how often items are given together with a few popular ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from hushrec.arrays import Floats, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain, FeedbackKind
from hushrec.data.people import People
from hushrec.models.base import PrivateModel
from hushrec.models.lists.estimate.pair_factors import LinearWeights
from hushrec.models.lists.outputs import linear_release, score_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.privacy.noisy import Noisy
from hushrec.release.artefact import Release
from hushrec.sums.item_sums import ItemCounts

BITS = 20
"""Weights of users are counted in steps of 2^-20."""


@dataclass(frozen=True)
class LandmarkPairs:
    """How often items are given together with landmarks: C_lj = Σ_u w_u [u gave l] [u gave j].

    A user who gave c items, a of them landmarks, adds a · c ones times w = 1/√(a c). This matrix has the norm
    w √(a c) = 1, and less if w is rounded down to the grid. So one user more or less moves C by at most Δ = 1
    in the L2 norm, whichever items are landmarks.
    """

    n_landmarks: int
    n_items: int

    @property
    def query(self) -> Measurement:
        """What a plan needs to know: name, Δ, norm, grid and size."""
        return Measurement("landmark pairs", 1.0, "l2", 2.0**-BITS, self.n_landmarks * self.n_items)

    def measure(self, people: AnyPeople, landmarks: Ints) -> Ints:
        """C in steps of the grid, shape (n_landmarks, n_items).

        Args:
            people: people with private interactions.
            landmarks: public positions in the catalogue, shape (n_landmarks,).

        Privacy: bounded (``query.sensitivity``).
        """

        def add(block: People, pairs: Ints) -> None:
            ones, shape = np.ones(len(block.items), dtype=np.int64), (block.n_users, self.n_items)
            given = sparse.csr_array((ones, block.items, block.indptr), shape=shape)
            marked = given[:, landmarks]
            own = np.diff(marked.indptr)  # a of each user; block.counts is c
            # ⌊2^BITS/√(a c)⌋, exactly: below 2^52, rounding never lifts an integer's root to the next one.
            weights = np.sqrt(4**BITS // np.maximum(own * block.counts, 1)).astype(np.int64)
            marked.data *= np.repeat(weights, own)
            pairs += (marked.T @ given).toarray()

        (pairs,) = people.total(add, (self.n_landmarks, self.n_items))
        return pairs


def landmark_factors(pairs: Noisy, landmarks: Ints, reg: float) -> Floats:
    """Factors g of the items, by the Nyström method (Williams & Seeger 2001), from noisy values alone.

    With W the columns of C at the landmarks, and its eigenvalues W = V Λ Vᵀ, g_j = (Λ² + λ Λ)^(−1/2) Vᵀ C_j.
    Eigenvalues below the edge of the noise, σ √(2 k) for k landmarks, say nothing and are left out.

    Returns:
        Shape (n_items, rank); the rank is 0 if the noise hides everything.
    """
    square = pairs.values[:, landmarks]
    values, vectors = np.linalg.eigh((square + square.T) / 2)
    edge = pairs.sigma * np.sqrt(2 * len(landmarks))
    seen = values > max(edge, 1e-9 * values[-1])
    ridge = reg + 2 * edge
    scaled = vectors[:, seen] / np.sqrt(values[seen] * (values[seen] + ridge))
    factors: Floats = pairs.values.T @ scaled
    return factors


class LandmarkItems(PrivateModel):
    """Items that are given together with the same landmarks are alike; the landmarks are the popular items.

    Score: s_j = Σ_i ⟨g_i, g_j⟩ over the user's own items i. The factors g follow from noisy counts of pairs
    of a landmark and an item. Where the noise hides all pairs, everybody is ranked by noisy item counts.

    Privacy: unit ``user`` under add-remove.
    """

    supports: ClassVar = frozenset({("user", "add-remove")})
    feedback: ClassVar[FeedbackKind] = "interactions"

    rank: int = Field(default=128, ge=2, le=4096)
    """number of landmarks, the items with the largest noisy counts, and largest number of factors."""
    reg: float = Field(default=50.0, gt=0)
    """ridge λ in weighted users, to which twice the edge of the noise is added."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        return [ItemCounts(domain, terms.unit).query, self._pairs(domain).query]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """A tenth for the counts, which only have to find the landmarks."""
        return {"item counts": 0.1, "landmark pairs": 0.9}

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Count items, choose landmarks, count pairs with them, and solve.

        Privacy: charged (the measurements of ``queries``).
        """
        domain = people.domain
        counts, pairs = ItemCounts(domain, run.terms.unit), self._pairs(domain)
        of_items, of_pairs = self.queries(domain, run.terms)
        popularity = run.measure(of_items, lambda: counts.measure(people)).values
        landmarks = np.argsort(-popularity, kind="stable")[: pairs.n_landmarks]
        noisy = run.measure(of_pairs, lambda: pairs.measure(people, landmarks))
        factors = landmark_factors(noisy, landmarks, self.reg)
        if not factors.shape[1]:
            return score_release(self, domain, popularity)
        ones, no_intercept = np.ones(domain.n_items), np.zeros(factors.shape[1])
        return linear_release(self, domain, LinearWeights(factors, ones, ones, no_intercept), popularity)

    def _pairs(self, domain: Domain) -> LandmarkPairs:
        return LandmarkPairs(min(self.rank, domain.n_items), domain.n_items)
