"""The first phase of most models: measure sums and counts, and estimate item effects."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.declarations import USUAL
from hushrec.data.domain import Domain
from hushrec.estimation.activity import mean_count
from hushrec.estimation.shrinkage import (
    Estimated,
    Known,
    mean_ratio,
    popularity,
    shrink,
    shrinking_cost,
)
from hushrec.estimation.yearly import YearlySums
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import Norm
from hushrec.privacy.grant import Measures
from hushrec.privacy.noisy import Noisy
from hushrec.settings import Frozen, only
from hushrec.sums.footprint import DRAWS, Footprint
from hushrec.sums.item_sums import EffectSums

_LARGEST_SPREAD = 0.4
"""Largest deviation of ratings around their users' means, in widths of the scale. Chosen by hand."""


class ItemEffects(NamedTuple):
    """Released global effects.

    Attributes:
        item_effects: mean rating of each item by a user of average level, minus ``user_mean``;
            shape (n_items,).
        variance: posterior variance of each.
        counts: estimated number of ratings of each.
        user_mean: average over users of rating minus item effect.
        popularity: how often each item is chosen and liked, positive.
        prior: what was publicly known about the items before.

    Privacy: post-processing.
    """

    item_effects: Floats
    variance: Floats
    counts: Floats
    user_mean: float
    popularity: Floats
    prior: ItemPrior = NOTHING_KNOWN


class EffectSettings(Frozen):
    """How item effects are measured.

    Privacy: public.
    """

    reg: Annotated[int, only(unit="user")] = Field(default=5, ge=0, le=10**6)
    """fictitious ratings at the middle of the scale in a user's own mean."""

    def sums(self, domain: Domain, terms: Terms, norm: Norm, *, personal_epsilon: bool = False) -> EffectSums:
        """Return the sums that are measured under a budget."""
        return EffectSums(
            domain=domain,
            unit=terms.unit,
            adjacency=terms.adjacency,
            norm=norm,
            reg=self.reg,
            origin=domain.scale.mid,
            personal_epsilon=personal_epsilon,
        )

    def measure(self, sums: EffectSums, people: AnyPeople, run: Measures) -> ItemEffects:
        """Release the sums, then take the posterior mean of every item's effect.

        Args:
            people: the people whose ratings are summed.

        Privacy: charged (the measurements of ``sums``).
        """
        return effects_of(sums, self.measure_year(sums, people, run).sums, run.prior)

    def measure_year(self, sums: EffectSums, people: AnyPeople, run: Measures) -> YearlySums:
        """Release the sums, and combine them with those of earlier releases of the year.

        Privacy: charged (the measurements of ``sums``).
        """
        # MSum and MCnt of McSherry & Mironov 2009, §4.2; for unit user, of weighted users as in §4.5.
        noisy = {query.name: run.measure(query, values) for query, values in sums.measure(people)}
        members = noisy.get("global count")
        year = YearlySums.of(run.earlier, sums.domain.items)
        year.warn_of_fewer(noisy["item counts"])
        if members is None:
            year = year.follow_total(noisy["item counts"])
        else:
            year = year.follow_size(float(members.values[0]), members.sigma)
        for name, released in noisy.items():
            year = year.combine(name, released.values, released.sigma)
        return year


