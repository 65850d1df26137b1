"""The base of models that take a step of every user's factors, then of every item's, from noisy sums."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import Once
from hushrec.models.base import PrivateModel
from hushrec.models.biases import Biases, BiasSettings, average_split, biases_footprint, require_rank
from hushrec.models.outputs import people_release
from hushrec.models.visibility import listed_split, shows_listed
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.privacy.noisy import Noisy
from hushrec.release.artefact import Release
from hushrec.sums.factor_sums import FactorSums
from hushrec.sums.footprint import LISTED, Footprint
from hushrec.sums.residuals import ResidualRows


@dataclass(frozen=True)
class Sides:
    """Residuals of the released averages, and the run that measures their sums with factors.

    Privacy: private.
    """

    run: Measures
    sums: FactorSums
    biases: Biases
    people: AnyPeople
    residuals: Once[ResidualRows]

    def users(self, epoch: int, users: Floats, items: Floats) -> Noisy:
        """Measure Σ_i e_ui q_i of every user at these factors. Privacy: charged (one of the plan)."""
        return self.run.measure(
            self.sums.query("users", epoch), self.sums.users(self.people, self.residuals, users, items)
        )

    def items(self, epoch: int, users: Floats, items: Floats) -> Noisy:
        """Measure Σ_u e_ui p_u of every item at these factors. Privacy: charged (one of the plan)."""
        return self.run.measure(
            self.sums.query("items", epoch), self.sums.items(self.people, self.residuals, users, items)
        )


class AlternatingModel(PrivateModel):
    """Noisy averages, then in every epoch a step of all users' factors and one of all items'.

    Privacy: unit ``record`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace")})
    informed: ClassVar = True
    usual_epochs: ClassVar[int]
    """Epochs by default, where the factors of the declared crowd show through the noise."""

    rank: int = Field(default=8, ge=1, le=128)
    """d, number of factors."""
    epochs: int | None
    clip: float
    biases: BiasSettings = BiasSettings()
    """how the averages are measured."""

    @abstractmethod
    def _factors(self, sides: Sides) -> tuple[Floats, Floats]:
        """Return the factors of users, in rating units, and of items, after all epochs.

        Privacy: charged (the measurements of every epoch).
        """

    @abstractmethod
    def _epoch(self, rows: int, side: int) -> Footprint:
        """Estimate one epoch of this many ``rows`` of both sides; the larger side has ``side`` rows."""

    @property
    def _norm_bound(self) -> float:
        """Bound on the norm of each row of factors that meets ratings."""
        return 1.0

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List the averages, then both sides of every epoch."""
        require_rank(self.rank, domain)
        return [*self.biases.queries(domain, terms, self.norm), *self._sums(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give the averages a third where factors show, and everything where noise hides them."""
        names = [query.name for query in self._sums(domain, budget).queries()]
        averages_part = 1 - listed_split(domain, budget) if names else 1.0
        return average_split(budget, averages_part) | dict.fromkeys(
            names, (1 - averages_part) / max(len(names), 1)
        )

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the averages, then both sides in turn."""
        biases, epochs = biases_footprint(domain, budget), self._epochs(domain, budget)
        if not epochs:
            return biases
        n, people, items = self.rank, domain.n_users, domain.n_items
        each = self._epoch(people + items, max(people, items))
        memory = 1e7 + LISTED * people + 8 * 4 * (people + items) * n + each.memory
        return biases.then(Footprint(memory, each.each_rating, 32, epochs * each.seconds, epochs * n / 100))

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure biases (Algorithms 1 and 2), then factors of the residuals, if these show.

        Privacy: charged (the measurements of ``queries``).
        """
        domain = people.domain
        biases = self.biases.measure(people, run, self.norm)
        sums = self._sums(domain, run.terms)
        if not sums.epochs:
            return people_release(self, domain, biases)
        residuals = sums.residuals.rows(biases.item_effects, biases.user_effects)
        sides = Sides(run, sums, biases, people, residuals)
        return people_release(self, domain, biases, *self._factors(sides))

    def _epochs(self, domain: Domain, terms: Terms) -> int:
        """Return no epochs where the noise would hide the factors of the declared crowd."""
        if self.epochs is not None:
            return self.epochs
        return self.usual_epochs if shows_listed(domain, terms) else 0

    def _sums(self, domain: Domain, terms: Terms) -> FactorSums:
        clip, epochs = self.clip * domain.scale.span, self._epochs(domain, terms)
        return FactorSums(domain, terms.adjacency, self.rank, epochs, clip, self._norm_bound)
