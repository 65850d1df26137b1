"""The second phase of both covariance models: measure the covariance, and clean it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Floats32
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.estimation import low_rank
from hushrec.models.phases.item_effects import ItemEffects
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.grant import Grant
from hushrec.settings import Frozen
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import DRAWS, FLOPS, Footprint
from hushrec.statistics.sensitivity import Norm

Cleaning = Literal["weighted", "shrink", "none"]


class Matrices(NamedTuple):
    """Released covariance and co-rating weights, packed upper triangles.

    Privacy: public once released.
    """

    covariance: Noisy
    weights: Noisy


class CovarianceSettings(Frozen):
    """How the covariance is measured and cleaned. None means the default of the analysis.

    Args:
        clip: B, bound on a centred rating as a fraction of the scale's width: 0.1625, published 0.25.
        strength: β_p, fictitious ratings in a user's mean: 300, published 20.
        offset: added to c in the weights 1/√c (unit ``rating``): 5, published 0.
        contribution_cap: K, the number of ratings up to which a user counts in full (unit ``user``): 30,
            published 1.
        cleaning: ``weighted`` (default), ``shrink`` (published) or ``none``.
        shrinkage: β of the diagonal and of the rest, for ``shrink``.
        threads: number of threads of the kernel; does not change the result.

    Privacy: public.
    """

    clip: float | None = Field(default=None, gt=0, le=0.25)
    strength: int | None = Field(default=None, ge=0, le=10**6)
    offset: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    contribution_cap: float | None = Field(default=None, ge=1, allow_inf_nan=False)
    cleaning: Cleaning | None = None
    shrinkage: tuple[float, float] = (10.0, 100.0)
    threads: int = Field(default=2, ge=1)

    def sums(self, domain: Domain, budget: Budget, norm: Norm, *, published: bool) -> CovarianceSums:
        """The sums that are measured under a budget."""

        def chosen(value: float | None, corrected: float, printed: float) -> float:
            return value if value is not None else printed if published else corrected

        return CovarianceSums(
            domain=domain,
            unit=budget.unit,
            adjacency=budget.adjacency,
            norm=norm,
            published=published,
            clip=chosen(self.clip, 0.1625, 0.25) * domain.scale.span,
            strength=int(chosen(self.strength, 300, 20)),
            contribution_cap=chosen(self.contribution_cap, 30, 1),
            offset=chosen(self.offset, 5, 0),
            threads=self.threads,
        )

    def shares(self, budget: Budget, *, published: bool) -> Mapping[str, float]:
        """Parts of the budget by name of measurement.

        As published, 0.02 / 0.19 / 0.79 for global mean, items and covariance (McSherry & Mironov 2009, §5),
        each in halves. Corrected: at smaller ε noise hides more of the covariance, so the item effects get
        more; ε per user hides about as much of it as ε/8 per rating.
        """
        if published:
            return {
                "global sum": 0.01,
                "global count": 0.01,
                "item sums": 0.095,
                "item counts": 0.095,
                "covariance": 0.395,
                "co-rating weights": 0.395,
            }
        visible = budget.epsilon / 8 if budget.unit == "user" else budget.epsilon
        effects = 0.93 * (1 + visible) ** -0.9
        rest = 1 - effects
        return {
            "global sum": 0.01 * effects,
            "global count": 0.01 * effects,
            "item sums": 0.8 * effects,
            "item counts": 0.18 * effects,
            "covariance": 0.9 * rest,
            "co-rating weights": 0.1 * rest,
        }

    def way(self, *, published: bool) -> Cleaning:
        """How the matrices are cleaned."""
        return self.cleaning or ("shrink" if published else "weighted")

    def measure(
        self, sums: CovarianceSums, baseline: ItemEffects, ratings: Ratings, grant: Grant
    ) -> Matrices:
        """Covariance and weights of the residuals of the item effects.

        Privacy: charged (the events of ``sums``).
        """
        measured = sums.measure(ratings, baseline.item_effects, baseline.user_mean)
        return Matrices(*(query.release(grant, values) for query, values in measured))

    def factors(self, matrices: Matrices, sums: CovarianceSums, counts: Floats, rank: int) -> Floats:
        """Item factors of the cleaned covariance, shape (n_items, rank).

        Privacy: post-processing.
        """
        n, star = sums.domain.n_items, sums.domain.scale.star
        covariance = low_rank.full(matrices.covariance, n, star**2)
        weights = low_rank.full(matrices.weights, n)
        way = self.way(published=sums.published)
        if way == "shrink":
            average = low_rank.shrunk_average(covariance, weights, self.shrinkage)
            return star * low_rank.low_rank(average, counts, rank)
        if way == "none":
            average = low_rank.shrunk_average(covariance, weights, (0.0, 0.0))
            return star * low_rank.low_rank(average, np.ones(n), rank)
        weight_sum = max(float(np.trace(weights, dtype=np.float64)), 1e-3)
        variance = max(float(np.trace(covariance, dtype=np.float64)) / weight_sum, 0.0)
        if matrices.weights.sigma:
            visible = low_rank.spectral_factors(weights, matrices.weights.sigma)
            np.matmul(visible, visible.T, out=weights, casting="same_kind")
        np.maximum(weights, 1e-3, out=weights)
        # Twice the value for independent products, because those of one user are correlated.
        kappa = 2 * variance**2 * min(1.0, weight_sum / max(float(counts.sum()), 1.0))
        sigma = matrices.covariance.sigma / star**2
        factors = low_rank.weighted_factors(covariance, weights, sigma, kappa, rank)
        return star * factors * low_rank.unclipped(variance, sums.clip / star)

    def footprint(self, domain: Domain, rank: int, *, published: bool) -> Footprint:
        """Square matrices of the catalogue, and the cost of cleaning them.

        One matrix is a triangle of 64-bit numbers or a square of 32-bit ones. Measuring holds six of them:
        the covariance, and the weights, both as sums and with noise. Cleaning holds the two that were
        released, their squares, and as many again that are made of them.

        Args:
            domain: the public domain.
            rank: number of factors; 0 if none are made.
            published: which analysis.
        """
        n, square = domain.n_items, 4.0 * domain.n_items**2
        weighted = self.way(published=published) == "weighted"
        squares = 7 if weighted else 10 if rank else 6
        products = 24.0 * (rank + 20)
        if weighted:
            products += low_rank.ROUNDS * rank * (rank + 3) + 24 * 80
        memory = squares * square + n * (14.0 * rank**2 if weighted else 40.0 * rank)
        return Footprint(memory + 1e7, 20, 32, n**2 / DRAWS + n**2 * products / FLOPS, 5.0)

    def similarity(self, matrices: Matrices, n: int) -> Floats:
        """Factors of the cleaned co-rating weights, which serve as similarity; shape (n_items, any).

        Privacy: post-processing.
        """
        return low_rank.spectral_factors(low_rank.full(matrices.weights, n), matrices.weights.sigma)

    def dense(self, matrices: Matrices, n: int) -> tuple[Floats32, Floats32]:
        """Cov/Wgt and Wgt without cleaning, packed. Privacy: post-processing."""
        weights = matrices.weights.values
        average = matrices.covariance.values / np.maximum(weights, 1.0)
        return average.astype(np.float32), weights.astype(np.float32)
