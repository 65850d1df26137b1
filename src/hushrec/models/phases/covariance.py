"""The second phase of both covariance models: measure the covariance, and clean it."""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Floats32
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError
from hushrec.estimation import low_rank
from hushrec.models.phases.item_effects import ItemEffects
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.bounded import Noisy, Norm
from hushrec.privacy.run import Run
from hushrec.settings import Frozen, only
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import DRAWS, FLOPS, Footprint
from hushrec.statistics.population import Population

Cleaning = Literal["weighted", "shrink", "none"]
_LARGEST_DENSE = 10_000


class Matrices(NamedTuple):
    """Released covariance and co-rating weights, packed upper triangles.

    Privacy: public once released.
    """

    covariance: Noisy
    weights: Noisy


class CovarianceSettings(Frozen):
    """How the covariance is measured and cleaned.

    Args:
        clip: B, bound on a centred rating as a fraction of the scale's width.
        strength: β_p, fictitious ratings in a user's mean.
        offset: added to c in the weights 1/√c (unit ``rating``).
        contribution_cap: K, the number of ratings up to which a user counts in full (unit ``user``).
        cleaning: ``weighted``; ``shrink``, as McSherry & Mironov 2009, §4.6; or ``none``.
        shrinkage: β of the diagonal and of the rest, for ``shrink``.
        threads: number of threads of the kernel; does not change the result.

    Privacy: public.
    """

    clip: float = Field(default=0.1625, gt=0, le=0.25)
    strength: int = Field(default=300, ge=0, le=10**6)
    offset: Annotated[float, only(unit="rating")] = Field(default=5, ge=0, allow_inf_nan=False)
    contribution_cap: Annotated[float, only(unit="user")] = Field(default=30, ge=1, allow_inf_nan=False)
    cleaning: Cleaning = "weighted"
    shrinkage: Annotated[tuple[float, float], only(cleaning="shrink")] = (10.0, 100.0)
    threads: int = Field(default=2, ge=1, exclude=True)

    def sums(self, domain: Domain, terms: Terms, norm: Norm) -> CovarianceSums:
        """The sums that are measured under a budget."""
        return CovarianceSums(
            domain=domain,
            unit=terms.unit,
            adjacency=terms.adjacency,
            norm=norm,
            limit=domain.scale.span / 2,
            clip=self.clip * domain.scale.span,
            strength=self.strength,
            contribution_cap=self.contribution_cap,
            offset=self.offset,
            threads=self.threads,
        )

    def shares(self, terms: Terms) -> Mapping[str, float]:
        """Parts of the budget by name of measurement.

        At smaller ε noise hides more of the covariance, so the item effects get more; ε per user hides about
        as much of it as ε/8 per rating.
        """
        visible = terms.epsilon / 8 if terms.unit == "user" else terms.epsilon
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

    def factors(self, matrices: Matrices, sums: CovarianceSums, counts: Floats, rank: int) -> Floats:
        """Item factors of the cleaned covariance, shape (n_items, rank).

        Privacy: post-processing.
        """
        if self.cleaning == "shrink":
            return shrunk_factors(matrices, sums.domain, self.shrinkage, counts, rank)
        if self.cleaning == "none":
            ones = np.ones(sums.domain.n_items)
            return shrunk_factors(matrices, sums.domain, (0.0, 0.0), ones, rank)
        star = sums.domain.scale.star
        covariance, weights = squares(matrices, sums.domain)
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

    def footprint(self, domain: Domain, rank: int) -> Footprint:
        """As ``covariance_footprint``."""
        return covariance_footprint(domain, rank, weighted=self.cleaning == "weighted")


def measured(sums: CovarianceSums, baseline: ItemEffects, people: Population, run: Run) -> Matrices:
    """Release covariance and weights of the residuals of the item effects.

    Privacy: charged (the events of ``sums``).
    """
    values = sums.measure(people, baseline.item_effects, baseline.user_mean)
    return Matrices(*(run.measure(query, triangle) for query, triangle in values))


def squares(matrices: Matrices, domain: Domain) -> tuple[Floats32, Floats32]:
    """Covariance, in squared stars, and weights, as square matrices. Privacy: post-processing."""
    n = domain.n_items
    return low_rank.full(matrices.covariance, n, domain.scale.star**2), low_rank.full(matrices.weights, n)


def shrunk_factors(
    matrices: Matrices, domain: Domain, shrinkage: tuple[float, float], counts: Floats, rank: int
) -> Floats:
    """Factors of the average product shrunk to the mean (McSherry & Mironov 2009, §4.6).

    Args:
        matrices: what was released.
        domain: the public domain.
        shrinkage: β of the diagonal and of the rest.
        counts: estimated number of ratings of each item, by which the average is scaled; shape (n_items,).
        rank: number of factors.

    Privacy: post-processing.
    """
    average = low_rank.shrunk_average(*squares(matrices, domain), shrinkage)
    return domain.scale.star * low_rank.low_rank(average, counts, rank)


def similarity(matrices: Matrices, n: int) -> Floats:
    """Factors of the cleaned co-rating weights, which serve as similarity; shape (n, any).

    Privacy: post-processing.
    """
    return low_rank.spectral_factors(low_rank.full(matrices.weights, n), matrices.weights.sigma)


def dense(matrices: Matrices) -> dict[str, Floats32]:
    """Cov/Wgt and Wgt without cleaning, packed. Privacy: post-processing."""
    weights = matrices.weights.values
    average = matrices.covariance.values / np.maximum(weights, 1.0)
    return {"covariance": average.astype(np.float32), "similarity": weights.astype(np.float32)}


def require_dense(domain: Domain) -> None:
    """Refuse a catalogue whose matrices are too large to release without cleaning.

    Raises:
        ConfigError: There are too many items.

    Privacy: public.
    """
    if domain.n_items > _LARGEST_DENSE:
        raise ConfigError(
            f"without cleaning, a release holds at most {_LARGEST_DENSE:,} items; set a cleaning"
        )


def covariance_footprint(domain: Domain, rank: int, *, weighted: bool) -> Footprint:
    """Square matrices of the catalogue, and the cost of cleaning them.

    One matrix is a triangle of 64-bit numbers or a square of 32-bit ones. Measuring holds six of them: the
    covariance, and the weights, both as sums and with noise. Cleaning holds the two that were released, their
    squares, and as many again that are made of them.

    Args:
        domain: the public domain.
        rank: number of factors; 0 if none are made.
        weighted: whether the factors are fitted under weights.

    Privacy: public.
    """
    n, square = domain.n_items, 4.0 * domain.n_items**2
    count = 7 if weighted else 10 if rank else 6
    products = 24.0 * (rank + 20)
    if weighted:
        products += low_rank.ROUNDS * rank * (rank + 3) + 24 * 80
    memory = count * square + n * (14.0 * rank**2 if weighted else 40.0 * rank)
    return Footprint(memory + 1e7, 20, 32, n**2 / DRAWS + n**2 * products / FLOPS, 5.0)
