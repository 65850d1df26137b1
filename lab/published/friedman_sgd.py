"""Friedman, Berkovsky & Kaafar 2016, §4.3: private stochastic gradient descent, as printed.

Algorithm 4 is for their "bounded" privacy (``replace``), Algorithm 5 for "unbounded" (add-remove).
Their lines change q_i first, and then p_u by the new q_i. Here both change by the old ones, as in eq. (2);
the difference is of second order in γ. The defaults are the paper's settings for MovieLens 1M.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.blocks import Blocks
from hushrec.data.domain import Domain
from hushrec.data.feedback import Ratings
from hushrec.estimation.factor_steps import uniform_factors
from hushrec.models.biases import require_rank
from hushrec.models.factorization.factorizers import Sparse
from hushrec.models.outputs import people_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.events import EVERY_RATING
from hushrec.privacy.query import AnyQuery, Sum
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.sums.factor_sums import in_ball
from hushrec.sums.population import Population
from hushrec.sums.residuals import Residuals
from lab.published.friedman_berkovsky_kaafar import Friedman
from lab.published.spherical import SphericalRows


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

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """The averages, then every epoch."""
        require_rank(self.rank, domain)
        return [*super().queries(domain, terms), *self._rounds(domain, terms)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3; all epochs get equal split."""
        ratings = {f"ratings, epoch {t + 1}": 0.7 / self.epochs for t in range(self.epochs)}
        sides = [f"{side}, epoch {t + 1}" for side in ("users", "items") for t in range(self.epochs)]
        return {
            **super().default_split(domain, budget),
            **ratings,
            **dict.fromkeys(sides, 0.7 / self.epochs * 0.5),
        }

    @abstractmethod
    def _rounds(self, domain: Domain, terms: Terms) -> Iterator[AnyQuery]:
        """What is measured in every epoch, in order."""

    def _residuals(self, domain: Domain, terms: Terms) -> Residuals:
        return Residuals(domain, terms.adjacency, self.clip * domain.scale.span)

    def _start(self, domain: Domain) -> tuple[Floats, Floats]:
        users = in_ball(uniform_factors(domain.n_users, self.rank), self.user_norm)
        return users, in_ball(uniform_factors(domain.n_items, self.rank), self.item_norm)


class FriedmanBoundedSGD(_Descent):
    """Private gradient descent, bounded (Algorithm 4): fresh noise on every rating in every epoch.

    e = clamp(x_ui + Lap(Δ/ε_k) − ⟨p_u, q_i⟩, ±e_max); p_u ← p_u + γ (e q_i − λ p_u) and
    q_i ← q_i + γ (e p_u − λ q_i); norms are then bounded by p_max and q_max. The noise on an error in step 4
    is noise on its rating. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩. §5.2.2 bounds norms in this algorithm
    too, whose lines do not say when: after each epoch is our reading.

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

    def fit(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Averages, then Algorithm 4."""
        domain, people, star = feedback.domain, Population(feedback), feedback.domain.scale.star
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

    def _rounds(self, domain: Domain, terms: Terms) -> Iterator[Sum]:
        """All ratings with fresh noise, in every epoch."""
        residuals = self._residuals(domain, terms)
        for epoch in range(1, self.epochs + 1):
            name = f"ratings, epoch {epoch}"
            yield Sum(name, residuals.change, "l1", residuals.grid.step, EVERY_RATING)


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

    def fit(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Averages, then Algorithm 5."""
        domain, people, star = feedback.domain, Population(feedback), feedback.domain.scale.star
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
            yield SphericalRows(f"users, epoch {epoch}", math.inf, domain.n_users * self.rank)
            yield SphericalRows(f"items, epoch {epoch}", math.inf, domain.n_items * self.rank)


def _noisy(query: SphericalRows, rows: Floats, reach: float, run: Run) -> Floats:
    return run.measure(query, (rows, np.full(len(rows), reach * run.noise(query)))).values
