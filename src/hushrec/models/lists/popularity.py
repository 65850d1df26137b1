"""Popularity: how many people gave each item (counted as in McSherry & Mironov 2009, §4.2)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain, FeedbackKind
from hushrec.estimation.yearly import YearlySums
from hushrec.models.base import PrivateModel
from hushrec.models.lists.outputs import score_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.sums.footprint import COPIED, DRAWS, Footprint
from hushrec.sums.item_sums import ItemCounts


class Popularity(PrivateModel):
    """A noisy count for every item, which ranks the items alike for all users.

    Score: s_i = Σ_u w_u [u gave i] + noise. For unit ``user``, w_u = 1/√c_u for a user with c_u items; for
    unit ``record``, which is one interaction here, w_u = 1. How often a user gave an item does not count.

    Privacy: units ``user`` and ``record`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a count per item",
        "predicts by": "the same scores for everybody",
        "noise": "Gaussian",
        "lists users": "no",
        "paper": "counts as in McSherry & Mironov 2009, §4.2",
    }
    supports: ClassVar = frozenset({("user", "add-remove"), ("record", "add-remove")})
    feedback: ClassVar[FeedbackKind] = "interactions"

    @property
    def continues(self) -> bool:
        return True

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        return [ItemCounts(domain, terms.unit).query]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give everything to the one measurement."""
        return {"item counts": 1.0}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the counts, and a mark for each interaction."""
        n, user = domain.n_items, budget.unit == "user"
        return Footprint(1e7 + 2 * COPIED * n, 20 if user else 4, 32, n / DRAWS, 0.1)

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Count under noise, publish.

        Privacy: charged (the measurement of ``queries``).
        """
        domain = people.domain
        counts = ItemCounts(domain, run.terms.unit)
        noisy = run.measure(counts.query, counts.measure(people))
        # The size of the crowd is not measured here: the counts' own sum follows it.
        year = YearlySums.of(run.earlier, domain.items)
        year.warn_of_fewer(noisy)
        year = year.follow_total(noisy).combine(noisy.name, noisy.values, noisy.sigma)
        run.hand_over(lambda: Carried(domain.items, year.arrays()))
        return score_release(self, domain, year.sums[noisy.name].values)
