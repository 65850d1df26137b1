"""Released averages of items and users: the first phase of models that publish a vector for every user."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import ConfigError
from hushrec.estimation.shrinkage import ShrunkMeans, damped, shrink, shrinking
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.grant import Grant
from hushrec.settings import Frozen
from hushrec.statistics.footprint import DRAWS, LISTED, Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.person_sums import PeopleSums
from hushrec.statistics.query import Query
from hushrec.statistics.sensitivity import Norm


class Biases(NamedTuple):
    """Released biases: a rating is item_effects + user_effects + residual.

    Attributes:
        item_effects: mean rating of each item, shape (n_items,).
        item_variance: posterior variance of each.
        item_counts: estimated number of ratings of each.
        user_effects: each listed user's level, shape (n_users,).
        user_variance: posterior variance of each.
        user_counts: estimated number of ratings of each.

    Privacy: post-processing.
    """

    item_effects: Floats
    item_variance: Floats
    item_counts: Floats
    user_effects: Floats
    user_variance: Floats
    user_counts: Floats


class BiasSettings(Frozen):
    """How averages are measured. Widths are fractions of the scale's width: one star of five is 0.25.

    Args:
        clip: bound on a rating minus its item's mean.
        item_strength: β_m, fictitious ratings at the global mean (published analysis).
        user_strength: β_u, fictitious residuals at their global mean (published analysis).

    Privacy: public.
    """

    clip: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)
    item_strength: float = Field(default=15.0, ge=0, allow_inf_nan=False)
    user_strength: float = Field(default=20.0, ge=0, allow_inf_nan=False)

    def queries(self, domain: Domain, budget: Budget, norm: Norm, *, published: bool) -> Iterator[Query]:
        """Sums and counts by item, then by user.

        Raises:
            DomainError: The domain has no roster.
        """
        domain.require_roster()
        items, people = self._sums(domain, budget, norm, published=published)
        yield from items.queries()
        yield from people.queries()

    def measure(
        self, ratings: Ratings, budget: Budget, norm: Norm, grant: Grant, *, published: bool
    ) -> Biases:
        """Algorithms 1 and 2 (Friedman, Berkovsky & Kaafar 2016, §4.1).

        Published: (Σ r + β G + noise)/(n + β), clamped. Corrected: the posterior mean given the variances of
        the noise.

        Privacy: charged (the events of ``queries``).
        """
        lo, hi, _ = ratings.domain.scale
        items, people = self._sums(ratings.domain, budget, norm, published=published)
        noisy = {query.name: query.release(grant, values) for query, values in items.measure(ratings)}
        if published:
            global_mean = float(
                np.clip(_ratio(noisy["global sum"], noisy["global count"].values.sum()), lo, hi)
            )
            found = damped(noisy["item sums"], noisy["item counts"], global_mean, self.item_strength)
        else:
            found = shrink(noisy["item sums"], noisy["item counts"], ratings.domain.scale.span)
        effects = np.clip(found.mean + items.origin, lo, hi)
        noisy |= {query.name: query.release(grant, sums) for query, sums in people.measure(ratings, effects)}
        user_biases = self._user_biases(noisy, people, published=published)
        return Biases(
            effects, found.variance, found.counts, user_biases.mean, user_biases.variance, user_biases.counts
        )

    def _user_biases(self, noisy: Mapping[str, Noisy], people: PeopleSums, *, published: bool) -> ShrunkMeans:
        sums, counts = noisy["user sums"], noisy["user counts"]
        span = people.domain.scale.span
        if not published:
            return shrink(sums, counts, span)
        global_mean = _ratio(noisy["residual sum"], noisy["global count"].values.sum())
        found = damped(sums, counts, global_mean, self.user_strength)
        return ShrunkMeans(np.clip(found.mean, -span / 2, span / 2), found.variance, found.counts)

    def _sums(
        self, domain: Domain, budget: Budget, norm: Norm, *, published: bool
    ) -> tuple[EffectSums, PeopleSums]:
        span, adjacency = domain.scale.span, budget.adjacency
        items = EffectSums(
            domain, "rating", adjacency, norm, published, clip=span, contribution_cap=1.0, strength=0
        )
        clip = span if published else self.clip * span
        return items, PeopleSums(domain, adjacency, norm, published, clip)


def require_rank(rank: int, domain: Domain) -> None:
    """Refuse a rank above the number of items, which no release may have.

    Raises:
        ConfigError: The rank is above the number of items.

    Privacy: public.
    """
    if rank > domain.n_items:
        raise ConfigError(f"rank = {rank} is more than the {domain.n_items:,} items; set a smaller rank")


def bias_share(epsilon: float) -> float:
    """Share of a corrected factorisation's budget for the averages: most of it if noise hides the factors.

    Privacy: public.
    """
    return min(max(0.75 / epsilon, 0.15), 0.8)


def biases_footprint(domain: Domain, budget: Budget, *, published: bool) -> Footprint:
    """Footprint of measuring and shrinking both averages; later phases add to it. Privacy: public."""
    people, items = domain.n_users, domain.n_items
    memory = seconds = 0.0
    if budget.adjacency == "add-remove" and not published:
        memory, _ = shrinking(max(people, items))
        _, seconds = shrinking(people + items)
    drawn = 2 * (people + items) / DRAWS
    return Footprint(1e7 + memory + LISTED * people + 100 * items, 40, 32, seconds + drawn, 0.3)


def average_shares(budget: Budget, *, published: bool, items: float, users: float) -> dict[str, float]:
    """Parts of the budget by name of measurement.

    Published: 0.02 for the two global means; sums and counts get halves if counts cost anything. Corrected:
    no global means, and a fifth of each part for the counts.

    Args:
        budget: decides whether counts cost anything.
        published: which analysis.
        items, users: parts for the averages of items and of users.

    Privacy: public.
    """
    counted = 0.0 if budget.adjacency == "replace" else 0.5 if published else 0.2
    shares = {"global sum": 0.01 * (1 - counted), "global count": 0.01 * 0.5, "residual sum": 0.01}
    for side, part in (("item", items), ("user", users)):
        shares |= {f"{side} sums": (1 - counted) * part, f"{side} counts": (counted or 0.5) * part}
    return shares


def _ratio(total: Noisy, count: float) -> float:
    return float(total.values[0] / max(count, 1.0))
