"""Released averages of items and users: the first phase of models that publish a vector for every user."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError
from hushrec.estimation.shrinkage import popularity, shrink, shrinking_cost
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.privacy.grant import Measures
from hushrec.settings import Frozen
from hushrec.sums.footprint import DRAWS, LISTED, Footprint
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.residuals import PeopleSums


class Biases(NamedTuple):
    """Released biases: a rating is item_effects + user_effects + residual.

    Attributes:
        item_effects: mean rating of each item, shape (n_items,).
        item_variance: posterior variance of each.
        item_counts: estimated number of ratings of each.
        item_popularity: how often each item is chosen and liked, positive.
        user_effects: each listed user's level, shape (n_users,).
        user_variance: posterior variance of each.
        user_counts: estimated number of ratings of each.

    Privacy: post-processing.
    """

    item_effects: Floats
    item_variance: Floats
    item_counts: Floats
    item_popularity: Floats
    user_effects: Floats
    user_variance: Floats
    user_counts: Floats


class BiasSettings(Frozen):
    """How averages are measured. Widths are fractions of the scale's width: one star of five is 0.25.

    Privacy: public.
    """

    clip: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)
    """bound on a rating minus its item's mean."""

    def queries(self, domain: Domain, terms: Terms, norm: Norm) -> Iterator[Measurement]:
        """List sums and counts by item, then by user."""
        domain.require_roster()
        items, users = self._sums(domain, terms, norm)
        yield from items.queries()
        yield from users.queries()

    def measure(self, people: AnyPeople, run: Measures, norm: Norm) -> Biases:
        """Measure averages of items, then of users after them, each the posterior mean given the noise.

        After Algorithms 1 and 2 of Friedman, Berkovsky & Kaafar 2016, §4.1.

        Privacy: charged (the measurements of ``queries``).
        """
        (lo, hi, _), span = people.domain.scale, people.domain.scale.span
        items, users = self._sums(people.domain, run.terms, norm)
        noisy = {query.name: run.measure(query, values) for query, values in items.measure(people)}
        # Algorithm 1, lines 4 and 5; a posterior mean stands in place of the β_m fictitious ratings.
        of_items = shrink(noisy["item sums"], noisy["item counts"], span, run.prior, items.origin)
        effects = np.clip(of_items.mean + items.origin, lo, hi)
        # Algorithm 2, lines 1 and 5; ratings are clamped before they are summed, not the averages (line 6).
        noisy |= {query.name: run.measure(query, sums) for query, sums in users.measure(people, effects)}
        of_users = shrink(noisy["user sums"], noisy["user counts"], span)
        return Biases(
            effects,
            of_items.variance,
            of_items.counts,
            popularity(noisy["item sums"], noisy["item counts"], span),
            of_users.mean,
            of_users.variance,
            of_users.counts,
        )

    def _sums(self, domain: Domain, terms: Terms, norm: Norm) -> tuple[EffectSums, PeopleSums]:
        # Ratings minus the middle of the scale move a sum by half the width: 2 stars of five, in place of 5.
        items = EffectSums(
            domain,
            "record",
            terms.adjacency,
            norm,
            reg=0,
            origin=domain.scale.mid,
        )
        return items, PeopleSums(domain, terms.adjacency, norm, self.clip * domain.scale.span)


def require_rank(rank: int, domain: Domain) -> None:
    """Refuse a rank above the number of items, which no release may have.

    Privacy: public.
    """
    if rank > domain.n_items:
        raise ConfigError(f"rank = {rank} is more than the {domain.n_items:,} items; set a smaller rank")


def biases_footprint(domain: Domain, terms: Terms) -> Footprint:
    """Estimate measuring and shrinking both averages; later phases add to it.

    Privacy: public.
    """
    people, items = domain.n_users, domain.n_items
    memory, seconds = shrinking_cost(items)  # of the popularity; all counts are exact but under add-remove
    if terms.adjacency == "add-remove":
        memory, _ = shrinking_cost(max(people, items))
        _, seconds = shrinking_cost(people + 2 * items)
    drawn = 2 * (people + items) / DRAWS
    return Footprint(1e7 + memory + LISTED * people + 100 * items, 40, 32, seconds + drawn, 0.3)


def average_split(terms: Terms, part: float) -> dict[str, float]:
    """Split between averages: more for users than items, a fifth of each for its counts.

    Args:
        terms: decide whether counts cost anything.
        part: the part of both averages.

    Privacy: public.
    """
    counted = 0.0 if terms.adjacency == "replace" else 0.2
    split: dict[str, float] = {}
    for side, side_part in (("item", 0.3 * part), ("user", 0.7 * part)):
        split |= {f"{side} sums": (1 - counted) * side_part, f"{side} counts": (counted or 0.5) * side_part}
    return split
