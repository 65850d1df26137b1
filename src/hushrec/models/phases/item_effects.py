"""The first phase of most models: measure sums and counts, and estimate item effects."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.estimation.shrinkage import damped, shrink, shrinking
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.grant import Grant
from hushrec.settings import Frozen
from hushrec.statistics.footprint import DRAWS, Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.query import Query
from hushrec.statistics.sensitivity import Norm


class ItemEffects(NamedTuple):
    """Released global effects.

    Attributes:
        item_effects: mean rating of each item by a user of average level, minus ``user_mean``;
            shape (n_items,).
        variance: posterior variance of each.
        counts: estimated number of ratings of each.
        user_mean: average over users of rating minus item effect.

    Privacy: post-processing.
    """

    item_effects: Floats
    variance: Floats
    counts: Floats
    user_mean: float


class EffectSettings(Frozen):
    """How item effects are measured. Widths are fractions of the scale's width: one star of five is 0.25.

    Args:
        clip: bound on a rating minus its user's mean (unit ``user``).
        strength: fictitious ratings at the middle of the scale in a user's own mean (unit ``user``).
        contribution_cap: K, number of ratings up to which a user counts in full (unit ``user``); by default
            it grows with ε, because less noise leaves room for more of each user's ratings.
        item_strength: β_m, fictitious ratings at the global mean (published analysis).

    Privacy: public.
    """

    clip: float = Field(default=0.35, gt=0, le=2, allow_inf_nan=False)
    strength: int = Field(default=20, ge=0, le=10**6)
    contribution_cap: float | None = Field(default=None, ge=1, allow_inf_nan=False)
    item_strength: float = Field(default=15.0, ge=0, allow_inf_nan=False)

    def sums(
        self, domain: Domain, budget: Budget, norm: Norm, *, published: bool, personal: bool = False
    ) -> EffectSums:
        """The sums that are measured under a budget."""
        contribution_cap = 1.0 if published else self.contribution_cap or max(15 * budget.epsilon**0.9, 1.0)
        return EffectSums(
            domain=domain,
            unit=budget.unit,
            adjacency=budget.adjacency,
            norm=norm,
            published=published,
            clip=self.clip * domain.scale.span,
            contribution_cap=contribution_cap,
            strength=self.strength,
            personal=personal,
        )

    def measure(self, sums: EffectSums, measured: Iterable[tuple[Query, Ints]], grant: Grant) -> ItemEffects:
        """Release the sums, then shrink them to item effects.

        Args:
            sums: what was measured.
            measured: its values, as ``sums.measure`` gives them.
            grant: what was charged.

        Privacy: charged (the events of ``sums``).
        """
        noisy = {query.name: query.release(grant, values) for query, values in measured}
        lo, hi, _ = sums.domain.scale
        span, origin = sums.domain.scale.span, sums.origin
        item_sums, item_counts = noisy["item sums"], noisy["item counts"]
        if sums.published:
            global_mean = float(np.clip(_ratio(noisy["global sum"], noisy["global count"]), lo, hi))
            effects = damped(item_sums, item_counts, global_mean, self.item_strength)
        else:
            effects = shrink(item_sums, item_counts, span)
        item_effects = np.clip(effects.mean + origin, lo, hi)
        if "global sum" in noisy and not sums.published:
            # The item sums are centred by user, so the level comes from the users' own means.
            global_mean = origin + _ratio(noisy["global sum"], noisy["global count"])
            user_mean = global_mean - effects.counts @ item_effects / effects.counts.sum()
        else:
            residual = item_sums.values.sum() - effects.counts @ (item_effects - origin)
            user_mean = residual / max(effects.counts.sum(), 1.0)
        return ItemEffects(
            item_effects, effects.variance, effects.counts, float(np.clip(user_mean, -span, span))
        )


def effects_footprint(domain: Domain, budget: Budget, *, published: bool) -> Footprint:
    """Footprint of measuring and shrinking item effects; later phases add to it. Privacy: public."""
    n, user = domain.n_items, budget.unit == "user"
    denoised = not published and (user or budget.adjacency == "add-remove")
    memory, seconds = shrinking(n) if denoised else (0.0, 0.0)
    each = 40 if user else 20  # a rating's value; for unit user, the capped ratings, centred and weighted
    return Footprint(1e7 + memory + 100 * n, each, 32, seconds + 2 * n / DRAWS, 0.1)


def _ratio(total: Noisy, count: Noisy) -> float:
    return float(total.values[0] / max(count.values[0], 1.0))
