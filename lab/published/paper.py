"""What all published forms share: noise as the papers print it, and its true cost."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from hushrec.data.domain import Domain
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.calibration import laplace
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace, PosteriorSample
from hushrec.privacy.query import AnyQuery
from lab.published.spherical import SphericalRows


class PublishedModel(PrivateModel):
    """A model with the noise of its paper: ε and δ add up, b = Δ′/ε, σ = Δ′ √(2 ln(2/δ))/ε.

    Δ′ is the sensitivity that the paper prints. The events carry the true ones, so the ledger is charged the
    true cost, which may be above the paper's ε (McSherry & Mironov 2009, Theorems 1 and 3; Friedman,
    Berkovsky & Kaafar 2016, Theorems 1 and 2).

    Privacy: public.
    """

    analysis: ClassVar = "published"

    @abstractmethod
    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """Δ′ by name of measurement, where the paper prints another one than the true Δ."""

    def claim(self, budget: Budget) -> float:
        """The paper's ε."""
        return budget.epsilon

    def events(
        self, queries: Sequence[AnyQuery], shares: Mapping[str, float], domain: Domain, budget: Budget
    ) -> list[Event]:
        """The queries with the noise that the paper prints."""
        claims = self.claims(domain, budget)
        return [self._event(query, claims.get(query.name), shares, budget) for query in queries]

    def _event(
        self, query: AnyQuery, claim: float | None, shares: Mapping[str, float], budget: Budget
    ) -> Event:
        epsilon = budget.epsilon * shares[query.name]
        printed = query.sensitivity if claim is None else claim
        form = query.step, query.size
        if isinstance(query, SphericalRows):
            return query.event(epsilon)
        if query.norm == "loss":
            return PosteriorSample(query.name, query.sensitivity, printed / epsilon, *form)
        if query.norm == "l2":
            sigma = printed * math.sqrt(2 * math.log(2 * len(shares) / budget.delta)) / epsilon
            return Gaussian(query.name, query.sensitivity, sigma, *form)
        if printed != query.sensitivity:
            return Laplace(query.name, query.sensitivity, printed / epsilon, *form)
        part = Fraction(shares[query.name]) / sum(map(Fraction, shares.values()))
        units = math.floor(budget.epsilon_units * part)
        return laplace(query.name, epsilon=units, sensitivity=printed, step=form[0], size=form[1])
