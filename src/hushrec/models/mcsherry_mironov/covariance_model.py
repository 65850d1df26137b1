"""Models that measure item effects, then a covariance of what these leave, and clean it (§4.3–4.6)."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.declarations import Crowd
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError
from hushrec.estimation import low_rank
from hushrec.estimation.choice_factors import MOST_FACTORS, choice_tastes, rounds
from hushrec.estimation.factor_steps import leading
from hushrec.estimation.head import Head
from hushrec.estimation.yearly import places
from hushrec.estimation.yearly_matrix import YearlyMatrix, head_of, unpack_triangle
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.models.base import EFFECTS_SPLIT, Noise, PrivateModel
from hushrec.models.effects import EffectSettings, ItemEffects, effects_footprint, effects_of
from hushrec.models.mcsherry_mironov.estimate import ROUNDS, weighted_factors
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.models.visibility import effects_split, head_size, shown_pairs
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import Frozen, only
from hushrec.sums.footprint import DRAWS, FLOPS, Footprint
from hushrec.sums.integer_grid import LARGEST_CAP
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.kernels.gram import ITEM_BITS

Cleaning = Literal["weighted", "shrink", "none"]
_LARGEST_DENSE = 10_000
"""Chosen by hand: a release without cleaning holds two packed triangles of float32, then 400 MB."""
_MOST_ITEMS = 20_000
"""Chosen by hand: a bound on memory, 1.6 GB for each square (docs/decisions/head-by-released-counts.md)."""
_LEAST_RATED = 0.3
"""Ratings that every item of the head is taken to have, however few its noisy count says. Chosen by hand."""
PAIRS_SPLIT: Mapping[str, Mapping[str, float]] = {
    "record": {"covariance": 0.7, "co-rating weights": 0.3},
    "user": {"covariance": 0.9, "co-rating weights": 0.1},
}
"""Parts of the two matrices: for unit ``record``, the weights are features of the items, too."""
_OF_PRIOR = 4
"""One factor in this many may come from a public prior. Chosen by hand."""


class Matrices(NamedTuple):
    """Released covariance and co-rating weights of the head of a catalogue, packed upper triangles.

    Attributes:
        covariance, weights: shape (n_head (n_head + 1) / 2,).
        head: which items they are of.

    Privacy: public once released.
    """

    covariance: low_rank.Triangle
    weights: low_rank.Triangle
    head: Head


class CovarianceSettings(Frozen):
    """How the covariance is measured and cleaned.

    Privacy: public.
    """

    clip: float = Field(default=0.1625, gt=0, le=0.25)
    """B, bound on a centred rating as a fraction of the scale's width."""
    reg: int = Field(default=300, ge=0, le=10**6)
    """β_p, fictitious ratings in a user's mean."""
    offset: Annotated[float, only(unit="record")] = Field(default=5, ge=0, allow_inf_nan=False)
    """added to c in the weights 1/√c."""
    contribution_cap: Annotated[float | None, only(unit="user")] = Field(default=None, ge=1, lt=LARGEST_CAP)
    """K, the number of ratings up to which a user counts in full; by default 0.18 of what the declared
    crowd rates on average, from 2 to 30.
    """
    cleaning: Cleaning = "weighted"
    """``weighted``; ``shrink``, as McSherry & Mironov 2009, §4.6; or ``none``."""
    shrinkage: Annotated[tuple[float, float], only(cleaning="shrink")] = (10.0, 100.0)
    """β of the diagonal and of the rest."""
    pair_items: int | None = Field(default=None, ge=2, le=1 << ITEM_BITS)
    """number of the most rated items, by noisy count, whose covariance is measured; the others are
    predicted by their effects alone. By default as many as the budget and the declared crowd make
    visible, at most 20,000.
    """
    threads: int = Field(default=2, ge=1, exclude=True)
    """number of threads of the kernel; does not change the result."""

    def sums(self, domain: Domain, terms: Terms, norm: Norm) -> CovarianceSums:
        """Return the sums that are measured under a budget."""
        return CovarianceSums(
            domain=domain,
            unit=terms.unit,
            adjacency=terms.adjacency,
            norm=norm,
            limit=domain.scale.span / 2,
            clip=self.clip * domain.scale.span,
            reg=self.reg,
            contribution_cap=self._cap(domain),
            offset=self.offset,
            threads=self.threads,
            pair_items=self.head_size(domain, terms, norm),
        )

    def head_size(self, domain: Domain, terms: Terms, norm: Norm) -> int:
        """Return the number of items whose covariance is measured."""
        if self.pair_items:
            return min(self.pair_items, domain.n_items)
        return head_size(domain, self._pairs_signal(domain, terms, norm), _MOST_ITEMS)

    def _pairs_signal(self, domain: Domain, terms: Terms, norm: Norm) -> float:
        return shown_pairs(domain, terms, norm, self._cap(domain))

    def _cap(self, domain: Domain) -> float:
        """Return K, a fifth of the usual number of ratings or so: no noise is made for prolific users."""
        return self.contribution_cap or min(max(0.18 * domain.crowd.each, 2.0), 30.0)

    def budget_split(self, domain: Domain, terms: Terms, norm: Norm) -> Mapping[str, float]:
        """Split the budget by name of measurement; those that noise would hide get next to nothing."""
        effects = effects_split(self._pairs_signal(domain, terms, norm))
        pairs_part = 1 - effects
        return {
            **{name: part * effects for name, part in EFFECTS_SPLIT.items()},
            **{name: part * pairs_part for name, part in PAIRS_SPLIT[terms.unit].items()},
        }

    def factors(
        self,
        matrices: Matrices,
        sums: CovarianceSums,
        counts: Floats,
        rank: int,
        prior: ItemPrior = NOTHING_KNOWN,
        crowd: Crowd | None = None,
    ) -> Floats:
        """Return the item factors of the cleaned covariance, shape (n_items, at most rank).

        In the tail of the catalogue they are zero, or those of ``prior``: the longest
        of these, at most a quarter of the rank, which leaves room for tastes that only these ratings show.

        A caller that keeps no name for ``matrices`` saves the memory of a triangle or two.

        Args:
            matrices: as released.
            sums: what they are sums of.
            counts: estimated number of ratings of each item, shape (n_items,).
            rank: largest number of factors.
            prior: what is publicly known about the items.
            crowd: how many people rated, as measured; by default as declared.

        Privacy: post-processing.
        """
        if self.cleaning == "shrink":
            return shrunk_factors(matrices, sums.domain, self.shrinkage, counts, rank)
        if self.cleaning == "none":
            ones = np.ones(sums.domain.n_items)
            return shrunk_factors(matrices, sums.domain, (0.0, 0.0), ones, rank)
        # In stars, a quarter of the scale, so that constants hold for every scale.
        star, n, head = sums.domain.scale.star, len(matrices.head.items), matrices.head
        released, co_rating = matrices.covariance, matrices.weights
        del matrices  # of a large catalogue, each triangle and each square is a gigabyte
        tastes = prior.factors_of(sums.domain.n_items)
        if sums.unit == "record" and not tastes.size and n > 1:
            chosen = low_rank.full(co_rating, n)
            tastes = head.spread(
                choice_tastes(chosen, co_rating.sigma, counts[head.items], sums.domain.scale.span)
            )
            del chosen
        weights = low_rank.full(co_rating, n)
        weight_sum = max(float(np.trace(weights, dtype=np.float64)), 1e-3)
        if co_rating.sigma:
            # Wgt without its noise: what of its spectrum is above the noise's edge.
            low_rank.write_product(low_rank.spectral_factors(weights, co_rating.sigma), weights)
        del co_rating
        expected = _expected_weights(sums, counts[head.items], crowd or sums.domain.crowd)
        low_rank.raise_entries(expected, weights)
        sigma = released.sigma / star**2
        covariance = low_rank.full(released, n, star**2)
        del released
        # The mean square of a clamped residual, trace Cov/trace Wgt, which the clamp keeps below B².
        bound = (sums.clip / star) ** 2
        variance = min(max(float(np.trace(covariance, dtype=np.float64)) / weight_sum, 0.0), bound)
        rated = np.maximum(counts[head.items], _LEAST_RATED)
        # The fit is of clamped ratings; half of what the clamp took from the factors is given back.
        restored = star * low_rank.unclipping_factor(variance, sums.clip / star)
        prior_factors = _longest(tastes, rank, n) if tastes.size else tastes
        factors = weighted_factors(
            covariance,
            weights,
            sigma=sigma,
            # Var Σ_u w z_i z_j from the ratings' own noise is τ⁴ Σ w² ≈ τ⁴ w̄ Wgt_ij; w̄ = Σ Wgt_ii/Σ n_i.
            kappa=variance**2 * min(1.0, weight_sum / float(rated.sum())),
            # S_i = τ²/n_i: no more is known of f_i from n_i ratings.
            row_variance=variance / rated,
            rank=rank,
            prior=prior_factors[head.items] / restored,
        )
        catalogue_factors = np.pad(prior_factors, ((0, 0), (0, factors.shape[1] - prior_factors.shape[1])))
        catalogue_factors[head.items] = restored * factors
        return catalogue_factors

    def footprint(self, domain: Domain, terms: Terms, norm: Norm, rank: int) -> Footprint:
        """Estimate as ``covariance_footprint`` does, for as many items as ``head_size`` says."""
        n = self.head_size(domain, terms, norm)
        of_head = covariance_footprint(n, rank, weighted=self.cleaning == "weighted")
        return replace(
            of_head,
            memory=of_head.memory + 16.0 * rank * (domain.n_items - n),
            each_rating=of_head.each_rating + (5 if n < domain.n_items else 0),
            lowered_by="covariance.pair_items",
        )

    def prospects(self, domain: Domain, terms: Terms, norm: Norm) -> str:
        """Say how much of a large catalogue the covariance covers; empty if it covers everything."""
        n = self.head_size(domain, terms, norm)
        if domain.n_items == n:
            return ""
        return (
            f"The covariance is that of the {n:,} most rated items of {domain.n_items:,}, by noisy count; "
            "the others are predicted by their effects alone. covariance.pair_items sets their number."
        )


