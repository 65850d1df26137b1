"""Matrix factorisation of noisy ratings (Friedman, Berkovsky & Kaafar 2016, §4.2)."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import ConfigError
from hushrec.estimation.noisy_ratings import NoisyRatings, membership_probability
from hushrec.models.base import Model, Noise
from hushrec.models.phases.biases import (
    Biases,
    BiasSettings,
    average_shares,
    bias_share,
    biases_footprint,
    require_rank,
)
from hushrec.models.phases.outputs import people_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.solvers.factorizers import Factors, Sparse, gradient_descent, least_squares
from hushrec.statistics.cells import Cells
from hushrec.statistics.footprint import DRAWS, Footprint
from hushrec.statistics.query import Query

_FARTHEST = 299.0  # largest threshold, in scales of the noise
_WIDEST = 4.0  # noisy cells are clamped to this many clips if their plausibility is estimated


class InputPerturbationMF(Model):
    """Noise on every rating, then any matrix factorisation.

    Args:
        rank: d, number of factors.
        solver: ``als``, or ``sgd`` (the paper's ISGD); by default the one of the analysis.
        epochs: number of passes of the solver.
        clip: B, bound on a residual, as a fraction of the scale's width.
        threshold: α, as a fraction of the scale's width; smaller noisy cells are dropped (add-remove).
        biases: how the averages are measured.
        learning_rate, reg: γ and λ of ``sgd``; ``als`` takes its penalty from the noise.

    Privacy: unit ``rating`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace")})

    rank: int = Field(default=8, ge=1, le=120)
    solver: Literal["als", "sgd"] | None = None
    epochs: int | None = Field(default=None, ge=1, le=1000)
    clip: float = Field(default=0.25, gt=0, le=1, allow_inf_nan=False)
    threshold: float = Field(default=0.15, gt=0, le=1, allow_inf_nan=False)
    biases: BiasSettings = BiasSettings()
    learning_rate: float = Field(default=0.01, gt=0, le=1, allow_inf_nan=False)
    reg: float = Field(default=0.045, ge=0, allow_inf_nan=False)

    @property
    def noise_distribution(self) -> Noise:
        """Laplace noise: for a single number it is smaller than Gaussian noise at the same ε."""
        return "laplace"

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """The averages, then all ratings or all cells."""
        require_rank(self.rank, domain)
        biases = self.biases.queries(domain, budget, self.norm, published=self.published)
        return self.allocate([*biases, self._cells(domain, budget).query()], budget)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """As ``Model.plan``; also refuses a threshold that the noise cannot reach.

        Raises:
            ConfigError: ε or the threshold is so large that no empty cell would ever be kept.
        """
        planned = super().plan(domain, budget)
        cells = self._cells(domain, budget)
        scale = {event.name: event.noise for event in planned.events}[cells.query().name]
        if budget.adjacency == "add-remove" and cells.threshold > _FARTHEST * scale:
            raise ConfigError(
                f"threshold: {cells.threshold:.3g} is out of reach of noise of scale {scale:.3g}; lower the "
                "threshold or ε"
            )
        return planned

    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3 as published, else less at larger ε."""
        bias_part = bias_share(budget.epsilon)
        parts = (0.14, 0.14, 0.7) if self.published else (0.33 * bias_part, 0.67 * bias_part, 1 - bias_part)
        items, users, rest = parts
        shares = average_shares(budget, published=self.published, items=items, users=users)
        return shares | dict.fromkeys(("ratings", "cells"), rest)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The averages, then all cells that are kept; empty cells are kept by noise alone."""
        biases = biases_footprint(domain, budget, published=self.published)
        cells, everywhere = self._cells(domain, budget), float(domain.n_users * domain.n_items)
        kept = 0.0
        if budget.adjacency == "add-remove":
            query = cells.query()
            exponent = cells.threshold * budget.epsilon * self.split(domain, budget)[query.name]
            kept = everywhere * math.exp(-exponent / query.sensitivity)
        pace = (self.epochs or 10) * self.rank / 200  # seconds per million ratings or kept cells
        return biases.then(
            Footprint(
                biases.memory + 60 * kept, 60 if kept else 40, 32, kept / DRAWS + pace * kept / 1e6, pace
            )
        )

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Biases (Algorithms 1 and 2), noise on every residual, clamp, factorise (Algorithm 3).

        Privacy: charged (the events of ``queries``).
        """
        biases = self.biases.measure(ratings, budget, self.norm, grant, published=self.published)
        cells = self._cells(ratings.domain, budget)
        residuals = cells.residuals.entries(ratings, biases.item_effects, biases.user_effects)
        noisy = cells.release(grant, residuals)
        found = self._factorised(noisy, biases, cells)
        released = biases._replace(
            item_effects=biases.item_effects + found.column_effects,
            user_effects=biases.user_effects + found.row_effects,
        )
        return people_release(self, ratings.domain, released, found.rows, found.columns)

    def _factorised(self, noisy: NoisyRatings, biases: Biases, cells: Cells) -> Factors:
        """Post-processing: factors of the noisy ratings."""
        weights = None
        if not self.published and cells.adjacency == "add-remove" and noisy.sigma:
            noisy, weights = membership_probability(
                noisy, biases.user_counts, biases.item_counts, cells.clip, cells.domain.scale.span
            )
        star = cells.domain.scale.star  # the settings assume one to five stars
        values = noisy.values / np.float32(star)
        known = Sparse(noisy.indptr, noisy.columns, values, cells.domain.n_items, weights)
        solver = self.solver or ("sgd" if self.published else "als")
        epochs = self.epochs or (20 if solver == "sgd" else 6)
        if solver == "sgd":
            found = gradient_descent(known, self.rank, epochs, rate=self.learning_rate, reg=self.reg)
            return found.times(star)
        # The noisier the ratings, the stronger the ridge.
        variance = float(np.mean(values.astype(np.float64) ** 2)) if len(values) else 1.0
        ridge = 25.0 if weights is None else 10.0
        found = least_squares(
            known,
            self.rank,
            epochs,
            reg=ridge * variance,
            power=0.0,
            row_scale=float(np.sqrt(ridge * biases.user_variance.mean())) / star,
            column_scale=float(np.sqrt(ridge * biases.item_variance.mean())) / star,
        )
        return found.times(star)

    def _cells(self, domain: Domain, budget: Budget) -> Cells:
        span = domain.scale.span
        weighed = not self.published and budget.adjacency == "add-remove"
        limit = self.clip * span * (_WIDEST if weighed else 1.0)
        return Cells(domain, budget.adjacency, self.clip * span, self.threshold * span, limit)
