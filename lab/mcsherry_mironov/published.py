"""McSherry & Mironov 2009, "Differentially Private Recommender Systems", as printed.

What fails: Theorem 4 needs means of items on the scale, which nothing printed keeps there, and residuals that
are clamped before they are centred; and the printed Δ of the covariance misses what one rating moves in its
user's other residuals (README.md). The means are clamped here, without which no bound is known.

Where the paper prints nothing, or these forms do something else, the class says so; the list is in
README.md. The ridge and both β of the cleaning are constants here: the paper trains them for
each set and each θ (§5.1), as ``lab/mcsherry_mironov/refitting.py`` does.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.estimation.shrinkage import damped_means, popularity
from hushrec.models.base import Noise
from hushrec.models.effects import ItemEffects, mean_residual, ratio
from hushrec.models.mcsherry_mironov.covariance_model import (
    Matrices,
    dense,
    measure_matrices,
    require_dense,
    shrunk_factors,
    similarity,
)
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.models.outputs import factor_release, neighbour_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import Frozen, only
from hushrec.sums.item_sums import EffectSums
from lab.paper import PublishedModel, SquareSum


@dataclass(frozen=True)
class SquareSums(CovarianceSums):
    """Covariance and co-rating weights, each released as a whole matrix (§4.4).

    An entry is drawn twice, (i, j) and (j, i). What is used is the mean of the two, which is computed from
    the released matrix alone: post-processing, with half the variance of one draw. hushrec's own models
    release the upper triangle, and draw once for a pair.
    """

    draws: ClassVar[int] = 2

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the two matrices, with Δ of the whole."""
        for query in super().queries():
            yield SquareSum(**{field.name: getattr(query, field.name) for field in fields(query)})


class _McSherry(PublishedModel):
    """Item effects (§4.2) and, for two of the models, the covariance of the residuals (§4.3–4.5)."""

    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace"), ("user", "add-remove")})

    noise: Noise = "gaussian"
    item_reg: float = Field(default=15.0, ge=0, allow_inf_nan=False)

    @property
    def noise_distribution(self) -> Noise:
        """As ``noise`` says."""
        return self.noise

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """Sum and count of all ratings, then by item."""
        return [*self._effects(domain, terms).queries()]

    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """The width of the scale for sums; 1 for counts, also if the unit is ``user`` (w = 1/√c)."""
        return {"global sum": domain.scale.span, "item sums": domain.scale.span, "item counts": 1.0}

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """0.02 for the global mean, the rest for the items, each in halves."""
        return {"global sum": 0.01, "global count": 0.01, "item sums": 0.49, "item counts": 0.49}

    def fit(self, people: People, run: Measures) -> Release:
        """Measure, damp, publish."""
        return self._make_release(people.domain, self._baseline(people, run), people, run)

    @abstractmethod
    def _make_release(
        self, domain: Domain, baseline: ItemEffects, people: AnyPeople, run: Measures
    ) -> Release:
        """The rest of the algorithm, after the item effects."""

    def _baseline(self, people: AnyPeople, run: Measures) -> ItemEffects:
        """§4.2: μ_i = (Σ_u r_ui + β_m G + noise)/(n_i + β_m + noise). G and μ_i are clamped to the scale."""
        domain, (lo, hi, _) = people.domain, people.domain.scale
        sums = self._effects(domain, run.terms)
        noisy = {query.name: run.measure(query, values) for query, values in sums.measure(people)}
        global_mean = float(np.clip(ratio(noisy["global sum"], noisy["global count"]), lo, hi))
        found = damped_means(noisy["item sums"], noisy["item counts"], global_mean, self.item_reg)
        effects = np.clip(found.mean, lo, hi)
        user_mean = mean_residual(noisy["item sums"], found.counts, effects)
        span = domain.scale.span
        return ItemEffects(
            effects,
            found.variance,
            found.counts,
            float(np.clip(user_mean, -span, span)),
            popularity(noisy["item sums"], noisy["item counts"], span),
        )

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return EffectSums(
            domain=domain,
            unit=terms.unit,
            adjacency=terms.adjacency,
            norm=self.norm,
            reg=None,
            origin=0.0,
            overall=True,
        )


class McSherryEffects(_McSherry):
    """Global effects (§4.2–4.3): the baseline of the paper's figures.

    r̂_ui = μ_i + b_u, μ_i = (Σ_u r_ui + β_m G + noise)/(n_i + β_m + noise), b_u the user's own mean residual.

    Args:
        noise: ``gaussian`` (needs δ > 0) or ``laplace``.
        item_reg: β_m, fictitious ratings at the global mean.
    """

    def _make_release(
        self, domain: Domain, baseline: ItemEffects, people: AnyPeople, run: Measures
    ) -> Release:
        return factor_release(self, domain, baseline, np.zeros((domain.n_items, 0)))


class PublishedCovariance(Frozen):
    """How the paper measures and cleans the covariance.

    Args:
        clip: B, bound on a centred rating as a fraction of the scale's width.
        reg: β_p, fictitious ratings in a user's mean, where the covariance is measured. A prediction
            takes fewer (``McSherryKNN``, ``McSherrySVD``).
        cleaning: ``shrink``; or ``none``, where Avg is Cov/max(Wgt, 1). The 1 is ours: the paper prints
            Cov/Wgt.
        shrinkage: β of the diagonal and of the rest, for ``shrink``. Not printed.
        threads: number of threads of the kernel; does not change the result.
    """

    clip: float = Field(default=0.25, gt=0, le=0.25)
    reg: int = Field(default=20, ge=0, le=10**6)
    cleaning: Literal["shrink", "none"] = "shrink"
    shrinkage: Annotated[tuple[float, float], only(cleaning="shrink")] = (10.0, 100.0)
    threads: int = Field(default=2, ge=1, exclude=True)