def measure_matrices(
    sums: CovarianceSums, baseline: ItemEffects, people: AnyPeople, run: Measures, branch: str = ""
) -> Matrices:
    """Release covariance and weights of the residuals of the item effects, for the most rated items.

    Args:
        sums: what is measured.
        baseline: released item effects.
        people: whose ratings are summed.
        run: the charged plan, or the non-private baseline.
        branch: the branch of the plan that the matrices belong to, if any.

    Privacy: charged (the measurements of ``sums``).
    """
    before = head_of(run.earlier, "covariance", sums.domain.items)
    chosen = Head.of(baseline.counts, sums.n_items, before).items
    level = np.array([baseline.user_mean])
    # A fit that goes on after a stop measures what is left under the same head and effects as before.
    fixed = run.fixed("residuals", {"items": chosen, "effects": baseline.item_effects, "level": level})
    head = Head(sums.domain.n_items, fixed["items"])
    # McSherry & Mironov 2009, §4.3 (ratings centred by user, clamped to ±B), then Cov and Wgt of §4.4.
    values = sums.measure(people, fixed["effects"], float(fixed["level"][0]), head)
    # A loop's variable would keep a triangle.
    covariance, weights = starmap(
        lambda query, sums: _release_triangle(replace(query, branch=branch), sums, run), values
    )
    return Matrices(covariance, weights, head)


