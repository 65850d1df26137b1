"""The second phase of both covariance models: measure the covariance, and clean it."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import starmap
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Floats32
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError
from hushrec.estimation import low_rank
from hushrec.estimation.head import Head
from hushrec.kernels.sums.segments import LABEL_BITS
from hushrec.models.phases.item_effects import ItemEffects
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.bounded import Noisy, Norm
from hushrec.privacy.run import Run
from hushrec.settings import Frozen, only
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import DRAWS, FLOPS, Footprint
from hushrec.statistics.item_sums import OVERALL
from hushrec.statistics.population import Population

Cleaning = Literal["weighted", "shrink", "none"]
_LARGEST_DENSE = 10_000


class Matrices(NamedTuple):
    """Released covariance and co-rating weights of the head of a catalogue, packed upper triangles.

    Attributes:
        covariance, weights: shape (n_head (n_head + 1) / 2,).
        head: which items they are of.

    Privacy: public once released.
    """

    covariance: Noisy
    weights: Noisy
    head: Head


class CovarianceSettings(Frozen):
    """How the covariance is measured and cleaned.

    Args:
        clip: B, bound on a centred rating as a fraction of the scale's width.
        strength: β_p, fictitious ratings in a user's mean.
        offset: added to c in the weights 1/√c (unit ``rating``).
        contribution_cap: K, the number of ratings up to which a user counts in full (unit ``user``).
        cleaning: ``weighted``; ``shrink``, as McSherry & Mironov 2009, §4.6; or ``none``.
        shrinkage: β of the diagonal and of the rest, for ``shrink``.
        pair_items: the most rated items, by noisy count, whose covariance is measured; the others are
            predicted by their effects alone.
        threads: number of threads of the kernel; does not change the result.

    Privacy: public.
    """

    clip: float = Field(default=0.1625, gt=0, le=0.25)
    strength: int = Field(default=300, ge=0, le=10**6)
    offset: Annotated[float, only(unit="rating")] = Field(default=5, ge=0, allow_inf_nan=False)
    contribution_cap: Annotated[float, only(unit="user")] = Field(default=30, ge=1, allow_inf_nan=False)
    cleaning: Cleaning = "weighted"
    shrinkage: Annotated[tuple[float, float], only(cleaning="shrink")] = (10.0, 100.0)
    pair_items: int = Field(default=20_000, ge=2, le=1 << LABEL_BITS)
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
            pair_items=self.pair_items,
        )

    def shares(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """Parts of the budget by name of measurement.

        At smaller ε noise hides more of the covariance, so the item effects get more; ε per user hides about
        as much of it as ε/8 per rating.
        """
        visible = terms.epsilon / 8 if terms.unit == "user" else terms.epsilon
        effects = 0.93 * (1 + visible) ** -0.9
        rest = 1 - effects
        return {
            **dict.fromkeys(OVERALL, 0.01 * effects),
            "item sums": 0.8 * effects,
            "item counts": 0.17 * effects,
            "covariance": 0.9 * rest,
            "co-rating weights": 0.1 * rest,
        }

    def factors(self, matrices: Matrices, sums: CovarianceSums, counts: Floats, rank: int) -> Floats:
        """Item factors of the cleaned covariance, zero in the tail of the catalogue, shape (n_items, rank).

        Whoever keeps no name for ``matrices`` saves the memory of a triangle or two.

        Privacy: post-processing.
        """
        if self.cleaning == "shrink":
            return shrunk_factors(matrices, sums.domain, self.shrinkage, counts, rank)
        if self.cleaning == "none":
            ones = np.ones(sums.domain.n_items)
            return shrunk_factors(matrices, sums.domain, (0.0, 0.0), ones, rank)
        star, n, head = sums.domain.scale.star, len(matrices.head.items), matrices.head
        released, co_rating = matrices.covariance, matrices.weights
        del matrices  # of a large catalogue, each triangle and each square is a gigabyte
        weights = low_rank.full(co_rating, n)
        weight_sum = max(float(np.trace(weights, dtype=np.float64)), 1e-3)
        if co_rating.sigma:
            low_rank.multiplied(low_rank.spectral_factors(weights, co_rating.sigma), weights)
        del co_rating
        np.maximum(weights, 1e-3, out=weights)
        sigma = released.sigma / star**2
        covariance = low_rank.full(released, n, star**2)
        del released
        variance = max(float(np.trace(covariance, dtype=np.float64)) / weight_sum, 0.0)
        # Twice the value for independent products, because those of one user are correlated.
        rated = float(counts[head.items].sum())
        kappa = 2 * variance**2 * min(1.0, weight_sum / max(rated, 1.0))
        factors = low_rank.weighted_factors(covariance, weights, sigma, kappa, rank)
        return head.spread(star * factors * low_rank.unclipped(variance, sums.clip / star))

    def footprint(self, domain: Domain, rank: int) -> Footprint:
        """As ``covariance_footprint``, which ``pair_items`` bounds."""
        n = min(domain.n_items, self.pair_items)
        found = covariance_footprint(n, rank, weighted=self.cleaning == "weighted")
        return replace(
            found,
            memory=found.memory + 16.0 * rank * (domain.n_items - n),
            each_rating=found.each_rating + (5 if n < domain.n_items else 0),
            lowered_by="covariance.pair_items",
        )

    def prospects(self, domain: Domain) -> str:
        """Which part of a large catalogue the covariance is of, in words; empty if it is of all."""
        if domain.n_items <= self.pair_items:
            return ""
        return (
            f"The covariance is that of the {self.pair_items:,} most rated items of {domain.n_items:,}, by "
            "noisy count; the others are predicted by their effects alone. covariance.pair_items sets their "
            "number."
        )


def measured(sums: CovarianceSums, baseline: ItemEffects, people: Population, run: Run) -> Matrices:
    """Release covariance and weights of the residuals of the item effects, for the most rated items.

    Privacy: charged (the events of ``sums``).
    """
    head = Head.of(baseline.counts, sums.n_items)
    values = sums.measure(people, baseline.item_effects, baseline.user_mean, head, baseline.counts)
    covariance, weights = starmap(run.measure, values)  # a loop's variable would keep a triangle
    return Matrices(covariance, weights, head)


def squares(matrices: Matrices, domain: Domain) -> tuple[Floats32, Floats32]:
    """Covariance, in squared stars, and weights, as square matrices. Privacy: post-processing."""
    n = len(matrices.head.items)
    return low_rank.full(matrices.covariance, n, domain.scale.star**2), low_rank.full(matrices.weights, n)


def shrunk_factors(
    matrices: Matrices, domain: Domain, shrinkage: tuple[float, float], counts: Floats, rank: int
) -> Floats:
    """Factors of the average product shrunk to the mean (McSherry & Mironov 2009, §4.6); zero in the tail.

    Args:
        matrices: what was released.
        domain: the public domain.
        shrinkage: β of the diagonal and of the rest.
        counts: estimated number of ratings of each item, by which the average is scaled; shape (n_items,).
        rank: number of factors.

    Privacy: post-processing.
    """
    average = low_rank.shrunk_average(*squares(matrices, domain), shrinkage)
    factors = low_rank.low_rank(average, counts[matrices.head.items], rank)
    return matrices.head.spread(domain.scale.star * factors)


def similarity(matrices: Matrices) -> Floats:
    """Factors of the cleaned co-rating weights, which serve as similarity; shape (n_items, any).

    Privacy: post-processing.
    """
    square = low_rank.full(matrices.weights, len(matrices.head.items))
    return matrices.head.spread(low_rank.spectral_factors(square, matrices.weights.sigma))


def dense(matrices: Matrices) -> dict[str, Floats32]:
    """Cov/Wgt and Wgt without cleaning, packed, for the whole catalogue. Privacy: post-processing."""
    weights, head = matrices.weights.values, matrices.head
    average = matrices.covariance.values / np.maximum(weights, 1.0)
    found = {"covariance": average.astype(np.float32), "similarity": weights.astype(np.float32)}
    return {name: head.spread_triangle(triangle) for name, triangle in found.items()}


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


def covariance_footprint(n: int, rank: int, *, weighted: bool) -> Footprint:
    """Square matrices of some items, and the cost of cleaning them.

    One matrix is a triangle of 64-bit numbers or a square of 32-bit ones. Measuring holds three of them, the
    released covariance and the weights as sums and with noise, and a fourth while a checkpoint stores it.
    Weighted cleaning holds three squares. The other ways hold the two triangles, their squares, and as many
    again that are made of them.

    Args:
        n: number of items whose covariance is measured.
        rank: number of factors; 0 if none are made.
        weighted: whether the factors are fitted under weights.

    Privacy: public.
    """
    square = 4.0 * n**2
    count = 4.25 if weighted else 10 if rank else 6
    products = 24.0 * (rank + 20)
    if weighted:
        products += low_rank.ROUNDS * rank * (rank + 3) + 24 * 80
    memory = count * square + n * (14.0 * rank**2 if weighted else 40.0 * rank)
    return Footprint(memory + 1e7, 20, 32, n**2 / DRAWS + n**2 * products / FLOPS, 5.0)