def effects_of(sums: EffectSums, noisy: Mapping[str, Known], prior: ItemPrior) -> ItemEffects:
    """Estimate every item's effect by its posterior mean, and the level of users.

    Args:
        noisy: what was released, by name.
        prior: what is publicly known of the items.

    Privacy: post-processing.
    """
    (lo, hi, _), span = sums.domain.scale, sums.domain.scale.span
    item_sums, item_counts = noisy["item sums"], noisy["item counts"]
    own_variance, upscaled = None, 1.0
    if "weight ratios" in noisy:
        # Sums of people who weigh κ/√c, over κ: as the counts weigh them, up to how their ratings spread.
        kappa = mean_ratio(noisy["weight ratios"], noisy["global count"])
        item_sums = Estimated(item_sums.values / kappa, item_sums.sigma / kappa)
        # Var Σ w z = s² Σ w².
        lowered, upscaled = _counts_over_ratings(sums, noisy)
        own_variance = variance_of_ratings(sums, noisy) / lowered
    effects = shrink(item_sums, item_counts, span, prior, sums.origin, own_variance)
    item_effects = np.clip(effects.mean + sums.origin, lo, hi)
    if "global sum" not in noisy:
        # Uncentred sums hold the level of users: it is what the shrunk effects leave of them.
        user_mean = mean_residual(item_sums, effects.counts, item_effects - sums.origin)
    else:
        # The item sums are centred by user, so the level comes from the users' own means.
        global_mean = sums.origin + overall_level(noisy["global sum"], noisy["global count"], span)
        user_mean = global_mean - float(effects.counts @ item_effects / effects.counts.sum())
    return ItemEffects(
        item_effects,
        effects.variance,
        upscaled * effects.counts,
        float(np.clip(user_mean, -span, span)),
        upscaled * popularity(item_sums, item_counts, span),
        prior,
    )


def _counts_over_ratings(sums: EffectSums, noisy: Mapping[str, Known]) -> tuple[float, float]:
    """Return about Σ w/Σ w² of the users' weights w in the counts, and the number of ratings over Σ w.

    Counts of w = 1/√c add up to √c for each user. Those of 1/c, under L1 norms, add up to 1, which says
    nothing of c: it is taken from the declared crowd.
    """
    domain, crowd = sums.domain, sums.domain.crowd
    most = min(domain.max_per_user, domain.n_items)
    if sums.norm == "l1":
        each = float(min(crowd.each if crowd.declared else USUAL, most))
        return each, each
    people = max(float(noisy["global count"].values[0]), 1.0)
    mean_root = max(float(noisy["item counts"].values.sum()) / people, 1.0)
    return mean_root, mean_count(mean_root, most) / mean_root


def variance_of_ratings(sums: EffectSums, noisy: Mapping[str, Known]) -> float:
    """Estimate the variance of ratings around their users' means, in squared rating units, unit ``user``.

    Privacy: post-processing.
    """
    # Whom R clips has weight R/‖z‖ = R/(s √c), so κ is R/s.
    kappa = mean_ratio(noisy["weight ratios"], noisy["global count"])
    return min(sums.clip_norm / kappa, _LARGEST_SPREAD * sums.domain.scale.span) ** 2


def effects_footprint(domain: Domain, terms: Terms) -> Footprint:
    """Estimate measuring and shrinking item effects; later phases add to it.

    Privacy: public.
    """
    n, user = domain.n_items, terms.unit == "user"
    memory, seconds = shrinking_cost(n)
    if user or terms.adjacency == "add-remove":
        seconds *= 4  # counts, effects given them, and popularity; else the counts are exact
    each = 40 if user else 20  # a rating's value; for unit user, the capped ratings, centred and weighted
    return Footprint(1.5e7 + memory + 100 * n, each, 32, seconds + 2 * n / DRAWS, 0.1)


def mean_residual(item_sums: Known, counts: Floats, item_effects: Floats) -> float:
    """Return Σ_i (s_i − n_i μ_i)/Σ_i n_i, the mean rating minus item effect. Privacy: post-processing."""
    return float((item_sums.values.sum() - counts @ item_effects) / max(counts.sum(), 1.0))


def overall_level(total: Known, count: Known, span: float) -> float:
    """Estimate the mean of users' means above the middle of the scale, from a noisy sum and number.

    The posterior mean under the prior N(α/10, (0.15 α)²), with α the width of the scale: people rate more of
    what they like. Otherwise noise would push the level of a few people to an end of the scale.

    Privacy: post-processing.
    """
    mean, variance = 0.1 * span, (0.15 * span) ** 2
    people = max(float(count.values[0]), 1.0)
    noise = (total.sigma**2 + (mean * count.sigma) ** 2) / people**2
    return float(mean + variance / (variance + noise) * (total.values[0] / people - mean))


def ratio(total: Noisy, count: Noisy) -> float:
    """Divide a released sum of one entry by a released count of at least 1. Privacy: post-processing."""
    return float(total.values[0] / max(count.values[0], 1.0))