def over_the_year(
    matrices: list[Matrices], earlier: Carried | None, items: Sequence[str], size: float
) -> tuple[list[Matrices], dict[str, NDArray[Any]]]:
    """Combine the matrices with those of earlier releases of the year.

    Both are scaled such that all entries of the covariance have about the same noise: where an item is new,
    or new in the head, its noise is larger. That leaves Cov_ij ≈ Wgt_ij f_i·f_j as it is.

    Args:
        matrices: of this release, of which nothing else keeps the memory.
        earlier: what the release before handed over.
        items: of the catalogue.
        size: of the crowd.

    Returns:
        The matrices, and the arrays that are handed over.

    Privacy: post-processing.
    """
    covariance, weights, head = matrices.pop()
    both, kept = [], dict[str, NDArray[Any]]()
    for name, triangle in (("covariance", covariance), ("weights", weights)):
        n, noise = len(head.items), triangle.sigma**2
        now, before = unpack_triangle(triangle.values, n), YearlyMatrix.of(earlier, name, items)
        if earlier is None or before is None:
            of_year = YearlyMatrix(now, np.full(n, noise), 0.0, head, size)
        else:
            of_year = before.carry_over(size, head, noise)
            at, factors = places(earlier.items, items)[head.items], earlier.arrays["covariance.factors"]
            of_year = of_year.combine(now, noise, np.where(at[:, None] >= 0, factors[at], 0.0))
        both.append(of_year)
        kept |= of_year.arrays(name)
    variance = both[0].variance
    covariance, weights = (
        low_rank.Triangle(of_year.even_noise(variance), float(np.sqrt(np.median(of_year.variance))))
        for of_year in both
    )
    return [Matrices(covariance, weights, head)], kept


