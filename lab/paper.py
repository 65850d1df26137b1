"""What all published forms share: the noise that a paper prints, its claim, what it costs, and a run with it.

The run is the exact one, to whose values the paper's noise is added. Noise is drawn by hushrec's sampler,
from the keys of a seed. Whoever knows the seed can subtract it, so nothing that is made here is private. This
is the one module of the laboratory that draws.

``fit`` and ``randomize`` make releases whose statements say NOT PRIVATE; ``cost`` says what the noise costs.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, NoReturn, Self, cast

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.curator.randomize import Reported, number_rows, rows_in
from hushrec.curator.statements import unprotected_statement
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.sentences import Unprotected
from hushrec.errors import BudgetUnsupported
from hushrec.kernels.csr import diagonal_positions
from hushrec.models.base import PrivateModel
from hushrec.models.du_leighton_patel.method import Law, Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, pure_cost, spent_of
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.calibration import with_noise
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import MEASURING, NOISE, Measures, WithoutNoise
from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noisy import Cells, Noisy, NoisyMatrix, in_own_units
from hushrec.privacy.sums_on_disk import Arrays
from hushrec.progress import advance
from hushrec.release.artefact import Release


@dataclass(frozen=True, slots=True)
class PaperNoise:
    """Noise of a paper that hushrec does not draw, and so does not measure.

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
        return pure_cost(Fraction(self.loss) / Fraction(self.noise))


Noise = Measurement | PaperNoise
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
        """The noise that the paper prints, by name of measurement, with the true sensitivities."""
        queries, split = self.to_measure(domain, budget), self.budget_split(domain, budget)
        claims = self.claims(domain, budget)
        noisy = (query for query in queries if not query.is_exact)
        return {query.name: _printed(query, claims.get(query.name), split, budget) for query in noisy}


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
        """The noise that the paper prints, by name of measurement."""

    @abstractmethod
    def law(self, ratings: People, budget: Budget) -> Law:
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
    """What a form claims, and what its noise truly costs, from public facts alone."""
    noises = form.printed(domain, budget).values()
    known = all(not isinstance(noise, PaperNoise) or math.isfinite(noise.loss) for noise in noises)
    return Cost(form.claim(budget), spent_of(noises).planned_epsilon(budget.delta) if known else math.inf)


def analysis(config: object) -> Literal["published", "corrected"]:
    """Whether a model or method is what a paper prints."""
    return "published" if isinstance(config, PublishedModel | PublishedMethod) else "corrected"


def _refuse(form: PublishedModel | PublishedMethod) -> NoReturn:
    raise BudgetUnsupported(
        f"{type(form).__name__} is what a paper prints, and no ledger is charged for it; reproduce it with "
        "lab.published.fit or lab.published.randomize, or choose a model of hushrec"
    )


def _printed(query: Measurement, claim: float | None, split: Mapping[str, float], budget: Budget) -> Noise:
    epsilon = budget.epsilon * split[query.name]
    bound = query.sensitivity if claim is None else claim
    if isinstance(query, SphericalRows):
        return PaperNoise(query.name, query.sensitivity, 1 / epsilon)
    if query.norm == "l2":
        sigma = bound * math.sqrt(2 * math.log(2 * len(split) / budget.delta)) / epsilon
        return replace(query, noise=sigma)
    if query.norm == "loss" or bound != query.sensitivity:
        return replace(query, noise=bound / epsilon)
    # Where the paper is right, its noise costs exactly its part of ε, in whole units of the accountant.
    part = Fraction(split[query.name]) / sum(map(Fraction, split.values()))
    return with_noise(query, math.floor(budget.epsilon_units * part), 0.0)


@dataclass(frozen=True, slots=True)
class SphericalRows(Measurement):
    """Rows with noise of density ∝ exp(−‖b‖₂/s), s = Δ′/ε for the Δ′ that the paper claims for each row.

    It is counted in units of Δ′, so that s is 1/ε for all rows; ``sensitivity`` is the true loss in these
    units, infinite if no bound is known. No grant draws this noise.
    """

    def __post_init__(self) -> None:
        """Any loss will do."""

    @classmethod
    def of(cls, name: str, loss: float, size: int) -> Self:
        """Rows with this many entries in all."""
        return cls(name, loss, "l2 rows", 1.0, size)


@dataclass(frozen=True, slots=True)
class SquareSum(Measurement):
    """A symmetric matrix, released whole; its values are the upper triangle, packed, of so many entries.

    ``sensitivity`` is that of the whole matrix, in which an entry off the diagonal counts twice.
    """


_FINE = 2.0**40
"""Width of the rounded noise from which real noise is made."""


