"""Friedman, Berkovsky & Kaafar 2016, "A differential privacy framework for matrix factorization", as printed.

All averages have Laplace noise. What fails: no bound on the privacy loss of Algorithms 5 and 6 under
add-remove is known, and Algorithm 6 contradicts Theorem 6 (README.md). The defaults are the
paper's settings for MovieLens 1M, but for β_m and β_u, which it does not print: 10 and 100 were fitted to its
global effects. They are for one to five stars; widths are fractions of the scale's width and norms are in
quarters of it.

Gradient descent is §4.3: Algorithm 4 is for their "bounded" privacy (``replace``), Algorithm 5 for
"unbounded" (add-remove). Their lines change q_i first, and then p_u by the new q_i. Here both change by the
old ones, as in eq. (2); the difference is of second order in γ.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.estimation.factor_steps import normal_factors, uniform_factors
from hushrec.estimation.shrinkage import damped_means, popularity
from hushrec.models.base import Noise as Law
from hushrec.models.biases import Biases, require_rank
from hushrec.models.effects import ratio
from hushrec.models.factorization.factorizers import Sparse
from hushrec.models.friedman_berkovsky_kaafar.input_perturbation_mf import factorise_noisy
from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.models.outputs import people_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import only
from hushrec.sums.factor_sums import in_ball
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.residuals import PeopleSums, Residuals
from lab.paper import PublishedModel, SphericalRows, on_rows


class Friedman(PublishedModel):
    """The averages of §4.1, with which every algorithm of the paper begins (Algorithms 1 and 2)."""

    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace")})

    item_reg: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    user_reg: float = Field(default=100.0, ge=0, allow_inf_nan=False)

    @property
    def noise_distribution(self) -> Law:
        """Laplace noise, as the paper has it."""
        return "laplace"

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """Sums and counts overall and by item, then of the residuals overall and by user."""
        domain.require_roster()
        items, users = self._averages(domain, terms)
        return [*items.queries(), *users.queries()]

    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """The width of the scale, for the sums of ratings."""
        return {"global sum": domain.scale.span, "item sums": domain.scale.span}

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """0.02 for the two global means, 0.14 for items and for users; sums and counts get halves."""
        return self._split(budget, items=0.14, users=0.14)

    def _split(self, budget: Budget, *, items: float, users: float) -> dict[str, float]:
        counted = 0.0 if budget.adjacency == "replace" else 0.5  # counts are public under replace
        split = {"global sum": 0.01 * (1 - counted), "global count": 0.01 * 0.5, "residual sum": 0.01}
        for side, part in (("item", items), ("user", users)):
            split |= {f"{side} sums": (1 - counted) * part, f"{side} counts": (counted or 0.5) * part}
        return split

    def _biases(self, people: AnyPeople, run: Measures) -> Biases:
        """Algorithms 1 and 2: (Σ r + β G + noise)/(n + β + noise), clamped, for items, then for users."""
        domain, (lo, hi, _), span = people.domain, people.domain.scale, people.domain.scale.span
        items, users = self._averages(domain, run.terms)
        noisy = {query.name: run.measure(query, values) for query, values in items.measure(people)}
        global_mean = float(np.clip(ratio(noisy["global sum"], noisy["global count"]), lo, hi))
        of_items = damped_means(noisy["item sums"], noisy["item counts"], global_mean, self.item_reg)
        effects = np.clip(of_items.mean, lo, hi)
        noisy |= {query.name: run.measure(query, values) for query, values in users.measure(people, effects)}
        mean_residual = ratio(noisy["residual sum"], noisy["global count"])
        of_users = damped_means(noisy["user sums"], noisy["user counts"], mean_residual, self.user_reg)
        levels = np.clip(of_users.mean, -span / 2, span / 2)
        return Biases(
            effects,
            of_items.variance,
            of_items.counts,
            popularity(noisy["item sums"], noisy["item counts"], span),
            levels,
            of_users.variance,
            of_users.counts,
        )

    def _averages(self, domain: Domain, terms: Terms) -> tuple[EffectSums, PeopleSums]:
        span = domain.scale.span
        items = EffectSums(
            domain=domain,
            unit="record",
            adjacency=terms.adjacency,
            norm=self.norm,
            reg=None,
            origin=0.0,
            overall=True,
        )
        return items, PeopleSums(domain, terms.adjacency, self.norm, span, overall=True)


class FriedmanEffects(Friedman):
    """Private global effects (§4.1): r̂_ui = μ_i + b_u, both released, by Algorithms 1 and 2.

    μ_i = (Σ_u r_ui + β_m G + noise)/(n_i + β_m + noise), and b_u likewise from r_ui − μ_i with β_u.

    Args:
        item_reg: β_m, fictitious ratings at the global mean.
        user_reg: β_u, fictitious residuals at their global mean.
    """

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """0.02, 0.54 and 0.44 for global means, items and users."""
        return self._split(budget, items=0.54, users=0.44)

    def fit(self, people: People, run: Measures) -> Release:
        """Algorithms 1 and 2."""
        domain, biases = people.domain, self._biases(people, run)
        none = np.zeros((domain.n_users, 0)), np.zeros((domain.n_items, 0))
        return people_release(self, domain, biases, *none)


class FriedmanInputMF(Friedman):
    """Input perturbation (§4.2): Algorithm 3, or under add-remove eq. 8, then ISGD.

    x′_ui = clamp(x_ui + Lap(Δ/ε), ±B) with x_ui = clamp(r_ui − μ_i − b_u, ±B); under add-remove for every
    cell, and cells with x′ within ±α are dropped. Then min Σ (x′_ui − ⟨p_u, q_i⟩)² + λ(‖p_u‖² + ‖q_i‖²), by
    stochastic gradient descent. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Args:
        item_reg, user_reg: β_m and β_u of the averages.
        rank: d, number of factors.
        solver: ``sgd``, or ``als``.
        epochs: number of passes of the solver; by default 20 of ``sgd`` or 6 of ``als``.
        clip: B, bound on a residual, as a fraction of the scale's width.
        threshold: α, as a fraction of the scale's width (add-remove).
        learning_rate, reg: γ and λ of ``sgd``.
    """

    sums_alone: ClassVar = False

    rank: int = Field(default=5, ge=1, le=120)
    solver: Literal["sgd", "als"] = "sgd"
    epochs: int | None = Field(default=None, ge=1, le=1000)
    clip: float = Field(default=0.25, gt=0, le=1, allow_inf_nan=False)
    threshold: Annotated[float, only(adjacency="add-remove")] = Field(
        default=0.15, gt=0, le=1, allow_inf_nan=False
    )
    learning_rate: Annotated[float, only(solver="sgd")] = Field(default=0.01, gt=0, le=1, allow_inf_nan=False)
    reg: Annotated[float, only(solver="sgd")] = Field(default=0.045, ge=0, allow_inf_nan=False)

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The averages, then all ratings or all cells."""
        require_rank(self.rank, domain)
        return [*super().queries(domain, terms), self._cells(domain, terms).query]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3."""
        return {**super().default_split(domain, budget), "ratings": 0.7, "cells": 0.7}

    def fit(self, people: People, run: Measures) -> Release:
        """Averages, noise on every residual, clamp, factorise."""
        domain = people.domain
        biases, cells = self._biases(people, run), self._cells(domain, run.terms)
        residuals = cells.residuals.entries(people, biases.item_effects, biases.user_effects)
        found = factorise_noisy(
            cells.measure(run, residuals),
            None,
            biases,
            domain,
            solver=self.solver,
            rank=self.rank,
            epochs=self.epochs,
            rate=self.learning_rate,
            reg=self.reg,
        )
        released = biases._replace(
            item_effects=biases.item_effects + found.column_effects,
            user_effects=biases.user_effects + found.row_effects,
        )
        return people_release(self, domain, released, found.rows, found.columns)

    def _cells(self, domain: Domain, terms: Terms) -> Cells:
        clip, threshold = self.clip * domain.scale.span, self.threshold * domain.scale.span
        return Cells(domain, terms.adjacency, clip, threshold, clip)


class FriedmanALS(Friedman):
    """Private ALS (§4.4, Algorithm 6).

    p_u = (Σ_i q_i q_iᵀ + n_u λ I)⁻¹ Σ_i x_ui q_i + b, with x_ui = clamp(r_ui − μ_i − b_u, ±B) and b of
    density ∝ exp(−ε‖b‖/Δ_u), then scaled down to norm p_max; the same for every item, with q_max. Prediction:
    r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Args:
        item_reg, user_reg: β_m and β_u of the averages.
        rank: d, number of factors.
        epochs: k, how often each side is solved.
        clip: B, bound on a residual, as a fraction of the scale's width.
        reg: λ.
        user_norm, item_norm: p_max and q_max, where p·q is in quarters of the scale's width.
        exchanged_bounds: use p_max and q_max as in lines 4 and 8 of Algorithm 6, which contradict Theorem 6
            (``replace``).

    Its true loss is known under ``replace`` only.
    """

    sums_alone: ClassVar = False

    rank: int = Field(default=5, ge=1, le=128)
    epochs: int = Field(default=5, ge=1, le=100)
    clip: float = Field(default=0.25, gt=0, le=1, allow_inf_nan=False)
    reg: float = Field(default=0.045, gt=0, allow_inf_nan=False)
    user_norm: float = Field(default=0.4, gt=0, allow_inf_nan=False)
    item_norm: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    exchanged_bounds: Annotated[bool, only(adjacency="replace")] = True

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The averages, then both sides of every epoch, with their true cost in units of the claim."""
        require_rank(self.rank, domain)
        return [*super().queries(domain, terms), *self._solved(domain, terms)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3; all epochs get equal parts."""
        rounds = [f"{side}, epoch {t + 1}" for side in ("users", "items") for t in range(self.epochs)]
        return {**super().default_split(domain, budget), **dict.fromkeys(rounds, 0.7 / (2 * self.epochs))}

    def fit(self, people: People, run: Measures) -> Release:
        """Averages, then: solve, add noise to each vector, bound its norm (Algorithm 6)."""
        domain, star = people.domain, people.domain.scale.star
        biases = self._biases(people, run)
        residuals = Residuals(domain, run.terms.adjacency, self.clip * domain.scale.span)
        entries = residuals.entries(people, biases.item_effects, biases.user_effects)
        by_user = Sparse.of(entries, domain.n_items, residuals.grid.step / star)
        by_item = by_user.transposed()
        change = residuals.change / star
        queries = iter(self._solved(domain, run.terms))
        items = in_ball(normal_factors(domain.n_items, self.rank), self.item_norm)
        for _ in range(self.epochs):
            users = in_ball(self._side("users", next(queries), by_user, items, change, run), self.user_norm)
            items = in_ball(self._side("items", next(queries), by_item, users, change, run), self.item_norm)
        return people_release(self, domain, biases, users * star, items)

    def _side(
        self, side: str, query: SphericalRows, rows: Sparse, others: Floats, change: float, run: Measures
    ) -> Floats:
        """Ridge regression of every row on the others' factors, plus noise scaled to its sensitivity."""
        counts = np.maximum(rows.counts, 1)
        reach = self._reach(side, run.terms.adjacency, change) / (counts * self.reg)
        solved = rows.solve(others, self.reg * counts)
        return on_rows(run, query, solved, reach * run.noise(query))

    def _reach(self, side: str, adjacency: str, change: float) -> float:
        """n λ times the sensitivity of a solved vector, as Algorithm 6 and Table 1 have it."""
        own, other = (self.user_norm, self.item_norm) if side == "users" else (self.item_norm, self.user_norm)
        if adjacency == "replace":
            return (own if self.exchanged_bounds else other) * change
        return other * (change + self.user_norm * self.item_norm) + self.reg * own

    def _solved(self, domain: Domain, terms: Terms) -> Iterator[SphericalRows]:
        """Theorem 6 claims 1; under ``replace`` the truth is the ratio of the norms, else unknown."""
        ratio_of_norms = self.item_norm / self.user_norm if self.exchanged_bounds else 1.0
        replace = terms.adjacency == "replace"
        for epoch in range(1, self.epochs + 1):
            for side, rows, loss in (
                ("users", domain.n_users, ratio_of_norms if replace else math.inf),
                ("items", domain.n_items, 1 / ratio_of_norms if replace else math.inf),
            ):
                yield SphericalRows.of(f"{side}, epoch {epoch}", loss, rows * self.rank)


class _Descent(Friedman):
    """What both algorithms share: settings, start, footprint."""

    sums_alone: ClassVar = False

    rank: int = Field(default=5, ge=1, le=128)
    epochs: int = Field(default=5, ge=1, le=100)
    clip: float = Field(default=0.25, gt=0, le=1, allow_inf_nan=False)
    learning_rate: float = Field(default=0.01, gt=0, le=1, allow_inf_nan=False)
    reg: float = Field(default=0.045, gt=0, allow_inf_nan=False)
    user_norm: float = Field(default=0.4, gt=0, allow_inf_nan=False)
    item_norm: float = Field(default=0.5, gt=0, allow_inf_nan=False)

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The averages, then every epoch."""
        require_rank(self.rank, domain)
        return [*super().queries(domain, terms), *self._rounds(domain, terms)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3; all epochs get equal parts."""
        ratings = {f"ratings, epoch {t + 1}": 0.7 / self.epochs for t in range(self.epochs)}
        sides = [f"{side}, epoch {t + 1}" for side in ("users", "items") for t in range(self.epochs)]
        return {
            **super().default_split(domain, budget),
            **ratings,
            **dict.fromkeys(sides, 0.7 / self.epochs * 0.5),
        }

    @abstractmethod
    def _rounds(self, domain: Domain, terms: Terms) -> Iterator[Measurement]:
        """What is measured in every epoch, in order."""

    def _residuals(self, domain: Domain, terms: Terms) -> Residuals:
        return Residuals(domain, terms.adjacency, self.clip * domain.scale.span)

    def _start(self, domain: Domain) -> tuple[Floats, Floats]:
        users = in_ball(uniform_factors(domain.n_users, self.rank), self.user_norm)
        return users, in_ball(uniform_factors(domain.n_items, self.rank), self.item_norm)


class FriedmanBoundedSGD(_Descent):
    """Private gradient descent, bounded (Algorithm 4): fresh noise on every rating in every epoch.

    With x_ui = clamp(r_ui − μ_i − b_u, ±B), e = clamp(x_ui + Lap(Δ/ε_k) − ⟨p_u, q_i⟩, ±e_max); p_u ← p_u + γ
    (e q_i − λ p_u) and q_i ← q_i + γ (e p_u − λ q_i); norms are then bounded by p_max and q_max. The noise on
    an error in step 4 is noise on its rating. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩. §5.2.2 bounds norms
    in this algorithm too, whose lines do not say when: after each epoch is our reading.

    Args:
        item_reg, user_reg: β_m and β_u of the averages.
        rank: d, number of factors.
        epochs: k, number of passes.
        clip: bound on a residual, as a fraction of the scale's width.
        learning_rate, reg: γ and λ.
        user_norm, item_norm: p_max and q_max, where p·q is in quarters of the scale's width.
        error_bound: e_max, as a fraction of the scale's width.
    """

    supports: ClassVar = frozenset({("record", "replace")})

    error_bound: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)

    def fit(self, people: People, run: Measures) -> Release:
        """Averages, then Algorithm 4."""
        domain, star = people.domain, people.domain.scale.star
        biases, residuals = self._biases(people, run), self._residuals(domain, run.terms)
        entries = residuals.entries(people, biases.item_effects, biases.user_effects)
        rated = Sparse.of(entries, domain.n_items, residuals.grid.step / star)
        users, items = self._start(domain)
        for query in self._rounds(domain, run.terms):
            noisy = run.measure(query, entries.values.astype(np.int64))
            known = rated.with_values(noisy.values / star)
            users, items = known.descend(users, items, self.learning_rate, self.reg, 4 * self.error_bound)
            users, items = in_ball(users, self.user_norm), in_ball(items, self.item_norm)
        return people_release(self, domain, biases, users * star, items)

    def _rounds(self, domain: Domain, terms: Terms) -> Iterator[Measurement]:
        """All ratings with fresh noise, in every epoch."""
        residuals = self._residuals(domain, terms)
        for epoch in range(1, self.epochs + 1):
            name = f"ratings, epoch {epoch}"
            yield Measurement(name, residuals.change, "l1", residuals.grid.step, EVERY_RATING)


