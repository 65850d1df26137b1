"""CappedMeans: a mean rating for every item, from at most K ratings of each user."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.models.base import PrivateModel
from hushrec.models.effects import ItemEffects
from hushrec.models.outputs import factor_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release


class CappedMeans(PrivateModel):
    """A mean rating for every item, from at most K ratings of each user.

    A user adds m ≤ min(K, max_per_user) ratings, each to another item. A rating lies at most span/2 from the
    middle of the scale. So one user more or less moves the sums by at most √m span/2 and the counts by at
    most √m, in the L2 norm.

    Privacy: unit ``user`` under add-remove.
    """

    supports: ClassVar = frozenset({("user", "add-remove")})

    contribution_cap: int = Field(default=20, ge=1)
    """K, the largest number of ratings that a user adds; a hash of their id and items chooses which."""
    reg: float = Field(default=5.0, gt=0)
    """fictitious ratings of every item at the middle of the scale."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        norm = min(self.contribution_cap, domain.max_per_user) ** 0.5
        scale, n = domain.scale, domain.n_items
        sums = Measurement("item sums", norm * scale.span / 2, "l2", scale.step / 2, n)
        return [sums, Measurement("item counts", norm, "l2", 1.0, n)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        return {"item sums": 0.7, "item counts": 0.3}

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Sum, count, divide.

        Privacy: charged (the measurements of ``queries``).
        """
        domain = people.domain
        n, scale, most = domain.n_items, domain.scale, self.contribution_cap

        def add_ratings(block: People, sums: Ints) -> None:
            kept = block.capped(most)
            assert kept.values is not None, "ratings have values"
            # r = lo + step · value, so 2 (r − mid)/step is this integer.
            np.add.at(sums, kept.items, 2 * kept.values.astype(np.int64) - (scale.n_values - 1))

        def add_ones(block: People, counts: Ints) -> None:
            counts += np.bincount(block.capped(most).items, minlength=n)

        of_sums, of_counts = self.queries(domain, run.terms)
        sums = run.measure(of_sums, lambda: people.total(add_ratings, n)[0])
        counts = np.maximum(run.measure(of_counts, lambda: people.total(add_ones, n)[0]).values, 1)
        total = counts + self.reg
        means = np.clip(scale.mid + sums.values / total, scale.lo, scale.hi)
        effects = ItemEffects(means, (sums.sigma / total) ** 2, counts, 0.0, popularity=counts)
        return factor_release(self, domain, effects, np.zeros((n, 0)))