@dataclass(frozen=True, kw_only=True)
class PaperRun(WithoutNoise):
    """The baseline's grant with the noise of a paper.

    Args:
        printed: the noise of every measurement, by name.
        keys: of the noise, one after another.
    """

    printed: Mapping[str, Noise]
    keys: Seeded

    @classmethod
    def of(cls, form: PublishedModel, domain: Domain, budget: Budget, seed: int) -> Self:
        """The run of a form under a budget."""
        return cls(terms=budget, printed=form.printed(domain, budget), keys=Seeded(seed))

    def measure(self, measurement: Measurement, values: Ints | Callable[[], Ints]) -> Noisy:
        """The exact values with the paper's noise; those of an exact measurement as they are."""
        exact = super().measure(measurement, values)
        if measurement.is_exact:
            return exact
        booked = self._booked(measurement)
        return (
            self._on_square(exact, booked) if isinstance(measurement, SquareSum) else self._on(exact, booked)
        )

    def measure_rows(self, measurement: SphericalRows, rows: Floats, scales: Floats) -> Noisy:
        """Noise of density ∝ exp(−‖b‖₂/s); ``sigma`` is the root mean square of √(d + 1) · s.

        Args:
            rows: shape (n, d).
            scales: s of each row, shape (n,).
        """
        advance(MEASURING)
        noise = scales[:, None] * unit_rows(rows.shape, self.keys.key(), self.keys.key())
        deviation = math.sqrt((rows.shape[1] + 1) * float(np.mean(scales**2)))
        return Noisy(measurement.name, rows + noise, deviation, 0.0, None)

    def measure_cells(self, measurement: Measurement, cells: Cells) -> NoisyMatrix:
        """Noise on every cell, of which those are listed that reach the threshold."""
        advance(MEASURING)
        booked = self._booked(measurement)
        found = cells.noisy(lambda block: self._add(block, booked))
        return NoisyMatrix(booked.name, cells.shape, *found, booked.deviation, booked.step, booked)

    def sample(
        self, measurement: Measurement, draw: Callable[[bytes], Arrays], entries: int | None = None
    ) -> Arrays:
        """The draw, from the next key."""
        advance(MEASURING)
        return draw(self.keys.key())

    def noise(self, measurement: Measurement) -> float:
        """The paper's parameter."""
        return self.printed[measurement.name].noise

    def _booked(self, measurement: Measurement) -> Measurement:
        return cast(Measurement, self.printed[measurement.name])

    def _on(self, exact: Noisy, booked: Measurement) -> Noisy:
        steps = np.rint(exact.values / booked.step).astype(np.int64, order="C")
        self._add(steps, booked)
        return replace(
            exact, values=in_own_units(steps, booked.step), sigma=booked.deviation, measurement=booked
        )

    def _on_square(self, exact: Noisy, booked: Measurement) -> Noisy:
        """Noise on (i, j) and on (j, i), and then their mean; ``sigma`` is that of the mean."""
        upper, lower = self._on(exact, booked), self._on(exact, booked)
        mean = (upper.values + lower.values) / 2
        diagonal = diagonal_positions(math.isqrt(2 * mean.size))
        mean[diagonal] = upper.values[diagonal]
        return replace(upper, values=mean, sigma=booked.deviation / math.sqrt(2))

    def _add(self, steps: Ints, booked: Measurement) -> None:
        sampler.add(NOISE[booked.norm], steps, _width(booked), self.keys.key())


def unit_rows(shape: tuple[int, ...], direction: bytes, length: bytes) -> Floats:
    """Rows of density ∝ exp(−‖b‖₂): a uniform direction, and a norm of Gamma(d, 1); in floating point.

    Args:
        shape: (n, d).
        direction, length: keys of 32 bytes.
    """
    size = math.prod(shape)
    rows = sampler.rounded(GAUSSIAN, size, _FINE, direction).reshape(shape).astype(np.float64)
    norms = np.abs(sampler.rounded(LAPLACE, size, _FINE, length)).reshape(shape).sum(axis=1) / _FINE
    rows *= (norms / np.maximum(np.sqrt((rows * rows).sum(axis=1)), 1.0))[:, None]
    return rows


def order(n_people: int, keys: Seeded) -> Ints:
    """A random permutation, in which rows are released."""
    return np.asarray(sampler.permutation(n_people, keys.key()))


def _width(booked: Measurement) -> float:
    """The noise in steps of the grid, as a grant has it."""
    return fixed_point.float_above(Fraction(booked.noise) / Fraction(booked.step))


REPRODUCED = Unprotected.published
"""The caveat of every reproduction."""


def fit(data: People, form: PublishedModel, budget: Budget, seed: int) -> Release:
    """Fit a model with the noise that its paper prints; nothing is charged.

    Args:
        data: the ratings.
        form: the model.
        budget: the ε that the paper claims, with its δ, unit and adjacency.
        seed: of the noise.
    """
    if data.has_personal_epsilon:
        raise BudgetUnsupported(
            "these ratings carry per-user ε, which no published form supports; drop personal_epsilon"
        )
    domain = data.domain
    run = PaperRun.of(form, domain, budget, seed)
    made = form.fit(data.capped(domain.max_per_user) if budget.unit == "user" else data, run)
    statement = unprotected_statement(REPRODUCED, form, budget, made.statement.diagnostics)
    return replace(made, titles=domain.titles or (), features=domain.features or {}, statement=statement)


def randomize(ratings: People, method: PublishedMethod, budget: Budget, seed: int | Seeded) -> Reported:
    """Randomize every row by the law that its paper prints; nothing is charged.

    Args:
        ratings: the ratings.
        method: the method.
        budget: the ε that the paper claims; where it states none, it buys nothing.
        seed: of the randomness, or its keys.

    Returns:
        The data set, and which of its rows is whose.
    """
    domain = ratings.domain
    (name,) = method.printed(domain, budget)
    keys = seed if isinstance(seed, Seeded) else Seeded(seed)
    kept = method.cap_contributions(ratings)
    law, places = method.law(kept, budget), order(kept.domain.n_users or kept.n_users, keys)
    given, rows = number_rows(law.draw(rows_in(places, name, kept), keys.key()), places, domain)
    data = ReleasedData(
        method=type(method).__name__,
        settings=dict(method.known(domain, budget)),
        ratings=given,
        n_people=places.size,
        statement=unprotected_statement(REPRODUCED, method, budget),
    )
    return Reported(data, rows)


def on_rows(run: Measures, measurement: SphericalRows, rows: Floats, scales: Floats) -> Floats:
    """The rows with the paper's noise, or without any in a run that has none."""
    if not isinstance(run, PaperRun):
        return rows
    return run.measure_rows(measurement, rows, scales).values
