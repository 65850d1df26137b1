"""The first phase of most models: measure sums and counts, and estimate item effects."""

from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.domain import Domain
from hushrec.estimation.shrinkage import popularity, shrink, shrinking
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.bounded import Noisy, Norm
from hushrec.privacy.run import Run
from hushrec.settings import Frozen, only
from hushrec.statistics.footprint import DRAWS, Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.population import Population


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
    """How item effects are measured. Widths are fractions of the scale's width: one star of five is 0.25.

    Args:
        clip: bound on a rating minus its user's mean (unit ``user``).
        strength: fictitious ratings at the middle of the scale in a user's own mean (unit ``user``).
        contribution_cap: K, number of ratings up to which a user counts in full (unit ``user``); by default
            it grows with ε, because less noise leaves room for more of each user's ratings.

    Privacy: public.
    """

    clip: Annotated[float, only(unit="user")] = Field(default=0.35, gt=0, le=2, allow_inf_nan=False)
    strength: Annotated[int, only(unit="user")] = Field(default=20, ge=0, le=10**6)
    contribution_cap: Annotated[float | None, only(unit="user")] = Field(
        default=None, ge=1, allow_inf_nan=False
    )

    def sums(self, domain: Domain, terms: Terms, norm: Norm, *, personal: bool = False) -> EffectSums:
        """The sums that are measured under a budget."""
        return EffectSums(
            domain=domain,
            unit=terms.unit,
            adjacency=terms.adjacency,
            norm=norm,
            clip=self.clip * domain.scale.span,
            contribution_cap=self.contribution_cap or max(15 * terms.epsilon**0.9, 1.0),
            strength=self.strength,
            origin=domain.scale.mid,
            personal=personal,
        )

    def measure(self, sums: EffectSums, people: Population, run: Run) -> ItemEffects:
        """Release the sums, then take the posterior mean of every item's effect.

        Args:
            sums: what is measured.
            people: the people whose ratings are summed.
            run: what was charged.

        Privacy: charged (the events of ``sums``).
        """
        noisy = {query.name: run.measure(query, values) for query, values in sums.measure(people)}
        (lo, hi, _), span = sums.domain.scale, sums.domain.scale.span
        effects = shrink(noisy["item sums"], noisy["item counts"], span, run.prior, sums.origin)
        item_effects = np.clip(effects.mean + sums.origin, lo, hi)
        if "global sum" not in noisy:
            user_mean = mean_residual(noisy["item sums"], effects.counts, item_effects - sums.origin)
        else:
            # The item sums are centred by user, so the level comes from the users' own means.
            global_mean = sums.origin + ratio(noisy["global sum"], noisy["global count"])
            user_mean = global_mean - float(effects.counts @ item_effects / effects.counts.sum())
        return ItemEffects(
            item_effects,
            effects.variance,
            effects.counts,
            float(np.clip(user_mean, -span, span)),
            popularity(noisy["item sums"], noisy["item counts"], span),
            run.prior,
        )


def effects_footprint(domain: Domain, terms: Terms) -> Footprint:
    """Footprint of measuring and shrinking item effects; later phases add to it. Privacy: public."""
    n, user = domain.n_items, terms.unit == "user"
    memory, seconds = shrinking(n)
    if user or terms.adjacency == "add-remove":
        seconds *= 4  # counts, effects given them, and popularity; else the counts are exact
    each = 40 if user else 20  # a rating's value; for unit user, the capped ratings, centred and weighted
    return Footprint(2e7 + memory + 100 * n, each, 32, seconds + 2 * n / DRAWS, 0.1)


def mean_residual(item_sums: Noisy, counts: Floats, item_effects: Floats) -> float:
    """Mean rating minus item effect: (Σ_i s_i − Σ_i n_i μ_i)/Σ_i n_i. Privacy: post-processing."""
    return float((item_sums.values.sum() - counts @ item_effects) / max(counts.sum(), 1.0))


def ratio(total: Noisy, count: Noisy) -> float:
    """A released sum of one entry over a released count of at least one. Privacy: post-processing."""
    return float(total.values[0] / max(count.values[0], 1.0))