def _release_triangle(query: Measurement, sums: Callable[[], Ints], run: Measures) -> low_rank.Triangle:
    noisy = run.measure(query, sums)
    return low_rank.Triangle(noisy.values.astype(np.float32), noisy.sigma)


def squares(matrices: Matrices, domain: Domain) -> tuple[Floats32, Floats32]:
    """Return covariance, in squared stars, and weights, as squares. Privacy: post-processing."""
    n = len(matrices.head.items)
    return low_rank.full(matrices.covariance, n, domain.scale.star**2), low_rank.full(matrices.weights, n)


def _expected_weights(sums: CovarianceSums, counts: Floats, crowd: Crowd) -> Floats:
    """Return w with w_i w_j ≈ a tenth of Wgt_ij, if users chose items independently by popularity.

    Where noise hides the weights, they are not taken for less than this: factors would explode.
    """
    # Independent choices: Wgt_ij ≈ n w c² p_i p_j for n users with c ratings each, p_i the part of item i.
    of_head, each = counts / max(float(counts.sum()), 1.0), min(max(crowd.each, 1.0), float(sums.n_items))
    weight = sums.weight_of(each)
    return np.asarray(math.sqrt(0.1 * crowd.users * weight) * each * of_head, dtype=np.float64)


def _longest(prior: Floats, rank: int, n: int) -> Floats:
    """Return the longest factors of a prior, for a head of n items."""
    # Public factors take a quarter of the rank at most: tastes that only these ratings show need room too.
    most = min(max(rank // _OF_PRIOR, 1), n - 1, prior.shape[1])
    return leading(prior, most)[0]


def shrunk_factors(
    matrices: Matrices, domain: Domain, shrinkage: tuple[float, float], counts: Floats, rank: int
) -> Floats:
    """Factorise the average product, shrunk to the mean (McSherry & Mironov 2009, §4.6); zero in the tail.

    Args:
        shrinkage: β of the diagonal and of the rest.
        counts: estimated number of ratings of each item, by which the average is scaled; shape (n_items,).

    Privacy: post-processing.
    """
    average = low_rank.shrunk_average(*squares(matrices, domain), shrinkage)
    factors = low_rank.low_rank(average, counts[matrices.head.items], rank)
    return matrices.head.spread(domain.scale.star * factors)


def similarity(matrices: Matrices) -> Floats:
    """Factorise the cleaned co-rating weights, which serve as similarity; shape (n_items, any).

    Privacy: post-processing.
    """
    square = low_rank.full(matrices.weights, len(matrices.head.items))
    return matrices.head.spread(low_rank.spectral_factors(square, matrices.weights.sigma))


def dense(matrices: Matrices) -> dict[str, Floats32]:
    """Return ``raw_average`` and Wgt, packed, for the whole catalogue. Privacy: post-processing."""
    weights, head = matrices.weights.values, matrices.head
    average = low_rank.raw_average(matrices.covariance.values, weights)
    triangles = {"covariance": average, "similarity": weights}
    return {name: head.spread_triangle(triangle) for name, triangle in triangles.items()}


def require_dense(domain: Domain) -> None:
    """Refuse a catalogue whose matrices are too large to release without cleaning.

    Privacy: public.
    """
    if domain.n_items > _LARGEST_DENSE:
        raise ConfigError(
            f"without cleaning, a release holds at most {_LARGEST_DENSE:,} items; set a cleaning"
        )


def covariance_footprint(n: int, rank: int, *, weighted: bool) -> Footprint:
    """Estimate square matrices of some items, and the cost of cleaning them.

    One matrix is a triangle of 64-bit numbers or a square of 32-bit ones. Measuring holds two of them, in
    which the noise is drawn, and a third while it is kept on disk. Weighted cleaning holds two squares
    and a triangle of 32-bit numbers. The other ways hold the two triangles, their squares, and as many again
    that are made of them.

    Args:
        n: number of items whose covariance is measured.
        rank: number of factors; 0 if none are made.
        weighted: whether the factors are fitted under weights.

    Privacy: public.
    """
    square = 4.0 * n**2
    count = 3.1 if weighted else 10 if rank else 6
    products = 24.0 * (rank + 20)
    if weighted:
        # The factors of the choices, then those of the covariance.
        products += 2.0 * MOST_FACTORS * rounds(MOST_FACTORS) + ROUNDS * rank * (rank + 3) + 24 * 80
    memory = count * square + n * (14.0 * rank**2 if weighted else 40.0 * rank)
    return Footprint(memory + 1e7, 20, 32, n**2 / DRAWS + n**2 * products / FLOPS, 5.0)


class CovarianceModel(PrivateModel):
    """Noisy item effects, and Cov = Σ_u w_u z_u z_uᵀ + noise and Wgt = Σ_u w_u e_u e_uᵀ + noise.

    Privacy: unit ``record`` under both adjacencies; unit ``user`` under add-remove.
    """

    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace"), ("user", "add-remove")})
    informed: ClassVar = True

    rank: int
    noise: Noise = "gaussian"
    """``gaussian`` (needs δ > 0) or ``laplace``."""
    effects: EffectSettings = EffectSettings()
    """how the item effects are measured."""
    covariance: CovarianceSettings = CovarianceSettings()
    """how the covariance is measured and cleaned."""

    @abstractmethod
    def _make_release(
        self, baseline: ItemEffects, matrices: list[Matrices], sums: CovarianceSums, prior: ItemPrior
    ) -> Release:
        """Clean the covariance (§4.6) and make the release. Privacy: post-processing.

        Args:
            baseline: the item effects.
            matrices: as released, of which nothing else keeps the memory.
            sums: what they are sums of.
            prior: what is publicly known about the items.
        """

    @property
    def noise_distribution(self) -> Noise:
        return self.noise

    @property
    def n_factors(self) -> int:
        """Number of factors that are made of the covariance."""
        return self.rank

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List item sums and counts, covariance, co-rating weights."""
        return [*self._effects(domain, terms).queries(), *self._sums(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        return self.covariance.budget_split(domain, budget, self.norm)

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Say how much of a large catalogue the covariance covers."""
        return self.covariance.prospects(domain, budget, self.norm)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        covariance = self.covariance.footprint(domain, budget, self.norm, self.n_factors)
        return effects_footprint(domain, budget).then(covariance)

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure item effects (§4.2), then the covariance (§4.4) of the ratings centred by user (§4.3).

        Privacy: charged (the measurements of ``queries``).
        """
        items = people.domain.items
        effects, sums = self._effects(people.domain, run.terms), self._sums(people.domain, run.terms)
        year = self.effects.measure_year(effects, people, run)
        baseline = effects_of(effects, year.sums, run.prior)
        matrices, kept = [measure_matrices(sums, baseline, people, run)], dict[str, NDArray[Any]]()
        if run.yearly:
            matrices, kept = over_the_year(matrices, run.earlier, items, year.size)
        release = self._make_release(baseline, matrices, sums, run.prior)
        factors = {"covariance.factors": release.tensors.get("item_factors", np.zeros((len(items), 0)))}
        run.hand_over(lambda: Carried(items, {**year.arrays(), **kept, **factors}))
        return release

    @property
    def continues(self) -> bool:
        return True

    def shapes(self, domain: Domain, whole: Budget) -> Mapping[str, float]:
        sums = self._sums(domain, whole)
        return {"covariance clip": sums.clip, "covariance cap": sums.contribution_cap}

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return self.effects.sums(domain, terms, self.norm)

    def _sums(self, domain: Domain, terms: Terms) -> CovarianceSums:
        return self.covariance.sums(domain, terms, self.norm)