class FriedmanUnboundedSGD(_Descent):
    """Private gradient descent, unbounded (Algorithm 5): noise on every vector after every epoch.

    A pass of gradient descent with errors clamped (step 6 says ``max``), then p_u ← p_u + b with b of density
    ∝ exp(−ε_k‖b‖/γ(e_max q_max + λ p_max)), and q_i likewise; norms are then bounded by p_max and q_max.
    Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Args:
        item_reg, user_reg: β_m and β_u of the averages.
        rank: d, number of factors.
        epochs: k, number of passes.
        clip: bound on a residual, as a fraction of the scale's width.
        learning_rate, reg: γ and λ.
        user_norm, item_norm: p_max and q_max, where p·q is in quarters of the scale's width.

    No bound on its privacy loss is known.
    """

    supports: ClassVar = frozenset({("record", "add-remove")})

    def fit(self, people: People, run: Measures) -> Release:
        """Averages, then Algorithm 5."""
        domain, star = people.domain, people.domain.scale.star
        biases, residuals = self._biases(people, run), self._residuals(domain, run.terms)
        entries = residuals.entries(people, biases.item_effects, biases.user_effects)
        rated = Sparse.of(entries, domain.n_items, residuals.grid.step / star)
        bound = residuals.change / star + self.user_norm * self.item_norm
        of_users = self.learning_rate * (bound * self.item_norm + self.reg * self.user_norm)
        of_items = self.learning_rate * (bound * self.user_norm + self.reg * self.item_norm)
        users, items = self._start(domain)
        queries = iter(self._rounds(domain, run.terms))
        for _ in range(self.epochs):
            users, items = rated.descend(users, items, self.learning_rate, self.reg, bound)
            users = in_ball(_noisy(next(queries), users, of_users, run), self.user_norm)
            items = in_ball(_noisy(next(queries), items, of_items, run), self.item_norm)
        return people_release(self, domain, biases, users * star, items)

    def _rounds(self, domain: Domain, terms: Terms) -> Iterator[SphericalRows]:
        """Users, then items, in every epoch."""
        for epoch in range(1, self.epochs + 1):
            yield SphericalRows.of(f"users, epoch {epoch}", math.inf, domain.n_users * self.rank)
            yield SphericalRows.of(f"items, epoch {epoch}", math.inf, domain.n_items * self.rank)


def _noisy(query: SphericalRows, rows: Floats, reach: float, run: Measures) -> Floats:
    return on_rows(run, query, rows, np.full(len(rows), reach * run.noise(query)))
