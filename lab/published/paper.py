"""What all published forms share: the noise that a paper prints, its claim, and what that noise costs."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NoReturn

from hushrec.data.domain import Domain
from hushrec.data.feedback import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import PrivateModel
from hushrec.models.du_leighton_patel.method import Method
from hushrec.privacy.accounting.accountant import Spent, pure_loss, spent_of
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.calibration import laplace
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace, PosteriorSample
from hushrec.privacy.local.response import ResponseRandomizer
from hushrec.privacy.local.substitution import SubstitutionRandomizer
from hushrec.privacy.query import AnyQuery


@dataclass(frozen=True, slots=True)
class PaperNoise:
    """Noise of a paper that hushrec does not draw, and so has no event for.

    Args:
        name: of the measurement.
        loss: the true loss, in units of the claimed one; infinite if no bound is known.
        noise: its parameter, such that loss/noise is the true ε.
        branch: none; it is always made.
    """

    name: str
    loss: float
    noise: float
    branch: str = ""

    def spent(self) -> Spent:
        """ε = loss/noise, for a finite loss."""
        return pure_loss(Fraction(self.loss) / Fraction(self.noise))


Noise = Event | PaperNoise
"""The noise of one measurement: the paper's parameter, beside the true sensitivity."""


class PublishedModel(PrivateModel):
    """A model with the noise of its paper: ε and δ add up, b = Δ′/ε, σ = Δ′ √(2 ln(2/δ))/ε.

    Δ′ is the sensitivity that the paper prints, and queries carry the true one (McSherry & Mironov 2009,
    Theorems 1 and 3; Friedman, Berkovsky & Kaafar 2016, Theorems 1 and 2).
    """

    slopes: ClassVar = False

    @abstractmethod
    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """Δ′ by name of measurement, where the paper prints another one than the true Δ."""

    def claim(self, budget: Budget) -> float:
        """The paper's ε."""
        return budget.epsilon

    def plan(self, domain: Domain, budget: Budget) -> NoReturn:
        """Refuse: a ledger is never charged for what a paper prints."""
        _refuse(self)

    def printed(self, domain: Domain, budget: Budget) -> dict[str, Noise]:
        """The noise that the paper prints, by name of measurement, with the true sensitivities.

        Raises:
            BudgetUnsupported: The paper does not have this unit, adjacency or noise.
            ConfigError: A setting has no effect under this budget.
        """
        queries, split = self.noisy_queries(domain, budget), self.budget_split(domain, budget)
        claims = self.claims(domain, budget)
        return {query.name: _printed(query, claims.get(query.name), split, budget) for query in queries}


class PublishedMethod(Method):
    """A method that releases rows as its paper prints it."""

    def plan(self, domain: Domain, budget: Budget | None = None) -> NoReturn:
        """Refuse: a ledger is never charged for what a paper prints."""
        _refuse(self)

    @abstractmethod
    def claim(self, budget: Budget) -> float | None:
        """The paper's ε; None if it states none."""

    @abstractmethod
    def printed(self, domain: Domain, budget: Budget) -> dict[str, Noise]:
        """The noise that the paper prints, by name of measurement.

        Raises:
            BudgetUnsupported: The paper does not have this unit or adjacency.
        """

    @abstractmethod
    def law(self, ratings: Ratings, budget: Budget) -> ResponseRandomizer | SubstitutionRandomizer:
        """The law of a row."""

    @abstractmethod
    def known(self, domain: Domain, budget: Budget) -> Mapping[str, Any]:
        """The facts of a data set that a reader needs, as JSON values."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a paper claims for its noise, and what that noise costs.

    Attributes:
        claimed: the paper's ε; None if it states none.
        true: ε at the budget's δ by hushrec's accountant, with the true sensitivities; infinite if none is
            known. That of a posterior sample holds if its chain had converged.
    """

    claimed: float | None
    true: float


def cost(form: PublishedModel | PublishedMethod, domain: Domain, budget: Budget) -> Cost:
    """What a form claims, and what its noise truly costs, from public facts alone.

    Raises:
        BudgetUnsupported: The paper does not have this unit, adjacency or noise.
    """
    noises = form.printed(domain, budget).values()
    known = all(not isinstance(noise, PaperNoise) or math.isfinite(noise.loss) for noise in noises)
    return Cost(form.claim(budget), spent_of(noises).epsilon(budget.delta) if known else math.inf)


def analysis(config: object) -> Literal["published", "corrected"]:
    """Whether a model or method is what a paper prints."""
    return "published" if isinstance(config, PublishedModel | PublishedMethod) else "corrected"


def _refuse(form: PublishedModel | PublishedMethod) -> NoReturn:
    raise BudgetUnsupported(
        f"{type(form).__name__} is what a paper prints, and no ledger is charged for it; reproduce it with "
        "lab.published.fit or lab.published.randomize, or choose a model of hushrec"
    )


def _printed(query: AnyQuery, claim: float | None, split: Mapping[str, float], budget: Budget) -> Noise:
    epsilon = budget.epsilon * split[query.name]
    bound = query.sensitivity if claim is None else claim
    form = query.step, query.size
    if query.norm == "l2 rows":
        return PaperNoise(query.name, query.sensitivity, 1 / epsilon)
    if query.norm == "loss":
        return PosteriorSample(query.name, query.sensitivity, bound / epsilon, *form)
    if query.norm == "l2":
        sigma = bound * math.sqrt(2 * math.log(2 * len(split) / budget.delta)) / epsilon
        return Gaussian(query.name, query.sensitivity, sigma, *form)
    if bound != query.sensitivity:
        return Laplace(query.name, query.sensitivity, bound / epsilon, *form)
    # Where the paper is right, its noise costs exactly its part of ε, in whole units of the accountant.
    part = Fraction(split[query.name]) / sum(map(Fraction, split.values()))
    units = math.floor(budget.epsilon_units * part)
    return laplace(query.name, epsilon=units, sensitivity=bound, step=form[0], size=form[1])