class _McSherryCovariance(_McSherry):
    """Item effects, then Cov = Σ_u w_u ẑ_u ẑ_uᵀ and Wgt = Σ_u w_u e_u e_uᵀ, w_u = 1/√c or 1/c (§4.4–4.5).

    Each has noise on all d² entries, as printed; of the two draws of a pair, the mean is used.
    """

    covariance: PublishedCovariance = PublishedCovariance()

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The item effects, covariance, co-rating weights."""
        return [*super().queries(domain, terms), *self._covariance(domain, terms).queries()]

    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """Also Theorems 5 and 6: 2Bα + 3B² and 3 in L1, (1 + 2√2) B² and √2 in L2; for a user, B² and 1."""
        sums = self._covariance(domain, terms)
        bound, span = sums.bound * sums.grid.step, domain.scale.span
        if terms.unit == "user":
            printed, weights = bound**2, 1.0
        elif self.norm == "l1":
            printed, weights = 2 * bound * span + 3 * bound**2, 3.0
        else:
            printed, weights = (1 + 2 * math.sqrt(2)) * bound**2, math.sqrt(2)
        return {**super().claims(domain, terms), "covariance": printed, "co-rating weights": weights}

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """0.02 / 0.19 / 0.79 for global mean, items and covariance (§5), each in halves."""
        return {
            "global sum": 0.01,
            "global count": 0.01,
            "item sums": 0.095,
            "item counts": 0.095,
            "covariance": 0.395,
            "co-rating weights": 0.395,
        }

    def _matrices(self, baseline: ItemEffects, people: AnyPeople, run: Measures) -> Matrices:
        return measure_matrices(self._covariance(people.domain, run.terms), baseline, people, run)

    def _covariance(self, domain: Domain, terms: Terms) -> SquareSums:
        span = domain.scale.span
        return SquareSums(
            domain=domain,
            unit=terms.unit,
            adjacency=terms.adjacency,
            norm=self.norm,
            limit=span,  # not clamped before centring: residuals of clamped effects are within the width
            clip=self.covariance.clip * span,
            reg=self.covariance.reg,
            contribution_cap=1.0,
            offset=0.0,
            threads=self.covariance.threads,
        )


class McSherrySVD(_McSherryCovariance):
    """Factors of the shrunk covariance (§5, "SVD").

    Avg = (Cov + β mean Cov)/(Wgt + β mean Wgt); Q are its k leading factors. Prediction:
    r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩, with p_u regressed on the user's own ratings.

    Not as printed: of the eigenvalues the k algebraically largest are kept, and none below zero, where the
    paper's rank-k approximation keeps the largest in size; b_u and p_u come from one regression, in which b_u
    has 4.4 fictitious ratings, where the paper's has β_p = 20; and the ridge is a constant.

    Args:
        noise: ``gaussian`` (needs δ > 0) or ``laplace``.
        item_reg: β_m, fictitious ratings at the global mean.
        covariance: how the covariance is measured and cleaned.
        rank: k, number of factors.
    """

    rank: int = Field(default=20, ge=1, le=1024)

    def _make_release(
        self, domain: Domain, baseline: ItemEffects, people: AnyPeople, run: Measures
    ) -> Release:
        matrices = self._matrices(baseline, people, run)
        how = self.covariance
        scale = baseline.counts if how.cleaning == "shrink" else np.ones(domain.n_items)
        shrinkage = how.shrinkage if how.cleaning == "shrink" else (0.0, 0.0)
        return factor_release(
            self, domain, baseline, shrunk_factors(matrices, domain, shrinkage, scale, self.rank)
        )


class McSherryKNN(_McSherryCovariance):
    """Nearest neighbours under the shrunk covariance (§5, "kNN").

    r̂_ui = μ_i + b_u + Σ_{j ∈ N} w_ij (r_uj − μ_j − b_u), N the k rated items with the largest Wgt_ij, w_ij
    from Avg.

    Not as printed: if cleaned, Wgt_ij is its low-rank signal (``estimation/low_rank.py:
    spectral_factors``), so that a release holds no dense matrix, and Avg is of rank k as in ``McSherrySVD``;
    b_u, the user's own mean residual, has 4.4 fictitious ratings, where the paper's has β_p = 20; the ridge
    is a constant. We read the paper's k = 20, "the dimensionality for all algorithms", as 20 neighbours too.

    Args:
        noise: ``gaussian`` (needs δ > 0) or ``laplace``.
        item_reg: β_m, fictitious ratings at the global mean.
        covariance: how the covariance is measured and cleaned.
        n_neighbours: k, number of a user's ratings that a prediction uses.
        rank: rank of the cleaned covariance.
    """

    n_neighbours: int = Field(default=20, ge=1, le=1000)
    rank: Annotated[int, only(covariance__cleaning="shrink")] = Field(default=20, ge=1, le=1024)

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The item effects, covariance, co-rating weights."""
        if self.covariance.cleaning == "none":
            require_dense(domain)
        return super().queries(domain, terms)

    def _make_release(
        self, domain: Domain, baseline: ItemEffects, people: AnyPeople, run: Measures
    ) -> Release:
        matrices, how = self._matrices(baseline, people, run), self.covariance
        if how.cleaning == "none":
            return neighbour_release(self, domain, baseline, self.n_neighbours, dense(matrices))
        factors = shrunk_factors(matrices, domain, how.shrinkage, baseline.counts, self.rank)
        cleaned = {"item_factors": factors, "similarity_factors": similarity(matrices)}
        return neighbour_release(self, domain, baseline, self.n_neighbours, cleaned)
